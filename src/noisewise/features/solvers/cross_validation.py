"""Sums of products, fold by fold, and a choice by unbiased losses that is guarded against their chance.

A row is z = (1, features, targets). Everything that least squares needs is in the sum of z z' over rows, from which
the noise's share is taken away; kept apart for each fold, the sums give held-out losses too, in one pass over the data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noisewise._typing import Floats


class Choice(NamedTuple):
    """The candidate chosen, and the mean and standard error of every candidate's loss."""

    best: int
    means: Floats
    errors: Floats


def fold_products(Z: Floats, n_folds: int, first_fold: int = 0) -> Floats:
    """Sums of z z' over the rows of each fold, of shape (n_folds, p, p); row i is in fold first + i, round and round.

    >>> fold_products(np.array([[1.0], [2.0], [3.0]]), n_folds=2)[:, 0, 0]
    array([10.,  4.])
    """
    sums = np.empty((n_folds, Z.shape[1], Z.shape[1]))
    for fold in range(n_folds):
        part = np.ascontiguousarray(Z[(fold - first_fold) % n_folds :: n_folds])
        sums[fold] = part.T @ part
    return sums


def squared_loss(coefficients: Floats, sums: Floats) -> Floats:
    """Sum of |targets - coefficients' (1, features)|^2 over the rows of a fold, from its sums alone.

    `coefficients` has shape (..., 1 + d, q); with the noise's share taken away from the sums the loss is unbiased.

    >>> sums = fold_products(np.array([[1.0, 2.0, 5.0], [1.0, 0.0, 1.0]]), n_folds=1)[0]
    >>> float(squared_loss(np.array([[0.0], [2.0]]), sums))
    2.0
    """
    q = coefficients.shape[-1]
    inputs, cross, targets = sums[:-q, :-q], sums[:-q, -q:], sums[-q:, -q:]
    fitted = np.einsum("...iq,...iq->...", coefficients, inputs @ coefficients)
    return np.asarray(fitted - 2 * np.einsum("...iq,iq->...", coefficients, cross) + np.trace(targets))


def guarded_choice(losses: Floats, counts: Floats, standard_errors: float = 2.0, start: int | None = None) -> Choice:
    """The candidate whose mean loss plus some standard errors is lowest; then those that are better beyond doubt.

    An unbiased loss can be negative, and is wildest for wild candidates: minimised by itself, it picks those. The
    standard errors favour candidates that are too tame, so the choice moves on while another one's loss is lower by
    more than half as many standard errors of the difference.

    Parameters
    ----------
    losses : array of shape (n_candidates, n_folds)
        Loss of each candidate, summed over the rows of each fold.
    counts : array of shape (n_folds,)
        Rows of each fold.
    standard_errors : float, default=2
        How many standard errors, measured over the folds, are added.
    start : int, optional
        The candidate to start from, where one is known to be safe; it is left for one that is better by all of the
        standard errors.

    Examples
    --------
    >>> steady, wild = [1.0, 1.1, 0.9], [-9.0, 3.0, 5.0]
    >>> guarded_choice(np.array([steady, wild]), np.ones(3)).best
    0
    """
    filled = counts > 0
    losses, counts = losses[:, filled], counts[filled]
    means, errors = mean_and_error(losses, counts)
    best, demanded = start, standard_errors
    if best is None:
        best, demanded = int(np.argmin(means + standard_errors * errors)), standard_errors / 2
    for _ in range(len(losses)):
        difference, doubt = mean_and_error(losses - losses[best], counts)
        better = int(np.argmin(difference + demanded * doubt))
        if difference[better] + demanded * doubt[better] >= 0:
            break
        best = better
    return Choice(best, means, errors)


def mean_and_error(losses: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Mean over all rows and its standard error, from sums over the rows of each fold (last axis)."""
    n, n_folds = counts.sum(), len(counts)
    means = losses.sum(axis=-1) / n
    apart = losses - np.multiply.outer(means, counts)
    return means, np.sqrt((apart**2).sum(axis=-1) * n_folds / max(n_folds - 1, 1)) / n


def centre(sums: Floats, n_targets: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Covariance of the features, their covariance with the targets, and both means, from sums of z z'."""
    n = sums[0, 0]
    means = sums[0, 1:] / n
    covariance = sums[1:, 1:] / n - np.outer(means, means)
    features, targets = means[:-n_targets], means[-n_targets:]
    return covariance[:-n_targets, :-n_targets], covariance[:-n_targets, -n_targets:], features, targets


def take_away(sums: Floats, correction: Floats) -> Floats:
    """Sums of z z' without the noise's share in the products of features with features."""
    cleaned = sums.copy()
    d = correction.shape[-1]
    cleaned[..., 1 : d + 1, 1 : d + 1] -= correction
    return cleaned


def add_intercept(weights: Floats, features: Floats, targets: Floats) -> Floats:
    """Coefficients of (1, features) from weights (..., d, q) and the means of features and targets."""
    intercept = targets - np.einsum("j,...jq->...q", features, weights)
    return np.concatenate([intercept[..., None, :], weights], axis=-2)
