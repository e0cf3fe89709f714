"""Unconstrained parametrisation of flip matrices, for which no parameters swap the labels of two classes.

A model that learns its noise has a mirror image: classes exchanged, rows of the flip matrix exchanged, the same
likelihood. With two classes (rate01, rate10, 1 - rate01 - rate10) is a softmax of (a, b, 0), so the rates sum to less
than one and either of them may come close to it. With more classes every off-diagonal entry is a fraction below one of
the diagonal, ``T[j, k] = sigmoid(a_jk) T[j, j]``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from noisewise._numerics.em import symmetric_matrix
from noisewise._typing import Floats

START_RATE = 0.2  # EM never leaves a rate of zero, seldom one of 0.01, and fails from 0.4 on
PRIOR_KEPT, PRIOR_FLIPPED = 4.0, 0.5  # Dirichlet pseudo-counts of a class's kept and flipped labels: rates around 0.1


def prior_counts(n_classes: int, flipped: float = PRIOR_FLIPPED) -> Floats:
    """Pseudo-counts [true, observed] of the weak Dirichlet prior on the rows of the flip matrix.

    >>> prior_counts(3)
    array([[4.  , 0.25, 0.25],
           [0.25, 4.  , 0.25],
           [0.25, 0.25, 4.  ]])
    """
    return symmetric_matrix(n_classes, flipped, PRIOR_KEPT)


def to_flips(parameters: Floats, n_classes: int) -> Floats:
    """The flip matrix of ``n_classes * (n_classes - 1)`` unconstrained parameters, row by row without the diagonal.

    >>> to_flips(np.zeros(2), 2).round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]])
    """
    flips = np.eye(n_classes)
    off = ~np.eye(n_classes, dtype=np.bool_)
    if n_classes == 2:
        flips[off] = _rates(parameters)
        flips[np.diag_indices(2)] = 1 - flips[off]
        return flips
    flips[off] = expit(parameters)
    return np.asarray(flips / flips.sum(axis=1, keepdims=True))


def to_unconstrained(flips: Floats) -> Floats:
    """The unconstrained parameters of a flip matrix without zeros; the inverse of `to_flips`.

    >>> to_unconstrained(np.array([[0.9, 0.1], [0.3, 0.7]])).round(3)
    array([-1.792, -0.693])
    """
    n_classes = len(flips)
    off = ~np.eye(n_classes, dtype=np.bool_)
    if n_classes == 2:
        return np.asarray(np.log(flips[off]) - np.log(1 - flips[off].sum()))
    fractions = (flips / np.diag(flips)[:, None])[off]
    return np.asarray(np.log(fractions) - np.log1p(-fractions))


def unconstrained_gradient(parameters: Floats, counts: Floats) -> Floats:
    """Gradient in the unconstrained parameters of ``sum(counts * log(flips))``, the expected log-likelihood."""
    n_classes = len(counts)
    off = ~np.eye(n_classes, dtype=np.bool_)
    if n_classes == 2:
        rates = _rates(parameters)
        by_log_rate = counts[off] - np.diag(counts) * rates / (1 - rates)
        return np.asarray(by_log_rate - rates * by_log_rate.sum())
    fractions = expit(parameters)
    kept = np.diag(to_flips(parameters, n_classes))
    expected = np.repeat(kept * counts.sum(axis=1), n_classes - 1)
    return np.asarray((1 - fractions) * (counts[off] - fractions * expected))


def start_flips(n_classes: int) -> Floats:
    """The flip matrix to start from: every class flips at the rate `START_RATE`, to all others alike."""
    return symmetric_matrix(n_classes, START_RATE)


def _rates(parameters: Floats) -> Floats:
    """Both rates of two classes: a softmax with a third score of zero."""
    top = max(0.0, float(parameters.max()))
    parts = np.exp(parameters - top)
    return np.asarray(parts / (parts.sum() + np.exp(-top)))
