"""The rounds since the noise was last estimated, in plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from noisewise._inputs import Codes, Floats


def new_log(block: int, dtype: Any) -> dict[str, Any]:
    """Room for `block` rounds, whose rows are kept by their non-zeros."""
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
        if last > len(log[name]):  # doubled, so that one row at a time is cheap
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
