"""The best curve behind given flips, and how much room the labels leave it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import scipy.linalg

from noisewise._numerics.em import responsibilities
from noisewise._typing import Codes, Floats
from noisewise.noise.calibration.softmax_map import OFFSET_PENALTY, SLOPE_SPREAD, Curve, Labelled

TINY = 1e-300  # the least evidence of a label: no logarithm of zero


def climb(
    rows: Labelled, log_flips: Floats, curve: Curve, steps: int, tolerance: float = 0.0
) -> tuple[Curve, float, Floats]:
    """Newton steps on slope and offset with the flips held; the penalised log-likelihood never falls.

    Returns the curve, its penalised log-likelihood and the posterior of the true class of each row.
    """
    value, clean, truth, trust = objective(rows, log_flips, curve)
    for _ in range(steps):
        before = value
        for step in _steps(rows, curve, clean, truth, trust):
            tried = curve.moved(step)
            new_value, *new_parts = objective(rows, log_flips, tried)
            if new_value >= value:
                curve, value, (clean, truth, trust) = tried, new_value, new_parts
                break
        if value - before <= tolerance:
            break
    return curve, value, _with_doubt(truth, trust, rows.codes, log_flips)


def objective(rows: Labelled, log_flips: Floats, curve: Curve) -> tuple[float, Floats, Floats, Floats]:
    """Penalised log-likelihood of the labels, softmax, the same given the observed label, trust in each row."""
    clean = curve.softmax(rows.linked)
    flips = np.exp(log_flips)
    truth, seen = responsibilities(clean, flips[:, rows.codes].T, TINY)  # column-major, as the scores: fast sums
    seen *= 1 - curve.doubt
    whole = seen + curve.doubt * flips.mean(axis=0)[rows.codes]
    return float(rows.weights @ np.log(whole)) - curve.penalty(rows.n), clean, truth, seen / whole


def log_room(rows: Labelled, log_flips: Floats, curve: Curve) -> float:
    """Laplace's factor: log volume of the curves about as good as the best, in units of the prior's (but 2 pi).

    Added to the best log-likelihood it makes the evidence, by which one slope and slopes of their own can be compared:
    numbers that must be just so are no good sign. The slope (or the slopes' geometric mean) may be any, for both alike.
    """
    parts = objective(rows, log_flips, curve)[1:]
    complete, explained, _ = _bends(rows, curve, *parts)
    bend = complete - explained
    if curve.own_slopes:
        n_classes = len(curve.offset)
        prior = -(n_classes - 1) * np.log(SLOPE_SPREAD) - 0.5 * np.log(n_classes)
    else:
        prior = 0.0
        bend[0] *= curve.slope
        bend[:, 0] *= curve.slope  # a logarithm moves, as with slopes of their own
    return float(prior - 0.5 * np.log(np.maximum(np.linalg.eigvalsh(bend), 1.0)).sum())


def _with_doubt(truth: Floats, trust: Floats, codes: Codes, log_flips: Floats) -> Floats:
    """Posterior of the true class where a row's scores may say nothing."""
    flips = np.exp(log_flips)
    return np.asarray(trust[:, None] * truth + (1 - trust)[:, None] * (flips / flips.sum(axis=0))[:, codes].T)


def _steps(rows: Labelled, curve: Curve, clean: Floats, truth: Floats, trust: Floats) -> Iterator[Floats]:
    """Newton's step where the likelihood is concave, then ever shorter ones of expectation and maximisation."""
    complete, explained, gradient = _bends(rows, curve, clean, truth, trust)
    with contextlib.suppress(np.linalg.LinAlgError):  # not concave where the labels leave too much open
        yield scipy.linalg.cho_solve(scipy.linalg.cho_factor(complete - explained), gradient)
    step = np.linalg.solve(complete, gradient)
    for halvings in range(8):
        yield step / 2**halvings


def _bends(rows: Labelled, curve: Curve, clean: Floats, truth: Floats, trust: Floats) -> tuple[Floats, Floats, Floats]:
    """Curvature if the true labels were known, how much of it the labels take back, and the gradient."""
    n_classes, own = rows.n_classes, curve.own_slopes
    features = rows.linked * curve.slope if own else rows.linked
    pull = (truth - clean) * trust[:, None]
    pulls = np.column_stack([pull * features if own else np.einsum("ij,ij->i", pull, features), pull])
    gradient = rows.weights @ pulls
    gradient[-n_classes:] -= OFFSET_PENALTY * rows.n * curve.offset
    curvature = _curvature_by_class if own else _curvature
    complete = curvature(features, clean, trust * rows.weights)
    stiffness = np.append(np.full(len(gradient) - n_classes, 1e-9), np.full(n_classes, OFFSET_PENALTY * rows.n))
    complete[np.diag_indices(len(complete))] += stiffness
    if own:
        logs = np.log(curve.slope)
        gradient[:n_classes] -= (logs - logs.mean()) / SLOPE_SPREAD**2
        complete[:n_classes, :n_classes] += (np.eye(n_classes) - 1 / n_classes) / SLOPE_SPREAD**2
    spread = rows.weights * (1 - trust) / np.maximum(trust, 1e-300)
    explained = curvature(features, truth, trust * rows.weights) + pulls.T @ (pulls * spread[:, None])
    return complete, explained, gradient


def _curvature(features: Floats, posterior: Floats, counted: Floats) -> Floats:
    """Sum over rows of the covariance of (feature, indicator) of a class drawn from the posterior."""
    sure = posterior * counted[:, None]
    weighted = sure * features
    means = np.einsum("ij,ij->i", posterior, features)
    size = posterior.shape[1] + 1
    matrix = np.empty((size, size))
    matrix[0, 0] = np.einsum("ij,ij->", weighted, features) - (means * counted) @ means
    matrix[0, 1:] = matrix[1:, 0] = weighted.sum(axis=0) - means @ sure
    matrix[1:, 1:] = np.diag(sure.sum(axis=0)) - posterior.T @ sure
    return matrix


def _curvature_by_class(features: Floats, posterior: Floats, counted: Floats) -> Floats:
    """The same of (indicator times feature, indicator): a slope for each class."""
    sure = posterior * counted[:, None]
    weighted = sure * features
    both = np.hstack([posterior * features, posterior])
    squares, sums = np.einsum("ij,ij->j", weighted, features), weighted.sum(axis=0)
    blocks = [[np.diag(squares), np.diag(sums)], [np.diag(sums), np.diag(sure.sum(axis=0))]]
    return np.asarray(np.block(blocks) - both.T @ (both * counted[:, None]))
