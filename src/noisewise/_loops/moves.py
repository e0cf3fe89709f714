"""The step itself: means along Sigma x, and covariances with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.compiled import compiled
from noisewise._loops.scores import column
from noisewise._loops.state import ALONE, CLASSES, COVARIANCE, DIAGONAL, EXACT, FULL, INVERSE, RIDGE, SHRINK


@compiled
def move(state: Any, row: Any, moves: Any) -> int:
    """Make the moves (mean of a column += alpha Sigma x, covariance shrinks by beta); 1 if there were any."""
    first, alpha, beta, second, alpha2, beta2 = moves
    if first < 0 and second < 0:
        return 0
    if state.kinds[COVARIANCE] == FULL:
        move_full(state.table, state.sigma, state.kinds[CLASSES], row, moves)
        return 1
    for turn in range(2):
        k, a, b = (first, alpha, beta) if turn == 0 else (second, alpha2, beta2)
        if k >= 0:
            if state.kinds[COVARIANCE] == DIAGONAL:
                move_diagonal(state.table, state.kinds[SHRINK], state.settings[RIDGE], row, k, a, b)
            else:
                for t in range(row.start, row.stop):
                    state.table[row.features[t], k] += np.float64(a) * row.values[t]
    return 1


@compiled
def move_diagonal(table: Any, shrink: int, r: float, row: Any, k: int, alpha: float, beta: float) -> None:
    """One column where its covariance is a diagonal kept beside the means."""
    a, b = np.float64(alpha), np.float64(beta)
    block = 32 // table.itemsize
    mean = column(k, block)
    for t in range(row.start, row.stop):
        j = row.features[t]
        x = np.float64(row.values[t])
        variance = np.float64(table[j, mean + block])
        gain = variance * x
        moved = np.float64(table[j, mean]) + a * gain
        if shrink == ALONE:  # each feature by itself: A += x^2 / r, A w += target x / r, and the target is b
            after = variance / (1.0 + gain * x / r)
            table[j, mean] = (moved / variance + b * x / r) * after
            table[j, mean + block] = after
        else:
            table[j, mean] = moved
            if b != 0.0:
                table[j, mean + block] = shrunk(shrink, variance, gain, x, b)


@compiled
def shrunk(shrink: int, variance: float, gain: float, x: float, beta: float) -> float:
    """The variance after the step; rounding must not make it negative."""
    if shrink == INVERSE:
        return variance / (1.0 + beta * gain * x)
    if shrink == EXACT:
        return variance / ((1.0 + beta * gain * x) * (1.0 + beta * gain * x))
    return max(0.0, variance - beta * (gain * gain))


@compiled
def move_full(table: Any, sigma: Any, n_classes: int, row: Any, moves: Any) -> None:
    """Columns with full covariances; two columns of one class share its covariance, which shrinks once."""
    first, alpha, beta, second, alpha2, beta2 = moves
    gain = np.zeros(table.shape[0])
    for turn in range(2):
        k, a, b = (first, alpha, beta) if turn == 0 else (second, alpha2, beta2)
        if k < 0:
            continue
        shared = turn == 1 and first >= 0 and first % n_classes == second % n_classes
        if not shared:
            fill_gain(sigma[k % n_classes], row, gain)
        for i in range(table.shape[0]):
            table[i, k] += np.float64(a) * gain[i]
        if not shared and b != 0.0:
            shrink_full(sigma[k % n_classes], gain, b)


@compiled
def fill_gain(sigma: Any, row: Any, gain: Any) -> None:
    """Sigma x, for a full covariance."""
    gain[:] = 0.0
    for t in range(row.start, row.stop):
        x = np.float64(row.values[t])
        for i in range(sigma.shape[0]):
            gain[i] += sigma[row.features[t], i] * x


@compiled
def shrink_full(sigma: Any, gain: Any, beta: float) -> None:
    """Sigma -= beta gain gain', each entry as its mirror image."""
    b = np.float64(beta)
    for i in range(gain.shape[0]):
        for j in range(gain.shape[0]):
            sigma[i, j] -= b * (gain[i] * gain[j])
