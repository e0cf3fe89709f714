"""Ridge regression on orthonormal features of a kernel: one decomposition serves every penalty and every target.

The centred Gram matrix of the rows is U diag(w) U'. The ridge fit to centred targets R says
U diag(w / (w + penalty)) U' R at these rows; what it says at row i without row i follows from the leverage of row i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._numerics.nystroem import spectrum
from noisewise._numerics.ridge import leave_one_out
from noisewise._typing import Codes, Floats
from noisewise.kernels import Gaussian, Kernel, squared_distances
from noisewise.labels.kernel_features import KernelFeatures, KernelRows, low_rank_features

WIDTHS = 2.0 ** np.arange(-5, 5)  # squared widths, in units of the median squared distance
PENALTIES = 10.0 ** np.arange(-3, 2.1, 0.5)
SMALLEST = 1e-8  # eigenvalues below this share of the largest are rounding
MAX_LEVERAGE = 1 - 1e-9  # a row of more determines its own prediction, and nothing is left without it


@dataclass(frozen=True)
class Basis:
    """Orthonormal features of some rows [U], how much of the kernel each carries [w], and how others get theirs."""

    features: Floats
    values: Floats
    of_others: KernelFeatures


def decompose(kernel: Kernel, X: Any, gram: Floats | None = None) -> Basis:
    """The exact basis of a kernel over some rows; `gram` where it is known already."""
    gram = kernel.gram(X) if gram is None else gram
    means = gram.mean(axis=0)
    values, vectors = spectrum(gram - means - means[:, None] + means.mean(), smallest=SMALLEST)
    kept = values > 1e-12  # nothing is kept where all rows are equal
    values, vectors = values[kept], vectors[:, kept]
    projection = vectors / values
    return Basis(vectors, values, KernelFeatures(kernel, X, projection, means @ projection))


def decompose_low_rank(kernel: Kernel, X: Any, places: Codes) -> Basis:
    """The same through the rows at some places (Nystroem): time and memory grow with the rows times the places."""
    rows = KernelRows(kernel, X)
    raw, root = low_rank_features(rows, places, "function")
    means = raw.mean(axis=0)
    raw -= means
    values, vectors = spectrum(raw.T @ raw, smallest=SMALLEST)
    kept = values > 1e-12
    values, turn = values[kept], vectors[:, kept] / np.sqrt(values[kept])
    return Basis(raw @ turn, values, KernelFeatures(kernel, rows.support(places), root @ turn, means @ turn))


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
    def of(cls, basis: Basis, penalty: float) -> Smoother:
        """The smoother of one penalty."""
        shrinkage = basis.values / (basis.values + penalty)
        return cls(basis.features, shrinkage, np.square(basis.features) @ shrinkage + 1 / len(basis.features))

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
    return leave_one_out(fitted, targets, leverage[:, None], MAX_LEVERAGE) + targets / (len(targets) - 1)


def choose_penalty(basis: Basis, targets: Floats) -> tuple[float, float]:
    """The penalty with the least leave-one-out squared error, and this error."""
    features, values = basis.features, basis.values
    shrinkage = values[:, None] / (values[:, None] + PENALTIES)
    leverages = np.square(features) @ shrinkage + 1 / len(features)
    shrunk = shrinkage[:, :, None] * (features.T @ targets)[:, None]  # (rank, penalties, columns of targets)
    fitted = np.tensordot(features, shrunk, 1)
    errors = [
        np.square(targets - left_out(fitted[:, place], leverage, targets)).sum()
        for place, leverage in enumerate(leverages.T)
    ]
    best = int(np.argmin(errors))
    return float(PENALTIES[best]), float(errors[best])


def choose_width(X: Any, targets: Floats) -> Basis:
    """Basis of the Gaussian kernel whose ridge fit, at its best penalty, has the least leave-one-out squared error."""
    squared = squared_distances(X)
    apart = squared[squared > 0]
    scale = float(np.median(apart)) if apart.size else 1.0
    kernels = [Gaussian(float(width)) for width in np.sqrt(scale * WIDTHS)]
    bases = (decompose(kernel, X, kernel.of_squared_distance(squared)) for kernel in kernels)
    return min(bases, key=lambda basis: choose_penalty(basis, targets)[1])
