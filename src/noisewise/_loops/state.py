"""What a learner is made of, as arrays: the one argument that every loop over rounds takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# integers: what the learner is, and what it has counted
CLASSES, COLUMNS, SIGNAL, RULE, VARIANT, COVARIANCE, SHRINK, PROJECT, ROUNDS, UPDATES, MISTAKES = range(11)
# reals: settings, a running sum, and from RATES on some numbers for each action: h(0), h(1), rho0, beta, and whether
# its feedback says too little, so that it is judged by what the others leave over
WIDTH, SHARE, STEP, PHI, RIDGE, SCALED, RUNNING, RATES = range(8)
H0, H1, RHO0, BETA, USELESS = range(5)
PER_ACTION = 5
HUGE_PAGE = 1 << 21  # bytes
QUAD = 4  # means, or variances, that stand together
SPARE = 8  # non-zeros of a row are written eight at a time, so that many places more than are read

# signals
LABEL, RIVAL, IMPORTANCE, SIGN, VALUE, IMPORTANCE_RIVAL = range(6)
# rules
ADDITIVE, PASSIVE_AGGRESSIVE, CONFIDENCE, ADAPTIVE, HERD, LEAST_SQUARES, SECOND_ORDER = range(7)
# variants of a rule
PLAIN, CAPPED, SQUARED = range(3)
# covariances
IDENTITY, DIAGONAL, FULL = range(3)
# how a variance shrinks: diagonal of the full update; diagonal of the inverse; best diagonal map; each feature alone
DROP, INVERSE, EXACT, ALONE = range(4)


class State(NamedTuple):
    """A learner between two rounds: few arrays, because each costs a call from Python a tenth of a microsecond.

    ``table`` has a row for each feature. With a diagonal covariance these are means and variances, a quad in turn;
    otherwise means only. ``sigma`` holds a full covariance for each class, or nothing.
    """

    table: NDArray[Any]
    sigma: NDArray[np.float64]
    reals: NDArray[np.float64]
    integers: NDArray[np.int64]
    chance: NDArray[np.uint64]


class Work(NamedTuple):
    """Room for one row: its non-zeros, mean and variance of each column, upper bound of each class, and Sigma x.

    ``found`` takes the non-zeros of the next dense row; ``ahead`` is how many of its numbers have been looked at, and
    how many non-zeros found. All are given by where they start.
    """

    features: Any
    found: Any
    values: Any
    means: Any
    variances: Any
    bounds: Any
    gain: Any
    ahead: Any


class Log(NamedTuple):
    """A stream of rounds. Given, its actions, feedback and probabilities are learnt from; else they are filled in."""

    true: NDArray[np.int64]
    noise: NDArray[np.float64]
    uniforms: NDArray[np.float64]
    actions: NDArray[np.int64]
    feedback: NDArray[np.int8]
    probabilities: NDArray[np.float64]
    given: bool


def new_table(n_features: int, n_columns: int, covariance: int, dtype: Any, variance: float = 1.0) -> NDArray[Any]:
    """Means of zero and, if the covariance is diagonal, equal variances, in the layout of `State`."""
    if covariance != DIAGONAL:
        size = per_register(dtype)
        return aligned((n_features, -(-n_columns // size) * size), dtype)
    record = np.zeros((-(-n_columns // QUAD), 2, QUAD), dtype=dtype)
    record[:, 1] = variance
    table = aligned((n_features, record.size), dtype)
    table[...] = record.ravel()
    return table


def new_sigma(n_features: int, n_classes: int, covariance: int, variance: float = 1.0) -> NDArray[np.float64]:
    """A full covariance for each class, `variance` times the identity; nothing for other covariances."""
    if covariance != FULL:
        return np.zeros((0, 0, 0))
    sigma = np.zeros((n_classes, n_features, n_features))
    sigma[:, np.arange(n_features), np.arange(n_features)] = variance
    return sigma


def new_scratch(table: NDArray[Any]) -> NDArray[np.float64]:
    """Memory for the `Work` of one row."""
    n_features, width = table.shape
    return np.zeros(3 * (n_features + SPARE) + 3 * width + 2)


def scored(table: NDArray[Any], scratch: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of each column for the row that was scored last."""
    n_features, width = table.shape
    start = 2 * (n_features + SPARE)
    return scratch[start : start + width], scratch[start + width : start + 2 * width]


def per_register(dtype: Any) -> int:
    """How many numbers fill a register of 32 bytes."""
    return 32 // int(np.dtype(dtype).itemsize)


def aligned(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Zeros from a 64-byte boundary on, so that a record does not straddle cache lines; large ones from a huge page on.

    Memory that fills huge pages is found with one look-up for 2 MiB of it, not one for every 4 KiB.
    """
    itemsize, size = np.dtype(dtype).itemsize, shape[0] * shape[1]
    boundary = HUGE_PAGE if size * itemsize >= HUGE_PAGE else 64
    room = np.zeros((-(-size * itemsize // boundary) + 1) * boundary // itemsize, dtype=dtype)
    skip = (-room.ctypes.data % boundary) // itemsize
    return room[skip : skip + size].reshape(shape)


def means(table: NDArray[Any], n_columns: int, covariance: int) -> NDArray[Any]:
    """The mean weights, of shape (n_features, n_columns)."""
    if covariance != DIAGONAL:
        return table[:, :n_columns]
    return _part(table, 0)[:, :n_columns]


def variances(table: NDArray[Any], n_columns: int) -> NDArray[Any]:
    """The variances of a diagonal covariance, of shape (n_features, n_columns)."""
    return _part(table, 1)[:, :n_columns]


def _part(table: NDArray[Any], part: int) -> NDArray[Any]:
    quads = table.reshape(len(table), -1, 2, QUAD)
    return np.ascontiguousarray(quads[:, :, part]).reshape(len(table), -1)
