"""Scores of every class for every row by a ridge fit that did not see the row's own label.

With features phi, S + penalty the (diagonal) normal matrix, f = phi.w and the leverage h = phi' (S + penalty)^-1 phi,
a fit without r rows that look exactly like x, whose targets sum to t, says at x

    (f - h t) / (1 - r h).

r = 1 and t = y is the usual leave-one-out; r = 0 a row that took no part in the fit; a group of copies goes as a whole.

Where features and targets are centred on the mean of all rows, of weight n, that mean has to go as well: the centred
rows sum to zero, so that the others give away x, and their targets t. Around the mean of the others x, t and the normal
matrix's share of both are q = n / (n - r) times as long, and with q h for h the fit says

    q (f - q h t) / (1 - r q h)

above the mean target of the others. It is added to the mean of all: that of the others would tell t, with a minus sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from noisewise._numerics.blocks import map_blocks
from noisewise._numerics.ridge import leave_copies_out
from noisewise._numerics.row_hash import row_hashes
from noisewise._typing import Codes, Floats
from noisewise.labels.ridge.landmarks import CENTRED, Landmarks, Standardizer

MOST_COPIES = 20  # more equal rows are a cell of a coarse table, each with a label of its own, and no copies
MOST_CELLS, LEAST_CELL = 30, 5  # so few different rows, so often each, are such a table too: only its cell knows a row


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
        coarse = len(self.prints) <= MOST_CELLS and self.copies.sum() >= LEAST_CELL * len(self.prints)
        alone = np.flatnonzero(seen & (coarse | (self.copies[group] > MOST_COPIES)))
        counts[alone] /= self.copies[group[alone]]
        tallies[alone] = np.eye(tallies.shape[1])[codes[alone]] * counts[alone, None]
        return counts, tallies


@dataclass(frozen=True)
class PooledRidge:
    """A weighted sum of ridge fits in several views, which can leave out any row it has seen."""

    standardizer: Standardizer
    landmarks: Landmarks
    views: tuple[View, ...]
    weights: Floats
    shares: Floats
    left_out: LeftOut

    def scores(self, X: Any, dtype: DTypeLike = np.float64) -> Floats:
        """Score of each class for each row; a row's scores sum to one."""
        return np.concatenate(list(map_blocks(X, partial(self._block, dtype))))

    def honest_scores(self, X: Any, codes: Codes, dtype: DTypeLike | None = None) -> Floats:
        """The same, for each row as if it and its copies had not been there to learn from; as precise as the fit."""
        wanted = self.landmarks.rows.dtype if dtype is None else dtype
        return np.concatenate(list(map_blocks(X, partial(self._block, wanted), codes)))

    def _block(self, dtype: DTypeLike, X: Any, codes: Codes | None = None) -> Floats:
        rows = self.standardizer(X, np.float32).astype(dtype, copy=False)  # as `fit` has seen them
        if codes is not None:
            counts, tallies = self.left_out.look_up(row_hashes(rows), codes)
            targets = tallies - counts[:, None] * self.shares
            seen = np.flatnonzero(counts)
        pooled = np.tile(self.shares, (X.shape[0], 1))
        kinds = self.landmarks.views
        for weight, view, kind, features in zip(self.weights, self.views, kinds, self.landmarks.features(rows)):
            scores = np.asarray(features @ view.coefficients.astype(dtype), dtype=np.float64)
            if codes is not None and len(seen):
                leverage = np.square(features[seen] @ view.root.astype(dtype)).sum(axis=1, dtype=np.float64)
                total = self.left_out.counts.sum() if kind in CENTRED else np.inf
                scores[seen] = leave_copies_out(
                    scores[seen], leverage, counts[seen], targets[seen], least_rest(dtype), total
                )
            pooled += weight * scores
        return pooled


def least_rest(dtype: DTypeLike) -> float:
    """The least part of a fit that is not a row's own doing, and no rounding.

    >>> least_rest(np.float32), least_rest(np.float64)
    (1e-06, 1e-12)
    """
    return 1e-12 if np.dtype(dtype) == np.float64 else 1e-6
