"""Variational Bayes for a calibration map behind flips: P(observed | x) = softmax(scale * g + offset) @ T.

The flip matrix T has a prior: symmetric, with one rate, or with rows that are Dirichlet around the symmetric matrix and
of little weight, so that a few flips are common and the others rare. Coordinate ascent on the calibration map, the rate
and the Dirichlet posterior of T maximises the ELBO.

References
----------
.. [1] Jordan, M. I., Ghahramani, Z., Jaakkola, T. S., Saul, L. K. (1999). An introduction to variational methods for
   graphical models. Machine Learning 37.
.. [2] MacKay, D. J. C. (1992). Bayesian interpolation. Neural Computation 4(3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma, gammaln

from noisewise._numerics.em import symmetric_matrix
from noisewise._typing import Floats
from noisewise.noise.calibration.newton import log_occam_factor, newton_ascent, penalised_likelihood
from noisewise.noise.calibration.softmax_map import CalibrationMap, LabelledScores

PRIOR_WEIGHT, PRIOR_FLOOR = 2.0, 1e-3  # pseudo-counts of a row of the Dirichlet prior; the least of one entry
RATE_PRIOR = 1, 4  # wrong and right labels counted before, a Beta(2, 5): some flips are likely, very many are not
START_RATE, HIGH_START = 0.1, 0.3  # noise rates to start from: the ELBO often has two maxima
NEWTON_TOLERANCE = 1e-6  # gain in log-likelihood a row below which no further Newton step is taken
TOLERANCE = 1e-5  # gain in ELBO a row that ends the ascent
MANY_CLASSES, MOST_ITERATIONS, FEWER_ITERATIONS = 30, 80, 40  # with many classes an iteration is expensive


@dataclass(frozen=True)
class VariationalState:
    """A point of the coordinate ascent: calibration map, rate of symmetric flips, and E[log T]."""

    calibration_map: CalibrationMap
    rate: float
    log_flips: Floats

    @classmethod
    def initial(cls, rows: LabelledScores, rate: float = START_RATE) -> VariationalState:
        """Symmetric noise of this rate behind the initial calibration map."""
        return cls(CalibrationMap.initial(rows), rate, np.log(symmetric_matrix(rows.n_classes, rate)))

    def with_scale_per_class(self) -> VariationalState:
        """The same with a scale for each class."""
        return VariationalState(self.calibration_map.with_scale_per_class(), self.rate, self.log_flips)


@dataclass(frozen=True)
class VariationalFit:
    """A local maximum of the ELBO.

    Attributes
    ----------
    state : VariationalState
    matrix : array of shape (n_classes, n_classes)
        Posterior mean of the flip matrix.
    noise_rate : float
        Fraction of flipped labels.
    log_evidence : float
        ELBO plus the log Occam factors of the parameters that were maximised over.
    history : tuple of floats
        ELBO after each iteration, without Occam factors.
    """

    state: VariationalState
    matrix: Floats
    noise_rate: float
    log_evidence: float
    history: tuple[float, ...] = ()


def fit_variational(rows: LabelledScores, dirichlet: bool, start: VariationalState) -> VariationalFit:
    """Coordinate ascent on the ELBO, with symmetric flips or a Dirichlet prior on the rows of the flip matrix.

    The calibration map keeps the form it has at the start: a common scale, or one per class.
    """
    n, n_classes = rows.n, rows.n_classes
    calibration_map, rate, log_flips = start.calibration_map, start.rate, start.log_flips
    history: list[float] = []
    for _ in range(MOST_ITERATIONS if n_classes <= MANY_CLASSES else FEWER_ITERATIONS):
        calibration_map, _, truth = newton_ascent(rows, log_flips, calibration_map, 2, NEWTON_TOLERANCE * n)
        counts = weighted_joint_counts(truth, rows)
        found = (n - np.trace(counts) + RATE_PRIOR[0]) / (n + sum(RATE_PRIOR))
        if dirichlet:
            concentrations = counts + prior_counts(rate, n_classes)
            log_flips = digamma(concentrations) - digamma(concentrations.sum(axis=1, keepdims=True))
            matrix = concentrations / concentrations.sum(axis=1, keepdims=True)
            rate = max((rate, found), key=lambda tried: _elbo_of_flips(tried, concentrations, log_flips))
            of_flips = _elbo_of_flips(rate, concentrations, log_flips)
        else:
            rate, matrix = found, symmetric_matrix(n_classes, found)
            log_flips, of_flips = np.log(matrix), _log_prior(rate)
        history.append(penalised_likelihood(rows, log_flips, calibration_map)[0] + of_flips)
        if len(history) > 1 and history[-1] - history[-2] < TOLERANCE * n:
            break
    noise_rate = float(counts.sum(axis=1) @ (1 - np.diag(matrix))) / n
    log_evidence = history[-1] + log_occam_factor(rows, log_flips, calibration_map)
    if not dirichlet:
        log_evidence += _log_occam_factor_of_rate(rows, rate, calibration_map)
    state = VariationalState(calibration_map, rate, log_flips)
    return VariationalFit(state, matrix, noise_rate, log_evidence, tuple(history))


def _log_occam_factor_of_rate(rows: LabelledScores, rate: float, calibration_map: CalibrationMap) -> float:
    """Log Occam factor of the symmetric rate, by finite differences of its log posterior."""
    step = 0.1 * min(rate, 1 - rate)
    below, here, above = (
        penalised_likelihood(rows, np.log(symmetric_matrix(rows.n_classes, tried)), calibration_map)[0]
        + _log_prior(tried)
        for tried in (rate - step, rate, rate + step)
    )
    curvature = max((2 * here - below - above) / step**2, 1.0)
    return float(0.5 * np.log(2 * np.pi / curvature))


def prior_counts(rate: float, n_classes: int) -> Floats:
    """Concentrations of the Dirichlet prior on the rows of the flip matrix."""
    return PRIOR_WEIGHT * symmetric_matrix(n_classes, rate) + PRIOR_FLOOR


def weighted_joint_counts(truth: Floats, rows: LabelledScores) -> Floats:
    """Expected numbers of rows by true and observed class, as `joint_counts`, by pairwise sums.

    Fits depend on them to the last bit, so that they are not summed one after the other.
    """
    counts = np.zeros((rows.n_classes, rows.n_classes))
    order = np.argsort(rows.codes, kind="stable")
    present, starts = np.unique(rows.codes[order], return_index=True)
    weighted = (truth * rows.weights[:, None])[order]
    counts[:, present] = np.add.reduceat(weighted, starts, axis=0, dtype=np.float64).T
    return counts


def _log_prior(rate: float) -> float:
    """Log density of the rate's beta prior."""
    wrong, right = RATE_PRIOR
    return float(wrong * np.log(rate) + right * np.log1p(-rate) - betaln(wrong + 1, right + 1))


def _elbo_of_flips(rate: float, concentrations: Floats, log_flips: Floats) -> float:
    """Terms of the ELBO that depend on the rate: its log prior minus KL(Dirichlet posterior || prior) of the rows."""
    prior = prior_counts(rate, len(concentrations))
    total, prior_total = concentrations.sum(axis=1), prior.sum(axis=1)
    rows = gammaln(total) - gammaln(concentrations).sum(axis=1) - gammaln(prior_total) + gammaln(prior).sum(axis=1)
    return _log_prior(rate) - float((rows + ((concentrations - prior) * log_flips).sum(axis=1)).sum())
