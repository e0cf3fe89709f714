"""How to act on scores: the best upper bound, except for a share of rounds played uniformly."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.chance import uniform
from noisewise._loops.compiled import bare, inlined
from noisewise._loops.state import BETA, CLASSES, PER_ACTION, PROJECT, RATES, RHO0, SHARE, SIGNAL, USELESS, VALUE, WIDTH


@inlined
def fill_bounds(integers: Any, reals: Any, work: Any) -> None:
    """The upper bound of each class: what is believed of it, and `width` standard deviations."""
    n, width = integers[CLASSES], reals[WIDTH]
    if integers[SIGNAL] == VALUE:
        fill_corrected(integers, reals, work)
        return
    for k in range(n):
        work.bounds[k] = work.means[k]
    if integers[PROJECT]:
        for k in range(n):
            work.bounds[k] = min(1.0, max(-1.0, work.bounds[k]))
    if width > 0.0:
        for k in range(n):
            work.bounds[k] += width * np.sqrt(max(0.0, work.variances[k]))


@bare
def fill_corrected(integers: Any, reals: Any, work: Any) -> None:
    """The same where feedback is regressed: corrected for the rates of each class.

    Classes whose feedback says too little share what the others leave of a probability of one.
    """
    n_classes, width = integers[CLASSES], reals[WIDTH]
    n_useless, left = 0, 1.0
    for k in range(n_classes):
        rates = RATES + PER_ACTION * k
        belief = (work.means[k] - reals[rates + RHO0] * work.means[n_classes + k]) / reals[rates + BETA]
        if reals[rates + USELESS]:
            n_useless += 1
        else:
            left -= max(0.0, belief)
        if width > 0.0:
            belief += width * np.sqrt(max(0.0, work.variances[k])) / reals[rates + BETA]
        work.bounds[k] = belief
    for k in range(n_classes):
        if reals[RATES + PER_ACTION * k + USELESS]:
            work.bounds[k] = left / n_useless


@inlined
def highest(scores: Any, n: int, allowed: Any) -> Any:
    """The first allowed class of those with the highest score; without jumps, which could not be foreseen."""
    top, best = -np.inf, -1
    for k in range(n):
        top = max(top, scores[k] if allowed[k] else -np.inf)
    for k in range(n - 1, -1, -1):
        best = k if allowed[k] & (scores[k] == top) else best
    return best if best >= 0 else nth_allowed(allowed, 0)


@inlined
def act(state: Any, work: Any, allowed: Any, decided: Any) -> tuple[int, int, float]:
    """The action played, the best one, and the probability of the one played; steps the chance if it is needed."""
    integers, reals = state.integers, state.reals
    fill_bounds(integers, reals, work)
    best = highest(work.bounds, integers[CLASSES], allowed)
    share = reals[SHARE]
    if share <= 0.0 or decided:
        return best, best, 1.0
    n_allowed = 0
    for k in range(allowed.shape[0]):
        n_allowed += allowed[k]
    u = uniform(state.chance)
    action = best
    if u < share:
        action = nth_allowed(allowed, min(int(u / share * n_allowed), n_allowed - 1))
    probability = share / n_allowed
    if action == best:
        probability += 1.0 - share
    return action, best, probability


@bare
def nth_allowed(allowed: Any, n: int) -> int:
    """The n-th of the allowed classes, from 0."""
    for k in range(allowed.shape[0]):
        if allowed[k]:
            if n == 0:
                return k
            n -= 1
    return -1
