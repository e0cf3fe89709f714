"""Noise rates from the examples most typical of each class."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from noisewise._typing import Floats
from noisewise.noise.flip_matrix import FlipMatrix


def anchor_scores(scores: ArrayLike, quantile: float = 1.0, weights: ArrayLike | None = None) -> Floats:
    """Scores of all classes on the example most typical of each (the mean of equally typical ones).

    Parameters
    ----------
    scores : array of shape (n, n_classes)
    quantile : float, default=1.0
        1 takes the highest score of each class; a little less is not fooled by one lucky example.
    weights : array of shape (n,), optional
        A row of weight 2 counts as two rows.

    Examples
    --------
    >>> anchor_scores(np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]))
    array([[0.9, 0.1],
           [0.2, 0.8]])
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or len(scores) == 0:
        raise ValueError(f"scores have shape {scores.shape}; one row an example and one column a class are needed")
    if not 0 < quantile <= 1:
        raise ValueError(f"the quantile is {quantile}; it must lie above 0 and at most at 1")
    mass = np.ones(len(scores)) if weights is None else np.asarray(weights, dtype=np.float64)
    return np.stack([_mean_at_quantile(scores, column, quantile, mass) for column in scores.T])


def flip_from_anchors(scores: ArrayLike, quantile: float = 1.0, weights: ArrayLike | None = None) -> FlipMatrix:
    """Flip matrix of label noise from noisy posteriors: the anchors' rows are its rows.

    If some example is surely of class j, its noisy posterior is row j of the flip matrix (Gao et al., section 4;
    Liu & Tao). With two classes this is ``min P(1 | x)`` and ``min P(0 | x)``.

    >>> flip_from_anchors([[0.9, 0.1], [0.5, 0.5], [0.3, 0.7]])
    FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
    """
    anchors = np.clip(anchor_scores(scores, quantile, weights), 0, None)
    return FlipMatrix.estimated(anchors / anchors.sum(axis=1, keepdims=True))


def rates_from_anchors(scores: ArrayLike, quantile: float = 1.0, weights: ArrayLike | None = None) -> FlipMatrix:
    """Feedback rates from scores P(answer is "right" | x, action): anchors score 1 - rho1, all others rho0.

    The scores must cover every action for every x, played or not: over played actions only, a good
    player's lowest score is still that of a right answer, and the rates come out singular.

    >>> rates_from_anchors([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    FlipMatrix.binary(false_positive=0.1, false_negative=0.2)
    """
    anchors = anchor_scores(scores, quantile, weights)
    right = float(np.clip(np.mean(np.diag(anchors)), 0, 1))
    wrong = float(np.clip(np.mean(anchors[~np.eye(len(anchors), dtype=bool)]), 0, 1))
    return FlipMatrix.estimated([[1 - wrong, wrong], [1 - right, right]])


def _mean_at_quantile(scores: Floats, column: Floats, quantile: float, mass: Floats) -> Floats:
    """Mean of the rows whose score lies at the quantile, so that the order of the rows does not matter."""
    order = np.argsort(column, kind="stable")
    so_far = np.cumsum(mass[order])
    value = column[order[np.searchsorted(so_far, quantile * so_far[-1] * (1 - 1e-12))]]
    tied = np.abs(column - value) < 1e-9
    return np.asarray(np.average(scores[tied], axis=0, weights=mass[tied]))
