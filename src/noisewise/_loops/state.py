"""What a learner is made of, as arrays: the one argument that every loop over rounds takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# kinds: whole numbers that say what the learner is
CLASSES, COLUMNS, SIGNAL, RULE, VARIANT, COVARIANCE, SHRINK, PROJECT = range(8)
# settings: real numbers
WIDTH, SHARE, STEP, PHI, RIDGE, SCALED = range(6)
# counts
ROUNDS, UPDATES, MISTAKES = range(3)
# columns of rates: h(0), h(1), rho0, beta of each action
H0, H1, RHO0, BETA = range(4)

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
    """A learner between two rounds; loops change all but `rates`, `kinds` and `settings`.

    ``table`` has a row for each feature. With a diagonal covariance a row holds blocks of 32 bytes, means and variances
    in turn; otherwise means only. ``sigma`` holds a full covariance for each class, or nothing.
    """

    table: NDArray[Any]
    sigma: NDArray[np.float64]
    rates: NDArray[np.float64]
    chance: NDArray[np.uint64]
    sums: NDArray[np.float64]
    counts: NDArray[np.int64]
    kinds: NDArray[np.int64]
    settings: NDArray[np.float64]


class Row(NamedTuple):
    """One example: the ``features[start:stop]`` that are not zero, and their ``values``."""

    features: NDArray[Any]
    values: NDArray[Any]
    start: int
    stop: int


class Work(NamedTuple):
    """Room for what is thought of a row: sums as the table lays them out, means, variances, what may be played."""

    sums: NDArray[Any]
    means: NDArray[np.float64]
    variances: NDArray[np.float64]
    allowed: NDArray[np.bool_]


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
    block = block_size(dtype)
    width = -(-n_columns // block) * block
    if covariance != DIAGONAL:
        return aligned((n_features, width), dtype)
    table = aligned((n_features, 2 * width), dtype)
    table.reshape(n_features, -1, 2, block)[:, :, 1] = variance
    return table


def new_sigma(n_features: int, n_classes: int, covariance: int, variance: float = 1.0) -> NDArray[np.float64]:
    """A full covariance for each class, `variance` times the identity; nothing for other covariances."""
    if covariance != FULL:
        return np.zeros((0, 0, 0))
    sigma = np.zeros((n_classes, n_features, n_features))
    sigma[:, np.arange(n_features), np.arange(n_features)] = variance
    return sigma


def block_size(dtype: Any) -> int:
    """How many numbers make a block of 32 bytes."""
    return 32 // int(np.dtype(dtype).itemsize)


def aligned(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Zeros whose first byte lies on a 64-byte boundary, so that a record does not straddle cache lines."""
    itemsize = np.dtype(dtype).itemsize
    size = shape[0] * shape[1]
    room = np.zeros(size + 64 // itemsize, dtype=dtype)
    skip = (-room.ctypes.data % 64) // itemsize
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
    blocks = table.reshape(len(table), -1, 2, block_size(table.dtype))
    return np.ascontiguousarray(blocks[:, :, part]).reshape(len(table), -1)
