"""Surprises that the columns foresee: where a model is often wrong, its surprises are no errors of the targets.

A target that jumps between two values in one part of the table surprises every smooth model there, and looks wrong.
Errors of people and instruments hit rows whatever their columns say. So the rate of errors is that of the calmest
rows, and only that part of what surprises elsewhere is put down to errors: with R the likelihood ratio of a wrong and a
right target, c the rate of errors and a(x) >= c the local rate of surprises, P(wrong) = c R / (1 - a(x) + a(x) R).
"""

from __future__ import annotations

import numpy as np

from noisewise._typing import Floats

STANDARD_ERRORS = 2.0  # a local rate, and a calmer half, count by what is beyond these
CALMEST = (0.5, 0.25)  # parts of the rows whose rate of surprises bounds the count of errors from below
RATE_STEPS = 2  # EM steps of such a rate; many would trust the densities of wrong targets, which are rough
MOST_SURPRISING = 0.9  # local rate of surprises: one would leave nothing to be right
NEAR_ZERO = 1e-9


def put_down_to_errors(wrong: Floats, foreseen: Floats) -> Floats:
    """Probabilities that targets are wrong, less what the columns foresee of them.

    Parameters
    ----------
    wrong : array of shape (n,)
        Probability that each target is wrong, at the same rate of errors everywhere.
    foreseen : array of shape (n,)
        Prediction of `wrong` from the columns, each row without its own.

    >>> wrong, foreseen = np.array([0.9, 0.0, 0.9, 0.0] * 50), np.full(200, 0.45)
    >>> np.array_equal(put_down_to_errors(wrong, foreseen), wrong)  # the columns foresee nothing
    True
    >>> jumps = np.r_[np.tile([0.9, 0.0], 50), np.tile([0.0] * 24 + [0.9], 4)]
    >>> found = put_down_to_errors(jumps, np.repeat([0.45, 0.036], 100))
    >>> bool(found[0] < 0.3 < 0.6 < found[124])
    True
    """
    rate = float(wrong.mean())
    slope = _slope(foreseen, wrong)
    if slope == 0 or not 0 < rate < 1:
        return wrong
    ratio = _likelihood_ratio(wrong)
    by_chance = STANDARD_ERRORS * float(wrong.std()) / np.sqrt(len(wrong))
    errors = min(max(_calmest_rate(ratio, rate, foreseen, 0.5) + by_chance, 0.5 / len(wrong)), rate)
    local = np.clip(rate + slope * (foreseen - rate), errors, MOST_SURPRISING)
    return np.asarray(errors * ratio / (1 - local + local * ratio))


def most_foreseen(wrong: Floats, foreseen: Floats) -> float:
    """How many of the expected wrong targets there may be less, if those of the calmest rows alone are errors."""
    rate = float(wrong.mean())
    if not 0 < rate < 1:
        return 0.0
    ratio = _likelihood_ratio(wrong)
    return len(wrong) * max(0.0, rate - min(_calmest_rate(ratio, rate, foreseen, part) for part in CALMEST))


def _likelihood_ratio(wrong: Floats) -> Floats:
    """Of a wrong and a right target, from probabilities at the same rate everywhere."""
    rate = wrong.mean()
    return np.asarray(np.clip(wrong, NEAR_ZERO, 1) / np.clip(1 - wrong, NEAR_ZERO, 1) * (1 - rate) / rate)


def _calmest_rate(ratio: Floats, rate: float, foreseen: Floats, part: float) -> float:
    """Rate of wrong targets in the part of the rows where the least is foreseen."""
    calmest = ratio[np.argsort(foreseen, kind="stable")[: max(int(part * len(ratio)), 1)]]
    for _ in range(RATE_STEPS):
        rate = float(np.mean(rate * calmest / (1 - rate + rate * calmest)))
    return rate


def _slope(foreseen: Floats, wrong: Floats) -> float:
    """How much of a predicted difference there is, in [0, 1]: a regression's slope less two standard errors."""
    x = foreseen - foreseen.mean()
    total = float(x @ x)
    if total <= NEAR_ZERO**2 * len(x):
        return 0.0
    slope = float(x @ wrong) / total
    residuals = wrong - wrong.mean() - slope * x
    error = float(np.sqrt(np.square(x) @ np.square(residuals))) / total  # whatever the residuals' variances are
    return float(np.clip(slope - STANDARD_ERRORS * error, 0.0, 1.0))
