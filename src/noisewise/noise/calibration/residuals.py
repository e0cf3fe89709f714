"""Which numbers are wrong: residuals of leave-one-out predictions, read by a mixture of noise and kinds of errors.

Tails of right targets and shifts can't be told apart in general, so candidates with lighter and heavier tails and with
either way to be wrong are averaged, by a power of their evidence [1]_: residuals are no independent draws from any of
them.

References
----------
.. [1] Gruenwald, P., van Ommen, T. (2017). Inconsistency of Bayesian inference for misspecified linear models, and a
   proposal for repairing it. Bayesian Analysis 12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import isotonic_regression

from noisewise._typing import Codes, Floats
from noisewise.noise.calibration.error_count import ROUNDING_STD, mixture_quantiles
from noisewise.noise.calibration.foreseen import most_foreseen, put_down_to_errors
from noisewise.noise.calibration.residual_model import ANOTHER, SHIFTED, UNITS, ResidualModel, Residuals

DEGREES = (3.0, 6.0, 30.0)  # of freedom of right targets: heavy tails to nearly normal ones
WAYS = ((ANOTHER,), (SHIFTED,), (ANOTHER, SHIFTED))
POWER = 0.2  # of the evidence of a candidate
EM_STEPS = 50
SCREENING_STEPS = 15  # after these, units without rows are dropped
FEWEST_OF_UNIT = 2.0  # rows in the same wrong unit, expected; one is chance
STEADY = 5.0  # of the log of a residual's size, in local scales, beside the log-odds of the mixture: see `_steadied`
DENSITY_ERROR = 0.005  # of the rows, standard deviation: misfit of the densities, however many rows there are
CERTAIN = 0.95  # probability from which a target is in another unit
COVERAGE = 0.9


@dataclass(frozen=True)
class ResidualReading:
    """Averaged candidates: probability that each target is right, what the others look like, and how many are wrong.

    Attributes
    ----------
    right : array of shape (n,)
    reason : array of shape (n,)
        Index into `reasons`, the most probable way to be wrong.
    reasons : tuple of str
    factors : array
        What a target of each reason was multiplied by; NaN where it was not.
    n_wrong : float
    interval : tuple of two floats
        90 % interval of the number of wrong targets.
    range : tuple of three floats
        Quantiles .05, .5 and .95 of right targets, in local scales from the prediction.
    """

    right: Floats
    reason: Codes
    reasons: tuple[str, ...]
    factors: Floats
    n_wrong: float
    interval: tuple[float, float]
    range: tuple[float, float, float]


def read_residuals(
    targets: Floats,
    predictions: Floats,
    scale: Floats,
    weights: Floats,
    foresee: Callable[[Floats], Floats] | None = None,
    quick: bool = False,
) -> ResidualReading:
    """Tell wrong targets from noise; `weights` are earlier probabilities that they are right.

    `foresee` predicts a number of each row from its columns, each row without its own: surprises that it foresees are
    not put down to errors. With `quick`, one way to be wrong is a candidate only: for the iterations of a robust fit.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(10.0, 3.0, 300)
    >>> y = truth + rng.normal(0.0, 0.5, 300)
    >>> y[:12] *= 10
    >>> reading = read_residuals(y, truth, np.ones(300), np.ones(300))
    >>> np.flatnonzero(reading.right < 0.5).tolist() == list(range(12))
    True
    >>> reading.reasons[reading.reason[0]]
    '10 times'
    """
    data = Residuals.of(targets, predictions, scale, weights)
    units = _units_present(data, weights)
    candidates = [_fit(data, weights, nu, ways, units) for nu, ways in product(DEGREES, WAYS[-1:] if quick else WAYS)]
    evidence, means, stds = np.array([model.count(data) for model in candidates]).T
    shares = np.exp(POWER * (evidence - evidence.max()))
    shares /= shares.sum()
    reasons = (ANOTHER, SHIFTED, *(UNITS[unit] for unit in units))
    right, by_reason = np.zeros(len(targets)), np.zeros((len(targets), len(reasons)))
    for share, model in zip(shares, candidates, strict=True):
        parts = model.responsibilities(data)
        right += share * parts[:, 0]
        by_reason[:, [reasons.index(name) for name in model.names]] += share * parts[:, 1:]
    best = candidates[int(np.argmax(evidence))]
    wrong = 1 - np.clip(right, 0, 1)
    if not quick:
        wrong = _steadied(wrong, np.abs(data.standardised()))
    foreseen = np.full(len(wrong), wrong.mean()) if foresee is None else foresee(wrong)
    errors = put_down_to_errors(wrong, foreseen)
    n_foreseen = most_foreseen(wrong, foreseen)
    n_units = CERTAIN * float(np.sum(by_reason[:, 2:].sum(axis=1) > CERTAIN))
    if errors is not wrong:  # the columns do foresee some of them
        n_units -= n_foreseen
    return ResidualReading(
        1 - errors,
        by_reason.argmax(axis=1),
        reasons,
        np.r_[np.nan, np.nan, units],
        float(shares @ means + errors.sum() - wrong.sum()),
        _interval(shares, means, stds, len(targets), n_units, n_foreseen),
        (best.quantile((1 - COVERAGE) / 2), best.quantile(0.5), best.quantile((1 + COVERAGE) / 2)),
    )


def _steadied(wrong: Floats, sizes: Floats) -> Floats:
    """Probabilities that rise with a score of their log-odds and the sizes of residuals.

    The ways to be wrong are rough: their densities make one residual suspicious and a larger one less so. Sizes alone
    rank nearly as well as the mixture where it fits, and better where it does not. Rows are ranked by the sum of both,
    and have the mean of the mixture's probabilities around their rank (isotonic regression), so that the sum stays.
    """
    clipped = np.clip(wrong, 1e-9, 1 - 1e-9)
    score = np.log(clipped / (1 - clipped)) + STEADY * np.log(np.maximum(sizes, 1e-12))
    order = np.argsort(score, kind="stable")
    found = np.empty(len(wrong))
    found[order] = isotonic_regression(wrong[order]).x
    return found


def _fit(
    data: Residuals,
    weights: Floats,
    degrees: float,
    ways: tuple[str, ...],
    units: tuple[float, ...],
    steps: int = EM_STEPS,
) -> ResidualModel:
    z = np.abs(data.standardised())
    scale = float(np.median(z[weights > 0.5] if np.any(weights > 0.5) else z)) / 0.6745 or 1e-12
    shift = float(np.log(max(4 * scale * np.median(data.scale), data.iqr)))
    model = ResidualModel(degrees, ways, units, 0.0, scale, scale, shift)
    for step in range(steps):
        model.step(data, symmetric=step < steps // 10)
    return model


def _units_present(data: Residuals, weights: Floats) -> tuple[float, ...]:
    """Units in which some targets seem to be."""
    model = _fit(data, weights, DEGREES[1], WAYS[-1], tuple(UNITS), SCREENING_STEPS)
    counts = model.responsibilities(data).sum(axis=0)[1 + len(model.ways) :]
    return tuple(unit for unit, count in zip(UNITS, counts, strict=True) if count >= FEWEST_OF_UNIT)


def _interval(
    shares: Floats, means: Floats, stds: Floats, n: int, n_units: float, n_foreseen: float
) -> tuple[float, float]:
    """90 % interval of the averaged counts, less what the columns may foresee of them.

    A right target does not happen to be several times in the same other unit: those that are count, `n_units`.
    """
    model_error = np.minimum(DENSITY_ERROR * n, means)
    deviations = np.sqrt(np.square(stds) + np.square(model_error) + ROUNDING_STD**2)
    low, high = mixture_quantiles(shares, means, deviations, n, COVERAGE)
    return max(0.0, low - n_foreseen, n_units), high
