"""Noise rates from anchor points, the examples most typical of each class."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from noisewise._typing import Floats
from noisewise.noise.flip_matrix import FlipMatrix

WEIGHT_ROUNDING = 1e-12  # of the cumulated weight, so that a quantile of 1 finds the last row
TIED = 1e-9  # scores that differ by less are equal


def anchor_scores(scores: ArrayLike, quantile: float = 1.0, weights: ArrayLike | None = None) -> Floats:
    """Scores of all classes at the anchor point of each, the example that scores highest for it (mean over ties).

    Parameters
    ----------
    scores : array of shape (n, n_classes)
    quantile : float, default=1.0
        1 takes the highest score of each class; a little less is robust to one extreme example.
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

    Where P(true = j | x) = 1 for some x, the noisy posterior at x is row j of the flip matrix. With two classes this
    is ``min P(1 | x)`` and ``min P(0 | x)`` [1]_ [2]_ (section 4), with more [3]_ (eqs. 12 and 13).
    `RobustKNeighborsClassifier` finds its noise so, from the votes of each row's neighbours.

    >>> flip_from_anchors([[0.9, 0.1], [0.5, 0.5], [0.3, 0.7]])
    FlipMatrix.binary(false_positive=0.1, false_negative=0.3)

    References
    ----------
    .. [1] Menon, A. K., van Rooyen, B., Ong, C. S., Williamson, R. C. (2015). Learning from corrupted binary labels
       via class-probability estimation. ICML.
    .. [2] Gao, W., Yang, B.-B., Zhou, Z.-H. (2016). On the robustness of nearest neighbor with noisy data.
       arXiv:1607.07526.
    .. [3] Patrini, G., Rozza, A., Menon, A. K., Nock, R., Qu, L. (2017). Making deep neural networks robust to label
       noise: a loss correction approach. CVPR.
    """
    return FlipMatrix.estimated(anchor_matrix(scores, quantile, weights))


def anchor_matrix(scores: ArrayLike, quantile: float = 1.0, weights: ArrayLike | None = None) -> Floats:
    """The flip matrix of `flip_from_anchors` as an array, which need not be invertible: normalised anchor rows."""
    anchors = np.clip(anchor_scores(scores, quantile, weights), 0, None)
    return np.asarray(anchors / anchors.sum(axis=1, keepdims=True))


def labels_at_anchors(scores: ArrayLike, codes: ArrayLike, fraction: float = 0.5) -> Floats:
    """Flip matrix from the observed labels of the rows that score highest for each class.

    The scores only rank the rows, so they need not be calibrated; they must be out-of-fold. Of each class the rows
    with the highest scores are taken, `fraction` as many as have its label.

    >>> scores, codes = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8]]), np.array([0, 1, 1, 1])
    >>> labels_at_anchors(scores, codes, fraction=1.0).round(2)
    array([[1., 0.],
           [0., 1.]])
    >>> labels_at_anchors(scores, codes, fraction=2.0).round(2)
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    scores, codes = np.asarray(scores), np.asarray(codes)
    n_classes = scores.shape[1]
    sizes = np.bincount(codes, minlength=n_classes)
    flips = np.eye(n_classes)
    for true in np.flatnonzero(sizes):
        typical = np.argsort(-scores[:, true], kind="stable")[: max(1, int(fraction * sizes[true]))]
        flips[true] = np.bincount(codes[typical], minlength=n_classes) / len(typical)
    return flips


def rates_from_anchors(scores: ArrayLike, quantile: float = 1.0, weights: ArrayLike | None = None) -> FlipMatrix:
    """Feedback rates from scores P(feedback = 1 | x, action): anchors score 1 - rho1, all other actions rho0.

    The scores must cover every action for every x, played or not: over played actions only, the lowest score of a
    good policy is still that of a right action, and the rates come out singular. NREst (`rcine`) averages such anchors
    over several quantiles.

    >>> rates_from_anchors([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    FlipMatrix.binary(false_positive=0.1, false_negative=0.2)

    References
    ----------
    .. [1] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Theorem 5.
    """
    anchors = anchor_scores(scores, quantile, weights)
    right = float(np.clip(np.mean(np.diag(anchors)), 0, 1))
    wrong = float(np.clip(np.mean(anchors[~np.eye(len(anchors), dtype=bool)]), 0, 1))
    return FlipMatrix.estimated([[1 - wrong, wrong], [1 - right, right]])


def _mean_at_quantile(scores: Floats, column: Floats, quantile: float, mass: Floats) -> Floats:
    """Mean of the rows whose score lies at the quantile, so that the order of the rows does not matter."""
    order = np.argsort(column, kind="stable")
    cumulated = np.cumsum(mass[order])
    value = column[order[np.searchsorted(cumulated, quantile * cumulated[-1] * (1 - WEIGHT_ROUNDING))]]
    tied = np.abs(column - value) < TIED
    return np.asarray(np.average(scores[tied], axis=0, weights=mass[tied]))
