"""Scores of a row: mean mu.x of each column, variance x' Sigma x of each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.compiled import inlined, inner
from noisewise._loops.simd import (
    length,
    load,
    muladd,
    no_inline,
    per_line,
    prefetch,
    start_of,
    store,
    store_even,
    store_odd,
    zero_registers,
    zero_vectors,
)
from noisewise._loops.sparse_rows import scan_ahead, value_at
from noisewise._loops.state import CLASSES, COVARIANCE, DIAGONAL, FULL, JOINT, PASSIVE_AGGRESSIVE, RULE, SIMD_WIDTH

AHEAD = 2  # times the values in a cache line: so many non-zeros ahead, rows of the table are prefetched
IN_CACHE = 1 << 19  # bytes: a smaller table stays in the cache without prefetching


@inlined
def add_term(table: Any, width: int, row: Any, t: Any, column: int, squared: bool, total: Any) -> Any:
    """Add x times the table's row for the t-th non-zero; if `squared`, odd vectors take x squared."""
    x = value_at(row, t)
    return muladd(x, x * x if squared else x, load(table, row.features[t] * width + column, total), total)


def _sums(n: int, record: bool) -> Any:
    def sums(
        table: Any, width: int, row: Any, fetched: Any, column: int, means: Any, variances: Any, ahead: Any
    ) -> None:
        """Sums of x times the table's row from a column on, feature by feature; variances take x squared.

        Up to the non-zero `fetched`, rows of the table are prefetched.
        """
        no_inline()
        total = zero_vectors(table, n) if record else zero_registers(table, n)
        scanned, found = ahead[0], np.uint64(ahead[1])
        one, two, far = np.uint64(1), np.uint64(2), np.uint64(AHEAD * per_line(table))
        t, stop = np.uint64(row.start), np.uint64(row.stop)
        while t < fetched:
            for offset in range(0, length(total), per_line(table)):
                prefetch(table, row.features[t + far] * width + column + offset)
            scanned, found = scan_ahead(row, scanned, found)
            total = add_term(table, width, row, t, column, record, total)
            t += one
        while t + one < stop:
            scanned, found = scan_ahead(row, scanned, found)
            total = add_term(table, width, row, t, column, record, total)
            total = add_term(table, width, row, t + one, column, record, total)
            t += two
        if t < stop:
            total = add_term(table, width, row, t, column, record, total)
        ahead[0], ahead[1] = scanned, found
        if record:
            store_even(means, column // 2, total)
            store_odd(variances, column // 2, total)
        else:
            store(means, column, total)

    # Code is linked by name, also code that other processes have compiled: two widths under one name would be confused.
    sums.__qualname__ = f"{'record' if record else 'means'}{n}"
    return inner(sums)


# compiled for these widths, others are composed of them: registers of means, alternating vectors of means and variances
_means1, _means2, _means3, _means4, _means5 = (_sums(n, False) for n in (1, 2, 3, 4, 5))
_record2, _record4, _record6, _record10 = (_sums(n, True) for n in (2, 4, 6, 10))


@inlined
def prefetch_until(table: Any, row: Any) -> Any:
    """The first non-zero of a row at which prefetching ends."""
    if table.nbytes <= IN_CACHE:
        return np.uint64(0)
    return np.uint64(min(row.stop, max(row.end - AHEAD * per_line(table), 0)))


@inlined
def sum_means(table: Any, row: Any, work: Any) -> None:
    """Fill the means with the row's sums over its features."""
    start, width, fetched = start_of(table), table.shape[1], prefetch_until(table, row)
    size = per_line(table) // 2
    column = np.int64(0)  # a literal would be a type of its own
    while column < width:
        left = (width - column) // size
        if left >= 5:
            _means5(start, width, row, fetched, column, work.means, work.variances, work.ahead)
            column += 5 * size
        elif left == 4:
            _means4(start, width, row, fetched, column, work.means, work.variances, work.ahead)
            column += 4 * size
        elif left == 3:
            _means3(start, width, row, fetched, column, work.means, work.variances, work.ahead)
            column += 3 * size
        elif left == 2:
            _means2(start, width, row, fetched, column, work.means, work.variances, work.ahead)
            column += 2 * size
        else:
            _means1(start, width, row, fetched, column, work.means, work.variances, work.ahead)
            column += size


@inlined
def sum_records(table: Any, row: Any, work: Any) -> None:
    """The same for means and variances."""
    start, width, fetched = start_of(table), table.shape[1], prefetch_until(table, row)
    column = np.int64(0)
    while column < width:
        left = (width - column) // SIMD_WIDTH
        if left >= 10:
            _record10(start, width, row, fetched, column, work.means, work.variances, work.ahead)
            column += 10 * SIMD_WIDTH
        elif left >= 6:
            _record6(start, width, row, fetched, column, work.means, work.variances, work.ahead)
            column += 6 * SIMD_WIDTH
        elif left >= 4:
            _record4(start, width, row, fetched, column, work.means, work.variances, work.ahead)
            column += 4 * SIMD_WIDTH
        else:
            _record2(start, width, row, fetched, column, work.means, work.variances, work.ahead)
            column += 2 * SIMD_WIDTH


@inlined
def column(k: int) -> int:
    """Index of the mean of column k in a row of means and variances; its variance is SIMD_WIDTH further on."""
    return k // SIMD_WIDTH * 2 * SIMD_WIDTH + k % SIMD_WIDTH


@inlined
def score(state: Any, row: Any, work: Any) -> Any:
    """Fill the means (a column each) and variances (a class each) for a row; false if the row can't be learnt from.

    NaN or infinity would show in every mean, and a square that overflows in every variance.
    """
    covariance = state.counters[COVARIANCE]
    if covariance == DIAGONAL:
        sum_records(state.table, row, work)
    else:
        sum_means(state.table, row, work)
        if covariance == FULL:
            fill_variances(state.sigma, state.counters[CLASSES], 1, row, work.variances)
        elif covariance == JOINT:
            n_classes = state.counters[CLASSES]
            fill_variances(state.sigma, n_classes, n_classes + 1, row, work.variances)
        elif state.counters[RULE] == PASSIVE_AGGRESSIVE:
            norm = squared_norm(row)
            for k in range(state.counters[CLASSES]):
                work.variances[k] = norm
        else:
            return np.isfinite(work.means[0]) or is_finite(row)
    return np.isfinite(work.variances[0]) or has_finite_norm(row, state.table.dtype.type(0.0))


@inner
def is_finite(row: Any) -> bool:
    """Whether all values of a row are finite."""
    n_bad = 0
    for t in range(row.start, row.stop):
        n_bad += not np.isfinite(value_at(row, t))
    return n_bad == 0


@inner
def has_finite_norm(row: Any, total: Any) -> bool:
    """Whether the squares of a row's values, added to a total in its precision, have a finite sum."""
    for t in range(row.start, row.stop):
        total += value_at(row, t) * value_at(row, t)
    return bool(np.isfinite(total))


@inner
def fill_variances(sigma: Any, n_classes: int, step: int, row: Any, variances: Any) -> None:
    """The variance x' Sigma x of each class, whose matrices are `step` apart, as `quadratic` has it.

    Four classes at a time: an addition to the sum of one would wait for the one before it.
    """
    last = n_classes - n_classes % 4
    for k in range(0, last, 4):
        first, second, third, fourth = (
            sigma[k * step],
            sigma[(k + 1) * step],
            sigma[(k + 2) * step],
            sigma[(k + 3) * step],
        )
        a = b = c = d = 0.0
        for t in range(row.start, row.stop):
            i, x = row.features[t], value_at(row, t)
            a_inner = b_inner = c_inner = d_inner = 0.0
            for u in range(row.start, t):
                j, y = row.features[u], value_at(row, u)
                a_inner += first[i, j] * y
                b_inner += second[i, j] * y
                c_inner += third[i, j] * y
                d_inner += fourth[i, j] * y
            a += x * (2.0 * a_inner + first[i, i] * x)
            b += x * (2.0 * b_inner + second[i, i] * x)
            c += x * (2.0 * c_inner + third[i, i] * x)
            d += x * (2.0 * d_inner + fourth[i, i] * x)
        variances[k], variances[k + 1], variances[k + 2], variances[k + 3] = a, b, c, d
    for k in range(last, n_classes):
        variances[k] = quadratic(sigma[k * step], row)


@inner
def quadratic(sigma: Any, row: Any) -> float:
    """The variance x' Sigma x, from the lower triangle."""
    total = 0.0
    for t in range(row.start, row.stop):
        inner = 0.0
        for u in range(row.start, t):
            inner += sigma[row.features[t], row.features[u]] * value_at(row, u)
        total += value_at(row, t) * (2.0 * inner + sigma[row.features[t], row.features[t]] * value_at(row, t))
    return total


@inner
def bilinear(sigma: Any, row: Any) -> float:
    """The covariance x' Sigma x of the scores of two classes, from a block that need not be symmetric."""
    total = 0.0
    for t in range(row.start, row.stop):
        inner = 0.0
        for u in range(row.start, row.stop):
            inner += sigma[row.features[t], row.features[u]] * value_at(row, u)
        total += value_at(row, t) * inner
    return total


@inner
def squared_norm(row: Any) -> float:
    """The squared length x'x."""
    total = 0.0
    for t in range(row.start, row.stop):
        total += np.float64(value_at(row, t)) * np.float64(value_at(row, t))
    return total
