"""Rows by their non-zeros; the next dense row is scanned while one is scored, which hides memory latency."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from noisewise._loops.compiled import INLINED, JIT_OPTIONS, inlined
from noisewise._loops.simd import POSITIONS, nonzero_bits, per_line, popcount, prefetch, put8, start_of

LINES_AHEAD = 32  # cache lines of the next row that are prefetched before they are scanned


class Row(NamedTuple):
    """One example: the ``features[start:stop]`` that are not zero, and their ``values``.

    Arrays are pointers, because a loop is passed a row in every round; ``end`` is their length.
    """

    features: Any
    values: Any
    start: int
    stop: int
    end: int


class DenseRow(NamedTuple):
    """Row i of a dense X: the ``features[start:stop]`` that are not zero, and the ``values`` of all features.

    ``found`` takes the non-zeros of the ``following`` row; both rows are ``end`` long.
    """

    features: Any
    values: Any
    start: int
    stop: Any
    end: int
    following: Any
    found: Any


@inlined
def scan_eight(row: Any, j: int, index: Any, n: Any) -> Any:
    """Non-zeros among eight values from j on, into ``index[n:]``; how many there are then."""
    bits = nonzero_bits(row, j)
    put8(POSITIONS, bits, j, index, n)
    return n + np.uint64(popcount(bits))


@inlined
def scan_rest(row: Any, j: Any, d: int, index: Any, n: Any) -> Any:
    """All non-zeros from j to d, into ``index[n:]``; how many there are then."""
    while j + 8 <= d:
        n = scan_eight(row, j, index, n)
        j += 8
    while j < d:
        index[n] = j
        n += np.uint64(row[j] != 0)
        j += 1
    return n


@inlined
def compact(row: Any, index: Any, value: Any) -> Any:
    """Non-zeros of a dense row into `index` and `value`; how many they are."""
    n = scan_rest(start_of(row), np.int64(0), row.shape[0], index, np.uint64(0))
    for t in range(n):
        value[t] = row[index[t]]
    return np.int64(n)


@inlined
def append_constant(table: Any, d: int, index: Any, value: Any, n: int) -> Any:
    """A feature of one after the n non-zeros of a row of d features, if the table has an intercept; how many then."""
    if d < table.shape[0]:
        index[n] = d
        value[n] = table.dtype.type(1.0)
        return n + 1
    return n


def value_at(row: Any, t: Any) -> Any:
    """The value of the t-th non-zero."""
    return row.values[row.features[t]] if isinstance(row, DenseRow) else row.values[t]


def scan_ahead(row: Any, scanned: int, n: Any) -> Any:
    """Scan eight more values of the next dense row: how many have been scanned, and how many non-zeros found."""
    if isinstance(row, DenseRow):
        return _scan_ahead(row, scanned, n)
    return scanned, n


@inlined
def _scan_ahead(row: Any, scanned: int, n: Any) -> Any:
    if scanned + 8 <= row.end:
        prefetch(row.following, scanned + LINES_AHEAD * per_line(row.following))
        n = scan_eight(row.following, scanned, row.found, n)
        scanned += 8
    return scanned, n


@inlined
def scan_ahead_to_end(row: Any, scanned: Any, n: Any) -> Any:
    """Scan the rest of the next dense row; how many non-zeros it has."""
    while scanned + 8 <= row.end:
        scanned, n = _scan_ahead(row, scanned, n)
    return scan_rest(row.following, scanned, row.end, row.found, n)


# The kind of row is resolved at compile time.


@overload(value_at, jit_options=JIT_OPTIONS | INLINED, strict=False)
def _value_at(row: Any, t: Any) -> Any:
    if row.instance_class is DenseRow:
        return lambda row, t: row.values[row.features[t]]
    return lambda row, t: row.values[t]


@overload(scan_ahead, jit_options=JIT_OPTIONS | INLINED, strict=False)
def _scan_ahead_of(row: Any, scanned: Any, n: Any) -> Any:
    if row.instance_class is DenseRow:
        return lambda row, scanned, n: _scan_ahead(row, scanned, n)
    return lambda row, scanned, n: (scanned, n)
