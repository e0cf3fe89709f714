"""Standardised columns, dense or CSR, for kernels: zero mean, unit variance, clipped.

Dense and CSR rows give the same distances and centred products: a standardised sparse row is a sparse row plus one that
is common to all, and neither of them depends on what is common to all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.preprocessing import normalize

from noisewise._numerics.blocks import map_blocks
from noisewise._typing import Floats

CLIP = 4.0  # standard deviations; one outlying value must not determine a distance
WIDE = 1000  # columns; more of them are compared with landmarks only, and may be counts
FAR = 1e-9  # deviation of a column relative to its mean, below which the mean is refined: sums of large values round
CONSTANT = 1e-13  # the same, below which the deviation is rounding and the column constant
COUNTS_FILLED = 0.1  # wide rows without negative values, with at most this fraction of non-zeros, are counts


@dataclass(frozen=True)
class Standardizer:
    """Columns to zero mean, unit variance and at most four standard deviations; constant columns become zero.

    Rows of counts may be scaled to length one before: a long text does not belong to its class more than a short one.
    """

    center: Floats
    factor: Floats
    by_length: bool = False

    @classmethod
    def of(cls, X: Any, weights: Floats | None = None, look_for_counts: bool = False) -> Standardizer:
        """Means and standard deviations, a block of rows at a time; a row of weight 2 counts as two rows."""
        counted = np.ones(X.shape[0]) if weights is None else weights
        n, by_length = counted.sum(), False
        if look_for_counts and X.shape[1] > WIDE:
            filled, negative = sum(map_blocks(X, _filled_and_negative, counted))
            by_length = bool(negative == 0 and filled <= COUNTS_FILLED * n * X.shape[1])
        center = sum(map_blocks(X, partial(column_sums, by_length=by_length), counted)) / n
        squares = sum(map_blocks(X, partial(_squares_around, center=center, by_length=by_length), counted))
        deviation = np.sqrt(squares / n)
        far = (deviation > CONSTANT * np.abs(center)) & (deviation <= FAR * np.abs(center))
        if far.any():
            error = sum(map_blocks(X, partial(_sums_around, center=center, by_length=by_length), counted)) / n
            center = np.where(far, center + error, center)
            squares = sum(map_blocks(X, partial(_squares_around, center=center, by_length=by_length), counted))
            deviation = np.where(far, np.sqrt(squares / n), deviation)
        varies = deviation > CONSTANT * np.abs(center) + 1e-150
        return cls(center, np.where(varies, 1 / np.where(varies, deviation, 1), 0.0), by_length)

    def __call__(self, X: Any, dtype: DTypeLike) -> Any:
        """The standardised rows; sparse rows lack the value that a zero becomes, which is common to all."""
        if self.by_length:
            X = normalize(X)
        if sp.issparse(X):
            rows = sp.csr_array(X, dtype=np.float64, copy=True)
            at = rows.indices
            common = self._clip(-self.center * self.factor)
            rows.data = self._clip((rows.data - self.center[at]) * self.factor[at]) - common[at]
            return rows.astype(dtype)
        return self._clip((X - self.center) * self.factor).astype(dtype)

    @staticmethod
    def _clip(values: Floats) -> Floats:
        return np.clip(values, -CLIP, CLIP, out=values)


def column_sums(rows: Any, weights: Floats, by_length: bool = False) -> Floats:
    """Weighted sum of each column."""
    return np.asarray((normalize(rows) if by_length else rows).T @ weights)


def _filled_and_negative(rows: Any, weights: Floats) -> Floats:
    """Weighted counts of values that are not zero, and that are negative."""
    return np.array([weights @ np.asarray((rows != 0).sum(axis=1)), weights @ np.asarray((rows < 0).sum(axis=1))])


def _squares_around(rows: Any, weights: Floats, center: Floats, by_length: bool) -> Floats:
    """Weighted sum of squared deviations of each column from its centre."""
    return _sums_around(rows, weights, center, by_length, power=2)


def _sums_around(rows: Any, weights: Floats, center: Floats, by_length: bool, power: int = 1) -> Floats:
    """Weighted sum of a power of the deviations of each column from its centre."""
    if by_length:
        rows = normalize(rows)
    if not sp.issparse(rows):
        return np.asarray(weights @ (rows - center) ** power)
    part = rows.tocsr()
    counted = np.repeat(weights, np.diff(part.indptr))
    filled = np.bincount(part.indices, counted, minlength=len(center))
    sums = np.bincount(part.indices, counted * (part.data - center[part.indices]) ** power, minlength=len(center))
    return np.asarray(sums + (weights.sum() - filled) * (-center) ** power)
