"""What the learner thinks of a row: mean score of each column, variance of each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.compiled import bare, inlined
from noisewise._loops.lanes import block, even_blocks, load, muladd, odd_blocks, prefetch, store, zeros
from noisewise._loops.rows import look_ahead, number
from noisewise._loops.state import CLASSES, COVARIANCE, DIAGONAL, FULL, PASSIVE_AGGRESSIVE, RULE

AHEAD = np.uint64(16)  # rows of the table asked for before they are needed
IN_CACHE = 1 << 19  # bytes: a smaller table stays near by itself


def _sum_blocks(n_blocks: int, record: bool) -> Any:
    @bare
    def sum_blocks(table: Any, row: Any, column: int, means: Any, variances: Any, ahead: Any) -> None:
        """Sums of x times the table's row from a column on, feature by feature; variances take x squared."""
        features = row.features
        total = zeros(table, n_blocks)
        seen, found = ahead[0], np.uint64(ahead[1])
        t, stop = np.uint64(row.start), np.uint64(row.stop)  # unsigned: no test for places counted from the end
        if table.nbytes > IN_CACHE:
            while t < stop and t + AHEAD < np.uint64(features.shape[0]):
                for place in range(0, n_blocks, 2):
                    prefetch(table, features[t + AHEAD], column + place * block(table))
                seen, found = look_ahead(row, seen, found)
                x = table.dtype.type(number(row, t))
                total = muladd(x, x * x if record else x, load(table, features[t], column, total), total)
                t += np.uint64(1)
        while t < stop:
            seen, found = look_ahead(row, seen, found)
            x = table.dtype.type(number(row, t))
            total = muladd(x, x * x if record else x, load(table, features[t], column, total), total)
            t += np.uint64(1)
        ahead[0], ahead[1] = seen, found
        if record:
            store(means, column // 2, even_blocks(total))
            store(variances, column // 2, odd_blocks(total))
        else:
            store(means, column, total)

    return sum_blocks


# made for these widths, others are put together from them; records are means and variances in turn
_means1, _means2, _means3 = _sum_blocks(1, False), _sum_blocks(2, False), _sum_blocks(3, False)
_means4, _means5 = _sum_blocks(4, False), _sum_blocks(5, False)
_record2, _record4, _record6, _record10 = (_sum_blocks(n, True) for n in (2, 4, 6, 10))


@inlined
def sum_means(table: Any, row: Any, work: Any) -> None:
    """Fill the means with the row's sums over its features."""
    size = block(table)
    column = np.int64(0)  # a literal would be compiled for by itself
    while column < table.shape[1]:
        left = (table.shape[1] - column) // size
        if left >= 5:
            _means5(table, row, column, work.means, work.variances, work.ahead)
            column += 5 * size
        elif left == 4:
            _means4(table, row, column, work.means, work.variances, work.ahead)
            column += 4 * size
        elif left == 3:
            _means3(table, row, column, work.means, work.variances, work.ahead)
            column += 3 * size
        elif left == 2:
            _means2(table, row, column, work.means, work.variances, work.ahead)
            column += 2 * size
        else:
            _means1(table, row, column, work.means, work.variances, work.ahead)
            column += size


@inlined
def sum_records(table: Any, row: Any, work: Any) -> None:
    """The same for means and variances."""
    size = block(table)
    column = np.int64(0)
    while column < table.shape[1]:
        left = (table.shape[1] - column) // size
        if left >= 10:
            _record10(table, row, column, work.means, work.variances, work.ahead)
            column += 10 * size
        elif left >= 6:
            _record6(table, row, column, work.means, work.variances, work.ahead)
            column += 6 * size
        elif left >= 4:
            _record4(table, row, column, work.means, work.variances, work.ahead)
            column += 4 * size
        else:
            _record2(table, row, column, work.means, work.variances, work.ahead)
            column += 2 * size


@inlined
def column(k: int, size: int) -> int:
    """Where the mean of column k lies in a row of means and variances; its variance is a block further on."""
    return k // size * 2 * size + k % size


@inlined
def score(state: Any, row: Any, work: Any) -> Any:
    """Fill the means (a column each) and variances (a class each) for a row; false if the row is not finite."""
    covariance = state.integers[COVARIANCE]
    if covariance == DIAGONAL:
        sum_records(state.table, row, work)
    else:
        sum_means(state.table, row, work)
        if covariance == FULL:
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
        n_bad += not np.isfinite(number(row, t))
    return n_bad == 0


@bare
def quadratic(sigma: Any, row: Any) -> float:
    """The variance x' Sigma x, from the lower triangle."""
    total = 0.0
    for t in range(row.start, row.stop):
        inner = 0.0
        for u in range(row.start, t):
            inner += sigma[row.features[t], row.features[u]] * number(row, u)
        total += number(row, t) * (2.0 * inner + sigma[row.features[t], row.features[t]] * number(row, t))
    return total


@bare
def squared_norm(row: Any) -> float:
    """The squared length x'x."""
    total = 0.0
    for t in range(row.start, row.stop):
        total += np.float64(number(row, t)) * np.float64(number(row, t))
    return total
