"""One round (score, act, signal, learn), and whole streams of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.compiled import bare, inlined, inner
from noisewise._loops.policies import act, count_allowed
from noisewise._loops.scores import score
from noisewise._loops.signals import plan, twice_covariance
from noisewise._loops.simd import start_of
from noisewise._loops.sparse_rows import DenseRow, Row, append_constant, compact, scan_ahead_to_end, scan_rest
from noisewise._loops.state import MISTAKES, PADDING, ROUNDS, UPDATES, State, Work
from noisewise._loops.updates import move


@bare
def observe(right: bool, action: int, noise: Any, u: float) -> Any:
    """Feedback through the noise (rho0, rho1 of each action), by inversion of the uniform u."""
    negative = noise[action, 1] if right else 1.0 - noise[action, 0]  # P(negative feedback); compiled without a branch
    return np.int64(u >= negative)


@inner
def divide(state: Any, scratch: Any) -> Any:
    """The parts of the scratch buffer of one row."""
    n_features, width = state.table.shape
    size = n_features + PADDING
    means = 2 * size
    indices = scratch[:size].view(np.uint32)
    return Work(
        start_of(indices[:size]),
        start_of(indices[size:]),
        start_of(scratch[size:means].view(state.table.dtype)),
        start_of(scratch[means : means + width]),
        start_of(scratch[means + width : means + 2 * width]),
        start_of(scratch[means + 2 * width : means + 3 * width]),
        start_of(scratch[means + 3 * width : -2]),
        start_of(scratch[-2:].view(np.int64)),
    )


@inlined
def learn(
    state: Any, row: Any, work: Any, action: int, best: int, probability: float, observed: Any, true: Any
) -> None:
    """Learn from a round whose row has been scored."""
    parameters, counters = state.parameters, state.counters
    shared = twice_covariance(state, row, work.means, action)
    moves = plan(counters, parameters, work.means, work.variances, shared, action, best, probability, observed, true)
    counters[ROUNDS] += 1
    counters[UPDATES] += move(state, row, moves, work.gain)


@inlined
def one_round(state: Any, row: Any, work: Any, allowed: Any, n_allowed: int, i: int, log: Any) -> bool:
    """Round i of a stream; fills row i of the log unless it is given, and learns. False if the row is not finite."""
    if not score(state, row, work):
        return False
    action, best, probability = act(state, work, allowed, n_allowed, log.given)
    true = log.true[i]
    if log.given:
        action, probability, observed = log.actions[i], log.probabilities[i], np.int64(log.feedback[i])
    else:
        u = log.uniforms[i] if log.uniforms.shape[0] else 0.5
        observed = observe(action == true, action, log.noise, u)
        log.actions[i], log.probabilities[i], log.feedback[i] = action, probability, observed
        state.counters[MISTAKES] += action != true
    learn(state, row, work, action, best, probability, observed, true)
    return True


@bare
def play_dense(state: Any, X: Any, log: Any, scratch: Any, allowed: Any) -> int:
    """Play (or, if the log is given, replay) a dense X up to the first row that is not finite: its index, or -1."""
    work, n_allowed = divide(state, scratch), count_allowed(allowed)
    here, there = work.features, work.found
    n, last = np.int64(0), X.shape[0] - 1
    if last >= 0:
        n = np.int64(scan_rest(start_of(X[0]), np.int64(0), X.shape[1], here, np.uint64(0)))
    for i in range(X.shape[0]):
        work.ahead[0] = work.ahead[1] = 0
        row = DenseRow(here, start_of(X[i]), 0, n, X.shape[1], start_of(X[min(i + 1, last)]), there)
        if not one_round(state, row, work, allowed, n_allowed, i, log):
            return i
        n = np.int64(scan_ahead_to_end(row, work.ahead[0], np.uint64(work.ahead[1])))
        here, there = there, here
    return -1


@bare
def play_sparse(state: Any, indptr: Any, indices: Any, data: Any, log: Any, scratch: Any, allowed: Any) -> int:
    """The same for the rows of a CSR matrix, which also stops where a column does not exist."""
    work, n_allowed = divide(state, scratch), count_allowed(allowed)
    n_features = state.table.shape[0]
    for i in range(indptr.shape[0] - 1):
        row = Row(start_of(indices), start_of(data), int(indptr[i]), int(indptr[i + 1]), indices.shape[0])
        if row.start < row.stop and max(indices[row.start], indices[row.stop - 1]) >= n_features:  # indices are sorted
            return i
        if not one_round(state, row, work, allowed, n_allowed, i, log):
            return i
    return -1


@inlined
def decide_row(state: Any, row: Any, work: Any, allowed: Any) -> Any:
    """Action, greedy action and propensity for one row, -1 if it is not finite; changes the rng only."""
    if not score(state, row, work):
        return -1, -1, 0.0
    return act(state, work, allowed, count_allowed(allowed), np.bool_(False))


@inlined
def learn_row(state: Any, row: Any, work: Any, action: int, best: int, probability: float, observed: int) -> Any:
    """Learn from the feedback on one row, whenever it was decided; false if the row is not finite."""
    if not score(state, row, work):
        return False
    learn(state, row, work, action, best, probability, observed, np.int64(-1))
    return True


# Called from Python: arrays one by one, because a tuple of them takes a microsecond more to pass.


@bare
def decide_dense(
    table: Any, sigma: Any, parameters: Any, counters: Any, rng: Any, x: Any, scratch: Any, allowed: Any
) -> Any:
    """`decide_row` for a dense row, which stays in the scratch buffer for `learn_scored`; the state comes in parts."""
    state = State(table, sigma, parameters, counters, rng)
    work = divide(state, scratch)
    n = compact(x, work.features, work.values)
    n = append_constant(table, x.shape[0], work.features, work.values, n)
    work.ahead[1] = n
    return decide_row(state, Row(work.features, work.values, 0, n, n), work, allowed)


@bare
def learn_dense(
    table: Any,
    sigma: Any,
    parameters: Any,
    counters: Any,
    rng: Any,
    x: Any,
    scratch: Any,
    action: int,
    best: int,
    probability: float,
    observed: int,
) -> Any:
    """`learn_row` for a dense row."""
    state = State(table, sigma, parameters, counters, rng)
    work = divide(state, scratch)
    n = compact(x, work.features, work.values)
    n = append_constant(table, x.shape[0], work.features, work.values, n)
    return learn_row(state, Row(work.features, work.values, 0, n, n), work, action, best, probability, observed)


@bare
def learn_scored(
    table: Any,
    sigma: Any,
    parameters: Any,
    counters: Any,
    rng: Any,
    scratch: Any,
    action: int,
    best: int,
    probability: float,
    observed: int,
) -> None:
    """`learn_row` for the dense row that was decided last, if nothing has been learnt since: it has been scored."""
    state = State(table, sigma, parameters, counters, rng)
    work = divide(state, scratch)
    row = Row(work.features, work.values, 0, work.ahead[1], work.ahead[1])
    learn(state, row, work, action, best, probability, observed, np.int64(-1))


@bare
def decide_sparse(
    table: Any,
    sigma: Any,
    parameters: Any,
    counters: Any,
    rng: Any,
    indices: Any,
    data: Any,
    scratch: Any,
    allowed: Any,
) -> Any:
    """`decide_row` for the non-zeros of a row."""
    state = State(table, sigma, parameters, counters, rng)
    n = indices.shape[0]
    return decide_row(state, Row(start_of(indices), start_of(data), 0, n, n), divide(state, scratch), allowed)


@bare
def learn_sparse(
    table: Any,
    sigma: Any,
    parameters: Any,
    counters: Any,
    rng: Any,
    indices: Any,
    data: Any,
    scratch: Any,
    action: int,
    best: int,
    probability: float,
    observed: int,
) -> Any:
    """`learn_row` for the non-zeros of a row."""
    state = State(table, sigma, parameters, counters, rng)
    work, n = divide(state, scratch), indices.shape[0]
    row = Row(start_of(indices), start_of(data), 0, n, n)
    return learn_row(state, row, work, action, best, probability, observed)


@bare
def fill_highest(scores: Any, allowed: Any, highest: Any) -> int:
    """Fill `highest` with the allowed classes that have the highest scores, in any order; how many there are."""
    n, lowest = 0, 0
    for k in range(scores.shape[0]):
        if not allowed[k]:
            continue
        if n < highest.shape[0]:
            lowest, n = n, n + 1
        elif not scores[k] > scores[highest[lowest]]:
            continue
        highest[lowest] = k
        for rank in range(n):
            if scores[highest[rank]] < scores[highest[lowest]]:
                lowest = rank
    return n
