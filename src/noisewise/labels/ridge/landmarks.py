"""Rows seen from a few landmarks: standardised inputs, four views of them, and who is whose copy.

Dense and CSR rows give the same numbers: a standardised and clipped sparse row is a sparse row plus one that is common
to all, and neither distances nor centred products see what is common to all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn.preprocessing import normalize

from noisewise._numerics.blocks import map_blocks
from noisewise._numerics.distances import inner_products, squared_distances
from noisewise._typing import Floats

CLIP = 4.0  # standard deviations; one far value must not decide a distance
VIEWS = ("narrow", "wide", "pointed", "linear")  # two Gaussian kernels, one Laplacian, the inputs themselves
CENTRED = ("linear",)  # views that have lost the mean of the rows, which stands for a constant that costs nothing
MOST_COLUMNS = 1000  # the inputs themselves are a view up to here; beyond, their products with the landmarks
COUNTED = 0.1  # of more columns than that, rows that have no more than this share of them, none below zero, are counts


@dataclass(frozen=True)
class Standardizer:
    """Columns to zero mean, unit variance and at most four deviations; constant columns become zero.

    Rows of counts may be brought to length one before: a long text does not belong to its class more than a short one.
    """

    center: Floats
    factor: Floats
    by_length: bool = False

    @classmethod
    def of(cls, X: Any, weights: Floats | None = None, look_for_counts: bool = False) -> Standardizer:
        """Means and deviations in blocks of rows; `weights` say how many rows each row stands for."""
        counted = np.ones(X.shape[0]) if weights is None else weights
        n, by_length = counted.sum(), False
        if look_for_counts and X.shape[1] > MOST_COLUMNS:
            filled, negative = sum(map_blocks(X, _filled_and_negative, counted))
            by_length = bool(negative == 0 and filled <= COUNTED * n * X.shape[1])
        center = sum(map_blocks(X, partial(_column_sums, by_length=by_length), counted)) / n
        spread = sum(map_blocks(X, partial(_squares_around, center=center, by_length=by_length), counted))
        deviation = np.sqrt(spread / n)
        varies = deviation > 1e-9 * np.abs(center) + 1e-150
        return cls(center, np.where(varies, 1 / np.where(varies, deviation, 1), 0.0), by_length)

    def __call__(self, X: Any, dtype: DTypeLike) -> Any:
        """The standardised rows; sparse rows lack what zeros become, which is common to all."""
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


def _filled_and_negative(rows: Any, weights: Floats) -> Floats:
    """How many values are not zero, and how many are below it."""
    return np.array([weights @ np.asarray((rows != 0).sum(axis=1)), weights @ np.asarray((rows < 0).sum(axis=1))])


def _column_sums(rows: Any, weights: Floats, by_length: bool = False) -> Floats:
    return np.asarray((normalize(rows) if by_length else rows).T @ weights)


def _squares_around(rows: Any, weights: Floats, center: Floats, by_length: bool) -> Floats:
    """Sum of squared distances of each column's values from its centre."""
    if by_length:
        rows = normalize(rows)
    if not sp.issparse(rows):
        return np.asarray(weights @ np.square(rows - center))
    part = rows.tocsr()
    counted = np.repeat(weights, np.diff(part.indptr))
    filled = np.bincount(part.indices, counted, minlength=len(center))
    squares = np.bincount(part.indices, counted * (part.data - center[part.indices]) ** 2, minlength=len(center))
    return np.asarray(squares + (weights.sum() - filled) * center**2)


@dataclass(frozen=True)
class Landmarks:
    """A few rows, and the views of any row from them."""

    rows: Any  # standardised, dense or CSR
    mean: Floats  # of standardised rows, for the linear view
    scale: float  # median squared distance
    views: tuple[str, ...] = VIEWS

    @classmethod
    def among(cls, rows: Any, weights: Floats, most: int) -> Landmarks:
        """The first of the standardised rows, `most` of them."""
        mean = _column_sums(rows, weights) / weights.sum()
        chosen = rows[:most]
        squared = squared_distances(chosen, _copy(chosen))[np.triu_indices(chosen.shape[0], 1)]
        apart = squared[squared > 1e-6]
        return cls(chosen, mean, float(np.median(apart)) if apart.size else 1.0)

    def keep(self, views: tuple[str, ...]) -> Landmarks:
        """The same landmarks with fewer views."""
        return replace(self, views=views)

    def features(self, rows: Any) -> list[NDArray[Any]]:
        """One array (n_rows, n_features) for each view."""
        seen: dict[str, NDArray[Any]] = {}
        if set(self.views) - {"linear"}:
            squared = squared_distances(rows, _copy(self.rows))
            squared *= 1 / self.scale
        for view in self.views:
            if view == "linear":
                seen[view] = self._linear(rows)
            elif view == "pointed":
                seen[view] = np.exp(-np.sqrt(squared))
            else:
                seen[view] = np.exp(squared * (-2.0 if view == "narrow" else -np.sqrt(0.5)))
        return [seen[view] for view in self.views]

    def gram(self, view: str) -> Floats:
        """Products of the features' own basis: kernel among landmarks, or none where the inputs are the features."""
        only = self.keep((view,))
        if view == "linear" and self._few_columns:
            return np.eye(self.rows.shape[1])
        gram = only.features(self.rows.astype(np.float64))[0].astype(np.float64)
        return (gram + gram.T) / 2

    @property
    def _few_columns(self) -> bool:
        return bool(self.rows.shape[1] <= MOST_COLUMNS)

    def _linear(self, rows: Any) -> NDArray[Any]:
        mean = self.mean.astype(rows.dtype)
        if self._few_columns:
            return np.asarray((rows.toarray() if sp.issparse(rows) else rows) - mean)
        products = (
            inner_products(rows, _copy(self.rows)) - (rows @ mean)[:, None] - (self.rows @ self.mean).astype(rows.dtype)
        )
        return np.asarray(products + mean @ mean)


def _copy(rows: Any) -> Any:
    """The rows in memory of their own: products of rows with themselves round as products with other rows do."""
    return rows.astype(rows.dtype)
