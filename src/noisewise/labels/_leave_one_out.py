"""Scores of every class for every row by a ridge fit that did not see the row's own label.

With features phi, S + penalty the (diagonal) normal matrix, f = phi.w and the leverage h = phi' (S + penalty)^-1 phi,
a fit without r rows that look exactly like x, whose targets sum to t, says at x

    (f - h t) / (1 - r h).

r = 1 and t = y is the usual leave-one-out; r = 0 a row that took no part in the fit; a group of copies goes as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from noisewise._inputs import Codes, Floats
from noisewise.labels._nystroem import Landmarks, Standardizer, fingerprints, map_blocks

MOST_COPIES = 20  # more equal rows are a cell of a coarse table, each with a label of its own, and no copies


@dataclass(frozen=True)
class View:
    """A ridge fit in one view: scores are features @ coefficients, leverages squared lengths of features @ root."""

    coefficients: NDArray[Any]
    root: NDArray[Any]
    penalty: float


@dataclass(frozen=True)
class LeftOut:
    """Rows the fit has seen, by fingerprint: how many copies of each, their weight, and that of each label."""

    prints: NDArray[np.uint64]  # sorted
    copies: NDArray[np.intp]
    counts: Floats
    tallies: sp.csr_array

    @classmethod
    def of(cls, prints: NDArray[np.uint64], codes: Codes, weights: Floats, n_classes: int) -> LeftOut:
        """Add up weights by fingerprint."""
        distinct, group, copies = np.unique(prints, return_inverse=True, return_counts=True)
        tallies = sp.csr_array((weights, (group.ravel(), codes)), shape=(len(distinct), n_classes), dtype=np.float64)
        return cls(distinct, copies, np.bincount(group.ravel(), weights).astype(np.float64), tallies)

    def look_up(self, prints: NDArray[np.uint64], codes: Codes) -> tuple[Floats, Floats]:
        """For each row, the weight of the labels to leave out, in all and of each class."""
        group = np.minimum(np.searchsorted(self.prints, prints), len(self.prints) - 1)
        seen = self.prints[group] == prints
        counts = np.where(seen, self.counts[group], 0)
        tallies = self.tallies[group].toarray() * seen[:, None]
        alone = np.flatnonzero(seen & (self.copies[group] > MOST_COPIES))
        counts[alone] /= self.copies[group[alone]]
        tallies[alone] = np.eye(tallies.shape[1])[codes[alone]] * counts[alone, None]
        return counts, tallies


@dataclass(frozen=True)
class PooledRidge:
    """A weighted mean of ridge fits in several views, which can leave out any row it has seen."""

    standardizer: Standardizer
    landmarks: Landmarks
    views: tuple[View, ...]
    weights: Floats
    shares: Floats
    left_out: LeftOut

    def scores(self, X: Any, dtype: DTypeLike = np.float64) -> Floats:
        """Score of each class for each row; a row's scores sum to one."""
        return np.concatenate(list(map_blocks(X, partial(self._block, dtype))))

    def honest_scores(self, X: Any, codes: Codes, dtype: DTypeLike = np.float32) -> Floats:
        """The same, for each row as if it and its copies had not been there to learn from."""
        return np.concatenate(list(map_blocks(X, partial(self._block, dtype), codes)))

    def _block(self, dtype: DTypeLike, X: Any, codes: Codes | None = None) -> Floats:
        rows = self.standardizer(X, dtype)
        if codes is not None:
            counts, tallies = self.left_out.look_up(fingerprints(rows), codes)
            targets = tallies - counts[:, None] * self.shares
            seen = np.flatnonzero(counts)
        pooled = np.tile(self.shares, (X.shape[0], 1))
        for weight, view, features in zip(self.weights, self.views, self.landmarks.features(rows)):
            scores = np.asarray(features @ view.coefficients.astype(dtype), dtype=np.float64)
            if codes is not None and len(seen):
                leverage = np.square(features[seen] @ view.root.astype(dtype)).sum(axis=1, dtype=np.float64)
                scores[seen] = without(scores[seen], leverage, counts[seen], targets[seen])
            pooled += weight * scores
        return pooled


def without(scores: Floats, leverage: Floats, counts: Floats, targets: Floats) -> Floats:
    """Scores of a fit without `counts` rows equal to the one scored, whose targets sum to `targets`."""
    rest = np.maximum(1 - counts * leverage, 1e-6)
    return np.asarray((scores - leverage[:, None] * targets) / rest[:, None])
