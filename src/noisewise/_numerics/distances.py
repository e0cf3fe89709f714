"""Inner products, norms and squared Euclidean distances of rows, dense or CSR."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import safe_sparse_dot


def inner_products(left: Any, right: Any) -> NDArray[Any]:
    """Inner products <x, z> of all pairs of rows in the precision of `left`, always dense.

    Two arguments that share their memory go to another BLAS routine (syrk), which rounds differently from two
    matrices with equal entries; pass a copy where both cases must agree to the last bit.
    """
    return np.asarray(safe_sparse_dot(left, right.T.astype(left.dtype, copy=False), dense_output=True))


def squared_norms(rows: Any) -> NDArray[Any]:
    """Inner product <x, x> of each row with itself."""
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def squared_distances(left: Any, right: Any, rounding: float = 0.0) -> NDArray[Any]:
    """Squared distances of all pairs of rows, ``|x|^2 + |z|^2 - 2 <x, z>``, in the precision of `left`.

    Values below ``rounding * |x|^2`` become zero: with the default only negative ones, with a few units of rounding
    also those of equal rows.

    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[25.,  1.]])
    """
    norms = squared_norms(left)[:, None]
    squared = inner_products(left, right)
    squared *= -2
    squared += norms
    squared += squared_norms(right).astype(squared.dtype, copy=False)
    np.copyto(squared, 0, where=squared < rounding * norms)
    return squared
