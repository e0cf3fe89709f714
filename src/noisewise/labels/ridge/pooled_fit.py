"""Ridge fits in several views of the rows, their penalties and their mixture by leave-one-out error.

How steep scores are does not matter: what reads the noise from them finds a slope of its own. So penalties are compared
after the best common factor, and the views' weights need not sum to one. Else a light penalty would win where columns
are many, because a heavy one, which averages their noise away, also shrinks the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import DTypeLike

from noisewise._numerics.blocks import blocks
from noisewise._numerics.nystroem import whitening
from noisewise._numerics.ridge import leave_copies_out
from noisewise._numerics.row_hash import row_hashes
from noisewise._typing import Codes, Floats
from noisewise.labels.ridge.landmarks import CENTRED, MOST_COLUMNS, VIEWS, Landmarks, Standardizer
from noisewise.labels.ridge.leave_one_out import LeftOut, PooledRidge, View, least_rest

PENALTIES = 10.0 ** np.arange(-2.5, 3.1, 0.5)  # times the mean squared length of rows, which is one in a kernel
FIT_ROWS = 20_000  # the ridge learns from so many rows, drawn at random; the others need no leaving out
CHOICE_ROWS = 4_000  # views and penalties are chosen on so many
SMALLEST_WEIGHT = 0.02


@dataclass(frozen=True)
class Sample:
    """Rows to learn from, in an order of chance; rows that are equal in all and in their label are one, and heavier.

    So a row that counts twice is a row that is there twice.
    """

    rows: Any
    targets: Floats  # centred one-hot labels
    weights: Floats
    counts: Floats  # weight to leave out for an honest score of the row
    goals: Floats  # the targets to leave out, added up

    @classmethod
    def of(
        cls, rows: Any, codes: Codes, weights: Floats, shares: Floats, left_out: LeftOut, rng: np.random.Generator
    ) -> Sample:
        """Merge equal rows, sort them by what they are, then shuffle."""
        prints = row_hashes(rows)
        order = np.lexsort((codes, prints))
        new = np.append(True, (np.diff(prints[order]) != 0) | (np.diff(codes[order]) != 0))
        starts = np.flatnonzero(new)
        mixed = rng.permutation(len(starts))
        first = order[starts][mixed]
        counts, tallies = left_out.look_up(prints[first], codes[first])
        return cls(
            rows[first],
            np.eye(len(shares))[codes[first]] - shares,
            np.add.reduceat(weights[order], starts)[mixed],
            counts,
            tallies - counts[:, None] * shares,
        )

    def first(self, most: int) -> Sample:
        """The first rows, `most` of them."""
        parts = (self.rows, self.targets, self.weights, self.counts, self.goals)
        return Sample(*(part[:most] for part in parts))

    def heavy(self, values: Floats) -> Floats:
        """Values whose squares count each row as heavy as it is."""
        return np.asarray(np.sqrt(self.weights)[:, None] * values)

    def errors(self, guess: Floats) -> Floats:
        """Squared error of each row by the guess, times the factor that suits it best."""
        guessed, wanted = self.heavy(guess), self.heavy(self.targets)
        agreement, size = float(np.vdot(guessed, wanted)), float(np.vdot(guessed, guessed))
        factor = max(agreement, 0.0) / size if size > 0 else 0.0
        return np.asarray(np.square(wanted - factor * guessed).sum(axis=1))


def fit_pooled_ridge(
    X: Any,
    codes: Codes,
    n_classes: int,
    n_landmarks: int,
    rng: np.random.Generator,
    dtype: DTypeLike | None = None,
    weights: Floats | None = None,
) -> PooledRidge:
    """Fit in every view on a part of the rows, keep the views that help, and pool them.

    In single precision, but in double where there are no more rows than columns, or in the `dtype` that is wanted.
    """
    counted = np.ones(len(codes)) if weights is None else weights
    standardizer = Standardizer.of(X, counted, look_for_counts=True)
    shuffle = np.random.default_rng(rng.integers(2**63))
    some = rng.permutation(np.flatnonzero(counted))[:FIT_ROWS]
    rows, labels = standardizer(X[some], np.float32), codes[some]
    shares = np.bincount(labels, counted[some], minlength=n_classes) / counted[some].sum()
    left_out = LeftOut.of(row_hashes(rows), labels, counted[some], n_classes)
    if dtype is None:  # with so few rows the inputs fit any labels, and what they leave to others is tiny
        dtype = np.float64 if len(left_out.prints) <= min(X.shape[1] + 1, MOST_COLUMNS) else np.float32
    rows = rows.astype(dtype, copy=False)  # rounded all the same: one rounding makes repeated rows and weights agree
    sample = Sample.of(rows, labels, counted[some], shares, left_out, shuffle)
    landmarks = Landmarks.among(sample.rows, sample.weights, n_landmarks)
    bases = {view: whitening(landmarks.gram(view)) for view in VIEWS}
    few = sample.first(CHOICE_ROWS)
    fits, guesses = zip(*(_fit_view(landmarks.keep((v,)), bases[v], few) for v in VIEWS))
    mixture = pool([few.heavy(guess) for guess in guesses], few.heavy(few.targets))
    kept = tuple(view for view, weight in zip(VIEWS, mixture) if weight > 0)
    if len(sample.weights) > CHOICE_ROWS:
        fits, guesses = zip(*(_fit_view(landmarks.keep((v,)), bases[v], sample) for v in kept))
        mixture = pool([few.heavy(guess) for guess in guesses], few.heavy(few.targets))
    else:
        fits = tuple(fit for fit, weight in zip(fits, mixture) if weight > 0)
        mixture = mixture[mixture > 0]
    return PooledRidge(standardizer, landmarks.keep(kept), fits, mixture, shares, left_out)


def _fit_view(landmarks: Landmarks, basis: Floats, sample: Sample) -> tuple[View, Floats]:
    """Ridge in one view, its penalty by the leave-one-out squared error, and honest scores of the first rows."""
    dtype = sample.rows.dtype
    turned = np.empty((len(sample.weights), basis.shape[1]), dtype=dtype)
    for part in blocks(len(turned)):
        turned[part] = landmarks.features(sample.rows[part])[0] @ basis.astype(dtype)
    few, total, penalties = sample.first(CHOICE_ROWS), np.inf, PENALTIES
    goals = few.goals
    if landmarks.views[0] in CENTRED:  # on these very rows, where they are a part of those of the landmarks' mean
        total = float(sample.weights.sum())
        turned -= sample.weights.astype(dtype) @ turned / dtype.type(total)
        goals = goals - few.counts[:, None] * (sample.weights @ sample.targets / total)
        length = float(sample.weights @ np.square(turned).sum(axis=1, dtype=np.float64)) / total
        penalties = PENALTIES * (length or 1.0)  # a table of many columns has long rows
    heavy = turned.T * sample.weights.astype(dtype)
    values, vectors = scipy.linalg.eigh((heavy @ turned).astype(np.float64), driver="evd")
    values = np.maximum(values, 0)
    moments = vectors.T @ (heavy @ sample.targets.astype(dtype))
    aligned = turned[:CHOICE_ROWS] @ vectors.astype(dtype)
    leverages = np.square(aligned).astype(np.float64) @ (1 / (values[:, None] + penalties))
    guesses = [
        leave_copies_out(
            (aligned @ (moments / (values + penalty)[:, None]).astype(dtype)).astype(np.float64),
            leverage,
            few.counts,
            goals,
            least_rest(dtype),
            total,
        )
        for penalty, leverage in zip(penalties, leverages.T)
    ]
    best = smoothest(np.stack([few.errors(guess) for guess in guesses]))
    shrunk = vectors / np.sqrt(values + penalties[best])
    root = basis @ shrunk
    return View(root @ (shrunk.T @ (vectors @ moments)), root, float(penalties[best])), guesses[best]


def smoothest(errors: Floats) -> int:
    """The last line (heaviest penalty) whose sum is within one standard error of the least: noise asks for caution.

    >>> smoothest(np.array([[4.0, 4.0, 4.0], [1.0, 1.0, 1.0], [0.0, 2.0, 1.1], [2.0, 2.0, 2.0]]))
    2
    """
    best = int(errors.sum(axis=1).argmin())
    excess = errors[best:] - errors[best]
    within = excess.sum(axis=1) <= excess.std(axis=1) * np.sqrt(errors.shape[1])
    return best + int(np.flatnonzero(within)[-1])


def pool(guesses: list[Floats], targets: Floats) -> Floats:
    """Weights, none below zero, of the sum that is nearest to the targets; parts below two per cent are dropped.

    Where no guess is of any use, all count alike: to hold them against each other would be to look at the labels.

    >>> pool([np.array([1.0, 0.0]), np.array([0.0, 2.0]), np.array([-1.0, -1.0])], np.array([1.0, 1.0]))
    array([1. , 0.5, 0. ])
    """
    flat = np.stack([guess.ravel() for guess in guesses])
    lengths = np.sqrt(np.square(flat).sum(axis=1))
    flat /= np.where(lengths > 0, lengths, 1.0)[:, None]
    parts = _nearest(flat, targets.ravel())
    if not parts.any():
        return np.full(len(flat), 1 / len(flat))
    kept = parts >= SMALLEST_WEIGHT * parts.sum()
    parts[~kept] = 0
    parts[kept] = _nearest(flat[kept], targets.ravel())
    return np.asarray(parts / np.where(lengths > 0, lengths, 1.0))


def _nearest(flat: Floats, target: Floats) -> Floats:
    """Weights, none below zero, of the rows (of length one) whose sum is nearest to the target."""
    factor = np.linalg.cholesky(flat @ flat.T + 1e-12 * np.eye(len(flat)))
    weights, _ = scipy.optimize.nnls(factor.T, scipy.linalg.solve_triangular(factor, flat @ target, lower=True))
    return np.asarray(weights)
