"""What the learner thinks of a row: mean score of each column, variance of each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.compiled import compiled
from noisewise._loops.state import CLASSES, COLUMNS, COVARIANCE, DIAGONAL, FULL, PASSIVE_AGGRESSIVE, RULE


@compiled
def compact(row: Any, index: Any, value: Any) -> int:
    """Non-zeros of a dense row into `index` and `value`; their number, or -1 if one is NaN or infinite."""
    n = 0
    for j in range(row.shape[0]):
        x = row[j]
        if x != 0:
            if not np.isfinite(x):
                return -1
            index[n] = j
            value[n] = x
            n += 1
    return n


@compiled
def column(k: int, block: int) -> int:
    """Where the mean of column k lies in a row of means and variances; its variance is a block further on."""
    return k // block * 2 * block + k % block


@compiled
def score(state: Any, row: Any, means: Any, variances: Any) -> None:
    """Fill `means` (a column each) and `variances` (a class each) for the row given."""
    covariance = state.kinds[COVARIANCE]
    sums = np.zeros(state.table.shape[1], state.table.dtype)
    if covariance == DIAGONAL:
        block = 32 // state.table.itemsize
        sum_records(state.table, block, row, sums)
        for k in range(state.kinds[COLUMNS]):
            means[k] = sums[column(k, block)]
        for k in range(state.kinds[CLASSES]):
            variances[k] = sums[column(k, block) + block]
        return
    sum_rows(state.table, row, sums)
    for k in range(state.kinds[COLUMNS]):
        means[k] = sums[k]
    if covariance == FULL:
        for k in range(state.kinds[CLASSES]):
            variances[k] = quadratic(state.sigma[k], row)
    elif state.kinds[RULE] == PASSIVE_AGGRESSIVE:
        variances[:] = squared_norm(row)


@compiled
def sum_rows(table: Any, row: Any, sums: Any) -> None:
    """Add each feature's row of means, times its value, to `sums`: feature by feature, so that the order is fixed."""
    for t in range(row.start, row.stop):
        x = table.dtype.type(row.values[t])
        j = row.features[t]
        for c in range(table.shape[1]):
            sums[c] += x * table[j, c]


@compiled
def sum_records(table: Any, block: int, row: Any, sums: Any) -> None:
    """The same for rows of means and variances: means times x, variances times x squared."""
    for t in range(row.start, row.stop):
        x = table.dtype.type(row.values[t])
        j = row.features[t]
        for first in range(0, table.shape[1], 2 * block):
            for c in range(first, first + block):
                sums[c] += x * table[j, c]
            for c in range(first + block, first + 2 * block):
                sums[c] += x * x * table[j, c]


@compiled
def quadratic(sigma: Any, row: Any) -> float:
    """X' Sigma x, from the lower triangle."""
    total = 0.0
    for t in range(row.start, row.stop):
        inner = 0.0
        for u in range(row.start, t):
            inner += sigma[row.features[t], row.features[u]] * row.values[u]
        total += row.values[t] * (2.0 * inner + sigma[row.features[t], row.features[t]] * row.values[t])
    return total


@compiled
def squared_norm(row: Any) -> float:
    """X'x."""
    total = 0.0
    for t in range(row.start, row.stop):
        total += np.float64(row.values[t]) * np.float64(row.values[t])
    return total
