"""Dense rows by their non-zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.compiled import bare
from noisewise._loops.lanes import POSITIONS, nonzero_bits, popcount, prefetch, put8


@bare
def compact(X: Any, i: int, index: Any, value: Any) -> Any:
    """Non-zeros of row i into `index` and `value`, eight numbers at a time; how many they are."""
    row = X[i]
    n, d = np.uint64(0), row.shape[0]
    whole = d - d % 8
    for j in range(0, whole, 8):
        prefetch(X, i + 1, j)  # memory works while this row is scored; past the end, nothing happens
        bits = nonzero_bits(row, j)
        put8(POSITIONS, bits, j, index, n)
        n += np.uint64(popcount(bits))
    for j in range(whole, d):
        index[n] = j
        n += np.uint64(row[j] != 0)
    for t in range(n):
        value[t] = row[index[t]]
    return np.int64(n)
