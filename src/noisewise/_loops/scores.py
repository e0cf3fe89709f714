"""What the learner thinks of a row: mean score of each column, variance of each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.compiled import bare, inlined
from noisewise._loops.lanes import load, muladd, prefetch, store, zeros
from noisewise._loops.state import CLASSES, COLUMNS, COVARIANCE, DIAGONAL, FULL, PASSIVE_AGGRESSIVE, RULE

AHEAD = 16  # rows of the table asked for before they are needed
IN_CACHE = 1 << 19  # bytes: a smaller table stays near by itself


def _sum_blocks(n_blocks: int) -> Any:
    @bare
    def sum_blocks(table: Any, record: bool, row: Any, column: int, sums: Any) -> None:
        """``sums[column:] = sum of x times the table's row``, feature by feature; variances take x squared."""
        total = zeros(table, n_blocks)
        last = row.features.shape[0] - AHEAD if table.nbytes > IN_CACHE else 0
        for t in range(row.start, row.stop):
            if t < last:
                for byte in range(0, 32 * n_blocks, 64):
                    prefetch(table, row.features[t + AHEAD], column + byte // table.itemsize)
            x = table.dtype.type(row.values[t])
            total = muladd(x, x * x if record else x, load(table, row.features[t], column, total), total)
        store(sums, column, total)

    return sum_blocks


# made for these widths; others are put together from them, records (means and variances in turn) from the even ones
_sum1, _sum2, _sum3, _sum4 = _sum_blocks(1), _sum_blocks(2), _sum_blocks(3), _sum_blocks(4)
_sum5, _sum6, _sum10 = _sum_blocks(5), _sum_blocks(6), _sum_blocks(10)


@inlined
def sum_row(table: Any, record: bool, row: Any, sums: Any) -> None:
    """Fill `sums`, in the layout of the table's rows, with the row's sums over its features."""
    block = 32 // table.itemsize
    column = np.int64(0)  # a literal would be compiled for by itself
    while column < table.shape[1]:
        left = (table.shape[1] - column) // block
        if left >= 10:
            _sum10(table, record, row, column, sums)
            column += 10 * block
        elif left >= 6:
            _sum6(table, record, row, column, sums)
            column += 6 * block
        elif left == 5:
            _sum5(table, record, row, column, sums)
            column += 5 * block
        elif left == 4:
            _sum4(table, record, row, column, sums)
            column += 4 * block
        elif left == 3:
            _sum3(table, record, row, column, sums)
            column += 3 * block
        elif left == 2:
            _sum2(table, record, row, column, sums)
            column += 2 * block
        else:
            _sum1(table, record, row, column, sums)
            column += block


@bare
def column(k: int, block: int) -> int:
    """Where the mean of column k lies in a row of means and variances; its variance is a block further on."""
    return k // block * 2 * block + k % block


@bare
def score(state: Any, row: Any, work: Any) -> Any:
    """Fill the means (a column each) and variances (a class each) for a row; false if the row is not finite."""
    covariance = state.integers[COVARIANCE]
    sum_row(state.table, covariance == DIAGONAL, row, work.sums)
    block = 32 // state.table.itemsize
    for k in range(state.integers[COLUMNS]):
        work.means[k] = work.sums[column(k, block) if covariance == DIAGONAL else k]
    if covariance == DIAGONAL:
        for k in range(state.integers[CLASSES]):
            work.variances[k] = work.sums[column(k, block) + block]
    elif covariance == FULL:
        for k in range(state.integers[CLASSES]):
            work.variances[k] = quadratic(state.sigma[k], row)
    elif state.integers[RULE] == PASSIVE_AGGRESSIVE:
        work.variances[:] = squared_norm(row)
    return np.isfinite(work.means[0]) or is_finite(row)  # NaN or infinity would have reached every sum


@bare
def is_finite(row: Any) -> bool:
    """Whether all values of a row are finite."""
    n_bad = 0
    for t in range(row.start, row.stop):
        n_bad += not np.isfinite(row.values[t])
    return n_bad == 0


@bare
def quadratic(sigma: Any, row: Any) -> float:
    """The variance x' Sigma x, from the lower triangle."""
    total = 0.0
    for t in range(row.start, row.stop):
        inner = 0.0
        for u in range(row.start, t):
            inner += sigma[row.features[t], row.features[u]] * row.values[u]
        total += row.values[t] * (2.0 * inner + sigma[row.features[t], row.features[t]] * row.values[t])
    return total


@bare
def squared_norm(row: Any) -> float:
    """The squared length x'x."""
    total = 0.0
    for t in range(row.start, row.stop):
        total += np.float64(row.values[t]) * np.float64(row.values[t])
    return total
