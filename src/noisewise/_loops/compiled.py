"""How every loop is compiled: kept on disk, without the lock, and never with arithmetic that depends on the machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit


def forget_outdated(folder: Path) -> None:
    """Remove compiled code older than any source file of a folder: numba looks at one file, but code is inlined."""
    newest = max(source.stat().st_mtime for source in folder.glob("*.py"))
    for index in (folder / "__pycache__").glob("*.nbi"):
        try:
            if index.stat().st_mtime < newest:
                index.unlink()
        except OSError:  # another process was quicker, or the folder is not ours to change
            continue


forget_outdated(Path(__file__).parent)
compiled = njit(cache=True, nogil=True, error_model="numpy")

# Loops that allocate nothing: without numba's counting of references (_nrt), a round takes half the time.
_njit: Any = njit
bare = _njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
# Made part of whoever calls them: handing over arrays from one short loop to the next takes as long as their work.
INLINED: Any = {"nogil": True, "error_model": "numpy", "_nrt": False, "forceinline": True}
inlined = _njit(cache=True, **INLINED)


def _nothing() -> None:
    pass


COMPILING = hasattr(compiled(_nothing), "py_func")  # false under NUMBA_DISABLE_JIT


def meaning(generated: Any) -> Callable[[Callable[..., Any]], Any]:
    """Mark a Python function as what an LLVM operation means: it stands in for it when compilation is off."""
    return lambda function: generated if COMPILING else function
