"""Scores and observed labels explained together: P(observed | x) = softmax(slope g + offset) @ T.

The flip matrix T has a prior: symmetric (every flip alike, one rate), or free, its rows Dirichlet around that symmetric
matrix with little weight, so that few flips are common and the others rare. Slope, offset, rate and the posterior of T
rise in turn, and with them a lower bound on the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma, gammaln

from noisewise._numerics.em import symmetric_matrix
from noisewise._typing import Floats
from noisewise.noise.calibration.newton import climb, log_room, objective
from noisewise.noise.calibration.softmax_map import Curve, Labelled

PRIOR_WEIGHT, PRIOR_FLOOR = 2.0, 1e-3  # pseudo-counts of a row of a free flip matrix; the least of one entry
RATE_PRIOR = 1, 4  # wrong and right labels seen before: some flips are likely, very many are not
START_RATE, HIGH_START = 0.1, 0.3
ENOUGH = 1e-6  # log-likelihood a row; steps of the curve that gain less are not worth another


@dataclass(frozen=True)
class Start:
    """Where to climb from: a curve, the rate of symmetric flips, and expected logarithms of a flip matrix."""

    curve: Curve
    rate: float
    log_flips: Floats

    @classmethod
    def at(cls, rows: Labelled, rate: float = START_RATE) -> Start:
        """Symmetric noise of this rate behind a gentle curve."""
        return cls(Curve.gentle(rows), rate, np.log(symmetric_matrix(rows.n_classes, rate)))

    def with_own_slopes(self) -> Start:
        """The same with a slope for each class."""
        return Start(self.curve.with_own_slopes(), self.rate, self.log_flips)


@dataclass(frozen=True)
class Explanation:
    """A fitted account of the noise: where it ended, flip matrix, share of flipped labels, a bound on the evidence."""

    end: Start
    matrix: Floats
    amount: float
    bound: float
    history: tuple[float, ...] = ()


def explain_noise(rows: Labelled, free: bool, start: Start) -> Explanation:
    """Coordinate ascent on the evidence bound from a curve and flips; the curve's slopes stay one, or many."""
    n, n_classes = rows.n, rows.n_classes
    curve, rate, log_flips = start.curve, start.rate, start.log_flips
    history: list[float] = []
    for _ in range(80 if n_classes <= 30 else 40):
        curve, _, truth = climb(rows, log_flips, curve, 2, ENOUGH * n)
        counts = joint_counts(truth, rows)
        found = (n - np.trace(counts) + RATE_PRIOR[0]) / (n + sum(RATE_PRIOR))
        if free:
            weights = counts + prior_counts(rate, n_classes)
            log_flips = digamma(weights) - digamma(weights.sum(axis=1, keepdims=True))
            matrix = weights / weights.sum(axis=1, keepdims=True)
            rate = max((rate, found), key=lambda tried: _rate_bound(tried, weights, log_flips))
            gain = _rate_bound(rate, weights, log_flips)
        else:
            rate, matrix = found, symmetric_matrix(n_classes, found)
            log_flips, gain = np.log(matrix), _log_prior(rate)
        history.append(objective(rows, log_flips, curve)[0] + gain)
        if len(history) > 1 and history[-1] - history[-2] < 1e-5 * n:
            break
    amount = float(counts.sum(axis=1) @ (1 - np.diag(matrix))) / n
    bound = history[-1] + log_room(rows, log_flips, curve)
    if not free:
        bound += _log_room_of_rate(rows, rate, curve)
    return Explanation(Start(curve, rate, log_flips), matrix, amount, bound, tuple(history))


def _log_room_of_rate(rows: Labelled, rate: float, curve: Curve) -> float:
    """Laplace's factor of the rate of symmetric noise, by differences of the log-likelihood and its prior."""
    step = 0.1 * min(rate, 1 - rate)
    below, here, above = (
        objective(rows, np.log(symmetric_matrix(rows.n_classes, tried)), curve)[0] + _log_prior(tried)
        for tried in (rate - step, rate, rate + step)
    )
    bend = max((2 * here - below - above) / step**2, 1.0)
    return float(0.5 * np.log(2 * np.pi / bend))


def prior_counts(rate: float, n_classes: int) -> Floats:
    """Dirichlet weights of the rows of a free flip matrix, before any label is seen."""
    return PRIOR_WEIGHT * symmetric_matrix(n_classes, rate) + PRIOR_FLOOR


def joint_counts(truth: Floats, rows: Labelled) -> Floats:
    """Expected numbers of rows by true and observed class."""
    counts = np.zeros((rows.n_classes, rows.n_classes))
    order = np.argsort(rows.codes, kind="stable")
    present, starts = np.unique(rows.codes[order], return_index=True)
    counted = (truth * rows.weights[:, None])[order]
    counts[:, present] = np.add.reduceat(counted, starts, axis=0, dtype=np.float64).T
    return counts


def _log_prior(rate: float) -> float:
    """Log density of the rate."""
    wrong, right = RATE_PRIOR
    return float(wrong * np.log(rate) + right * np.log1p(-rate) - betaln(wrong + 1, right + 1))


def _rate_bound(rate: float, weights: Floats, log_flips: Floats) -> float:
    """Part of the evidence bound that the rate enters: minus the divergence of the rows' posterior from their prior."""
    prior = prior_counts(rate, len(weights))
    total, prior_total = weights.sum(axis=1), prior.sum(axis=1)
    rows = gammaln(total) - gammaln(weights).sum(axis=1) - gammaln(prior_total) + gammaln(prior).sum(axis=1)
    return _log_prior(rate) - float((rows + ((weights - prior) * log_flips).sum(axis=1)).sum())
