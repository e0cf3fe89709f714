"""One round (score, act, signal, learn), and whole streams of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.compiled import compiled, inlined
from noisewise._loops.moves import move
from noisewise._loops.policies import act
from noisewise._loops.rows import compact, row_buffers
from noisewise._loops.scores import score
from noisewise._loops.signals import plan
from noisewise._loops.state import CLASSES, COLUMNS, MISTAKES, ROUNDS, UPDATES, Row, Work


@compiled
def observe(right: bool, action: int, noise: Any, u: float) -> int:
    """What is seen of right or wrong through the noise (rho0, rho1 of each action), decided by the uniform u."""
    if right:
        return 1 if u >= noise[action, 1] else 0
    return 1 if u >= 1.0 - noise[action, 0] else 0


@compiled
def new_work(state: Any) -> Any:
    """Room for one row at a time; everything may be played."""
    return Work(
        np.zeros(state.table.shape[1], state.table.dtype),
        np.zeros(state.kinds[COLUMNS]),
        np.zeros(state.kinds[CLASSES]),
        np.ones(state.kinds[CLASSES], np.bool_),
    )


@inlined
def learn(
    state: Any, row: Any, work: Any, action: int, best: int, probability: float, observed: Any, true: Any
) -> None:
    """Learn from a round whose row has been scored."""
    moves = plan(
        state.kinds,
        state.settings,
        state.rates,
        state.sums,
        work.means,
        work.variances,
        action,
        best,
        probability,
        observed,
        true,
    )
    state.counts[ROUNDS] += 1
    state.counts[UPDATES] += move(state, row, moves)


@inlined
def one_round(state: Any, row: Any, work: Any, i: int, log: Any) -> bool:
    """Round i of a stream; fills row i of the log unless it is given, and learns. False if the row is not finite."""
    if not score(state, row, work):
        return False
    means, variances = work.means, work.variances
    action, best, probability = act(
        state.kinds, state.settings, state.rates, state.chance, means, variances, work.allowed, log.given
    )
    true = log.true[i]
    if log.given:
        action, probability, observed = log.actions[i], log.probabilities[i], np.int64(log.feedback[i])
    else:
        u = log.uniforms[i] if log.uniforms.shape[0] else 0.5
        observed = np.int64(observe(action == true, action, log.noise, u))
        log.actions[i], log.probabilities[i], log.feedback[i] = action, probability, observed
        state.counts[MISTAKES] += action != true
    learn(state, row, work, action, best, probability, observed, true)
    return True


@compiled
def play_dense(state: Any, X: Any, log: Any) -> int:
    """Play (or, if the log is given, relive) a dense X up to the first row that is not finite: its number, or -1."""
    work = new_work(state)
    index, value = row_buffers(X.shape[1], state.table)
    for i in range(X.shape[0]):
        row = Row(index, value, 0, compact(X[i], index, value))
        if not one_round(state, row, work, i, log):
            return i
    return -1


@compiled
def play_sparse(state: Any, indptr: Any, indices: Any, data: Any, log: Any) -> int:
    """The same for the rows of a CSR matrix."""
    work = new_work(state)
    for i in range(indptr.shape[0] - 1):
        row = Row(indices, data, int(indptr[i]), int(indptr[i + 1]))
        if not one_round(state, row, work, i, log):
            return i
    return -1


@inlined
def decide_row(state: Any, row: Any, allowed: Any) -> tuple[int, int, float]:
    """Action, best action and the action's probability for one row, -1 if it is not finite; changes the chance only."""
    work = new_work(state)
    if not score(state, row, work):
        return -1, -1, 0.0
    means, variances = work.means, work.variances
    return act(state.kinds, state.settings, state.rates, state.chance, means, variances, allowed, np.bool_(False))


@inlined
def learn_row(state: Any, row: Any, action: int, best: int, probability: float, observed: int) -> bool:
    """Learn from the feedback on one row, whenever it was decided; false if the row is not finite."""
    work = new_work(state)
    if not score(state, row, work):
        return False
    learn(state, row, work, action, best, probability, observed, np.int64(-1))
    return True


@compiled
def decide_dense(state: Any, x: Any, allowed: Any) -> tuple[int, int, float]:
    """`decide_row` for a dense row."""
    index, value = row_buffers(x.shape[0], state.table)
    return decide_row(state, Row(index, value, 0, compact(x, index, value)), allowed)


@compiled
def learn_dense(state: Any, x: Any, action: int, best: int, probability: float, observed: int) -> bool:
    """`learn_row` for a dense row."""
    index, value = row_buffers(x.shape[0], state.table)
    return learn_row(state, Row(index, value, 0, compact(x, index, value)), action, best, probability, observed)


@compiled
def decide_sparse(state: Any, indices: Any, data: Any, allowed: Any) -> tuple[int, int, float]:
    """`decide_row` for the non-zeros of a row."""
    return decide_row(state, Row(indices, data, 0, indices.shape[0]), allowed)


@compiled
def learn_sparse(
    state: Any, indices: Any, data: Any, action: int, best: int, probability: float, observed: int
) -> bool:
    """`learn_row` for the non-zeros of a row."""
    return learn_row(state, Row(indices, data, 0, indices.shape[0]), action, best, probability, observed)
