"""How to act on scores: the best upper bound, except for a share of rounds played uniformly."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.chance import uniform
from noisewise._loops.compiled import bare
from noisewise._loops.state import BETA, CLASSES, PER_ACTION, PROJECT, RATES, RHO0, SHARE, SIGNAL, USELESS, VALUE, WIDTH


@bare
def belief(integers: Any, reals: Any, means: Any, k: int) -> Any:
    """Score of class k without exploration: corrected for its rates, projected where the rule asks for it."""
    if integers[SIGNAL] == VALUE:
        baseline = means[integers[CLASSES] + k]
        return (means[k] - reals[RATES + PER_ACTION * k + RHO0] * baseline) / reals[RATES + PER_ACTION * k + BETA]
    if integers[PROJECT]:
        return min(1.0, max(-1.0, means[k]))
    return means[k]


@bare
def left_over(integers: Any, reals: Any, means: Any) -> Any:
    """What the other classes leave of a probability of one to each class whose feedback says too little."""
    n_useless, left = 0, 1.0
    for k in range(integers[CLASSES]):
        if reals[RATES + PER_ACTION * k + USELESS]:
            n_useless += 1
    if n_useless:
        for k in range(integers[CLASSES]):
            if not reals[RATES + PER_ACTION * k + USELESS]:
                left -= max(0.0, belief(integers, reals, means, k))
        left /= n_useless
    return left


@bare
def best_class(integers: Any, reals: Any, means: Any, variances: Any, allowed: Any) -> int:
    """The allowed class with the highest upper bound; the first of equals."""
    width, regressed = reals[WIDTH], integers[SIGNAL] == VALUE
    left = left_over(integers, reals, means) if regressed else 0.0
    best, top = -1, -np.inf
    for k in range(integers[CLASSES]):
        if allowed[k]:
            upper = belief(integers, reals, means, k)
            if width > 0.0:
                spread = width * np.sqrt(max(0.0, variances[k]))
                upper += spread / reals[RATES + PER_ACTION * k + BETA] if regressed else spread
            if regressed and reals[RATES + PER_ACTION * k + USELESS]:
                upper = left
            if best < 0 or upper > top:
                best, top = k, upper
    return best


@bare
def act(
    integers: Any, reals: Any, chance: Any, means: Any, variances: Any, allowed: Any, decided: Any
) -> tuple[int, int, float]:
    """The action played, the best one, and the probability of the one played; steps the chance if it is needed."""
    best = best_class(integers, reals, means, variances, allowed)
    share = reals[SHARE]
    if share <= 0.0 or decided:
        return best, best, 1.0
    n_allowed = 0
    for k in range(allowed.shape[0]):
        n_allowed += allowed[k]
    u = uniform(chance)
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
