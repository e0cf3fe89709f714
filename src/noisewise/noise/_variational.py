"""Scores and observed labels explained together: P(observed | x) = softmax(slope g + offset) @ T.

The flip matrix T has a prior: symmetric (every flip alike, one rate), or free, its rows Dirichlet around that symmetric
matrix with little weight, so that few flips are common and the others rare. Slope, offset, rate and the posterior of T
rise in turn, and with them a lower bound on the evidence.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from noisewise._inputs import Codes, Floats

PRIOR_WEIGHT, PRIOR_FLOOR = 2.0, 1e-3  # pseudo-counts of a row of a free flip matrix; the least of one entry
OFFSET_PENALTY = 1e-3  # per row
DOUBT = 0.01  # share of rows whose scores say nothing: no outlier is a flip for sure
START_RATE, START_SLOPE = 0.1, 4.0


@dataclass(frozen=True)
class Curve:
    """Clean posterior from (linked) scores: softmax(slope g + offset)."""

    slope: float
    offset: Floats

    def softmax(self, linked: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class where the scores can be trusted."""
        logits = linked * linked.dtype.type(self.slope) + self.offset.astype(linked.dtype)
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return np.asarray(logits)

    def posterior(self, linked: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class."""
        clean = self.softmax(linked)
        clean *= 1 - DOUBT
        clean += linked.dtype.type(DOUBT / linked.shape[1])
        return clean


@dataclass(frozen=True)
class Explanation:
    """A fitted account of the noise: curve, flip matrix, share of flipped labels, and a bound on the log evidence."""

    curve: Curve
    matrix: Floats
    amount: float
    bound: float
    history: tuple[float, ...] = ()


def symmetric(rate: float, n_classes: int) -> Floats:
    """The flip matrix with one rate for every class."""
    matrix = np.full((n_classes, n_classes), rate / (n_classes - 1))
    np.fill_diagonal(matrix, 1 - rate)
    return matrix


def explain_noise(linked: Floats, codes: Codes, free: bool) -> Explanation:
    """Coordinate ascent on the evidence bound, from little noise and a gentle curve."""
    n, n_classes = linked.shape
    curve, rate = Curve(START_SLOPE, np.zeros(n_classes)), START_RATE
    log_flips = np.log(symmetric(rate, n_classes))
    history: list[float] = []
    for _ in range(80 if n_classes <= 30 else 40):
        curve, _, truth = climb(linked, codes, log_flips, curve, steps=2)
        counts = joint_counts(truth, codes, n_classes)
        found = (n - np.trace(counts) + 1) / (n + 10)
        if free:
            weights = counts + prior_counts(rate, n_classes)
            log_flips = digamma(weights) - digamma(weights.sum(axis=1, keepdims=True))
            matrix = weights / weights.sum(axis=1, keepdims=True)
            rate = max((rate, found), key=lambda tried: _rate_bound(tried, weights, log_flips))
            gain = _rate_bound(rate, weights, log_flips)
        else:
            rate, matrix = found, symmetric(found, n_classes)
            log_flips, gain = np.log(matrix), _log_prior(rate)
        history.append(objective(linked, codes, log_flips, curve)[0] + gain)
        if len(history) > 1 and history[-1] - history[-2] < 1e-5 * n:
            break
    amount = float(counts.sum(axis=1) @ (1 - np.diag(matrix))) / n
    return Explanation(curve, matrix, amount, history[-1], tuple(history))


def prior_counts(rate: float, n_classes: int) -> Floats:
    """Dirichlet weights of the rows of a free flip matrix, before any label is seen."""
    return PRIOR_WEIGHT * symmetric(rate, n_classes) + PRIOR_FLOOR


def climb(
    linked: Floats, codes: Codes, log_flips: Floats, curve: Curve, steps: int, tolerance: float = 0.0
) -> tuple[Curve, float, Floats]:
    """Newton steps on slope and offset with the flips held; the penalised log-likelihood never falls.

    Returns the curve, its penalised log-likelihood and the posterior of the true class of each row.
    """
    value, clean, truth, trust = objective(linked, codes, log_flips, curve)
    for _ in range(steps):
        before = value
        for step in _steps(linked, curve, clean, truth, trust):
            tried = Curve(max(curve.slope + float(step[0]), 0.0), curve.offset + step[1:])
            new_value, *new_parts = objective(linked, codes, log_flips, tried)
            if new_value >= value:
                curve, value, (clean, truth, trust) = tried, new_value, new_parts
                break
        if value - before <= tolerance:
            break
    return curve, value, _with_doubt(truth, trust, codes, log_flips)


def objective(linked: Floats, codes: Codes, log_flips: Floats, curve: Curve) -> tuple[float, Floats, Floats, Floats]:
    """Penalised log-likelihood of the labels, softmax, the same given the observed label, trust in each row."""
    clean = curve.softmax(linked)
    flips = np.exp(log_flips)
    truth = clean * flips.T[codes]
    seen = np.maximum(truth.sum(axis=1), 1e-300)
    truth /= seen[:, None]
    seen *= 1 - DOUBT
    whole = seen + DOUBT * flips.mean(axis=0)[codes]
    penalty = 0.5 * OFFSET_PENALTY * len(codes) * float(curve.offset @ curve.offset)
    return float(np.log(whole).sum()) - penalty, clean, truth, seen / whole


def _with_doubt(truth: Floats, trust: Floats, codes: Codes, log_flips: Floats) -> Floats:
    """Posterior of the true class where a row's scores may say nothing."""
    flips = np.exp(log_flips)
    return np.asarray(trust[:, None] * truth + (1 - trust)[:, None] * (flips / flips.sum(axis=0)).T[codes])


def _steps(linked: Floats, curve: Curve, clean: Floats, truth: Floats, trust: Floats) -> Iterator[Floats]:
    """Newton's step where the likelihood is concave, then ever shorter ones of expectation and maximisation."""
    penalty = OFFSET_PENALTY * len(linked)
    pull = (truth - clean) * trust[:, None]
    slopes = np.einsum("ij,ij->i", pull, linked)
    gradient = np.append(slopes.sum(), pull.sum(axis=0) - penalty * curve.offset)
    curvature = _curvature(linked, clean, trust)
    curvature[np.diag_indices(len(curvature))] += np.append(1e-9, np.full(len(curve.offset), penalty))
    pulls = np.column_stack([slopes, pull])
    found = _curvature(linked, truth, trust) + pulls.T @ (pulls * ((1 - trust) / np.maximum(trust, 1e-300))[:, None])
    with contextlib.suppress(np.linalg.LinAlgError):  # not concave where the labels leave too much open
        yield scipy.linalg.cho_solve(scipy.linalg.cho_factor(curvature - found), gradient)
    step = np.linalg.solve(curvature, gradient)
    for halvings in range(8):
        yield step / 2**halvings


def joint_counts(truth: Floats, codes: Codes, n_classes: int) -> Floats:
    """Expected numbers of rows by true and observed class."""
    counts = np.zeros((n_classes, n_classes))
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    counts[:, present] = np.add.reduceat(truth[order], starts, axis=0, dtype=np.float64).T
    return counts


def _curvature(linked: Floats, posterior: Floats, trust: Floats) -> Floats:
    """Sum over rows of the covariance of (linked score, indicator) of a class drawn from the posterior."""
    sure = posterior * trust[:, None]
    weighted = sure * linked
    means = np.einsum("ij,ij->i", posterior, linked)
    size = posterior.shape[1] + 1
    matrix = np.empty((size, size))
    matrix[0, 0] = np.einsum("ij,ij->", weighted, linked) - (means * trust) @ means
    matrix[0, 1:] = matrix[1:, 0] = weighted.sum(axis=0) - means @ sure
    matrix[1:, 1:] = np.diag(sure.sum(axis=0)) - posterior.T @ sure
    return matrix


def _log_prior(rate: float) -> float:
    """Log density (but for a constant) of the rate: some flips are likely, many are not."""
    return float(np.log(rate) + 9 * np.log1p(-rate))


def _rate_bound(rate: float, weights: Floats, log_flips: Floats) -> float:
    """Part of the evidence bound that the rate enters: minus the divergence of the rows' posterior from their prior."""
    prior = prior_counts(rate, len(weights))
    total, prior_total = weights.sum(axis=1), prior.sum(axis=1)
    rows = gammaln(total) - gammaln(weights).sum(axis=1) - gammaln(prior_total) + gammaln(prior).sum(axis=1)
    return _log_prior(rate) - float((rows + ((weights - prior) * log_flips).sum(axis=1)).sum())
