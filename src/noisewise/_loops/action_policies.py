"""Policies over scored actions: from means and variances to the probability of each action, and the draw."""

from __future__ import annotations

from math import erf
from typing import Any

import numpy as np

from noisewise._loops.action_state import INVERSE_GAP, MATCHING
from noisewise._loops.compiled import compiled
from noisewise._loops.rng import uniform

GRID = 64  # points of the integral over the best score
TAIL = 4.0  # standard deviations beyond which a score is not expected
SQRT_HALF = 0.7071067811865476
TINY = 1e-300  # in place of 0, to divide by


@compiled
def fill_probabilities(
    kind: int, first: float, second: float, n_rounds: int, means: Any, variances: Any, probabilities: Any
) -> None:
    """Probability of each action under a policy with two parameters.

    BOUNDS: the highest of mean + first * standard deviation, mixed with a fraction `second` of uniform exploration.
    MATCHING: the probability that the action is best, of independent normal scores whose standard deviations are
    `first` times the given ones. INVERSE_GAP: 1 / (K + gamma (best mean - mean)), gamma = first * n_rounds^second.
    """
    n_actions = len(means)
    if kind == MATCHING:
        _fill_best(first, means, variances, probabilities)
    elif kind == INVERSE_GAP:
        _fill_inverse_gap(first * max(1.0, n_rounds) ** second, means, probabilities)
    else:
        for k in range(n_actions):
            probabilities[k] = means[k] + first * np.sqrt(max(0.0, variances[k]))
        top = _largest(probabilities)
        for k in range(n_actions):
            probabilities[k] = second / n_actions
        probabilities[top] += 1.0 - second


@compiled
def _largest(values: Any) -> int:
    best = 0
    for k in range(len(values)):
        if values[k] > values[best]:
            best = k
    return best


@compiled
def _fill_inverse_gap(gamma: float, means: Any, probabilities: Any) -> None:
    n_actions, best, rest = len(means), _largest(means), 1.0
    for k in range(n_actions):
        probabilities[k] = 1.0 / (n_actions + gamma * (means[best] - means[k]))
        if k != best:
            rest -= probabilities[k]
    probabilities[best] = rest


@compiled
def _fill_best(scale: float, means: Any, variances: Any, probabilities: Any) -> None:
    """P(action is best): over a grid of the best score, the mass of one score times the others' probability below."""
    n_actions = len(means)
    stds = scale * np.sqrt(np.maximum(variances, 0.0))
    low, high = (means - TAIL * stds).max(), (means + TAIL * stds).max()
    before, after = np.zeros(n_actions), np.zeros(n_actions)
    probabilities[:] = 0.0
    for point in range(1, GRID + 1):
        at = low + (high - low) * point / GRID
        all_below = 1.0
        for k in range(n_actions):
            if means[k] + TAIL * stds[k] >= low:  # else never the best
                after[k] = _below(at, means[k], stds[k])
                all_below *= max(0.5 * (before[k] + after[k]), TINY)
        for k in range(n_actions):
            if means[k] + TAIL * stds[k] >= low:
                middle = max(0.5 * (before[k] + after[k]), TINY)
                probabilities[k] += (after[k] - before[k]) * all_below / middle
                before[k] = after[k]
    total = probabilities.sum()
    for k in range(n_actions):
        probabilities[k] /= total


@compiled
def _below(at: float, mean: float, std: float) -> float:
    """P(score <= at)."""
    if abs(at - mean) >= TAIL * std:
        return 1.0 if at >= mean else 0.0
    return 0.5 * (1.0 + erf((at - mean) / std * SQRT_HALF))


@compiled
def draw(probabilities: Any, u: float) -> int:
    """The action whose part of [0, 1) holds u."""
    chosen, reached = 0, 0.0
    for k in range(len(probabilities)):
        if probabilities[k] > 0.0:
            chosen = k
            reached += probabilities[k]
            if u < reached:
                break
    return chosen


@compiled
def choose(
    kind: int,
    first: float,
    second: float,
    n_rounds: int,
    means: Any,
    variances: Any,
    probabilities: Any,
    rng_state: Any,
) -> int:
    """Fill the probabilities of a policy, and draw an action; steps the rng."""
    fill_probabilities(kind, first, second, n_rounds, means, variances, probabilities)
    return draw(probabilities, uniform(rng_state))
