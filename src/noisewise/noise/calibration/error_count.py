"""How many labels are wrong, with an interval that holds what the labels leave open.

Accounts weighted by their evidence give quantiles. Where the labels hardly tell one amount of noise from another, these
depend on what was thought before: an interval of all amounts that are about as likely as the best is taken in too.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from noisewise._typing import Floats
from noisewise.noise.calibration.noise_models import TEMPER, Trial

LAST_ROW = 0.5  # what is said of a number of rows is said to half a row at best
MODEL_ERROR = 0.01  # of the rows, standard deviation: what the link gets wrong, however many rows there are


def interval_of(trials: list[Trial], n: float, estimated: bool, coverage: float) -> tuple[float, float]:
    """Where the number of wrong labels among n rows lies, from accounts that were tried on them."""
    weights = np.array([trial.account.weight for trial in trials])
    weights /= weights.sum()
    wrong = np.array([trial.wrong for trial in trials])
    model_error = MODEL_ERROR * n if estimated else min(MODEL_ERROR * n, float(weights @ wrong))
    variances = np.array([trial.variance for trial in trials]) + model_error**2 + LAST_ROW**2 * estimated
    low, high = quantiles(weights, wrong, np.sqrt(variances), n, coverage)
    if not estimated:
        return low, high
    values = np.array([trial.value for trial in trials])
    ways = ndtri((1 + coverage) / 2)
    likely = values >= values.max() - ways**2 / 2 / TEMPER
    reach = ways * np.sqrt(variances[likely])
    ends = float((wrong[likely] - reach).min()), float((wrong[likely] + reach).max())
    return max(min(low, ends[0]), 0.0), min(max(high, ends[1]), n)


def quantiles(weights: Floats, means: Floats, deviations: Floats, most: float, coverage: float) -> tuple[float, float]:
    """Quantiles of a mixture of normal laws, within 0 and `most`."""

    def quantile(level: float) -> float:
        if not deviations.all():
            return float(weights @ means)
        low, high = (means - 9 * deviations).min(), (means + 9 * deviations).max()
        found = brentq(lambda count: weights @ ndtr((count - means) / deviations) - level, low, high, xtol=1e-3)
        return float(np.clip(found, 0, most))

    return quantile((1 - coverage) / 2), quantile((1 + coverage) / 2)
