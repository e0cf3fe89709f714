"""Interval for the number of wrong labels.

Candidate noise models weighted by their evidence give quantiles of a mixture of normal distributions. Where the labels
hardly tell one noise rate from another, these depend on the prior; so the interval also holds every noise rate inside
the likelihood-ratio interval.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from noisewise._typing import Floats
from noisewise.noise.calibration.noise_models import TEMPER, FittedNoiseModel

ROUNDING_STD = 0.5  # rows: a number of rows is known to half a row at best
MODEL_ERROR = 0.01  # of the rows, standard deviation: misfit of the calibration map, however many rows there are


def count_interval(fitted: list[FittedNoiseModel], n: float, estimated: bool, coverage: float) -> tuple[float, float]:
    """Interval of the number of wrong labels among n rows, from candidates that were fitted to them."""
    weights = np.array([fit.model.weight for fit in fitted])
    weights /= weights.sum()
    wrong = np.array([fit.n_wrong for fit in fitted])
    model_error = MODEL_ERROR * n if estimated else min(MODEL_ERROR * n, float(weights @ wrong))
    variances = np.array([fit.variance for fit in fitted]) + model_error**2 + ROUNDING_STD**2 * estimated
    low, high = mixture_quantiles(weights, wrong, np.sqrt(variances), n, coverage)
    if not estimated:
        return low, high
    log_likelihood = np.array([fit.log_likelihood for fit in fitted])
    z = ndtri((1 + coverage) / 2)
    likely = log_likelihood >= log_likelihood.max() - z**2 / 2 / TEMPER
    half_width = z * np.sqrt(variances[likely])
    likely_low, likely_high = float((wrong[likely] - half_width).min()), float((wrong[likely] + half_width).max())
    return max(min(low, likely_low), 0.0), min(max(high, likely_high), n)


def mixture_quantiles(
    weights: Floats, means: Floats, deviations: Floats, most: float, coverage: float
) -> tuple[float, float]:
    """Quantiles of a mixture of normal distributions, within 0 and `most`."""

    def quantile(level: float) -> float:
        if not deviations.all():
            return float(weights @ means)
        low, high = (means - 9 * deviations).min(), (means + 9 * deviations).max()
        found = brentq(lambda count: weights @ ndtr((count - means) / deviations) - level, low, high, xtol=1e-3)
        return float(np.clip(found, 0, most))

    return quantile((1 - coverage) / 2), quantile((1 + coverage) / 2)
