"""Flip matrices as free numbers: whatever the numbers, the labels of two classes are never swapped.

A model that learns its noise has a mirror image: classes exchanged, rates turned round, the same likelihood. With two
classes the rates and what they leave of one, ``1 - rate01 - rate10``, are a softmax of (a, b, 0), so their sum stays
below one and either of them may come close to it. With more classes every flip in a row of the matrix is a share below
one of the label that is kept, ``T[j, k] = sigmoid(a_jk) T[j, j]``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from noisewise._numerics.em import symmetric_matrix
from noisewise._typing import Floats

START = 0.2  # from no noise the fit never leaves, from 0.01 it seldom does, from 0.4 on it fails
KEPT, FLIPPED = 4.0, 0.5  # labels a class is thought to have kept, and lost, before any is seen: rates around 0.1


def prior_counts(n_classes: int) -> Floats:
    """Labels [true, observed] counted before any are seen: the weak prior on the flip matrix.

    >>> prior_counts(3)
    array([[4.  , 0.25, 0.25],
           [0.25, 4.  , 0.25],
           [0.25, 0.25, 4.  ]])
    """
    return symmetric_matrix(n_classes, FLIPPED, KEPT)


def flips_of(free: Floats, n_classes: int) -> Floats:
    """The flip matrix of ``n_classes * (n_classes - 1)`` free numbers, row by row without the diagonal.

    >>> flips_of(np.zeros(2), 2).round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]])
    """
    flips = np.eye(n_classes)
    off = ~np.eye(n_classes, dtype=np.bool_)
    if n_classes == 2:
        flips[off] = _rates(free)
        flips[np.diag_indices(2)] = 1 - flips[off]
        return flips
    flips[off] = expit(free)
    return np.asarray(flips / flips.sum(axis=1, keepdims=True))


def free_of(flips: Floats) -> Floats:
    """The free numbers of a flip matrix without zeros; the inverse of `flips_of`.

    >>> free_of(np.array([[0.9, 0.1], [0.3, 0.7]])).round(3)
    array([-1.792, -0.693])
    """
    n_classes = len(flips)
    off = ~np.eye(n_classes, dtype=np.bool_)
    if n_classes == 2:
        return np.asarray(np.log(flips[off]) - np.log(1 - flips[off].sum()))
    shares = (flips / np.diag(flips)[:, None])[off]
    return np.asarray(np.log(shares) - np.log1p(-shares))


def slope_of(free: Floats, counts: Floats) -> Floats:
    """Slope in the free numbers of ``sum(counts * log(flips))``, the expected log-likelihood of labels so counted."""
    n_classes = len(counts)
    off = ~np.eye(n_classes, dtype=np.bool_)
    if n_classes == 2:
        rates = _rates(free)
        along = counts[off] - np.diag(counts) * rates / (1 - rates)  # rate times slope in the rate
        return np.asarray(along - rates * along.sum())
    shares = expit(free)
    kept = np.diag(flips_of(free, n_classes))
    pull = np.repeat(kept * counts.sum(axis=1), n_classes - 1)
    return np.asarray((1 - shares) * (counts[off] - shares * pull))


def start_free(n_classes: int, rate: float = START) -> Floats:
    """Free numbers to start from: every class flips at this rate, to all others alike."""
    return free_of(symmetric_matrix(n_classes, rate))


def _rates(free: Floats) -> Floats:
    """Both rates of two classes: a softmax with a third number, zero."""
    top = max(0.0, float(free.max()))
    parts = np.exp(free - top)
    return np.asarray(parts / (parts.sum() + np.exp(-top)))
