"""Means of weighted rounds: intervals, weights that can't be trusted, and smaller weights in place of large ones."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import stdtrit

from noisewise._typing import Floats

SHRUNK = ("switch", "shrinkage")
THRESHOLDS = (0.5, 0.75, 0.9, 0.95, 0.99)  # quantiles of the weights above 0, from which they count less
LEAST_EFFECTIVE_ROUNDS = 20  # effective sample size below which a normal interval can't be trusted


def by_propensity(
    method: str, weights: Floats, rewards: Floats, multiplicity: Floats, confidence: float
) -> tuple[float, float, float]:
    """Inverse propensity scoring, "ips" or self-normalised, "snips": the value and its interval."""
    if method == "snips":
        value, errors = weighted_mean(rewards, multiplicity * weights)
    else:
        value, errors = weighted_mean(weights * rewards, multiplicity)
    return value, *mean_interval(value, errors, confidence)


def doubly_robust(
    method: str, direct: Floats, weights: Floats, residuals: Floats, multiplicity: Floats, confidence: float
) -> tuple[float, float, float]:
    """Doubly robust value, the mean of direct + v * residuals, and its interval.

    v is w for "dr"; w if w <= t, else 0 for "switch"; w t^2 / (w^2 + t^2) for "shrinkage". Of several thresholds t,
    without bound among them, the one with the smallest estimated squared error is taken: the variance of the mean plus
    the squared bias, which is that of the mean of (w - v) * residuals less its own variance. What the bias is, is not
    known any better than the value of "dr", so its interval is part of theirs.

    >>> weights, residuals = np.array([1.0, 1.0, 1.0, 100.0]), np.array([0.2, -0.1, -0.1, 0.01])
    >>> value, low, high = doubly_robust("switch", np.zeros(4), weights, residuals, np.ones(4), confidence=0.9)
    >>> round(abs(value), 9)
    0.0
    """
    plain = weighted_mean(direct + weights * residuals, multiplicity)
    low, high = mean_interval(*plain, confidence)
    if method == "dr" or not (weights > 0).any():
        return plain[0], low, high
    found = [(np.square(plain[1]).mean() / len(weights), *plain)]
    for threshold in np.quantile(weights[weights > 0], THRESHOLDS):
        kept = weights * (weights <= threshold if method == "switch" else threshold**2 / (weights**2 + threshold**2))
        value, errors = weighted_mean(direct + kept * residuals, multiplicity)
        bias, of_bias = weighted_mean((weights - kept) * residuals, multiplicity)
        variance, uncertain = (np.square(each).mean() / len(each) for each in (errors, of_bias))
        found.append((variance + max(0.0, bias**2 - uncertain), value, errors))
    _, value, errors = min(found, key=lambda one: one[0])
    own = mean_interval(value, errors, confidence)
    return value, min(low, own[0]), max(high, own[1])


def weighted_mean(terms: Floats, weights: Floats) -> tuple[float, Floats]:
    """The mean, and the influence of each term on it; by the delta method where the weights are random too."""
    total = float(weights.sum())
    if total == 0:
        raise ValueError('the policy never plays what the log played; method="snips" has nothing to go by')
    value = float((weights * terms).sum() / total)
    return value, weights * (terms - value) * len(weights) / total


def mean_interval(value: float, errors: Floats, confidence: float) -> tuple[float, float]:
    """Confidence interval of a mean from the errors of its terms: Student's t, corrected for skewness (Hall, 1992).

    A few large weights make the terms skewed, and the plain interval then lies too low.
    """
    n = len(errors)
    error = float(np.sqrt(np.square(errors).sum() / (n - 1) / n))
    if error == 0:
        return value, value
    skew = float((errors**3).mean() / np.square(errors).mean() ** 1.5 / np.sqrt(n))
    quantile = float(stdtrit(n - 1, (1 + confidence) / 2))
    limits = np.array([quantile, -quantile])
    if abs(skew) > 1e-9:
        limits = 3 / skew * (np.cbrt(1 + skew * (limits - skew / 6)) - 1)
    low, high = value - error * limits
    return float(low), float(high)


def warn_of_wrong_weights(weights: Floats, multiplicity: Floats) -> None:
    """Importance weights have mean 1 if the log's propensities are right and positive wherever the policy's are."""
    mean, errors = weighted_mean(weights, multiplicity)
    weighted = multiplicity * weights
    total, squares = weighted.sum(), np.square(weighted).sum()
    error = np.sqrt(np.square(errors).mean() / len(weights))
    # weights that are all equal have no standard error of their own; with a mean of 1 they would have this
    error_of_one = max(error, np.sqrt(max(squares / len(weights) - 1, 0) / len(weights)))
    if mean + 5 * error < 0.95:
        wrong = f"the weights average {mean:.2f} instead of 1: the log never plays part of what the policy plays"
    elif mean - 5 * error_of_one > 1.05:
        wrong = (
            f"the weights average {mean:.2f} instead of 1: the policy looks at the actions that were drawn, or the "
            "log's probabilities are not those they were drawn with"
        )
    elif total**2 < LEAST_EFFECTIVE_ROUNDS * squares:
        wrong = f"the effective sample size is {total**2 / squares:.0f} rounds only"
    else:
        return
    warnings.warn(f"{wrong}; the value and its interval can't be trusted", RuntimeWarning, stacklevel=3)
