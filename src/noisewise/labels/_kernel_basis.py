"""Orthonormal features of a kernel: one decomposition serves every ridge, every target and every left-out row.

The centred Gram matrix of the rows is U diag(w) U'. The ridge fit to centred targets R says
U diag(w / (w + penalty)) U' R at these rows; what it says at row i without row i follows from the leverage of row i.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import scipy.linalg

from noisewise._inputs import Floats
from noisewise.kernels import Gaussian, Kernel, squared_distances
from noisewise.labels._nystroem import blocks

WIDTHS = 2.0 ** np.arange(-5, 5)  # squared widths, in units of the median squared distance
PENALTIES = 10.0 ** np.arange(-3, 2.1, 0.5)
SMALLEST = 1e-8  # eigenvalues below this share of the largest are rounding
SMALLEST_REST = 1e-9  # of 1 - leverage: below it a row is all its own doing, and nothing is left to say


@dataclass(frozen=True)
class KernelBasis:
    """Features u(x) = k(x, rows) @ projection - offset, orthonormal over the rows they were made from.

    Attributes
    ----------
    kernel : Kernel
    rows : array or CSR of shape (m, d)
        All rows of the data, or the landmarks that stand for them.
    projection : array of shape (m, rank)
    offset : array of shape (rank,)
    values : array of shape (rank,)
        How much of the kernel each feature carries [w].
    """

    kernel: Kernel
    rows: Any
    projection: Floats
    offset: Floats
    values: Floats

    def features(self, X: Any) -> Floats:
        """The features of any rows, a block at a time: what is rows x landmarks is never held."""
        parts = [self.kernel.gram(X[part], self.rows) @ self.projection - self.offset for part in blocks(X.shape[0])]
        return np.concatenate(parts)


def decompose(kernel: Kernel, X: Any, gram: Floats | None = None) -> tuple[KernelBasis, Floats]:
    """The exact basis of a kernel over some rows, and the rows' features; `gram` where it is known already."""
    gram = kernel.gram(X) if gram is None else gram
    means = gram.mean(axis=0)
    centred = gram - means - means[:, None] + means.mean()
    values, vectors = scipy.linalg.eigh(centred, driver="evd", check_finite=False, overwrite_a=True)
    kept = values > max(SMALLEST * values[-1], 1e-12)  # nothing is kept where all rows are equal
    values, vectors = values[kept][::-1], np.ascontiguousarray(vectors[:, kept][:, ::-1])
    projection = vectors / values
    return KernelBasis(kernel, X, projection, means @ projection, values), vectors


def decompose_low_rank(kernel: Kernel, X: Any, landmarks: Any) -> tuple[KernelBasis, Floats]:
    """The same through landmarks (Nystroem): time and memory grow with the rows times the landmarks."""
    values, vectors = scipy.linalg.eigh(kernel.gram(landmarks), driver="evd", check_finite=False)
    kept = values > SMALLEST * values[-1]
    root = vectors[:, kept] / np.sqrt(values[kept])
    raw = KernelBasis(kernel, landmarks, root, np.zeros(root.shape[1]), values[kept]).features(X)
    means = raw.mean(axis=0)
    raw -= means
    values, vectors = np.linalg.eigh(raw.T @ raw)
    kept = values > max(SMALLEST * values[-1], 1e-12)
    turn = vectors[:, kept][:, ::-1] / np.sqrt(values[kept][::-1])
    return KernelBasis(kernel, landmarks, root @ turn, means @ turn, values[kept][::-1]), raw @ turn


@dataclass(frozen=True)
class Smoother:
    """Ridge regression on the features, for any centred targets.

    Attributes
    ----------
    features : array of shape (n, rank) [U]
    shrinkage : array of shape (rank,)
        w / (w + penalty).
    leverage : array of shape (n,)
        Weight of each row's own target in what the fit says there, that in the mean included.
    """

    features: Floats
    shrinkage: Floats
    leverage: Floats

    @classmethod
    def of(cls, features: Floats, values: Floats, penalty: float) -> Smoother:
        """The smoother of one penalty."""
        shrinkage = values / (values + penalty)
        return cls(features, shrinkage, np.square(features) @ shrinkage + 1 / len(features))

    def coefficients(self, targets: Floats) -> Floats:
        """What to multiply features by for the fit to centred targets."""
        return np.asarray(self.shrinkage[:, None] * (self.features.T @ targets))

    def without_own(self, targets: Floats) -> Floats:
        """What the fit says at each row without its own target; the mean of the targets counts as known."""
        return left_out(self.features @ self.coefficients(targets), self.leverage, targets)


def left_out(fitted: Floats, leverage: Floats, targets: Floats) -> Floats:
    """Fitted values as they would be without each row's own target, but with the mean of all targets.

    A mean without row i would be lower where the target of i is higher, and give it away.
    """
    h = np.minimum(leverage, 1 - SMALLEST_REST)[:, None]
    return np.asarray((fitted - h * targets) / (1 - h) + targets / (len(targets) - 1))


def choose_penalty(features: Floats, values: Floats, targets: Floats) -> tuple[float, float]:
    """The penalty with the least leave-one-out squared error, and this error."""
    shrinkage = values[:, None] / (values[:, None] + PENALTIES)
    leverages = np.square(features) @ shrinkage + 1 / len(features)
    moments = features.T @ targets
    errors = [
        np.square(targets - left_out(features @ (shrunk[:, None] * moments), leverage, targets)).sum()
        for shrunk, leverage in zip(shrinkage.T, leverages.T)
    ]
    best = int(np.argmin(errors))
    return float(PENALTIES[best]), float(errors[best])


def choose_width(X: Any, targets: Floats) -> Gaussian:
    """The Gaussian kernel whose ridge fit, at its best penalty, has the least leave-one-out squared error."""
    squared = squared_distances(X)
    apart = squared[squared > 0]
    scale = float(np.median(apart)) if apart.size else 1.0
    tried = []
    for factor in WIDTHS:
        kernel = Gaussian(float(np.sqrt(scale * factor)))
        basis, features = decompose(kernel, X, kernel.of_squared_distance(squared))
        tried.append((choose_penalty(features, basis.values, targets)[1], kernel))
    return min(tried, key=itemgetter(0))[1]
