"""Threads of BLAS: one for tables of everyday size, whose many small products more threads only slow down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

# Below so many rows, threads take more time to meet than they save: with two threads on two busy cores, an audit of
# 1,797 rows used fifteen times the processor time, one of 30,000 rows still twice (`benchmarks/first_seconds.py`).
MANY_ROWS = 100_000


@cache
def _libraries() -> Any:
    """The BLAS libraries of NumPy and SciPy, found once."""
    import scipy.linalg  # noqa: F401  # brings its own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_limited = Lock()  # held while the limit is set


@contextmanager
def threads_for(n_rows: int) -> Iterator[None]:
    """One thread of BLAS while a table of so many rows is worked on; all there are for MANY_ROWS and more.

    BLAS has one number of threads for the whole process; afterwards it is what it was. Who comes while the limit is set
    leaves it alone: it is lifted where it was set, in the same thread.
    """
    if n_rows >= MANY_ROWS or not _limited.acquire(blocking=False):
        yield
        return
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limited.release()
