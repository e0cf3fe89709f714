"""Dense rows by their non-zeros."""

from __future__ import annotations

from typing import Any

from noisewise._loops.compiled import bare
from noisewise._loops.lanes import POSITIONS, nonzero_bits, popcount, put8


@bare
def compact(row: Any, index: Any, value: Any) -> int:
    """Non-zeros of a dense row into `index` and `value`, eight numbers at a time; how many they are."""
    n, d = 0, row.shape[0]
    whole = d - d % 8
    for j in range(0, whole, 8):
        bits = nonzero_bits(row, j)
        put8(POSITIONS, bits, j, index, n)
        n += popcount(bits)
    for j in range(whole, d):
        index[n] = j
        n += row[j] != 0
    for t in range(n):
        value[t] = row[index[t]]
    return n
