"""Streams whose feedback noise is re-estimated after every block of rounds, as in RCINE."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp

from noisewise._loops import state as codes
from noisewise._loops.state import Log
from noisewise._typing import Codes, Floats
from noisewise.online.learners.rows import with_constant
from noisewise.online.rates.flip_rates import flip_rates
from noisewise.online.rates.per_action import ActionRateTracker


def new_log(block: int, dtype: Any) -> dict[str, Any]:
    """An empty log of at most `block` rounds, whose rows are stored by their non-zeros."""
    return {
        "n": 0,
        "starts": np.zeros(block + 1, dtype=np.int64),
        "features": np.zeros(0, dtype=np.uint32),
        "values": np.zeros(0, dtype=dtype),
        "actions": np.zeros(block, dtype=np.int64),
        "feedback": np.zeros(block, dtype=np.int8),
        "probabilities": np.zeros(block),
    }


def append(log: dict[str, Any], X: Any, actions: Any, feedback: Any, probabilities: Any) -> None:
    """Add rounds to the log; they must fit."""
    rows = sp.csr_array(X)
    n, more = log["n"], rows.shape[0]
    first, last = int(log["starts"][n]), int(log["starts"][n]) + rows.nnz
    for name, new in (("features", rows.indices), ("values", rows.data)):
        if last > len(log[name]):  # doubled: amortised constant cost per row
            log[name] = np.resize(log[name], max(last, 2 * len(log[name])))
        log[name][first:last] = new
    log["starts"][n + 1 : n + more + 1] = first + rows.indptr[1:]
    for name, new in (("actions", actions), ("feedback", feedback), ("probabilities", probabilities)):
        log[name][n : n + more] = new
    log["n"] = n + more


def take(log: dict[str, Any], n_features: int, dense: bool) -> tuple[Any, Codes, Codes, Floats]:
    """The rounds of the log, which is empty afterwards: rows, actions, feedback and probabilities."""
    n = log["n"]
    last = log["starts"][n]
    parts = (log["values"][:last].copy(), log["features"][:last].astype(np.int32), log["starts"][: n + 1].copy())
    rows = sp.csr_array(parts, shape=(n, n_features))
    log["n"] = 0
    return (
        rows.toarray() if dense else rows,
        log["actions"][:n].astype(np.intp),
        log["feedback"][:n].astype(np.intp),
        log["probabilities"][:n].copy(),
    )


def start(learner: Any) -> None:
    """An empty block."""
    if not isinstance(learner.block, int | np.integer) or learner.block < 1:
        raise ValueError(f"block is {learner.block!r}; it is a number of rounds, 1 or more")
    learner.tracker_ = deepcopy(learner.tracker)
    learner.n_tracked_ = 0
    learner.log_ = _next_block(learner)
    learner.parameters_[codes.EXPLORATION] = learner._policy().first_exploration_rate


def stop(learner: Any) -> None:
    """Stop estimating, if that was done; the exploration rate is that of known noise."""
    if hasattr(learner, "tracker_"):
        del learner.tracker_, learner.n_tracked_, learner.log_
        learner.parameters_[codes.EXPLORATION] = learner._policy().exploration_rate


def refuse_early(learner: Any) -> None:
    """Refuse a report of rates that have not been estimated yet."""
    fresh = learner.tracker is not None and learner.noise is None and not hasattr(learner, "table_")
    pooled = hasattr(learner, "tracker_") and not isinstance(learner.tracker_, ActionRateTracker)
    waiting = pooled and not learner.n_tracked_
    if fresh or waiting:
        rounds = learner.log_["n"] if waiting else 0
        raise ValueError(
            f"the flip rates of the feedback are estimated for the first time after {_block_size(learner)} rounds; "
            f"there have been {rounds}"
        )


def _next_block(learner: Any) -> dict[str, Any]:
    return new_log(_block_size(learner), learner.table_.dtype)


def _block_size(learner: Any) -> int:
    """Rounds of a block: as the tracker asks for, or else the learner's `block`."""
    due = getattr(getattr(learner, "tracker_", learner.tracker), "next_refit", None)
    return int(learner.block if due is None else max(1, due - getattr(learner, "n_tracked_", 0)))


def run(learner: Any, rows: Any, log: Log) -> None:
    """Play or replay the rows block by block, with the rates of each block."""
    first, n = 0, rows.shape[0]
    by_round = ("true", "uniforms", "actions", "feedback", "probabilities")
    while first < n:
        last = min(n, first + len(learner.log_["actions"]) - learner.log_["n"])
        part = log._replace(**{name: getattr(log, name)[first:last] for name in by_round})
        learner._run(rows[first:last], part)
        remember(learner, rows[first:last], part.actions, part.feedback, part.probabilities)
        first = last


def remember(learner: Any, rows: Any, actions: Any, feedback: Any, probabilities: Any) -> None:
    """Add rounds to the block; a full block goes to the tracker, whose estimate is used from then on."""
    size = len(learner.log_["actions"])
    if learner.log_["n"] == 0 and rows.shape[0] == size:
        block = rows, actions, feedback, probabilities
    else:
        append(learner.log_, rows, actions, feedback, probabilities)
        if learner.log_["n"] < size:
            return
        block = take(learner.log_, learner.n_features_in_, dense=not sp.issparse(rows))
    X, played, observed, propensities = block
    if sp.issparse(X) and learner.kinds_[codes.COVARIANCE] in (codes.FULL, codes.JOINT):
        X = X.toarray()  # few features, or there would be no full covariance
    X = with_constant(X, len(learner.table_))
    learner.tracker_.observe(X, actions=played, probabilities=propensities, feedback=observed)
    estimate = learner.tracker_.estimate()
    rates = flip_rates(getattr(estimate, "noise", estimate), learner.classes_)
    learner._use_rates(rates, getattr(estimate, "uninformative", False))
    learner.parameters_[codes.EXPLORATION] = learner._policy().exploration_rate
    learner.n_tracked_ += size
    learner.log_ = _next_block(learner)


def as_rows(row: Any, n_features: int) -> Any:
    """One row of a decision as a matrix of one row."""
    if isinstance(row, tuple):
        indices, values = row
        return sp.csr_array((values, indices.astype(np.int32), [0, len(values)]), shape=(1, n_features))
    return row[None, :]
