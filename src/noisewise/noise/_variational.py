"""Scores and observed labels explained together: P(observed | x) = softmax(slope g + offset) @ T.

The flip matrix T has a prior: symmetric (every flip alike, one rate), or free, its rows Dirichlet around that symmetric
matrix with little weight, so that few flips are common and the others rare. Slope, offset, rate and the posterior of T
rise in turn, and with them a lower bound on the evidence.
"""

from __future__ import annotations

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
START_RATE, START_SLOPE = 0.1, 4.0


@dataclass(frozen=True)
class Curve:
    """Clean posterior from (linked) scores: softmax(slope g + offset)."""

    slope: float
    offset: Floats

    def posterior(self, linked: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class for each row."""
        logits = linked * linked.dtype.type(self.slope) + self.offset.astype(linked.dtype)
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits


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
    log_flips, prior_cost = np.log(symmetric(rate, n_classes)), 0.0
    history: list[float] = []
    for _ in range(80 if n_classes <= 30 else 40):
        curve, _, truth = climb(linked, codes, log_flips, curve, steps=2)
        counts = joint_counts(truth, codes, n_classes)
        rate = (n - np.trace(counts) + 1) / (n + 10)
        prior = symmetric(rate, n_classes)
        if free:
            weights = counts + PRIOR_WEIGHT * prior + PRIOR_FLOOR
            log_flips = digamma(weights) - digamma(weights.sum(axis=1, keepdims=True))
            prior_cost = _divergence(weights, PRIOR_WEIGHT * prior + PRIOR_FLOOR, log_flips)
            matrix = weights / weights.sum(axis=1, keepdims=True)
        else:
            matrix = prior
            log_flips = np.log(prior)
        value = objective(linked, codes, log_flips, curve)[0] - prior_cost + np.log(rate) + 9 * np.log1p(-rate)
        history.append(float(value))
        if len(history) > 1 and abs(history[-1] - history[-2]) < 1e-5 * n:
            break
    amount = float(counts.sum(axis=1) @ (1 - np.diag(matrix))) / n
    return Explanation(curve, matrix, amount, history[-1], tuple(history))


def climb(
    linked: Floats, codes: Codes, log_flips: Floats, curve: Curve, steps: int, tolerance: float = 0.0
) -> tuple[Curve, float, Floats]:
    """Newton steps on slope and offset with the flips held; the penalised log-likelihood never falls.

    Returns the curve, its penalised log-likelihood and the posterior of the true class of each row.
    """
    value, clean, truth = objective(linked, codes, log_flips, curve)
    for _ in range(steps):
        gradient = _gradient(linked, truth - clean, curve)
        curvature = _curvature(linked, clean, curve)
        before = value
        for step in _steps(gradient, curvature, _curvature(linked, truth, curve, penalty=False)):
            tried = Curve(max(curve.slope + float(step[0]), 0.0), curve.offset + step[1:])
            new_value, new_clean, new_truth = objective(linked, codes, log_flips, tried)
            if new_value >= value:
                curve, value, clean, truth = tried, new_value, new_clean, new_truth
                break
        if value - before <= tolerance:
            break
    return curve, value, truth


def _steps(gradient: Floats, curvature: Floats, found: Floats) -> Iterator[Floats]:
    """Newton's step where the likelihood is concave, then ever shorter ones of expectation and maximisation."""
    try:
        yield scipy.linalg.cho_solve(scipy.linalg.cho_factor(curvature - found), gradient)
    except np.linalg.LinAlgError:
        pass  # not concave here: what the labels leave open weighs too much
    step = np.linalg.solve(curvature, gradient)
    for halvings in range(8):
        yield step / 2**halvings


def objective(linked: Floats, codes: Codes, log_flips: Floats, curve: Curve) -> tuple[float, Floats, Floats]:
    """Penalised log-likelihood of the observed labels, clean posterior, posterior given the observed label too."""
    clean = curve.posterior(linked)
    highest = log_flips.max()
    truth = clean * np.exp(log_flips.T - highest).astype(linked.dtype)[codes]
    seen = np.maximum(truth.sum(axis=1), 1e-30)
    truth /= seen[:, None]
    penalty = 0.5 * OFFSET_PENALTY * len(codes) * float(curve.offset @ curve.offset)
    return float(np.log(seen).sum(dtype=np.float64)) + len(codes) * highest - penalty, clean, truth


def joint_counts(truth: Floats, codes: Codes, n_classes: int) -> Floats:
    """Expected numbers of rows by true and observed class."""
    counts = np.zeros((n_classes, n_classes))
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    counts[:, present] = np.add.reduceat(truth[order], starts, axis=0, dtype=np.float64).T
    return counts


def _gradient(linked: Floats, difference: Floats, curve: Curve) -> Floats:
    slope = np.einsum("ij,ij->", difference, linked)
    offset = difference.sum(axis=0) - OFFSET_PENALTY * len(linked) * curve.offset
    return np.append(slope, offset)


def _curvature(linked: Floats, posterior: Floats, curve: Curve, penalty: bool = True) -> Floats:
    weighted = posterior * linked
    means = weighted.sum(axis=1)
    mixed = weighted.sum(axis=0) - means @ posterior
    size = len(curve.offset) + 1
    matrix = np.empty((size, size))
    matrix[0, 0] = np.einsum("ij,ij->", weighted, linked) - means @ means
    matrix[0, 1:] = matrix[1:, 0] = mixed
    matrix[1:, 1:] = np.diag(posterior.sum(axis=0)) - posterior.T @ posterior
    if penalty:
        matrix[np.diag_indices(size)] += OFFSET_PENALTY * len(linked)
        matrix[0, 0] += 1e-9 - OFFSET_PENALTY * len(linked)
    return matrix


def _divergence(weights: Floats, prior: Floats, log_flips: Floats) -> float:
    """Kullback-Leibler divergence of the rows' Dirichlet posterior from their prior."""
    total, prior_total = weights.sum(axis=1), prior.sum(axis=1)
    rows = gammaln(total) - gammaln(weights).sum(axis=1) - gammaln(prior_total) + gammaln(prior).sum(axis=1)
    return float((rows + ((weights - prior) * log_flips).sum(axis=1)).sum())
