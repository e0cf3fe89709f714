"""Rows for a Gaussian process: copies merged into weights, standardised, and kernel features of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from noisewise._inputs import Codes, Floats
from noisewise.kernels import Gaussian
from noisewise.labels._nystroem import Standardizer, blocks, fingerprints

SMALLEST_SHARE = 1e-10  # of the largest eigenvalue: below, directions are rounding


@dataclass(frozen=True)
class LabelledRows:
    """Distinct rows, and how often each was seen with which label: (rows[place], code) weighs `weights`."""

    rows: Any  # dense or CSR, no two equal
    places: Codes
    codes: Codes
    weights: Floats
    n_classes: int

    @classmethod
    def of(cls, X: Any, codes: Codes, weights: Floats, n_classes: int) -> LabelledRows:
        """Merge copies, leave out rows of no weight; neither the order of rows nor copies against weights matter."""
        used = np.flatnonzero(weights)
        keys = fingerprints(X[used]) if sp.issparse(X) else _bytes(X[used])
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        pairs, pair = np.unique(group.ravel() * n_classes + codes[used], return_inverse=True)
        counts = np.bincount(pair.ravel(), weights[used]).astype(np.float64)
        return cls(X[used[first]], pairs // n_classes, pairs % n_classes, counts, n_classes)

    def standardized(self) -> tuple[Standardizer, LabelledRows]:
        """The same with columns of mean 0 and variance 1, a row of weight 2 counting twice."""
        share = self.row_weights / self.weights.sum()
        center = np.asarray(share @ self.rows).ravel()
        if sp.issparse(self.rows):
            away = self.rows.copy()
            away.data = (away.data - center[away.indices]) ** 2 - center[away.indices] ** 2
            spread = np.asarray(share @ away).ravel() + center**2
        else:
            spread = share @ np.square(self.rows - center)
        deviation = np.sqrt(np.maximum(spread, 0))
        varies = deviation > 1e-9 * np.abs(center) + 1e-150
        standardizer = Standardizer(center, np.where(varies, 1 / np.where(varies, deviation, 1), 0.0))
        rows = standardizer(self.rows, np.float64)
        return standardizer, LabelledRows(rows, self.places, self.codes, self.weights, self.n_classes)

    @property
    def row_weights(self) -> Floats:
        """Weight of each distinct row, whatever its labels."""
        return np.bincount(self.places, self.weights, minlength=self.rows.shape[0]).astype(np.float64)

    def some(self, n_rows: int, rng: np.random.Generator) -> LabelledRows:
        """At most so many of the distinct rows, drawn at random."""
        if self.rows.shape[0] <= n_rows:
            return self
        chosen = np.sort(rng.choice(self.rows.shape[0], n_rows, replace=False))
        kept = np.isin(self.places, chosen)
        places = np.searchsorted(chosen, self.places[kept])
        return LabelledRows(self.rows[chosen], places, self.codes[kept], self.weights[kept], self.n_classes)


@dataclass(frozen=True)
class ProcessFeatures:
    """Features whose products are nearly exp(-distance^2 / width^2) + 1; the last one is constant."""

    landmarks: Any
    width: float
    projection: Floats

    @classmethod
    def of(cls, landmarks: Any, weights: Floats, squared: Floats, width: float, rank: int) -> ProcessFeatures:
        """The leading directions of the kernel among landmarks that count with weights.

        Where all rows are landmarks and the rank is full, products of features are the kernel itself; a lower rank is
        the best there is for these rows.
        """
        root = np.sqrt(weights / weights.mean())
        gram = root[:, None] * Gaussian(width).of_squared_distance(squared) * root
        n = len(gram)
        values, vectors = eigh(gram, subset_by_index=(n - min(rank, n), n - 1), overwrite_a=True, check_finite=False)
        kept = values > SMALLEST_SHARE * values[-1]
        return cls(landmarks, width, root[:, None] * vectors[:, kept] / np.sqrt(values[kept]))

    def __call__(self, rows: Any) -> Floats:
        """Features of standardised rows."""
        features = np.ones((rows.shape[0], self.projection.shape[1] + 1))
        kernel = Gaussian(self.width)
        for part in blocks(rows.shape[0]):
            features[part, :-1] = kernel.gram(rows[part], self.landmarks) @ self.projection
        return features


def _bytes(X: Floats) -> Any:
    rows = np.ascontiguousarray(X + 0.0)  # -0 becomes 0
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
