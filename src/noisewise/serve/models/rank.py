"""Deciding without learning: a draw, an action, and all that is needed to explain them later."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._loops import state as codes
from noisewise._loops.state import State
from noisewise._typing import Floats
from noisewise.online.learners.base import loops

WHOLE = 2**64 - 1
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
    scratch, everything = learner._room()
    state = State(learner.table_, learner.sigma_, learner.reals_, learner.integers_, chance)
    before = chance.copy()
    code, best, probability = loops().decide_dense(*state, row, scratch, everything if allowed is None else allowed)
    if code < 0:
        raise ValueError("the scores of this row are not finite; smaller numbers would do")
    draw = None if chance[3] == before[3] else next_uniform(before)
    return Ranked(code, best, probability, draw, *_scores_and_widths(learner, scratch))


def next_uniform(chance: NDArray[np.uint64]) -> float:
    """The next number in [0, 1) of numpy's SFC64 stream; `chance`, its state, moves on.

    >>> stream = np.random.SFC64(0)
    >>> chance = np.array(stream.state["state"]["state"], dtype=np.uint64)
    >>> next_uniform(chance) == np.random.Generator(stream).random()
    True
    """
    a, b, c, counter = chance.tolist()
    total = (a + b + counter) & WHOLE
    turned = ((c << 24) | (c >> 40)) & WHOLE
    chance[:] = b ^ (b >> 11), (c + (c << 3)) & WHOLE, (turned + total) & WHOLE, (counter + 1) & WHOLE
    return float((total >> 11) * 2.0**-53)


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
    return np.array(np.random.SFC64().state["state"]["state"], dtype=np.uint64)


def _scores_and_widths(learner: Any, scratch: Floats) -> tuple[Floats, Floats]:
    """What the compiled round has just compared: corrected scores, and the bonus for doubt of each action."""
    integers, reals = learner.integers_, learner.reals_
    n_columns, n_actions = integers.item(codes.COLUMNS), integers.item(codes.CLASSES)
    means, variances = codes.scored(learner.table_, scratch)
    means, variances = means[:n_columns], variances[:n_actions]
    if reals.item(codes.WIDTH) > 0:
        widths = reals.item(codes.WIDTH) * np.sqrt(np.maximum(variances, 0.0))
    else:
        widths = np.zeros(n_actions)
    if integers.item(codes.SIGNAL) != codes.VALUE:
        return means.clip(-1.0, 1.0) if integers.item(codes.PROJECT) else means.copy(), widths
    rates = learner._rates()
    beta, useless = rates[:, codes.BETA], rates[:, codes.USELESS] > 0
    scores = (means[:n_actions] - rates[:, codes.RHO0] * means[n_actions:]) / beta
    widths = widths / beta
    if useless.any():
        scores[useless] = (1 - np.maximum(scores[~useless], 0).sum()) / useless.sum()
        widths[useless] = 0.0
    return scores, widths
