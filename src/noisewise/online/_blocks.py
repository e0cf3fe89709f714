"""Streams whose noise is estimated anew after every block of rounds."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp

from noisewise._loops import state as codes
from noisewise._loops.state import Log
from noisewise.online import _log
from noisewise.online._policies import Policy
from noisewise.online._rates import flip_rates


def start(learner: Any, policy: Policy) -> None:
    """An empty block."""
    if not isinstance(learner.block, int | np.integer) or learner.block < 1:
        raise ValueError(f"block is {learner.block!r}; it is a number of rounds, 1 or more")
    learner.tracker_ = deepcopy(learner.tracker)
    learner.log_ = _log.new_log(int(learner.block), learner.table_.dtype)
    learner.reals_[codes.SHARE] = policy.first_share


def run(learner: Any, rows: Any, log: Log) -> None:
    """Play or relive the rows block by block, with the rates of each block."""
    first, n = 0, rows.shape[0]
    while first < n:
        last = min(n, first + int(learner.block) - learner.log_["n"])
        part = Log(
            log.true[first:last],
            log.noise,
            log.uniforms[first:last],
            log.actions[first:last],
            log.feedback[first:last],
            log.probabilities[first:last],
            log.given,
        )
        learner._run(rows[first:last], part)
        remember(learner, rows[first:last], part.actions, part.feedback, part.probabilities)
        first = last


def remember(learner: Any, rows: Any, actions: Any, feedback: Any, probabilities: Any) -> None:
    """Add rounds to the block; a full block goes to the tracker, whose estimate is used from then on."""
    if learner.log_["n"] == 0 and rows.shape[0] == learner.block:
        block = rows, actions, feedback, probabilities
    else:
        _log.append(learner.log_, rows, actions, feedback, probabilities)
        if learner.log_["n"] < learner.block:
            return
        block = _log.take(learner.log_, learner.n_features_in_, dense=not sp.issparse(rows))
    X, played, seen, chances = block
    learner.tracker_.observe(X, actions=played, probabilities=chances, feedback=seen)
    estimate = learner.tracker_.estimate()
    learner._use_rates(flip_rates(getattr(estimate, "noise", estimate), len(learner.classes_)))
    learner.reals_[codes.SHARE] = learner.policy.share


def as_rows(row: Any, n_features: int) -> Any:
    """One row of a decision as a matrix of one row."""
    if isinstance(row, tuple):
        indices, values = row
        return sp.csr_array((values, indices.astype(np.int32), [0, len(values)]), shape=(1, n_features))
    return row[None, :]
