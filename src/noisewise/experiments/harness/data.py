"""Which data sets are at hand without a download, and how to load them once a process."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from noisewise._typing import Codes, Floats


def is_here(name: str | None) -> bool:
    """Whether a set can be loaded from scikit-learn, the folder NOISEWISE_DATA or the cache; generators always can.

    >>> is_here("iris"), is_here("make_synsep"), is_here("acoustic")
    (True, True, False)
    """
    if name is None or name.startswith("make_"):
        return True
    source = _first_source(name)
    if source in (None, "scikit-learn"):
        return source is not None
    return any((folder / source).is_file() for folder in _folders())


@lru_cache(maxsize=1)
def load_once(name: str) -> tuple[Floats, Codes]:
    """Features and labels of a named set; the cells of one process often have theirs in common."""
    from noisewise.datasets import load

    X, y = load(name)
    X.flags.writeable = False  # a cell must not change what the next one reads
    return X, y


def _first_source(name: str) -> str | None:
    from noisewise.datasets import names

    if name.startswith("crowd_"):
        return f"{name}.npz"
    return next((listing.sources[0] for listing in names() if listing.name == name), None)


def _folders() -> list[Path]:
    from sklearn.datasets import get_data_home

    given = os.environ.get("NOISEWISE_DATA")
    return [*([Path(given).expanduser()] if given else []), Path(get_data_home()) / "noisewise"]
