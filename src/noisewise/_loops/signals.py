"""From the signal s of a round to the update along s (x) x: at most two columns of weights change."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.argmax import argmax
from noisewise._loops.compiled import inlined, inner
from noisewise._loops.rules import second_order, step
from noisewise._loops.scores import bilinear
from noisewise._loops.state import (
    ALONE,
    BETA,
    CLASSES,
    COVARIANCE,
    DIAGONAL,
    H0,
    H1,
    IMPORTANCE,
    JOINT,
    LABEL,
    PER_ACTION,
    PROJECT,
    RATES,
    RATIO,
    RIDGE,
    RIVAL,
    RUNNING,
    SCALED,
    SHRINK,
    SIGN,
    SIGNAL,
    STEP,
    VALUE,
)

Moves = tuple[int, float, float, int, float, float]  # column, alpha and beta of the first and the second update


@inner
def plan(
    counters: Any,
    parameters: Any,
    means: Any,
    variances: Any,
    shared: float,
    action: int,
    best: int,
    probability: float,
    observed: Any,
    true: Any,
) -> Any:
    """The updates of one round; a column of -1 stays. Only the label signals read the true class.

    `shared` is `twice_covariance` of the played class.
    """
    signal = counters[SIGNAL]
    if signal in (LABEL, RIVAL):
        other = best if signal == LABEL else best_other(means, counters[CLASSES], true)
        if other == true:
            return -1, 0.0, 0.0, -1, 0.0, 0.0
        return plan_pair(counters, parameters, means, variances, true, 1.0, other, -1.0)
    rates = RATES + PER_ACTION * action
    h = parameters[rates + H1] if observed else parameters[rates + H0]
    if signal == IMPORTANCE:
        return plan_pair(counters, parameters, means, variances, action, h / probability, best, -1.0)
    if signal == SIGN:
        C = parameters[STEP] * parameters[rates + BETA] if parameters[SCALED] else parameters[STEP]
        return plan_sign(counters, parameters, C, means[action], variances[action], action, h, observed)
    if signal == VALUE:
        column = counters[CLASSES] + action
        beta = 1.0 / (parameters[RIDGE] + variances[action])
        up, level = np.float64(observed) - means[action], 1.0 - means[column]
        return action, up * beta, beta, column, level * beta, beta
    return plan_rival(counters, parameters, means, variances, shared, action, h / probability)


@inlined
def best_other(means: Any, n: int, k: int) -> Any:
    """The first of the classes with the highest mean score, k excluded."""
    best = argmax(means, n, k)
    return best if best >= 0 else np.int64(k == 0)  # all scores are NaN


@inner
def twice_covariance(state: Any, row: Any, means: Any, k: int) -> float:
    """What the variance of the margin of class k over its rival lacks of the sum of theirs; 0 unless it is joint."""
    if state.counters[COVARIANCE] != JOINT:
        return 0.0
    n_classes = state.counters[CLASSES]
    return 2.0 * bilinear(state.sigma[k * n_classes + best_other(means, n_classes, k)], row)


@inner
def plan_pair(
    counters: Any, parameters: Any, means: Any, variances: Any, first: int, s: float, second: int, t: float
) -> Moves:
    """Signal s e_first + t e_second; the two classes may be one."""
    if first == second:
        s, t = s + t, 0.0
    m = s * means[first] + t * means[second]
    v = s * s * variances[first] + t * t * variances[second]
    alpha, beta = step(counters, parameters, parameters[STEP], m, v)
    if alpha == 0.0 and beta == 0.0:
        return -1, 0.0, 0.0, -1, 0.0, 0.0
    return (
        first if s != 0.0 else -1,
        alpha * s,
        beta * (s * s),
        second if t != 0.0 else -1,
        alpha * t,
        beta * (t * t),
    )


@inner
def plan_sign(
    counters: Any, parameters: Any, C: float, score: float, v: float, k: int, h: float, observed: int
) -> Moves:
    """Signal +-e_k: h step(+1) - (1 - h) step(-1), whose expectation over the flips is the step without noise."""
    shift = 0.0
    if counters[PROJECT] and v > 0.0 and abs(score) > 1.0:  # onto |score| <= 1, in the norm of inv(Sigma)
        inside = min(1.0, max(-1.0, score))
        shift, score = (inside - score) / v, inside
    if counters[COVARIANCE] == DIAGONAL and counters[SHRINK] == ALONE:
        return k, shift, 2.0 * h - 1.0, -1, 0.0, 0.0
    up, up_beta = down, down_beta = 0.0, 0.0
    if observed or h != 0.0:  # without noise, h is 0 or 1 and one step is needed
        up, up_beta = step(counters, parameters, C, score, v)
    if not observed or h != 1.0:
        down, down_beta = step(counters, parameters, C, -score, v)
    alpha = shift + (h * up - (1.0 - h) * down)
    beta = up_beta if observed else down_beta
    return k if alpha != 0.0 or beta != 0.0 else -1, alpha, beta, -1, 0.0, 0.0


@inner
def plan_rival(
    counters: Any, parameters: Any, means: Any, variances: Any, shared: float, k: int, weight: float
) -> Moves:
    """Signal weight (e_k - e_rival): SOBA; adds to the running sum of its update condition."""
    rival = best_other(means, counters[CLASSES], k)
    m, v = means[k] - means[rival], variances[k] + variances[rival] - shared
    alpha, beta, gained = second_order(weight, parameters[RUNNING], m, v)
    if alpha == 0.0 and beta == 0.0:
        return -1, 0.0, 0.0, -1, 0.0, 0.0
    parameters[RUNNING] += gained
    if counters[SHRINK] == RATIO and beta > 0.0:
        alpha = beta = weight  # theta += weight x, A += weight x^2
    return k, alpha, beta, rival, -alpha, beta
