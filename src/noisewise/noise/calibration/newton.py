"""Newton ascent on the likelihood of observed labels in the calibration map, and its Occam factor (Laplace).

With flips T held, a row with scores g and observed label y has the likelihood

    (1 - w) sum_j softmax(scale * g + offset)_j T[j, y] + w mean_j T[j, y].

The negative Hessian is the information of the complete data, as if true classes were known, minus the missing
information (Louis, 1982).

References
----------
.. [1] Louis, T. A. (1982). Finding the observed information matrix when using the EM algorithm. Journal of the Royal
   Statistical Society B 44.
.. [2] MacKay, D. J. C. (1992). Bayesian interpolation. Neural Computation 4(3).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import scipy.linalg

from noisewise._numerics.em import responsibilities
from noisewise._typing import Codes, Floats
from noisewise.noise.calibration.softmax_map import LOG_SCALE_STD, OFFSET_PENALTY, CalibrationMap, LabelledScores

TINY = 1e-300  # least evidence of a label: no logarithm of zero
SCALE_JITTER = 1e-9  # on the diagonal of the information, for scales that have no penalty
HALVINGS = 8  # of an EM gradient step that does not increase the likelihood


def newton_ascent(
    rows: LabelledScores, log_flips: Floats, start: CalibrationMap, steps: int, tolerance: float = 0.0
) -> tuple[CalibrationMap, float, Floats]:
    """Maximise the penalised log-likelihood in scale and offset with the flips held; it never falls.

    Returns the map, its penalised log-likelihood and the posterior of the true class of each row.
    """
    found = start
    value, clean, truth, inlier = penalised_likelihood(rows, log_flips, found)
    for _ in range(steps):
        before = value
        for step in _ascent_steps(rows, found, clean, truth, inlier):
            tried = found.moved(step)
            new_value, *new_parts = penalised_likelihood(rows, log_flips, tried)
            if new_value >= value:
                found, value, (clean, truth, inlier) = tried, new_value, new_parts
                break
        if value - before <= tolerance:
            break
    return found, value, _with_outliers(truth, inlier, rows.codes, log_flips)


def penalised_likelihood(
    rows: LabelledScores, log_flips: Floats, calibration_map: CalibrationMap
) -> tuple[float, Floats, Floats, Floats]:
    """Penalised log-likelihood of the labels; softmax, the same given the observed label, P(no outlier) of each row."""
    clean = calibration_map.softmax(rows.scores)
    flips = np.exp(log_flips)
    truth, inlier = responsibilities(clean, flips[:, rows.codes].T, TINY)  # column-major, as the scores: fast sums
    inlier *= 1 - calibration_map.outlier_weight
    evidence = inlier + calibration_map.outlier_weight * flips.mean(axis=0)[rows.codes]
    value = float(rows.weights @ np.log(evidence)) - calibration_map.penalty(rows.n)
    return value, clean, truth, inlier / evidence


def log_occam_factor(rows: LabelledScores, log_flips: Floats, calibration_map: CalibrationMap) -> float:
    """Log Occam factor of the map by Laplace's method: -1/2 log det of the negative Hessian, plus the prior's part.

    Added to the maximum of the log-likelihood it gives the log evidence (but for powers of 2 pi), by which a common
    scale and one scale per class are compared. The scale, or the geometric mean of the scales, has a flat prior in its
    logarithm in both.
    """
    parts = penalised_likelihood(rows, log_flips, calibration_map)[1:]
    complete, missing, _ = _information(rows, calibration_map, *parts)
    negative_hessian = complete - missing
    if calibration_map.per_class:
        n_classes = len(calibration_map.offset)
        prior = -(n_classes - 1) * np.log(LOG_SCALE_STD) - 0.5 * np.log(n_classes)
    else:
        prior = 0.0
        negative_hessian[0] *= calibration_map.scale
        negative_hessian[:, 0] *= calibration_map.scale  # derivative in log(scale), as with one scale per class
    return float(prior - 0.5 * np.log(np.maximum(np.linalg.eigvalsh(negative_hessian), 1.0)).sum())


def _with_outliers(truth: Floats, inlier: Floats, codes: Codes, log_flips: Floats) -> Floats:
    """Posterior of the true class where a row may be an outlier, whose class is told by its label alone."""
    flips = np.exp(log_flips)
    return np.asarray(inlier[:, None] * truth + (1 - inlier)[:, None] * (flips / flips.sum(axis=0))[:, codes].T)


def _ascent_steps(
    rows: LabelledScores, calibration_map: CalibrationMap, clean: Floats, truth: Floats, inlier: Floats
) -> Iterator[Floats]:
    """Newton's step where the likelihood is concave, then EM gradient steps (complete-data information), halved."""
    complete, missing, gradient = _information(rows, calibration_map, clean, truth, inlier)
    with contextlib.suppress(np.linalg.LinAlgError):  # not concave where much information is missing
        yield scipy.linalg.cho_solve(scipy.linalg.cho_factor(complete - missing), gradient)
    step = np.linalg.solve(complete, gradient)
    for halvings in range(HALVINGS):
        yield step / 2**halvings


def _information(
    rows: LabelledScores, calibration_map: CalibrationMap, clean: Floats, truth: Floats, inlier: Floats
) -> tuple[Floats, Floats, Floats]:
    """Complete-data information, missing information, and the gradient."""
    if not calibration_map.has_offsets:
        return _information_of_scale(rows, clean, truth, inlier)
    n_classes, per_class = rows.n_classes, calibration_map.per_class
    features = rows.scores * calibration_map.scale if per_class else rows.scores
    residual = (truth - clean) * inlier[:, None]
    gradients = np.column_stack(
        [residual * features if per_class else np.einsum("ij,ij->i", residual, features), residual]
    )
    gradient = rows.weights @ gradients
    gradient[-n_classes:] -= OFFSET_PENALTY * rows.n * calibration_map.offset
    information = _information_per_class if per_class else _information_common
    complete = information(features, clean, inlier * rows.weights)
    penalties = np.append(np.full(len(gradient) - n_classes, SCALE_JITTER), np.full(n_classes, OFFSET_PENALTY * rows.n))
    complete[np.diag_indices(len(complete))] += penalties
    if per_class:
        logs = np.log(calibration_map.scale)
        gradient[:n_classes] -= (logs - logs.mean()) / LOG_SCALE_STD**2
        complete[:n_classes, :n_classes] += (np.eye(n_classes) - 1 / n_classes) / LOG_SCALE_STD**2
    outlier_odds = rows.weights * (1 - inlier) / np.maximum(inlier, TINY)
    missing = information(features, truth, inlier * rows.weights) + gradients.T @ (gradients * outlier_odds[:, None])
    return complete, missing, gradient


def _information_of_scale(
    rows: LabelledScores, clean: Floats, truth: Floats, inlier: Floats
) -> tuple[Floats, Floats, Floats]:
    """The same where the scale alone is fitted: matrices of one number, from means and variances of the scores."""
    weights = inlier * rows.weights
    mean, mean_truth = (np.einsum("ij,ij->i", posterior, rows.scores) for posterior in (clean, truth))
    variance, variance_truth = (
        np.einsum("ij,ij,ij->i", posterior, rows.scores, rows.scores) - means**2
        for posterior, means in ((clean, mean), (truth, mean_truth))
    )
    gradients = (mean_truth - mean) * inlier
    outlier_odds = rows.weights * (1 - inlier) / np.maximum(inlier, TINY)
    complete, missing = weights @ variance + SCALE_JITTER, weights @ variance_truth + outlier_odds @ gradients**2
    return np.array([[complete]]), np.array([[missing]]), np.array([rows.weights @ gradients])


def _information_common(features: Floats, posterior: Floats, weights: Floats) -> Floats:
    """Sum over rows of the covariance of (feature, indicator) of a class drawn from the posterior."""
    weighted = posterior * weights[:, None]
    weighted_features = weighted * features
    means = np.einsum("ij,ij->i", posterior, features)
    size = posterior.shape[1] + 1
    matrix = np.empty((size, size))
    matrix[0, 0] = np.einsum("ij,ij->", weighted_features, features) - (means * weights) @ means
    matrix[0, 1:] = matrix[1:, 0] = weighted_features.sum(axis=0) - means @ weighted
    matrix[1:, 1:] = np.diag(weighted.sum(axis=0)) - posterior.T @ weighted
    return matrix


def _information_per_class(features: Floats, posterior: Floats, weights: Floats) -> Floats:
    """The same of (indicator times feature, indicator): one scale for each class."""
    weighted = posterior * weights[:, None]
    weighted_features = weighted * features
    both = np.hstack([posterior * features, posterior])
    squares, sums = np.einsum("ij,ij->j", weighted_features, features), weighted_features.sum(axis=0)
    second_moments = [[np.diag(squares), np.diag(sums)], [np.diag(sums), np.diag(weighted.sum(axis=0))]]
    return np.asarray(np.block(second_moments) - both.T @ (both * weights[:, None]))
