"""Sufficient statistics of least squares for each fold, and model selection by unbiased held-out losses.

A row is z = (1, features, targets). Least squares depends on the rows through the sum of z z' alone. The noise of the
features adds its covariance to that sum, and subtracting it leaves an unbiased estimate of the sum for clean rows. With
one sum for each fold, held-out losses need no second pass over the data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noisewise._numerics.row_hash import row_hashes
from noisewise._typing import Codes, Floats


class Choice(NamedTuple):
    """The chosen candidate, and the mean and standard error of every candidate's loss."""

    best: int
    means: Floats
    errors: Floats


def fold_numbers(rows: Floats, n_folds: int, first_fold: int = 0) -> Codes:
    """The fold of each row: distinct row i is in fold (first + i) mod n_folds, and so are its repetitions.

    A noisy row that is repeated repeats its noise: held out in one fold and learnt from in another, the noise would
    pass for signal.

    >>> fold_numbers(np.array([[5.0], [7.0], [5.0], [9.0]]), n_folds=2)
    array([0, 1, 0, 0])
    """
    _, first, group = np.unique(row_hashes(rows, exact=True), return_index=True, return_inverse=True)
    return np.asarray((first_fold + np.argsort(np.argsort(first))[group.ravel()]) % n_folds)


def fold_products(Z: Floats, n_folds: int, folds: Codes | None = None) -> Floats:
    """Sums of z z' over the rows of each fold, of shape (n_folds, p, p); by default row i is in fold i mod n_folds.

    >>> fold_products(np.array([[1.0], [2.0], [3.0]]), n_folds=2)[:, 0, 0]
    array([10.,  4.])
    """
    folds = np.arange(len(Z)) % n_folds if folds is None else folds
    sums = np.empty((n_folds, Z.shape[1], Z.shape[1]))
    for fold in range(n_folds):
        part = np.ascontiguousarray(Z[folds == fold])
        sums[fold] = part.T @ part
    return sums


def subtract_noise(sums: Floats, correction: Floats) -> Floats:
    """Sums of z z' with the noise covariance subtracted from the block of features with features."""
    cleaned = sums.copy()
    d = correction.shape[-1]
    cleaned[..., 1 : d + 1, 1 : d + 1] -= correction
    return cleaned


def centre(sums: Floats, n_targets: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Covariance of the features, their covariance with the targets, and both means, from sums of z z'."""
    n = sums[0, 0]
    means = sums[0, 1:] / n
    covariance = sums[1:, 1:] / n - np.outer(means, means)
    features, targets = means[:-n_targets], means[-n_targets:]
    return covariance[:-n_targets, :-n_targets], covariance[:-n_targets, -n_targets:], features, targets


def squared_loss(coefficients: Floats, sums: Floats) -> Floats:
    """Sum of |targets - coefficients' (1, features)|^2 over the rows of a fold, from its sums alone.

    `coefficients` has shape (..., 1 + d, q). After `subtract_noise` the loss is unbiased for that of clean rows.

    >>> sums = fold_products(np.array([[1.0, 2.0, 5.0], [1.0, 0.0, 1.0]]), n_folds=1)[0]
    >>> float(squared_loss(np.array([[0.0], [2.0]]), sums))
    2.0
    """
    q = coefficients.shape[-1]
    inputs, cross, targets = sums[:-q, :-q], sums[:-q, -q:], sums[-q:, -q:]
    fitted = np.einsum("...iq,...iq->...", coefficients, inputs @ coefficients)
    return np.asarray(fitted - 2 * np.einsum("...iq,iq->...", coefficients, cross) + np.trace(targets))


def standard_error_rule(
    losses: Floats, counts: Floats, standard_errors: float = 2.0, start: int | None = None
) -> Choice:
    """The k-standard-error rule: the candidate with the lowest mean loss plus k standard errors.

    An unbiased loss can be negative, and its variance is largest for under-regularised candidates, so that its minimum
    alone selects those. Adding standard errors favours over-regularised candidates instead. So the choice then moves to
    another candidate as long as the paired difference of the losses is negative by more than k/2 standard errors.

    Parameters
    ----------
    losses : array of shape (n_candidates, n_folds)
        Loss of each candidate, summed over the rows of each fold.
    counts : array of shape (n_folds,)
        Rows of each fold.
    standard_errors : float, default=2
        The number k of standard errors, estimated over the folds.
    start : int, optional
        A reference candidate, such as the uncorrected fit. It is then left only for one whose paired difference is
        negative by more than k standard errors.

    References
    ----------
    .. [1] Breiman, L., Friedman, J. H., Olshen, R. A., Stone, C. J. (1984). Classification and Regression Trees.
       Wadsworth. (The one-standard-error rule, for losses with independent errors.)

    Examples
    --------
    >>> stable, unstable = [1.0, 1.1, 0.9], [-9.0, 3.0, 5.0]
    >>> standard_error_rule(np.array([stable, unstable]), np.ones(3)).best
    0
    """
    filled = counts > 0
    losses, counts = losses[:, filled], counts[filled]
    means, errors = mean_and_error(losses, counts)
    best, demanded = start, standard_errors
    if best is None:
        best, demanded = int(np.argmin(means + standard_errors * errors)), standard_errors / 2
    for _ in range(len(losses)):
        difference, error = mean_and_error(losses - losses[best], counts)
        better = int(np.argmin(difference + demanded * error))
        if difference[better] + demanded * error[better] >= 0:
            break
        best = better
    return Choice(best, means, errors)


def mean_and_error(losses: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Mean over all rows and its standard error, from sums over the rows of each fold (last axis)."""
    n, n_folds = counts.sum(), len(counts)
    means = losses.sum(axis=-1) / n
    deviations = losses - np.multiply.outer(means, counts)
    return means, np.sqrt((deviations**2).sum(axis=-1) * n_folds / max(n_folds - 1, 1)) / n
