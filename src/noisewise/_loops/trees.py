"""Predictions of decision trees that are kept as flat arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisewise._loops.compiled import compiled, inlined


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
        add_leaves_of_row(X[i], roots, features, thresholds, children, values, sums[i])


@compiled
def add_leaf_values_sparse(
    data: NDArray[np.float32],
    columns: NDArray[np.int64],
    starts: NDArray[np.int64],
    row: NDArray[np.float32],
    roots: NDArray[np.int64],
    features: NDArray[np.int32],
    thresholds: NDArray[np.float64],
    children: NDArray[np.int32],
    values: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """`add_leaf_values` for CSR rows; `row` is a buffer of zeros, as long as a row, and is zero again afterwards."""
    for i in range(len(starts) - 1):
        for j in range(starts[i], starts[i + 1]):
            row[columns[j]] += data[j]
        add_leaves_of_row(row, roots, features, thresholds, children, values, sums[i])
        for j in range(starts[i], starts[i + 1]):
            row[columns[j]] = 0


@inlined
def add_leaves_of_row(
    row: NDArray[np.float32],
    roots: NDArray[np.int64],
    features: NDArray[np.int32],
    thresholds: NDArray[np.float64],
    children: NDArray[np.int32],
    values: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """Add the values of the leaves that one row falls into."""
    for root in roots:
        node = root
        while features[node] >= 0:
            right = row[features[node]] > thresholds[node]
            node = children[node, 1] if right else children[node, 0]
        leaf = children[node, 0]
        for k in range(values.shape[1]):
            sums[k] += values[leaf, k]
