"""Old names of public attributes, which warn and give what the new name holds."""

from __future__ import annotations

import warnings
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
