"""Update rules: from the margin m = mu.phi and its variance v = phi' Sigma phi to the step (alpha, beta).

The classes of `online.learners.rules` give objectives and references.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.compiled import bare
from noisewise._loops.state import (
    ADAPTIVE,
    ADDITIVE,
    CONFIDENCE,
    EXACT,
    HERD,
    INVERSE,
    PASSIVE_AGGRESSIVE,
    PHI,
    PLAIN,
    RIDGE,
    RULE,
    SHRINK,
    SQUARED,
    VARIANT,
)

LEAST_VARIANCE = 2.0**-100  # below it v is zero up to rounding, and a step of order 1 / v would overflow


@bare
def step(counters: Any, parameters: Any, C: float, m: float, v: float) -> Any:
    """(alpha, beta) with mu += alpha Sigma phi and Sigma -= beta (Sigma phi)(Sigma phi)', phi the signed example.

    For other updates of a diagonal Sigma (see `SHRINK`), beta is the coefficient in their formula.
    """
    rule = counters[RULE]
    if rule == ADDITIVE:
        return 1.0, 0.0
    if not v > LEAST_VARIANCE:
        return 0.0, 0.0
    if rule == PASSIVE_AGGRESSIVE:
        return passive_aggressive(counters[VARIANT], C, m, v), 0.0
    if rule == CONFIDENCE:
        return confidence(counters[VARIANT], parameters[PHI], C, m, v)
    if rule == ADAPTIVE:
        return adaptive(counters[SHRINK], parameters[RIDGE], m, v)
    if rule == HERD:
        return herd(counters[SHRINK], C, m, v)
    return least_squares(parameters[RIDGE], m, v)


@bare
def passive_aggressive(variant: int, C: float, m: float, v: float) -> float:
    """PA: loss / v with the hinge loss max(0, 1 - m); at most C (PA-I), or loss / (v + 1/(2C)) (PA-II)."""
    loss = max(0.0, 1.0 - m)
    if variant == PLAIN:
        return loss / v
    if variant == SQUARED:
        return loss / (v + 1.0 / (2.0 * C))
    return min(C, loss / v)


@bare
def confidence(variant: int, phi: float, C: float, m: float, v: float) -> tuple[float, float]:
    """Least KL divergence from N(mu, Sigma) with m >= phi sqrt(v): CW for C = inf, else SCW-I or SCW-II."""
    if m >= phi * np.sqrt(v):
        return 0.0, 0.0
    phi2 = phi * phi
    if variant == SQUARED:
        n = 1.0 + 1.0 / (2.0 * C * v)  # in units of v, whose cube may overflow
        root = phi * np.sqrt(phi2 * m * m + 4.0 * n * v * (n + phi2))
        alpha = max(0.0, (root - m * (2.0 * n + phi2)) / (2.0 * v * n * (n + phi2)))
    else:
        xi = 1.0 + phi2
        root = np.sqrt(m * m * phi2 * phi2 / 4.0 + v * phi2 * xi)
        alpha = min(C, max(0.0, (-m * (1.0 + phi2 / 2.0) + root) / (v * xi)))
    shift = alpha * v * phi
    u_root = 0.5 * (-shift + np.sqrt(shift * shift + 4.0 * v))  # standard deviation after the step
    return alpha, alpha * phi / (u_root + shift)


@bare
def adaptive(shrink: int, r: float, m: float, v: float) -> tuple[float, float]:
    """AROW: beta = 1 / (v + r), alpha = max(0, 1 - m) beta; its inverse covariance grows by phi phi' / r."""
    if m >= 1.0:
        return 0.0, 0.0
    beta = 1.0 / (v + r)
    return (1.0 - m) * beta, 1.0 / r if shrink == INVERSE else beta


@bare
def herd(shrink: int, C: float, m: float, v: float) -> tuple[float, float]:
    """NHERD: the linear map of N(mu, Sigma) by which each weight vector takes its PA-II step."""
    if m >= 1.0:
        return 0.0, 0.0
    alpha = (1.0 - m) / (v + 1.0 / C)
    if shrink == INVERSE:
        return alpha, 2.0 * C + C * C * v
    if shrink == EXACT:
        return alpha, C
    return alpha, (C * C * v + 2.0 * C) / ((1.0 + C * v) * (1.0 + C * v))


@bare
def least_squares(r: float, m: float, v: float) -> tuple[float, float]:
    """One step of recursive least squares with the target m = 1 and noise variance r."""
    beta = 1.0 / (r + v)
    return (1.0 - m) * beta, beta


@bare
def second_order(weight: float, running: float, m: float, v: float) -> tuple[float, float, float]:
    """SOBA's step for an example of importance `weight`, and its term in the running sum of the update condition."""
    if weight <= 0.0:  # corrected feedback may be negative: a first-order step, as it adds no square
        return weight, 0.0, 0.0
    beta = 1.0 / (1.0 / weight + v)
    gained = (m * m - 2.0 * m) * beta
    if running + gained < 0.0:
        return 0.0, 0.0, 0.0
    return (1.0 - m) * beta, beta, gained
