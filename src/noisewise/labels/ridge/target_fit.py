"""Leave-one-out predictions of a number by the pooled ridge: the judge of the audit of continuous targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._numerics.nystroem import whitening
from noisewise._numerics.row_hash import row_hashes
from noisewise._typing import Floats
from noisewise.labels.ridge.landmarks import VIEWS, Landmarks
from noisewise.labels.ridge.leave_one_out import MOST_COPIES, PooledRidge
from noisewise.labels.ridge.pooled_fit import FIT_ROWS, Sample, pool_views
from noisewise.labels.standardizer import Standardizer

N_LANDMARKS = 300
LEAST_WEIGHT = 0.05  # rows that are probably wrong take no part in the fit
DOUBLE_ROWS = 5_000  # up to so many rows are fitted in double precision


@dataclass(frozen=True)
class DuplicateTargets:
    """Rows of the fit by hash: the weight of the rows with this hash, and the weighted sum of their targets."""

    hashes: NDArray[np.uint64]
    copies: NDArray[np.intp]
    weights: Floats
    sums: Floats

    @classmethod
    def of(cls, hashes: NDArray[np.uint64], targets: Floats, weights: Floats) -> DuplicateTargets:
        """Sum by hash."""
        distinct, group, copies = np.unique(hashes, return_inverse=True, return_counts=True)
        totals, sums = (np.bincount(group, part).astype(np.float64) for part in (weights, weights * targets))
        return cls(distinct, copies, totals, sums)

    def look_up(self, hashes: NDArray[np.uint64], targets: Floats) -> tuple[Floats, Floats]:
        """Weight of the rows to leave out for each row's prediction, and the weighted sum of their targets.

        Of many equal rows, which are a cell of a coarse table, each is left out alone.
        """
        group = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        in_fit = self.hashes[group] == hashes
        alone = self.copies[group] > MOST_COPIES
        weights = np.where(in_fit, self.weights[group] / np.where(alone, self.copies[group], 1), 0.0)
        sums = np.where(alone, weights * targets, self.sums[group])
        return weights, (sums * in_fit)[:, None]


@dataclass(frozen=True)
class FittedRidge:
    """A fit to numbers: predictions of its rows without each, and of other rows."""

    X: Any
    ridge: PooledRidge | None
    mean: float
    std: float

    def leave_one_out(self, targets: Floats) -> Floats:
        """Predictions of every row by a fit without it and its duplicates."""
        if self.ridge is None:
            return np.full(len(targets), self.mean)
        scores = self.ridge.leave_one_out_scores(self.X, (targets - self.mean) / self.std)
        return np.asarray(self.mean + self.std * scores[:, 0])

    def predict(self, X: Any) -> Floats:
        """Predictions of other rows."""
        if self.ridge is None:
            return np.full(X.shape[0], self.mean)
        return np.asarray(self.mean + self.std * self.ridge.scores(X)[:, 0])


class TargetRidge:
    """Leave-one-out predictions of numbers; what does not depend on them is computed once.

    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> ridge = TargetRidge(X, np.random.default_rng(0))
    >>> found = ridge.leave_one_out(np.sin(6 * X[:, 0]), np.ones(50))
    >>> bool(np.abs(found - np.sin(6 * X[:, 0])).max() < 0.2)
    True
    """

    def __init__(self, X: Any, rng: np.random.Generator, n_landmarks: int = N_LANDMARKS):
        self.X = X
        self.standardizer = Standardizer.of(X, look_for_counts=True)
        self.order = rng.permutation(X.shape[0])
        dtype = np.float64 if X.shape[0] <= DOUBLE_ROWS else np.float32
        rows = self._rows(self.order[:FIT_ROWS]).astype(dtype)
        self.landmarks = Landmarks.among(rows, np.ones(rows.shape[0]), n_landmarks)
        self.bases = {view: whitening(self.landmarks.gram(view)) for view in VIEWS}

    def leave_one_out(self, targets: Floats, weights: Floats) -> Floats:
        """Predictions of every row by a fit without it and its duplicates; weights count rows."""
        return self.fitted(targets, weights).leave_one_out(targets)

    def fitted(self, targets: Floats, weights: Floats) -> FittedRidge:
        """The fit to these targets; weights count rows."""
        taken = self.order[weights[self.order] > LEAST_WEIGHT][:FIT_ROWS]
        counted = weights[taken]
        mean = float(counted @ targets[taken] / counted.sum())
        std = float(np.sqrt(counted @ np.square(targets[taken] - mean) / counted.sum()))
        if std <= 0:
            return FittedRidge(self.X, None, mean, std)
        centred = (targets - mean) / std
        rows = self._rows(taken).astype(self.landmarks.rows.dtype, copy=False)
        hashes = row_hashes(rows)
        duplicates = DuplicateTargets.of(hashes, centred[taken], counted)
        left_out, sums = duplicates.look_up(hashes, centred[taken])
        sample = Sample(rows, centred[taken, None], counted, left_out, sums)
        kept, views, mixture = pool_views(self.landmarks, self.bases, sample)
        ridge = PooledRidge(self.standardizer, self.landmarks.keep(kept), views, mixture, np.zeros(1), duplicates)
        return FittedRidge(self.X, ridge, mean, std)

    def _rows(self, rows: Any) -> Any:
        return self.standardizer(self.X[rows], np.float32)  # rounded, as in the ridge, so that hashes agree
