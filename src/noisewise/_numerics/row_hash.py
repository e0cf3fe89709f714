"""64-bit hashes of rows, by which duplicate rows are found without comparing all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def row_hashes(rows: Any, exact: bool = False) -> NDArray[np.uint64]:
    """Multilinear hash of each row, dense or CSR alike: equal rows have equal hashes, a collision is very unlikely.

    Values are compared in single precision; with `exact`, in double precision (for rows that are not standardised).

    >>> first, second, third = row_hashes(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])).tolist()
    >>> first == third, first == second
    (True, False)
    """
    multipliers = np.random.default_rng(7).integers(1, 2**63, rows.shape[1], dtype=np.uint64) | np.uint64(1)
    words_of = _double_words if exact else _single_words
    if sp.issparse(rows):
        words = words_of(rows.data) * multipliers[rows.indices]
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)])
        return np.asarray(total[rows.indptr[1:]] - total[rows.indptr[:-1]])
    return np.asarray((words_of(rows) * multipliers).sum(axis=1, dtype=np.uint64))


def row_bytes(rows: NDArray[Any]) -> NDArray[np.void]:
    """Each row as the bytes of its values, by which `np.unique` finds equal rows; -0 counts as 0."""
    plain = np.ascontiguousarray(rows + rows.dtype.type(0))
    return plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1]))).ravel()


def _single_words(values: NDArray[Any]) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):  # values beyond the range of single precision all become infinite
        single = np.ascontiguousarray(values, dtype=np.float32)
    return _mix((single + np.float32(0)).view(np.uint32).astype(np.uint64))


def _double_words(values: NDArray[Any]) -> NDArray[np.uint64]:
    bits = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    return _mix(bits ^ (bits >> np.uint64(32)))


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits *= np.uint64(0x9E3779B97F4A7C15)  # low bits of round floats are all zero: mix the high ones into them
    bits ^= bits >> np.uint64(29)
    return np.asarray(bits)
