"""Weighted votes of the nearest neighbours, for many values of k from one list of neighbours."""

from __future__ import annotations

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.noise import anchor_matrix

ROUNDING = 1e-9  # sums of weights such as ten times 0.1
DIGITS = 9  # of a posterior: votes tie often, and the last bits must not decide


def tally(
    neighbors: Codes,
    codes: Codes,
    weights: Floats,
    sizes: Floats,
    n_classes: int,
    own: Codes | None = None,
    own_weights: Floats | None = None,
) -> Floats:
    """Votes for each class, shape (n_sizes, n_rows, n_classes), of the nearest neighbours whose weight is `sizes`.

    A neighbour of weight 2 has two votes, of which one counts where only one more is wanted. Where a row has less
    weight among its neighbours than wanted, all of it votes.

    Parameters
    ----------
    neighbors : array of int, shape (n_rows, n_neighbors)
        Indices of each row's neighbours, nearest first.
    codes, weights : arrays
        Label and weight of each stored row. Weight zero has no vote: so a fold is held out.
    sizes : array
        Numbers of voters [k].
    own, own_weights : arrays of shape (n_rows,), optional
        Where the rows are stored rows themselves: their indices, and the weight with which each votes on itself, before
        all others. They are found by index, not by distance, so duplicates can't be mistaken for them.

    Examples
    --------
    >>> tally(np.array([[2, 0, 1]]), np.array([0, 1, 1]), np.array([1.0, 1.0, 2.0]), np.array([1, 3, 4]), 2)
    array([[[0., 1.]],
    <BLANKLINE>
           [[1., 2.]],
    <BLANKLINE>
           [[1., 3.]]])
    """
    weight, label = weights[neighbors], codes[neighbors]
    if own is not None:
        weight[neighbors == own[:, None]] = 0.0
        weight = np.column_stack([np.zeros(len(own)) if own_weights is None else own_weights, weight])
        label = np.column_stack([codes[own], label])
    cumulative = np.cumsum(weight, axis=1)
    last = np.stack([(cumulative < size - ROUNDING).sum(axis=1) for size in sizes])
    last = np.minimum(last, weight.shape[1] - 1)  # the neighbour that completes the voters
    rows = np.arange(len(weight))
    surplus = np.maximum(cumulative[rows, last] - np.asarray(sizes, dtype=np.float64)[:, None], 0)
    last_label = label[rows, last]
    votes = np.empty((*last.shape, n_classes))
    for code in range(n_classes):
        of_class = np.cumsum(np.where(label == code, weight, 0), axis=1)
        votes[:, :, code] = of_class[rows, last] - np.where(last_label == code, surplus, 0)
    return votes


def vote_fractions(votes: Floats) -> Floats:
    """Votes divided by their sum: the k-NN posterior of the observed label; uniform for a row without any vote."""
    total = votes.sum(axis=-1, keepdims=True)
    return np.where(total > 0, votes / np.where(total > 0, total, 1), 1 / votes.shape[-1])


def choose(posterior: Floats) -> Codes:
    """The most probable class along the last axis; of two that tie class 1 (eta >= 1/2, as print), of more the first.

    >>> choose(np.array([[0.5 + 1e-16, 0.5 - 1e-16], [0.8, 0.2]])), choose(np.array([0.2, 0.4, 0.4]))
    (array([1, 0]), array(1))
    """
    rounded = np.round(posterior, DIGITS)
    if rounded.shape[-1] == 2:
        return np.asarray(rounded[..., 1] >= rounded[..., 0]).astype(np.intp)
    return np.asarray(np.argmax(rounded, axis=-1))


def noise_from_votes(posterior: Floats, quantile: float | None, weights: Floats) -> Floats:
    """Raw flip matrix from anchors of the noisy posteriors (eq. 6, put right); a class without votes keeps its labels.

    The default quantile is 1 for two classes (the paper). With more classes one outlier corrupts a whole row of the
    matrix: it is ``1 - 0.3 / n_classes``.
    """
    n_classes = posterior.shape[1]
    voted = np.flatnonzero(posterior.max(axis=0) > 0)
    at = (1.0 if n_classes == 2 else 1 - 0.3 / n_classes) if quantile is None else quantile
    matrix = np.eye(n_classes)
    matrix[voted] = anchor_matrix(posterior, at, weights)[voted]
    return matrix
