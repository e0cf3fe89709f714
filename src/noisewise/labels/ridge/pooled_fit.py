"""Kernel ridge regressions in several views, penalties by leave-one-out error, pooled by non-negative stacking.

The scale of the scores does not matter, because the calibration of the noise fits one. So penalties are compared after
the best common factor, and the weights of the views need not sum to one. Otherwise a light penalty would win where
columns are many, because a heavy one, which averages their noise away, also shrinks the scores.

References
----------
.. [1] Allen, D. M. (1974). The relationship between variable selection and data augmentation and a method for
   prediction. Technometrics 16.
.. [2] Breiman, L. (1996). Stacked regressions. Machine Learning 24.
.. [3] Breiman, L., Friedman, J. H., Olshen, R. A., Stone, C. J. (1984). Classification and regression trees. Wadsworth.
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
from noisewise.labels.ridge.landmarks import CENTRED, VIEWS, Landmarks
from noisewise.labels.ridge.leave_one_out import LEAST_REST, DuplicateRows, PooledRidge, View
from noisewise.labels.standardizer import WIDE, Standardizer

PENALTIES = 10.0 ** np.arange(-2.5, 3.1, 0.5)  # times the mean squared length of rows, which is one in a kernel
FIT_ROWS = 20_000  # the ridge is fitted to so many rows, drawn at random; the others need no leaving out
CHOICE_ROWS = 4_000  # views and penalties are chosen on so many
SMALLEST_WEIGHT = 0.02  # of a view in the pool


@dataclass(frozen=True)
class Sample:
    """Rows of the fit in random order; equal rows with equal labels are merged, and their weights added.

    So a row of weight 2 gives the same fit as two rows.
    """

    rows: Any
    targets: Floats  # centred one-hot labels
    weights: Floats
    left_out: Floats  # weight of the rows to leave out for the row's score
    left_out_targets: Floats  # sum of the targets of these rows

    @classmethod
    def of(
        cls,
        rows: Any,
        codes: Codes,
        weights: Floats,
        proportions: Floats,
        duplicates: DuplicateRows,
        rng: np.random.Generator,
    ) -> Sample:
        """Merge equal rows, sort them by hash, then shuffle: the order of the rows given does not matter."""
        hashes = row_hashes(rows)
        order = np.lexsort((codes, hashes))
        new = np.append(True, (np.diff(hashes[order]) != 0) | (np.diff(codes[order]) != 0))
        starts = np.flatnonzero(new)
        shuffled = rng.permutation(len(starts))
        first = order[starts][shuffled]
        left_out, by_label = duplicates.look_up(hashes[first], codes[first])
        return cls(
            rows[first],
            np.eye(len(proportions))[codes[first]] - proportions,
            np.add.reduceat(weights[order], starts)[shuffled],
            left_out,
            by_label - left_out[:, None] * proportions,
        )

    def first(self, most: int) -> Sample:
        """The first `most` rows."""
        parts = (self.rows, self.targets, self.weights, self.left_out, self.left_out_targets)
        return Sample(*(part[:most] for part in parts))

    def weighted(self, values: Floats) -> Floats:
        """Values times the square root of the weights, so that their squares are weighted."""
        return np.asarray(np.sqrt(self.weights)[:, None] * values)

    def errors(self, predictions: Floats) -> Floats:
        """Weighted squared error of each row, after the common factor that minimises their sum."""
        predicted, wanted = self.weighted(predictions), self.weighted(self.targets)
        agreement, size = float(np.vdot(predicted, wanted)), float(np.vdot(predicted, predicted))
        factor = max(agreement, 0.0) / size if size > 0 else 0.0
        return np.asarray(np.square(wanted - factor * predicted).sum(axis=1))


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
    proportions = np.bincount(labels, counted[some], minlength=n_classes) / counted[some].sum()
    duplicates = DuplicateRows.of(row_hashes(rows), labels, counted[some], n_classes)
    if dtype is None:  # with so few rows the inputs interpolate any labels, and 1 - leverage is tiny
        dtype = np.float64 if len(duplicates.hashes) <= min(X.shape[1] + 1, WIDE) else np.float32
    rows = rows.astype(dtype, copy=False)  # rounded all the same: one rounding makes repeated rows and weights agree
    sample = Sample.of(rows, labels, counted[some], proportions, duplicates, shuffle)
    landmarks = Landmarks.among(sample.rows, sample.weights, n_landmarks)
    bases = {view: whitening(landmarks.gram(view)) for view in VIEWS}
    kept, fits, mixture = pool_views(landmarks, bases, sample)
    return PooledRidge(standardizer, landmarks.keep(kept), fits, mixture, proportions, duplicates)


def pool_views(
    landmarks: Landmarks, bases: dict[str, Floats], sample: Sample
) -> tuple[tuple[str, ...], tuple[View, ...], Floats]:
    """The views that help, their ridge regressions, and the weights of these."""
    few = sample.first(CHOICE_ROWS)
    fits, predictions = zip(*(_fit_view(landmarks.keep((v,)), bases[v], few) for v in VIEWS))
    mixture = stacking_weights([few.weighted(each) for each in predictions], few.weighted(few.targets))
    kept = tuple(view for view, weight in zip(VIEWS, mixture) if weight > 0)
    if len(sample.weights) > CHOICE_ROWS:
        fits, predictions = zip(*(_fit_view(landmarks.keep((v,)), bases[v], sample) for v in kept))
        mixture = stacking_weights([few.weighted(each) for each in predictions], few.weighted(few.targets))
    else:
        fits = tuple(fit for fit, weight in zip(fits, mixture) if weight > 0)
        mixture = mixture[mixture > 0]
    return kept, fits, mixture


def _fit_view(landmarks: Landmarks, basis: Floats, sample: Sample) -> tuple[View, Floats]:
    """Ridge in one view, its penalty by the leave-one-out squared error, and leave-one-out scores of the first rows."""
    dtype = sample.rows.dtype
    whitened = np.empty((len(sample.weights), basis.shape[1]), dtype=dtype)
    for part in blocks(len(whitened)):
        whitened[part] = landmarks.features(sample.rows[part])[0] @ basis.astype(dtype)
    few, total, penalties = sample.first(CHOICE_ROWS), np.inf, PENALTIES
    left_out_targets = few.left_out_targets
    if landmarks.views[0] in CENTRED:  # on these very rows, where they are a part of those of the landmarks' mean
        total = float(sample.weights.sum())
        whitened -= sample.weights.astype(dtype) @ whitened / dtype.type(total)
        left_out_targets = left_out_targets - few.left_out[:, None] * (sample.weights @ sample.targets / total)
        length = float(sample.weights @ np.square(whitened).sum(axis=1, dtype=np.float64)) / total
        penalties = PENALTIES * (length or 1.0)  # rows of many columns are long
    weighted = whitened.T * sample.weights.astype(dtype)
    values, vectors = scipy.linalg.eigh((weighted @ whitened).astype(np.float64), driver="evd")
    values = np.maximum(values, 0)
    moments = vectors.T @ (weighted @ sample.targets.astype(dtype))
    rotated = whitened[:CHOICE_ROWS] @ vectors.astype(dtype)
    leverages = np.square(rotated).astype(np.float64) @ (1 / (values[:, None] + penalties))
    predictions = [
        leave_copies_out(
            (rotated @ (moments / (values + penalty)[:, None]).astype(dtype)).astype(np.float64),
            leverage,
            few.left_out,
            left_out_targets,
            LEAST_REST[dtype],
            total,
        )
        for penalty, leverage in zip(penalties, leverages.T)
    ]
    best = one_standard_error_rule(np.stack([few.errors(each) for each in predictions]))
    shrunk = vectors / np.sqrt(values + penalties[best])
    root = basis @ shrunk
    return View(root @ (shrunk.T @ (vectors @ moments)), root, float(penalties[best])), predictions[best]


def one_standard_error_rule(errors: Floats) -> int:
    """Index of the heaviest penalty (last row) whose summed error is within one standard error of the least [3].

    >>> one_standard_error_rule(np.array([[4.0, 4.0, 4.0], [1.0, 1.0, 1.0], [0.0, 2.0, 1.1], [2.0, 2.0, 2.0]]))
    2
    """
    best = int(errors.sum(axis=1).argmin())
    excess = errors[best:] - errors[best]
    within = excess.sum(axis=1) <= excess.std(axis=1) * np.sqrt(errors.shape[1])
    return best + int(np.flatnonzero(within)[-1])


def stacking_weights(predictions: list[Floats], targets: Floats) -> Floats:
    """Non-negative least squares weights of predictions for targets [2]; those below two per cent are dropped.

    Where no prediction correlates with the targets, all count alike: to choose among them would be to use the labels.

    >>> stacking_weights([np.array([1.0, 0.0]), np.array([0.0, 2.0]), np.array([-1.0, -1.0])], np.array([1.0, 1.0]))
    array([1. , 0.5, 0. ])
    """
    flat = np.stack([each.ravel() for each in predictions])
    lengths = np.sqrt(np.square(flat).sum(axis=1))
    flat /= np.where(lengths > 0, lengths, 1.0)[:, None]
    parts = _nonnegative_least_squares(flat, targets.ravel())
    if not parts.any():
        return np.full(len(flat), 1 / len(flat))
    kept = parts >= SMALLEST_WEIGHT * parts.sum()
    parts[~kept] = 0
    parts[kept] = _nonnegative_least_squares(flat[kept], targets.ravel())
    return np.asarray(parts / np.where(lengths > 0, lengths, 1.0))


def _nonnegative_least_squares(rows: Floats, target: Floats) -> Floats:
    """Non-negative weights of the rows (of length one) whose sum is nearest to the target."""
    factor = np.linalg.cholesky(rows @ rows.T + 1e-12 * np.eye(len(rows)))
    weights, _ = scipy.optimize.nnls(factor.T, scipy.linalg.solve_triangular(factor, rows @ target, lower=True))
    return np.asarray(weights)
