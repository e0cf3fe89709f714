"""How every loop is compiled: kept on disk, without the lock, and never with arithmetic that depends on the machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., Any])


def forget_outdated(folder: Path) -> None:
    """Remove compiled code older than any source file of a folder: numba looks at one file, but code is inlined."""
    newest = max(source.stat().st_mtime for source in folder.glob("*.py"))
    for kept in (folder / "__pycache__").glob("*.nb[ic]"):
        try:
            if kept.stat().st_mtime < newest:
                kept.unlink()
        except OSError:  # another process was quicker, or the folder is not ours to change
            continue


def kept_on_disk(**options: Any) -> Callable[[Loop], Loop]:
    """Compile when first called, and keep the code in files of names that are never given twice.

    Numba numbers the files of a function, so processes that compile it at once, or after its source has changed, take
    the same names, and one may be handed what was compiled for other arguments or from the old source.
    """

    def decorate(function: Loop) -> Loop:
        made: Loop = _njit(cache=True, **EVERYWHERE, **options)(function)
        files = getattr(getattr(made, "_cache", None), "_cache_file", None)  # None if compilation is off
        if files is not None:
            files._data_name = lambda number: f"{Path(files._index_name).stem}.{uuid4().hex}.nbc"
        return made

    return decorate


forget_outdated(Path(__file__).parent)
_njit: Any = njit
EVERYWHERE: Any = {"nogil": True, "error_model": "numpy"}
# Loops that allocate nothing: without numba's counting of references (_nrt), a round takes half the time.
BARE: Any = {"_nrt": False}
# For other loops only: what would call them from Python takes a fifth of the time to compile them.
INNER: Any = {**BARE, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Made part of whoever calls them: handing over arrays from one short loop to the next takes as long as their work.
INLINED: Any = {**INNER, "forceinline": True}
compiled, bare = kept_on_disk(), kept_on_disk(**BARE)
inner, inlined = kept_on_disk(**INNER), kept_on_disk(**INLINED)


def _nothing() -> None:
    pass


COMPILING = hasattr(compiled(_nothing), "py_func")  # false under NUMBA_DISABLE_JIT


def meaning(generated: Any) -> Callable[[Callable[..., Any]], Any]:
    """Mark a Python function as what an LLVM operation means: it stands in for it when compilation is off."""
    return lambda function: generated if COMPILING else function
