"""Rows a block at a time, so that an intermediate of n_rows x n_landmarks is never held whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from numpy.typing import NDArray

BLOCK = 4096  # rows; a block times 1000 landmarks in float32 takes 16 MB


def blocks(n_rows: int, size: int = BLOCK) -> Iterator[slice]:
    """Slices that cover the rows in order."""
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def map_blocks(X: Any, function: Callable[..., Any], *arrays: NDArray[Any]) -> Iterator[Any]:
    """`function` of every block of rows and the same rows of the arrays, in order.

    Rows that are not in memory have a method `map_blocks` of their own and run the function where the rows are.
    """
    if hasattr(X, "map_blocks"):
        return iter(X.map_blocks(function, *arrays))
    return (function(X[part], *(array[part] for array in arrays)) for part in blocks(X.shape[0]))
