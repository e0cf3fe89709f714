"""Decisions that leave the learner unchanged, and the random stream they draw from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Floats
from noisewise.online import rank_actions

MAX_SKIPPED = 16  # draws of simultaneous requests for one decision, which is made once


class Ranked(NamedTuple):
    """An action with its propensity, and the scores and UCB widths it was chosen by; `draw` is None without one."""

    code: int
    best: int
    probability: float
    draw: float | None
    scores: Floats
    widths: Floats


def rank(learner: Any, row: Floats, allowed: NDArray[np.bool_] | None, rng_state: NDArray[np.uint64]) -> Ranked:
    """Decide as ``learner.decide`` does, with draws from `rng_state`, which advances; the learner is unchanged."""
    before = rng_state.copy()
    code, best, probability, scores, widths = rank_actions(learner, row, allowed, rng_state)
    if code < 0:
        raise ValueError("the scores of this row are not finite; smaller numbers would do")
    draw = None if rng_state[3] == before[3] else next_uniform(before)
    return Ranked(code, best, probability, draw, scores, widths)


def next_uniform(rng_state: NDArray[np.uint64]) -> float:
    """The next number in [0, 1) of numpy's SFC64 stream; `rng_state` advances.

    >>> from noisewise._loops.state import new_rng
    >>> next_uniform(new_rng(0)) == np.random.Generator(np.random.SFC64(0)).random()
    True
    """
    from noisewise._loops.rng import uniform  # compiled: loaded when first needed

    return float(uniform(rng_state))


def move_past(rng_state: NDArray[np.uint64], draw: float) -> None:
    """Advance a stream to just after `draw`; not at all if the draw is of another stream.

    A few draws may have been skipped: a decision that is requested twice at the same time is made once.
    """
    ahead = rng_state.copy()
    for _ in range(MAX_SKIPPED):
        if next_uniform(ahead) == draw:
            rng_state[:] = ahead
            return
