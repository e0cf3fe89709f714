"""Deprecated names: old public names of attributes and of a module's contents, which warn when they are read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def renamed(old: str, new: str) -> property:
    """A read-only property under an old name of the attribute or method `new`.

    >>> class Policy:
    ...     exploration_rate = 0.1
    ...     share = renamed("share", "exploration_rate")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Policy().share
    0.1
    >>> str(caught[0].message)
    'Policy.share is now exploration_rate'
    """

    def read(self: Any) -> Any:
        warnings.warn(f"{type(self).__name__}.{old} is now {new}", DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(read, doc=f"Deprecated; now `{new}`.")


def moved(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module for its old names, given by the full names they have now."""

    def read(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"{module}.{name} is now {names[name]}", DeprecationWarning, stacklevel=2)
        home, _, now = names[name].rpartition(".")
        return getattr(import_module(home), now)

    return read
