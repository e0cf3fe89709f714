"""Rows of a Gaussian process: duplicates merged into weights, standardised columns, and kernel features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from noisewise._numerics.row_hash import row_bytes, row_hashes
from noisewise._typing import Codes, Floats
from noisewise.kernels import Gaussian
from noisewise.labels.kernel_features import KernelFeatures, exact_features
from noisewise.labels.standardizer import Standardizer


@dataclass(frozen=True)
class LabelledRows:
    """Distinct rows, and the weight of each pair of a row and a label: (rows[indices], codes) with `weights`."""

    rows: Any  # dense or CSR, no two equal
    indices: Codes
    codes: Codes
    weights: Floats
    n_classes: int

    @classmethod
    def of(cls, X: Any, codes: Codes, weights: Floats, n_classes: int) -> LabelledRows:
        """Merge duplicates and drop rows of weight 0; the result does not depend on the order of the rows."""
        used = np.flatnonzero(weights)
        rows = X[used]
        sparse = sp.issparse(X)  # two hashes instead of all values
        keys = np.column_stack([row_hashes(rows), row_hashes(rows, exact=True)]) if sparse else row_bytes(rows)
        _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        pairs, pair = np.unique(group.ravel() * n_classes + codes[used], return_inverse=True)
        counts = np.bincount(pair.ravel(), weights[used]).astype(np.float64)
        return cls(X[used[first]], pairs // n_classes, pairs % n_classes, counts, n_classes)

    def standardized(self) -> tuple[Standardizer, LabelledRows]:
        """The same with columns of mean 0 and variance 1, a row of weight 2 counting twice."""
        standardizer = Standardizer.of(self.rows, self.row_weights)
        rows = standardizer(self.rows, np.float64)
        return standardizer, LabelledRows(rows, self.indices, self.codes, self.weights, self.n_classes)

    @property
    def row_weights(self) -> Floats:
        """Weight of each distinct row, whatever its labels."""
        return np.bincount(self.indices, self.weights, minlength=self.rows.shape[0]).astype(np.float64)

    def some(self, n_rows: int, rng: np.random.Generator) -> LabelledRows:
        """At most so many of the distinct rows, drawn at random."""
        if self.rows.shape[0] <= n_rows:
            return self
        chosen = np.sort(rng.choice(self.rows.shape[0], n_rows, replace=False))
        kept = np.isin(self.indices, chosen)
        indices = np.searchsorted(chosen, self.indices[kept])
        return LabelledRows(self.rows[chosen], indices, self.codes[kept], self.weights[kept], self.n_classes)


def process_features(rows: Any, weights: Floats, squared: Floats, width: float, rank: int) -> KernelFeatures:
    """Features whose inner products approximate exp(-distance^2 / width^2) + 1, from weighted rows.

    The last one is constant. With the rank of the Gram matrix the inner products are the kernel itself.
    """
    kernel = Gaussian(width)
    projection = exact_features(kernel.of_squared_distance(squared), weights / weights.mean(), "function", rank)[1]
    constant = np.zeros((len(projection), 1))
    offset = np.append(np.zeros(projection.shape[1]), -1.0)
    return KernelFeatures(kernel, rows, np.hstack([projection, constant]), offset)
