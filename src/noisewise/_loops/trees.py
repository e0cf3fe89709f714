"""Predictions of decision trees that are kept as flat arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisewise._loops.compiled import compiled


@compiled
def add_leaf_values(
    X: NDArray[np.float32],
    roots: NDArray[np.int64],
    features: NDArray[np.int32],
    thresholds: NDArray[np.float64],
    children: NDArray[np.int32],
    values: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """Add to each row's sums the values of the leaves it falls into, tree after tree.

    A node without a feature (-1) is a leaf, and its first child the row of its values.
    """
    for i in range(X.shape[0]):
        for root in roots:
            node = root
            while features[node] >= 0:
                right = X[i, features[node]] > thresholds[node]
                node = children[node, 1] if right else children[node, 0]
            leaf = children[node, 0]
            for k in range(values.shape[1]):
                sums[i, k] += values[leaf, k]
