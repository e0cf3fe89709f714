"""Nystroem landmarks and the views of a row: three kernels around the landmarks, and the inputs themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noisewise._numerics.distances import inner_products, squared_distances
from noisewise._typing import Floats
from noisewise.labels.standardizer import WIDE, column_sums

VIEWS = ("narrow", "wide", "pointed", "linear")  # two Gaussian kernels, a Laplacian one, and the linear kernel
CENTRED = ("linear",)  # views centred on the mean of the rows, in place of an intercept without penalty
DUPLICATE = 1e-6  # squared distance of standardised rows that are equal but for rounding


def default_landmarks(n_columns: int, n_classes: int) -> int:
    """Number of landmarks: more for many classes, and where columns enter through the landmarks alone."""
    return 1000 if n_columns > WIDE else max(500, min(20 * n_classes, 1000))


@dataclass(frozen=True)
class Landmarks:
    """A few rows, and the views of any row from them."""

    rows: Any  # standardised, dense or CSR
    mean: Floats  # of standardised rows, for the linear view
    scale: float  # median squared distance
    views: tuple[str, ...] = VIEWS

    @classmethod
    def among(cls, rows: Any, weights: Floats, most: int) -> Landmarks:
        """The first `most` of the standardised rows."""
        mean = column_sums(rows, weights) / weights.sum()
        chosen = rows[:most]
        squared = squared_distances(chosen, _copy(chosen))[np.triu_indices(chosen.shape[0], 1)]
        apart = squared[squared > DUPLICATE]
        return cls(chosen, mean, float(np.median(apart)) if apart.size else 1.0)

    def keep(self, views: tuple[str, ...]) -> Landmarks:
        """The same landmarks with fewer views."""
        return replace(self, views=views)

    def features(self, rows: Any) -> list[NDArray[Any]]:
        """One array (n_rows, n_features) for each view."""
        found = []
        if set(self.views) - {"linear"}:
            squared = squared_distances(rows, _copy(self.rows))
            squared *= 1 / self.scale
        for view in self.views:
            if view == "linear":
                found.append(self._linear(rows))
            elif view == "pointed":
                found.append(np.exp(-np.sqrt(squared)))
            else:
                found.append(np.exp(squared * (-2.0 if view == "narrow" else -np.sqrt(0.5))))
        return found

    def gram(self, view: str) -> Floats:
        """Gram matrix of the landmarks; the identity where the inputs themselves are the features."""
        if view == "linear" and self._few_columns:
            return np.eye(self.rows.shape[1])
        gram = self.keep((view,)).features(self.rows.astype(np.float64))[0].astype(np.float64)
        return (gram + gram.T) / 2

    @property
    def _few_columns(self) -> bool:
        return bool(self.rows.shape[1] <= WIDE)

    def _linear(self, rows: Any) -> NDArray[Any]:
        """Centred inputs, or their inner products with the centred landmarks where there are many columns."""
        mean = self.mean.astype(rows.dtype)
        if self._few_columns:
            return np.asarray((rows.toarray() if sp.issparse(rows) else rows) - mean)
        products = inner_products(rows, _copy(self.rows)) - (rows @ mean)[:, None]
        return np.asarray(products - (self.rows @ self.mean).astype(rows.dtype) + mean @ mean)


def _copy(rows: Any) -> Any:
    """The rows in memory of their own: products of rows with themselves round as products with other rows do."""
    return rows.astype(rows.dtype)
