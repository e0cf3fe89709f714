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
import scipy.linalg
import scipy.optimize
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from noisewise._inputs import Codes, Floats
from noisewise.labels._nystroem import VIEWS, Landmarks, Standardizer, blocks, fingerprints, map_blocks

PENALTIES = 10.0 ** np.arange(-2.5, 3.1, 0.5)
FIT_ROWS = 20_000  # the ridge learns from so many rows, drawn at random; the others need no leaving out
CHOICE_ROWS = 4_000  # views and penalties are chosen on so many
SMALLEST_WEIGHT = 0.02
MOST_COPIES = 20  # more equal rows are a cell of a coarse table, each with a label of its own, and no copies


@dataclass(frozen=True)
class View:
    """A ridge fit in one view: scores are features @ coefficients, leverages squared lengths of features @ root."""

    coefficients: NDArray[Any]
    root: NDArray[Any]
    penalty: float


@dataclass(frozen=True)
class LeftOut:
    """Rows the fit has seen, by fingerprint: how many of each, and the sum of their centred one-hot labels."""

    prints: NDArray[np.uint64]  # sorted
    counts: NDArray[np.intp]
    tallies: sp.csr_array

    @classmethod
    def of(cls, prints: NDArray[np.uint64], codes: Codes, n_classes: int) -> LeftOut:
        """Count labels by fingerprint."""
        distinct, group, counts = np.unique(prints, return_inverse=True, return_counts=True)
        tallies = sp.csr_array(
            (np.ones(len(codes)), (group.ravel(), codes)), shape=(len(distinct), n_classes), dtype=np.float64
        )
        return cls(distinct, counts, tallies)

    def look_up(self, prints: NDArray[np.uint64], codes: Codes) -> tuple[NDArray[np.intp], Floats]:
        """For each row, how many labels to leave out and how many of each class these are."""
        group = np.minimum(np.searchsorted(self.prints, prints), len(self.prints) - 1)
        seen = self.prints[group] == prints
        counts = np.where(seen, self.counts[group], 0)
        tallies = self.tallies[group].toarray() * seen[:, None]
        alone = np.flatnonzero(counts > MOST_COPIES)
        counts[alone] = 1
        tallies[alone] = np.eye(tallies.shape[1])[codes[alone]]
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


def without(scores: Floats, leverage: Floats, counts: NDArray[np.intp], targets: Floats) -> Floats:
    """Scores of a fit without `counts` rows equal to the one scored, whose targets sum to `targets`."""
    rest = np.maximum(1 - counts * leverage, 1e-6)
    return np.asarray((scores - leverage[:, None] * targets) / rest[:, None])


def fit_pooled_ridge(
    X: Any, codes: Codes, n_classes: int, n_landmarks: int, rng: np.random.Generator, dtype: DTypeLike = np.float32
) -> PooledRidge:
    """Fit in every view on a part of the rows, keep the views that help, and pool them."""
    standardizer = Standardizer.of(X)
    n = X.shape[0]
    order = rng.permutation(n)[:FIT_ROWS]
    rows, y = standardizer(X[order], dtype), codes[order]
    shares = np.bincount(codes, minlength=n_classes) / n
    left_out = LeftOut.of(fingerprints(rows), y, n_classes)
    landmarks = Landmarks.among(rows, np.arange(min(n_landmarks, len(order))))
    targets = np.eye(n_classes)[y] - shares
    few = slice(0, CHOICE_ROWS)
    removed = left_out.look_up(fingerprints(rows), y)
    counts, goals = removed[0], removed[1] - removed[0][:, None] * shares
    bases = {view: whitening(landmarks.gram(view)) for view in VIEWS}
    fits, guesses = zip(
        *(_fit_view(landmarks.keep((v,)), bases[v], rows[few], targets[few], counts[few], goals[few]) for v in VIEWS)
    )
    weights = pool([targets[few] - guess for guess in guesses])
    kept = tuple(view for view, weight in zip(VIEWS, weights) if weight > 0)
    if len(order) > CHOICE_ROWS:
        fits, guesses = zip(*(_fit_view(landmarks.keep((v,)), bases[v], rows, targets, counts, goals) for v in kept))
        weights = pool([targets[few] - guess for guess in guesses])
    else:
        fits = tuple(fit for fit, weight in zip(fits, weights) if weight > 0)
        weights = weights[weights > 0]
    return PooledRidge(standardizer, landmarks.keep(kept), fits, weights, shares, left_out)


def whitening(gram: Floats) -> Floats:
    """The map of features to coordinates in which `gram` is the identity; directions of no weight are dropped."""
    values, vectors = scipy.linalg.eigh(gram, driver="evd")
    kept = values > 1e-6 * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _fit_view(
    landmarks: Landmarks, basis: Floats, rows: Any, targets: Floats, counts: NDArray[np.intp], goals: Floats
) -> tuple[View, Floats]:
    """Ridge in one view, its penalty of the least leave-one-out squared error, and honest scores of the first rows."""
    dtype = rows.dtype
    n = rows.shape[0]
    turned = np.empty((n, basis.shape[1]), dtype=dtype)
    for part in blocks(n):
        turned[part] = landmarks.features(rows[part])[0] @ basis.astype(dtype)
    values, vectors = scipy.linalg.eigh((turned.T @ turned).astype(np.float64), driver="evd")
    values = np.maximum(values, 0)
    moments = vectors.T @ (turned.T @ targets.astype(dtype))
    few = slice(0, CHOICE_ROWS)
    aligned = turned[few] @ vectors.astype(dtype)
    leverages = np.square(aligned).astype(np.float64) @ (1 / (values[:, None] + PENALTIES))
    guesses = [
        without(
            (aligned @ (moments / (values + penalty)[:, None]).astype(dtype)).astype(np.float64),
            h,
            counts[few],
            goals[few],
        )
        for penalty, h in zip(PENALTIES, leverages.T)
    ]
    best = int(np.argmin([np.square(targets[few] - guess).sum() for guess in guesses]))
    shrunk = vectors / np.sqrt(values + PENALTIES[best])
    root = basis @ shrunk
    return View(root @ (shrunk.T @ (vectors @ moments)), root, float(PENALTIES[best])), guesses[best]


def pool(residuals: list[Floats]) -> Floats:
    """Weights of a mixture with the least squared residual; those below two per cent are dropped.

    >>> pool([np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([2.0, 2.0])])
    array([0.5, 0.5, 0. ])
    """
    flat = np.stack([residual.ravel() for residual in residuals])
    weights = _simplex_weights(flat @ flat.T)
    kept = weights >= min(SMALLEST_WEIGHT, weights.max())
    weights[~kept] = 0
    weights[kept] = _simplex_weights(flat[kept] @ flat[kept].T)
    return weights


def _simplex_weights(products: Floats) -> Floats:
    scaled = products / np.trace(products) if np.trace(products) > 0 else products
    factor = np.linalg.cholesky(scaled + 1e-12 * np.eye(len(scaled)))
    heavy = 1e4  # holds the sum at one
    system = np.vstack([factor.T, np.full(len(scaled), heavy)])
    weights, _ = scipy.optimize.nnls(system, np.append(np.zeros(len(scaled)), heavy))
    return np.asarray(weights / weights.sum())
