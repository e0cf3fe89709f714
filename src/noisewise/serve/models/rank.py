"""Deciding without learning: a draw, an action, and all that is needed to explain them later."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._loops.state import new_rng
from noisewise._typing import Floats
from noisewise.online import rank_actions

MOST_SKIPPED = 16


class Ranked(NamedTuple):
    """An action and what made it; `draw` is None where nothing was left to chance."""

    code: int
    best: int
    probability: float
    draw: float | None
    scores: Floats
    widths: Floats


def rank(learner: Any, row: Floats, allowed: NDArray[np.bool_] | None, chance: NDArray[np.uint64]) -> Ranked:
    """Decide as ``learner.decide`` does, with the draws of `chance`, which moves on; the learner does not."""
    before = chance.copy()
    code, best, probability, scores, widths = rank_actions(learner, row, allowed, chance)
    if code < 0:
        raise ValueError("the scores of this row are not finite; smaller numbers would do")
    draw = None if chance[3] == before[3] else next_uniform(before)
    return Ranked(code, best, probability, draw, scores, widths)


def next_uniform(chance: NDArray[np.uint64]) -> float:
    """The next number in [0, 1) of numpy's SFC64 stream; `chance`, its state, moves on.

    >>> next_uniform(new_rng(0)) == np.random.Generator(np.random.SFC64(0)).random()
    True
    """
    from noisewise._loops.rng import uniform  # compiled: loaded when first needed

    return float(uniform(chance))


def move_past(chance: NDArray[np.uint64], draw: float) -> None:
    """Go on in a stream to what comes after a draw; not at all if the draw is of another stream.

    A few draws may have been passed over: a decision that was asked for twice at the same time is made once.
    """
    ahead = chance.copy()
    for _ in range(MOST_SKIPPED):
        if next_uniform(ahead) == draw:
            chance[:] = ahead
            return


def fresh_chance() -> NDArray[np.uint64]:
    """A stream of draws that no other process has."""
    return new_rng()
