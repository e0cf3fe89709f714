"""How every loop is compiled: cached on disk, nogil, never with fastmath, so that results do not depend on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from numba import config, njit

Loop = TypeVar("Loop", bound=Callable[..., Any])


def remove_stale_cache(folder: Path) -> None:
    """Remove cached code older than any source file of a folder: numba checks one file, but code is inlined."""
    newest = max(source.stat().st_mtime for source in folder.glob("*.py"))
    for cached in (folder / "__pycache__").glob("*.nb[ic]"):
        try:
            if cached.stat().st_mtime < newest:
                cached.unlink()
        except OSError:  # another process was quicker, or the folder is not ours to change
            continue


def cached_jit(**options: Any) -> Callable[[Loop], Loop]:
    """``numba.njit`` with a disk cache whose file names are unique.

    Numba numbers the files of a function, so processes that compile it at once, or after its source has changed, take
    the same names, and one may load what was compiled for other argument types or from the old source.
    """

    def decorate(function: Loop) -> Loop:
        made: Loop = _njit(cache=True, **JIT_OPTIONS, **options)(function)
        files = getattr(getattr(made, "_cache", None), "_cache_file", None)  # None if JIT is disabled
        if files is not None:
            files._data_name = lambda number: f"{Path(files._index_name).stem}.{uuid4().hex}.nbc"
        return made

    return decorate


remove_stale_cache(Path(__file__).parent)
_njit: Any = njit
JIT_OPTIONS: Any = {"nogil": True, "error_model": "numpy"}
# Loops that allocate nothing: without numba's reference counting (_nrt), a round takes half the time.
BARE: Any = {"_nrt": False}
# Called by other loops only: the wrappers for calls from Python would add a fifth to the compile time.
INNER: Any = {**BARE, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Inlined by force: passing arrays from one short loop to the next takes as long as the loops themselves.
INLINED: Any = {**INNER, "forceinline": True}
compiled, bare = cached_jit(), cached_jit(**BARE)
inner, inlined = cached_jit(**INNER), cached_jit(**INLINED)
COMPILING = not config.DISABLE_JIT  # type: ignore[attr-defined]  # set from the environment


def reference_of(intrinsic: Any) -> Callable[[Callable[..., Any]], Any]:
    """Mark a Python function as the reference implementation of an LLVM intrinsic, used when JIT is disabled."""
    return lambda function: intrinsic if COMPILING else function
