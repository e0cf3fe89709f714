"""The policy step: argmax of upper confidence bounds, mixed with uniform exploration."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.argmax import argmax
from noisewise._loops.compiled import inlined, inner
from noisewise._loops.rng import uniform
from noisewise._loops.state import (
    BETA,
    CLASSES,
    EXPLORATION,
    PER_ACTION,
    PROJECT,
    RATES,
    RHO0,
    SIGNAL,
    UNINFORMATIVE,
    VALUE,
    WIDTH,
)


@inlined
def fill_bounds(counters: Any, parameters: Any, work: Any) -> Any:
    """Upper confidence bound of each class, mean + width * standard deviation; false if the means are the bounds."""
    width, project = parameters[WIDTH], counters[PROJECT]
    if counters[SIGNAL] == VALUE:
        fill_corrected(counters, parameters, work)
        return True
    if not (width > 0.0 or project):
        return False
    for k in range(np.uint64(counters[CLASSES])):  # unsigned: no test for negative indices
        mean = min(1.0, max(-1.0, work.means[k])) if project else work.means[k]
        work.bounds[k] = mean + width * np.sqrt(max(0.0, work.variances[k])) if width > 0.0 else mean
    return True


@inner
def fill_corrected(counters: Any, parameters: Any, work: Any) -> None:
    """The same where noisy feedback is regressed: bounds of P(right | x) corrected for the flip rates of each class.

    (mean - rho0 * level) / beta, where level is the regression of 1; uninformative classes divide evenly what the
    others leave of a probability of one. `online.rates.flip_rates.corrected_scores` is the same formula for arrays.
    """
    n_classes, width = counters[CLASSES], parameters[WIDTH]
    n_uninformative, left = 0, 1.0
    for k in range(n_classes):
        rates = RATES + PER_ACTION * k
        estimate = (work.means[k] - parameters[rates + RHO0] * work.means[n_classes + k]) / parameters[rates + BETA]
        if parameters[rates + UNINFORMATIVE]:
            n_uninformative += 1
        else:
            left -= max(0.0, estimate)
        if width > 0.0:
            estimate += width * np.sqrt(max(0.0, work.variances[k])) / parameters[rates + BETA]
        work.bounds[k] = estimate
    for k in range(n_classes):
        if parameters[RATES + PER_ACTION * k + UNINFORMATIVE]:
            work.bounds[k] = left / n_uninformative


@inlined
def act(state: Any, work: Any, allowed: Any, n_allowed: int, decided: Any) -> tuple[int, int, float]:
    """The action played, the greedy one, and the propensity of the one played; steps the rng if it explores."""
    counters, parameters = state.counters, state.parameters
    scores = work.bounds if fill_bounds(counters, parameters, work) else work.means
    if n_allowed < counters[CLASSES]:
        for k in range(counters[CLASSES]):
            work.bounds[k] = scores[k] if allowed[k] else -np.inf
        scores = work.bounds
    best = argmax(scores, counters[CLASSES], -1)
    if best < 0:  # all scores are NaN
        best = nth_allowed(allowed, 0)
    rate = parameters[EXPLORATION]
    if rate <= 0.0 or decided:
        return best, best, 1.0
    u = uniform(state.rng)
    action = best
    if u < rate:
        action = nth_allowed(allowed, min(int(u / rate * n_allowed), n_allowed - 1))
    probability = rate / n_allowed
    if action == best:
        probability += 1.0 - rate
    return action, best, probability


@inner
def count_allowed(allowed: Any) -> int:
    """How many classes are allowed."""
    n = 0
    for k in range(allowed.shape[0]):
        n += allowed[k]
    return n


@inner
def nth_allowed(allowed: Any, n: int) -> int:
    """The n-th of the allowed classes, from 0."""
    for k in range(allowed.shape[0]):
        if allowed[k]:
            if n == 0:
                return k
            n -= 1
    return -1
