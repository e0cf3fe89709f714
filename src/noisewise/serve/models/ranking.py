"""One decision: the learner's scores, a draw from the random state, and the propensities of all actions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats
from noisewise.online import rank_actions
from noisewise.serve.log.events import Event

MAX_SKIPPED = 16  # draws of simultaneous requests for one decision, which is made once
STORED_SCORES = 16  # of a decision: the highest upper bounds and the played action; of the rest, none


class Ranked(NamedTuple):
    """An action with its propensity, and the scores and UCB widths it was chosen by; `draw` is None without one.

    `codes` are the actions that they are of; None for all.
    """

    code: int
    best: int
    probability: float
    draw: float | None
    scores: Floats
    widths: Floats
    codes: Codes | None = None


def rank(
    learner: Any,
    row: Floats,
    allowed: NDArray[np.bool_] | None,
    rng_state: NDArray[np.uint64],
    most: int | None = None,
) -> Ranked:
    """Decide as ``learner.decide`` does, with draws from `rng_state`, which advances; the learner is unchanged.

    Of more than `most` actions, scores are given of the highest ones.
    """
    before = rng_state.copy()
    code, best, probability, codes, scores, widths = rank_actions(learner, row, allowed, rng_state, most)
    if code < 0:
        raise ValueError("the scores of this row are not finite; smaller numbers would do")
    draw = None if rng_state[3] == before[3] else next_uniform(before)
    return Ranked(code, best, probability, draw, scores, widths, codes)


def uniformly(ranked: Ranked, allowed: NDArray[np.bool_] | None, rng_state: NDArray[np.uint64]) -> Ranked:
    """The same decision with an action drawn uniformly from those allowed."""
    choices = np.arange(len(ranked.scores)) if allowed is None else np.flatnonzero(allowed)
    draw = next_uniform(rng_state)
    return ranked._replace(code=int(choices[int(draw * len(choices))]), probability=1 / len(choices), draw=draw)


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


def propensities(decision: Event, n_actions: int) -> dict[int, float]:
    """Propensity of every action that was allowed: of the best one 1 - rate + rate / n, of any other one rate / n.

    >>> made = Event(1, 1, 0, "id", 0.0, code=2, best=0, probability=0.1)
    >>> propensities(made, 3)
    {0: 0.8, 1: 0.1, 2: 0.1}
    """
    allowed, probability = decision.allowed_codes(n_actions), decision.probability or 1.0
    others = len(allowed) - 1
    each = probability if decision.code != decision.best else (1 - probability) / max(others, 1)
    known = {code: 1 - others * each if code == decision.best else each for code in allowed}
    return known | {decision.code or 0: probability}  # as it was, to the last bit


def compact_scores(ranked: Ranked) -> bytes:
    """Scores and widths of all actions; of many, codes, scores and widths of those that could have been chosen."""
    scores, widths, codes = ranked.scores, ranked.widths, ranked.codes
    if codes is None and len(scores) > STORED_SCORES:
        highest = np.argpartition(scores + widths, len(scores) - STORED_SCORES)[-STORED_SCORES:]
        codes = np.union1d(highest, [ranked.code, ranked.best])
        scores, widths = scores[codes], widths[codes]
    return np.concatenate([scores, widths] if codes is None else [codes, scores, widths]).tobytes()


def stored_scores(decision: Event, n_actions: int) -> dict[int, tuple[float, float]]:
    """Score and width by action code, as a decision has stored them.

    >>> ranked = Ranked(3, 0, 1.0, None, np.arange(100.0, 0.0, -1.0), np.zeros(100))
    >>> made = Event(1, 1, 0, "id", 0.0, scores=compact_scores(ranked))
    >>> len(made.scores), stored_scores(made, 100)[3]
    (384, (97.0, 0.0))
    """
    values = np.frombuffer(decision.scores or b"", dtype="<f8")
    if len(values) == 2 * n_actions:
        codes: Any = range(n_actions)
        scores, widths = values.reshape(2, -1).tolist()
    else:
        codes, scores, widths = values.reshape(3, -1).tolist()
    return {int(code): (score, width) for code, score, width in zip(codes, scores, widths)}
