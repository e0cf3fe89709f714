"""Scores and observed labels explained together: P(observed | x) = softmax(slope g + offset) @ T.

The flip matrix T has a prior: symmetric (every flip alike, one rate), or free, its rows Dirichlet around that symmetric
matrix with little weight, so that few flips are common and the others rare. Slope, offset, rate and the posterior of T
rise in turn, and with them a lower bound on the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from noisewise._inputs import Floats
from noisewise.noise._curve import Curve, Labelled, climb, objective

PRIOR_WEIGHT, PRIOR_FLOOR = 2.0, 1e-3  # pseudo-counts of a row of a free flip matrix; the least of one entry
RATE_PRIOR = 1, 4  # wrong and right labels seen before: some flips are likely, very many are not
START_RATE, HIGH_START = 0.1, 0.3


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


def explain_noise(rows: Labelled, free: bool, start: float = START_RATE) -> Explanation:
    """Coordinate ascent on the evidence bound, from symmetric noise of this rate and a gentle curve."""
    n, n_classes = rows.n, rows.n_classes
    curve, rate = Curve.gentle(rows), start
    log_flips = np.log(symmetric(rate, n_classes))
    history: list[float] = []
    for _ in range(80 if n_classes <= 30 else 40):
        curve, _, truth = climb(rows, log_flips, curve, steps=2)
        counts = joint_counts(truth, rows)
        found = (n - np.trace(counts) + RATE_PRIOR[0]) / (n + sum(RATE_PRIOR))
        if free:
            weights = counts + prior_counts(rate, n_classes)
            log_flips = digamma(weights) - digamma(weights.sum(axis=1, keepdims=True))
            matrix = weights / weights.sum(axis=1, keepdims=True)
            rate = max((rate, found), key=lambda tried: _rate_bound(tried, weights, log_flips))
            gain = _rate_bound(rate, weights, log_flips)
        else:
            rate, matrix = found, symmetric(found, n_classes)
            log_flips, gain = np.log(matrix), _log_prior(rate)
        history.append(objective(rows, log_flips, curve)[0] + gain)
        if len(history) > 1 and history[-1] - history[-2] < 1e-5 * n:
            break
    amount = float(counts.sum(axis=1) @ (1 - np.diag(matrix))) / n
    return Explanation(curve, matrix, amount, history[-1], tuple(history))


def prior_counts(rate: float, n_classes: int) -> Floats:
    """Dirichlet weights of the rows of a free flip matrix, before any label is seen."""
    return PRIOR_WEIGHT * symmetric(rate, n_classes) + PRIOR_FLOOR


def joint_counts(truth: Floats, rows: Labelled) -> Floats:
    """Expected numbers of rows by true and observed class."""
    counts = np.zeros((rows.n_classes, rows.n_classes))
    order = np.argsort(rows.codes, kind="stable")
    present, starts = np.unique(rows.codes[order], return_index=True)
    counted = (truth * rows.weights[:, None])[order]
    counts[:, present] = np.add.reduceat(counted, starts, axis=0, dtype=np.float64).T
    return counts


def _log_prior(rate: float) -> float:
    """Log density (but for a constant) of the rate."""
    return float(RATE_PRIOR[0] * np.log(rate) + RATE_PRIOR[1] * np.log1p(-rate))


def _rate_bound(rate: float, weights: Floats, log_flips: Floats) -> float:
    """Part of the evidence bound that the rate enters: minus the divergence of the rows' posterior from their prior."""
    prior = prior_counts(rate, len(weights))
    total, prior_total = weights.sum(axis=1), prior.sum(axis=1)
    rows = gammaln(total) - gammaln(weights).sum(axis=1) - gammaln(prior_total) + gammaln(prior).sum(axis=1)
    return _log_prior(rate) - float((rows + ((weights - prior) * log_flips).sum(axis=1)).sum())
