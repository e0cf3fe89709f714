"""Probabilities of wrong labels, recalibrated by the verdicts of reviewers.

With s the probability that a label is wrong by a reading of the labels, and h the stratum of the row along s,

    P(wrong) = f + (1 - f) sigmoid(a + b logit s + u_h),   u_h ~ N(0, STRATUM_STD^2)

where a and b are shared, f is the rate of errors that no score shows and u_h is what the straight line misses. The
posterior of (a, b, f) is computed on a grid, the u_h integrated out by quadrature. With two readings, that of each and
the mean of their logits are candidates, weighted by their marginal likelihood: verdicts tell which reading holds.
Which rows were reviewed may depend on s, but not on the truth beyond it; then the design needs no weights.

References
----------
.. [1] Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika 45.
.. [2] Little, R. J. A. (2004). To model or not to model? Competing modes of inference for finite population sampling.
   Journal of the American Statistical Association 99.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, logsumexp

from noisewise._typing import Codes, Floats
from noisewise.noise.calibration.error_count import ROUNDING_STD, mixture_quantiles
from noisewise.noise.estimate import Estimate

LEAST_SCORE = 1e-4  # scores are clipped to this: beyond it no model's probabilities are calibrated
INTERCEPT_STD, SLOPE_STD = 1.5, 0.35  # of the normal priors of a, about 0, and b, about 1
HIDDEN_RATES = np.array([0.0, 0.001, 0.004, 0.012, 0.03])  # values of f
HIDDEN_CELLS = np.array([0.0025, 0.0055, 0.013, 0.02])  # widths of the cells of those above 0
HIDDEN_MEAN, NO_HIDDEN = 0.006, 0.5  # prior of f: 0 with this probability, else exponential with this mean
STRATUM_STD, NODES = 0.8, 5  # of the departure of a stratum from the line, and nodes of its quadrature
STRATA, FEWEST_IN_STRATUM = 8, 10  # at most so many, each of so many verdicts
TEMPER = 0.55  # power of the likelihood: the departures are not normal, nor constant within a stratum
MOST_BINS = 64  # of the verdicts, and of the other rows, of a stratum
KNOTS = np.linspace(logit(LEAST_SCORE), -logit(LEAST_SCORE), 200)  # between which a recalibration map is interpolated


@dataclass(frozen=True)
class Recalibration:
    """What verdicts say of the rows that have none.

    Attributes
    ----------
    probability_wrong : array of shape (n_rows,)
        Of every row as if it had no verdict; its sum over the rows without one is `n_wrong`.
    n_wrong : Estimate
        Expected number of wrong labels among the rows without a verdict.
    std : float
        Its standard deviation.
    """

    probability_wrong: Floats
    n_wrong: Estimate
    std: float


@dataclass(frozen=True)
class _Fit:
    """One candidate: for each point of the grid log weight, expected number of wrong labels and its variance."""

    log_weight: Floats
    mean: Floats
    variance: Floats


def recalibrate(scores: list[Floats], rows: Codes, wrong: NDArray[np.bool_], coverage: float = 0.9) -> Recalibration:
    """The posterior of the number of wrong labels, and of each row, after verdicts.

    Parameters
    ----------
    scores : list of arrays of shape (n_rows,)
        Probability that a label is wrong, by one reading of the labels or two.
    rows : array of int
        Rows with a verdict, each once.
    wrong : array of bool, as long as `rows`
        Whether the verdict is another label than the observed one.
    coverage : float
        Wanted coverage of the interval.

    Examples
    --------
    >>> scores = np.repeat([0.05, 0.5], 500)
    >>> verdicts = np.arange(0, 1000, 10)  # a hundred; a fifth of those of the second half is wrong
    >>> found = recalibrate([scores], verdicts, (verdicts >= 500) & (verdicts % 50 == 0))
    >>> bool(found.n_wrong.low < 100 < found.n_wrong.high < 0.6 * scores.sum())
    True
    """
    logits = [logit(np.clip(score, LEAST_SCORE, 1 - LEAST_SCORE)) for score in scores]
    if len(logits) > 1:
        logits.append(np.mean(logits, axis=0))
    unknown = np.ones(len(logits[0]), dtype=bool)
    unknown[rows] = False
    fits = [_fit(one, rows, wrong, unknown) for one in logits]
    weights = np.concatenate([fit.log_weight for fit in fits])
    weights = np.exp(weights - logsumexp(weights))
    means, variances = (np.concatenate(parts) for parts in zip(*((fit.mean, fit.variance) for fit in fits)))
    n_wrong, most = float(weights @ means), float(unknown.sum())
    std = float(np.sqrt(weights @ (variances + (means - n_wrong) ** 2)))
    deviations = np.sqrt(variances + ROUNDING_STD**2 * (most > 0))
    low, high = mixture_quantiles(weights, means, deviations, most, coverage)
    probability = sum(
        np.interp(one, KNOTS, part @ _wrong(KNOTS, 0.0)) for one, part in zip(logits, np.split(weights, len(fits)))
    )
    probability = _with_sum(np.asarray(probability), unknown, n_wrong)
    return Recalibration(probability, Estimate(n_wrong, min(low, n_wrong), max(high, n_wrong)), std)


def _parameter_grid() -> tuple[Floats, Floats, Floats, Floats]:
    """Columns of a, b and f, and the log prior of each combination."""
    a = np.linspace(-3 * INTERCEPT_STD, 3 * INTERCEPT_STD, 25)
    b = np.linspace(max(0.05, 1 - 2.6 * SLOPE_STD), 1 + 2.6 * SLOPE_STD, 9)
    above = np.exp(-HIDDEN_RATES[1:] / HIDDEN_MEAN) * HIDDEN_CELLS
    prior_f = np.concatenate([[NO_HIDDEN], (1 - NO_HIDDEN) * above / above.sum()])
    log_prior = np.add.outer(-0.5 * (a / INTERCEPT_STD) ** 2, -0.5 * ((b - 1) / SLOPE_STD) ** 2)
    grids = (grid.reshape(-1, 1) for grid in np.meshgrid(a, b, HIDDEN_RATES, indexing="ij"))
    return *grids, np.add.outer(log_prior, np.log(prior_f)).ravel()


INTERCEPT, SLOPE, HIDDEN, LOG_PRIOR = _parameter_grid()


def _wrong(logits: Floats, departure: float) -> Floats:
    """P(wrong) at each point of the grid and each logit."""
    return np.asarray(HIDDEN + (1 - HIDDEN) * expit(INTERCEPT + SLOPE * logits + departure))


def _fit(logits: Floats, rows: Codes, wrong: NDArray[np.bool_], unknown: NDArray[np.bool_]) -> _Fit:
    """Likelihood of the verdicts and the number of wrong labels among the unknown rows, stratum by stratum."""
    n_strata = int(np.clip(len(rows) // FEWEST_IN_STRATUM, 1, STRATA))
    cuts = np.unique(np.quantile(logits[rows], np.arange(1, n_strata) / n_strata))
    stratum = np.searchsorted(cuts, logits, side="right")
    is_wrong = np.zeros(len(logits))
    is_wrong[rows] = wrong
    log_weight, mean, variance = LOG_PRIOR.copy(), np.zeros(len(LOG_PRIOR)), np.zeros(len(LOG_PRIOR))
    for h in range(len(cuts) + 1):
        reviewed, open_rows = (np.flatnonzero((stratum == h) & which) for which in (~unknown, unknown))
        evidence, expected, spread = _stratum(logits, reviewed, is_wrong, open_rows)
        log_weight += evidence
        mean += expected
        variance += spread
    return _Fit(log_weight, mean, variance)


def _stratum(logits: Floats, reviewed: Codes, is_wrong: Floats, unknown: Codes) -> tuple[Floats, Floats, Floats]:
    """Log evidence of a stratum's verdicts, mean and variance of its other wrong labels: departure integrated out."""
    nodes, quadrature = hermegauss(NODES)
    seen, n_seen, n_wrong = _bins(logits[reviewed], is_wrong[reviewed])
    rest, n_rest, _ = _bins(logits[unknown], is_wrong[unknown])
    log_likelihood, expected, spread = (np.empty((len(LOG_PRIOR), NODES)) for _ in range(3))
    for j, departure in enumerate(STRATUM_STD * nodes):
        p = np.clip(_wrong(seen, departure), 1e-9, 1 - 1e-9)
        log_likelihood[:, j] = TEMPER * (np.log(p) @ n_wrong + np.log1p(-p) @ (n_seen - n_wrong))
        p = _wrong(rest, departure)
        expected[:, j], spread[:, j] = p @ n_rest, (p * (1 - p)) @ n_rest
    joint = log_likelihood + np.log(quadrature / quadrature.sum())
    evidence = logsumexp(joint, axis=1)
    posterior = np.exp(joint - evidence[:, None])
    mean = (posterior * expected).sum(axis=1)
    return evidence, mean, (posterior * (spread + (expected - mean[:, None]) ** 2)).sum(axis=1)


def _bins(logits: Floats, is_wrong: Floats) -> tuple[Floats, Floats, Floats]:
    """Neighbouring rows in bins of equal numbers: mean logit, number of rows and of wrong ones."""
    if not len(logits):
        return np.empty(0), np.empty(0), np.empty(0)
    order = np.argsort(logits, kind="stable")
    starts = np.arange(min(MOST_BINS, len(order))) * len(order) // min(MOST_BINS, len(order))
    n = np.diff(starts, append=len(order)).astype(np.float64)
    return np.add.reduceat(logits[order], starts) / n, n, np.add.reduceat(is_wrong[order], starts)


def _with_sum(probability: Floats, which: NDArray[np.bool_], total: float) -> Floats:
    """Probabilities with their logits moved by one number, such that those of these rows sum to the total."""
    logits = logit(probability)
    if not which.any():
        return probability

    def excess(move: float) -> float:
        return float(expit(logits[which] + move).sum()) - total

    return np.asarray(expit(logits + brentq(excess, -20.0, 20.0, xtol=1e-6)))
