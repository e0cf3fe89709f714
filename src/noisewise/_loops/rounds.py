"""One round (score, act, signal, learn), and whole streams of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.compiled import compiled
from noisewise._loops.moves import move
from noisewise._loops.policies import act
from noisewise._loops.scores import compact, score
from noisewise._loops.signals import plan
from noisewise._loops.state import CLASSES, COLUMNS, MISTAKES, ROUNDS, UPDATES, Row


@compiled
def observe(right: bool, action: int, noise: Any, u: float) -> int:
    """What is seen of right or wrong through the noise (rho0, rho1 of each action), decided by the uniform u."""
    if right:
        return 1 if u >= noise[action, 1] else 0
    return 1 if u >= 1.0 - noise[action, 0] else 0


@compiled
def one_round(state: Any, row: Any, i: int, log: Any, means: Any, variances: Any, allowed: Any) -> None:
    """Round i of a stream; fills row i of the log unless the log is given, and learns."""
    score(state, row, means, variances)
    action, best, probability = act(
        state.kinds, state.settings, state.rates, state.chance, means, variances, allowed, log.given
    )
    true = log.true[i]
    if log.given:
        action, probability = log.actions[i], log.probabilities[i]
        observed = log.feedback[i]
    else:
        u = log.uniforms[i] if log.uniforms.shape[0] else 0.5
        observed = observe(action == true, action, log.noise, u)
        log.actions[i] = action
        log.feedback[i] = observed
        log.probabilities[i] = probability
        state.counts[MISTAKES] += action != true
    state.counts[ROUNDS] += 1
    moves = plan(
        state.kinds,
        state.settings,
        state.rates,
        state.sums,
        means,
        variances,
        action,
        best,
        probability,
        observed,
        true,
    )
    state.counts[UPDATES] += move(state, row, moves)


@compiled
def play_dense(state: Any, X: Any, log: Any) -> int:
    """Play (or, if the log is given, relive) a dense X up to the first row that is not finite: its number, or -1."""
    means, variances = np.zeros(state.kinds[COLUMNS]), np.zeros(state.kinds[CLASSES])
    allowed = np.ones(state.kinds[CLASSES], np.bool_)
    index, value = row_buffers(X.shape[1], state.table)
    for i in range(X.shape[0]):
        n = compact(X[i], index, value)
        if n < 0:
            return i
        one_round(state, Row(index, value, 0, n), i, log, means, variances, allowed)
    return -1


@compiled
def play_sparse(state: Any, indptr: Any, indices: Any, data: Any, log: Any) -> None:
    """The same for the rows of a CSR matrix."""
    means, variances = np.zeros(state.kinds[COLUMNS]), np.zeros(state.kinds[CLASSES])
    allowed = np.ones(state.kinds[CLASSES], np.bool_)
    for i in range(indptr.shape[0] - 1):
        row = Row(indices, data, int(indptr[i]), int(indptr[i + 1]))
        one_round(state, row, i, log, means, variances, allowed)


@compiled
def decide_row(state: Any, row: Any, allowed: Any) -> tuple[int, int, float]:
    """Action, best action and the probability of the action for one row; changes the chance only."""
    means, variances = np.zeros(state.kinds[COLUMNS]), np.zeros(state.kinds[CLASSES])
    score(state, row, means, variances)
    return act(state.kinds, state.settings, state.rates, state.chance, means, variances, allowed, False)


@compiled
def learn_row(state: Any, row: Any, action: int, best: int, probability: float, observed: int) -> None:
    """Learn from the feedback on one row, whenever it was decided."""
    means, variances = np.zeros(state.kinds[COLUMNS]), np.zeros(state.kinds[CLASSES])
    score(state, row, means, variances)
    state.counts[ROUNDS] += 1
    moves = plan(
        state.kinds, state.settings, state.rates, state.sums, means, variances, action, best, probability, observed, -1
    )
    state.counts[UPDATES] += move(state, row, moves)


@compiled
def decide_dense(state: Any, x: Any, allowed: Any) -> tuple[int, int, float]:
    """The same as `decide_row` for a dense row; an action of -1 says that the row is not finite."""
    index, value = row_buffers(x.shape[0], state.table)
    n = compact(x, index, value)
    if n < 0:
        return -1, -1, 0.0
    return decide_row(state, Row(index, value, 0, n), allowed)


@compiled
def learn_dense(state: Any, x: Any, action: int, best: int, probability: float, observed: int) -> None:
    """The same as `learn_row` for a dense row."""
    index, value = row_buffers(x.shape[0], state.table)
    n = compact(x, index, value)
    learn_row(state, Row(index, value, 0, n), action, best, probability, observed)


@compiled
def decide_sparse(state: Any, indices: Any, data: Any, allowed: Any) -> tuple[int, int, float]:
    """The same as `decide_row` for the non-zeros of a row."""
    return decide_row(state, Row(indices, data, 0, indices.shape[0]), allowed)


@compiled
def learn_sparse(
    state: Any, indices: Any, data: Any, action: int, best: int, probability: float, observed: int
) -> None:
    """The same as `learn_row` for the non-zeros of a row."""
    learn_row(state, Row(indices, data, 0, indices.shape[0]), action, best, probability, observed)


@compiled
def row_buffers(n_features: int, table: Any) -> tuple[Any, Any]:
    """Room for the non-zeros of a row, and eight more that are written but never read."""
    return np.empty(n_features + 8, np.uint32), np.empty(n_features + 8, table.dtype)
