"""Rows by their non-zeros; those of the next dense row are looked for while one is scored, as memory is waited for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from noisewise._loops.compiled import EVERYWHERE, INLINED, inlined
from noisewise._loops.simd import POSITIONS, nonzero_bits, per_line, popcount, prefetch, put8, start_of

LINES_AHEAD = 32  # of the next row, asked of memory before they are looked at


class Row(NamedTuple):
    """One example: the ``features[start:stop]`` that are not zero, and their ``values``.

    Arrays are given by where they start, because a loop is handed a row in every round. ``end`` is how long they are.
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
def look_at_eight(row: Any, j: int, index: Any, n: Any) -> Any:
    """Non-zeros among eight numbers from j on, into ``index[n:]``; how many there are then."""
    bits = nonzero_bits(row, j)
    put8(POSITIONS, bits, j, index, n)
    return n + np.uint64(popcount(bits))


@inlined
def look_at_rest(row: Any, j: Any, d: int, index: Any, n: Any) -> Any:
    """All non-zeros from j to d, into ``index[n:]``; how many there are then."""
    while j + 8 <= d:
        n = look_at_eight(row, j, index, n)
        j += 8
    while j < d:
        index[n] = j
        n += np.uint64(row[j] != 0)
        j += 1
    return n


@inlined
def compact(row: Any, index: Any, value: Any) -> Any:
    """Non-zeros of a dense row into `index` and `value`; how many they are."""
    n = look_at_rest(start_of(row), np.int64(0), row.shape[0], index, np.uint64(0))
    for t in range(n):
        value[t] = row[index[t]]
    return np.int64(n)


def number(row: Any, t: Any) -> Any:
    """The value of the t-th non-zero."""
    return row.values[row.features[t]] if isinstance(row, DenseRow) else row.values[t]


def look_ahead(row: Any, seen: int, n: Any) -> Any:
    """Look at eight more numbers of the next dense row: how many have been seen, and how many non-zeros found."""
    if isinstance(row, DenseRow):
        return _look_ahead(row, seen, n)
    return seen, n


@inlined
def _look_ahead(row: Any, seen: int, n: Any) -> Any:
    if seen + 8 <= row.end:
        prefetch(row.following, seen + LINES_AHEAD * per_line(row.following))
        n = look_at_eight(row.following, seen, row.found, n)
        seen += 8
    return seen, n


@inlined
def look_ahead_to_the_end(row: Any, seen: Any, n: Any) -> Any:
    """Look at what is left of the next dense row; how many non-zeros it has."""
    while seen + 8 <= row.end:
        seen, n = _look_ahead(row, seen, n)
    return look_at_rest(row.following, seen, row.end, row.found, n)


# Which kind of row it is, is settled when the loop is compiled.


@overload(number, jit_options=EVERYWHERE | INLINED, strict=False)
def _number(row: Any, t: Any) -> Any:
    if row.instance_class is DenseRow:
        return lambda row, t: row.values[row.features[t]]
    return lambda row, t: row.values[t]


@overload(look_ahead, jit_options=EVERYWHERE | INLINED, strict=False)
def _look_ahead_of(row: Any, seen: Any, n: Any) -> Any:
    if row.instance_class is DenseRow:
        return lambda row, seen, n: _look_ahead(row, seen, n)
    return lambda row, seen, n: (seen, n)
