"""Choosing an action without learning, with the scores and confidence bonuses that were compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._loops import state as codes
from noisewise._loops.state import State
from noisewise._typing import Floats
from noisewise.online.learners.base import loops


def rank_actions(
    learner: Any, row: Floats, allowed: NDArray[np.bool_] | None, rng_state: NDArray[np.uint64]
) -> tuple[int, int, float, Floats, Floats]:
    """Decide for a dense row as ``learner.decide`` does, drawing from another SFC64 state; the learner stays as it is.

    Action, greedy action, propensity, score of each action and what is added to it (the UCB bonus). The action is -1
    if the scores are not finite.
    """
    scratch, everything = learner._scratch()
    state = State(learner.table_, learner.sigma_, learner.parameters_, learner.counters_, rng_state)
    code, best, probability = loops().decide_dense(*state, row, scratch, everything if allowed is None else allowed)
    return code, best, probability, *_scores_and_bonuses(learner, scratch)


def _scores_and_bonuses(learner: Any, scratch: Floats) -> tuple[Floats, Floats]:
    """What the compiled round has just compared, read from its scratch buffer."""
    counters, parameters = learner.counters_, learner.parameters_
    n_columns, n_actions = counters.item(codes.COLUMNS), counters.item(codes.CLASSES)
    means, variances = codes.scored(learner.table_, scratch)
    means, variances = means[:n_columns], variances[:n_actions]
    if parameters.item(codes.WIDTH) > 0:
        bonuses = parameters.item(codes.WIDTH) * np.sqrt(np.maximum(variances, 0.0))
    else:
        bonuses = np.zeros(n_actions)
    if counters.item(codes.SIGNAL) != codes.VALUE:
        return means.clip(-1.0, 1.0) if counters.item(codes.PROJECT) else means.copy(), bonuses
    rates = learner._rates()
    bonuses = bonuses / rates[:, codes.BETA]
    bonuses[rates[:, codes.UNINFORMATIVE] > 0] = 0.0
    return learner._corrected(means), bonuses
