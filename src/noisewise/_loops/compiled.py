"""How every loop is compiled: kept on disk, without the lock, and never with arithmetic that depends on the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

compiled = njit(cache=True, nogil=True, error_model="numpy")

# Loops that allocate nothing: without numba's counting of references (_nrt), a round takes half the time.
_njit: Any = njit
bare = _njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
inlined = _njit(cache=True, nogil=True, error_model="numpy", _nrt=False, inline="always")  # one level less to compile


def _nothing() -> None:
    pass


COMPILING = hasattr(compiled(_nothing), "py_func")  # false under NUMBA_DISABLE_JIT


def meaning(generated: Any) -> Callable[[Callable[..., Any]], Any]:
    """Mark a Python function as what an LLVM operation means: it stands in for it when compilation is off."""
    return lambda function: generated if COMPILING else function
