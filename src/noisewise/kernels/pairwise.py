"""Values for all pairs of rows, dense or sparse: checks, tiles and squared distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from noisewise._numerics.distances import squared_distances as distances_of_tile
from noisewise._typing import Floats

Rows = Any  # a float64 array or a SciPy CSR matrix, two axes
TILE = 256  # rows on either side computed at once: half a megabyte, which fits the cache of a processor core


def check_rows(X: Any) -> Rows:
    """Rows as float64, dense or CSR; none at all is fine."""
    return check_array(X, accept_sparse="csr", dtype=np.float64, order="C", ensure_min_samples=0)


def check_pair(X: Any, Z: Any = None) -> tuple[Rows, Rows | None]:
    """Both sides of a Gram matrix; `Z` None means the same rows as `X`."""
    if Z is None or Z is X:
        return check_rows(X), None
    left, right = check_rows(X), check_rows(Z)
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"X has {left.shape[1]} columns and Z has {right.shape[1]}; a kernel compares rows of the same columns"
        )
    return left, right


def squared_distances(X: Any, Z: Any = None) -> Floats:
    """Squared Euclidean distances of all pairs of rows: one matrix that serves radial kernels of any width.

    >>> squared_distances([[0.0, 0.0], [3.0, 4.0]])
    array([[ 0., 25.],
           [25.,  0.]])
    """
    return pairwise(tile_of_squared_distances, *centred(X, Z))


def centred(X: Any, Z: Any = None) -> tuple[Rows, Rows | None]:
    """Both sides, shifted so that Z (or X alone) has mean zero, against cancellation far from the origin."""
    left, right = check_pair(X, Z)
    others = left if right is None else right
    if sparse.issparse(left) or sparse.issparse(others) or not len(others):
        return left, right
    centre = others.mean(axis=0)
    return left - centre, None if right is None else right - centre


def tile_of_squared_distances(X: Rows, Z: Rows) -> Floats:
    """|x|^2 + |z|^2 - 2 <x, z>, at least zero; values below rounding are zero, so that equal rows have distance 0."""
    rounding = 8 * np.finfo(np.float64).eps * (16 + np.sqrt(X.shape[1]))  # times |x|^2: where it matters, |z| is near
    return distances_of_tile(X, Z, rounding)


def pairwise(values: Callable[[Rows, Rows], Floats], X: Rows, Z: Rows | None = None) -> Floats:
    """`values(rows of X, rows of Z)`, tile by tile; without Z, symmetric to the last bit at half the work."""
    others = X if Z is None else Z
    result = np.empty((X.shape[0], others.shape[0]))
    across = [slice(start, start + TILE) for start in range(0, others.shape[0], TILE)]
    parts = [others[columns] for columns in across]
    for start in range(0, X.shape[0], TILE):
        rows = slice(start, start + TILE)
        part = X[rows]
        for columns, other in zip(across, parts):
            if Z is None and columns.start < start:
                continue  # the transpose of a tile above the diagonal, written already
            tile = values(part, other)
            if Z is None:
                tile = (tile + tile.T) / 2 if columns == rows else tile
                result[columns, rows] = tile.T
            result[rows, columns] = tile
    return result
