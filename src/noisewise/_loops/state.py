"""The state of a learner as arrays, and the integer codes of policies, signals and rules that every loop reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# counters: configuration codes of the learner, then counts of rounds, updates and mistakes
CLASSES, COLUMNS, SIGNAL, RULE, VARIANT, COVARIANCE, SHRINK, PROJECT, ROUNDS, UPDATES, MISTAKES = range(11)
# parameters: UCB width, exploration rate, bound C of the step, phi, ridge, whether C scales with the signal, SOBA's
# running sum, and from RATES on PER_ACTION entries for each action
WIDTH, EXPLORATION, STEP, PHI, RIDGE, SCALED, RUNNING, RATES = range(8)
# per action: corrected feedback h(0) and h(1), rho0, beta = 1 - rho0 - rho1, and whether its feedback is uninformative,
# so that it is scored by what the others leave of a probability of one
H0, H1, RHO0, BETA, UNINFORMATIVE = range(5)
PER_ACTION = 5  # entries of these
HUGE_PAGE = 1 << 21  # bytes
SIMD_WIDTH = 4  # means, or variances, that are stored side by side and processed as one SIMD vector
PADDING = 8  # non-zeros of a row are written eight at a time, so buffers have as many entries more than are read

# signals
LABEL, RIVAL, IMPORTANCE, SIGN, VALUE, IMPORTANCE_RIVAL = range(6)
# rules
ADDITIVE, PASSIVE_AGGRESSIVE, CONFIDENCE, ADAPTIVE, HERD, LEAST_SQUARES, SECOND_ORDER = range(7)
# variants of a rule
PLAIN, CAPPED, SQUARED = range(3)
# covariances; a full one for each class, or one of the weights of all classes
IDENTITY, DIAGONAL, FULL, JOINT = range(4)
# update of a diagonal covariance: diagonal of the full update; of its inverse; best diagonal map; each feature alone;
# mean theta / A of two sums
DROP, INVERSE, EXACT, ALONE, RATIO = range(5)


class State(NamedTuple):
    """A learner between two rounds: few arrays, because each costs a call from Python a tenth of a microsecond.

    ``table`` has a row for each feature. With a diagonal covariance it alternates SIMD_WIDTH means and as many
    variances; otherwise it holds means only. ``sigma`` holds a full covariance for each class, the blocks of a joint
    one for each pair of classes, or nothing. ``rng`` is the state of an SFC64 generator.
    """

    table: NDArray[Any]
    sigma: NDArray[np.float64]
    parameters: NDArray[np.float64]
    counters: NDArray[np.int64]
    rng: NDArray[np.uint64]


class Work(NamedTuple):
    """Scratch buffer of one row: non-zeros, mean and variance of each column, upper bound of each class, and Sigma x.

    ``found`` takes the non-zeros of the next dense row; ``ahead`` is how many of its values have been scanned, and how
    many non-zeros found. All are pointers to their first entry.
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
    """A stream of rounds. If given, its actions, feedback and propensities are learnt from; else they are filled in."""

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
    record = np.zeros((-(-n_columns // SIMD_WIDTH), 2, SIMD_WIDTH), dtype=dtype)
    record[:, 1] = variance
    table = aligned((n_features, record.size), dtype)
    table[...] = record.ravel()
    return table


def new_sigma(n_features: int, n_classes: int, covariance: int, variance: float = 1.0) -> NDArray[np.float64]:
    """A full covariance for each class, or for each pair of them, `variance` times the identity; else nothing."""
    if covariance not in (FULL, JOINT):
        return np.zeros((0, 0, 0))
    every = n_classes + 1 if covariance == JOINT else 1  # from one block on the diagonal to the next
    sigma = np.zeros((n_classes * (n_classes if covariance == JOINT else 1), n_features, n_features))
    sigma[::every, np.arange(n_features), np.arange(n_features)] = variance
    return sigma


def new_rng(seed: int | None = None) -> NDArray[np.uint64]:
    """The SFC64 state that NumPy derives from a seed, or from the entropy of the machine (see `rng`)."""
    return np.array(np.random.SFC64(seed).state["state"]["state"], dtype=np.uint64)


def new_scratch(table: NDArray[Any], n_gains: int = 1) -> NDArray[np.float64]:
    """Scratch buffer for the `Work` of one row; a joint covariance takes a Sigma x for each class."""
    n_features, width = table.shape
    return np.zeros((2 + n_gains) * (n_features + PADDING) + 3 * width + 2)


def scored(table: NDArray[Any], scratch: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of each column for the row that was scored last."""
    n_features, width = table.shape
    start = 2 * (n_features + PADDING)
    return scratch[start : start + width], scratch[start + width : start + 2 * width]


def per_register(dtype: Any) -> int:
    """How many values fill a register of 32 bytes."""
    return 32 // int(np.dtype(dtype).itemsize)


def aligned(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Zeros from a 64-byte boundary on, so that a record does not straddle cache lines; large ones from a huge page.

    A huge page takes one entry of the TLB for 2 MiB, not one for every 4 KiB.
    """
    itemsize, size = np.dtype(dtype).itemsize, shape[0] * shape[1]
    boundary = HUGE_PAGE if size * itemsize >= HUGE_PAGE else 64
    buffer = np.zeros((-(-size * itemsize // boundary) + 1) * boundary // itemsize, dtype=dtype)
    skip = (-buffer.ctypes.data % boundary) // itemsize
    return buffer[skip : skip + size].reshape(shape)


def means(table: NDArray[Any], n_columns: int, covariance: int) -> NDArray[Any]:
    """The mean weights, of shape (n_features, n_columns)."""
    if covariance != DIAGONAL:
        return table[:, :n_columns]
    return _part(table, 0)[:, :n_columns]


def variances(table: NDArray[Any], n_columns: int) -> NDArray[Any]:
    """The variances of a diagonal covariance, of shape (n_features, n_columns)."""
    return _part(table, 1)[:, :n_columns]


def _part(table: NDArray[Any], part: int) -> NDArray[Any]:
    records = table.reshape(len(table), -1, 2, SIMD_WIDTH)
    return np.ascontiguousarray(records[:, :, part]).reshape(len(table), -1)
