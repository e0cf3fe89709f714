"""Kernel ridge regression as a linear smoother, with leave-one-out predictions by leverage.

The centred Gram matrix is U diag(w) U'. The ridge fit to centred targets R has the fitted values
U diag(w / (w + penalty)) U' R, so one eigendecomposition serves every penalty and every target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import dpotrf, dpotri

from noisewise._numerics import ridge
from noisewise._numerics.nystroem import spectrum
from noisewise._typing import Codes, Floats
from noisewise.kernels import Gaussian, Kernel, squared_distances
from noisewise.labels.kernel_features import KernelFeatures, KernelRows, low_rank_features

SQUARED_RELATIVE_WIDTHS = 2.0 ** np.arange(-5, 5)  # in units of the median squared distance
SMOOTHER_PENALTIES = 10.0 ** np.arange(-3, 2.1, 0.5)  # for a kernel that is one at distance zero
LEAST_EIGENVALUE = 1e-8  # relative to the largest; smaller ones are rounding of the centred Gram matrix
ABSOLUTE_EIGENVALUE = 1e-12  # smaller ones are those of equal rows


@dataclass(frozen=True)
class Basis:
    """Orthonormal features of some rows [U], their eigenvalues [w], and the map that gives features of other rows."""

    features: Floats
    values: Floats
    feature_map: KernelFeatures


def decompose(kernel: Kernel, X: Any, gram: Floats | None = None) -> Basis:
    """The eigenbasis of the centred Gram matrix; `gram` where the Gram matrix is known already."""
    gram = kernel.gram(X) if gram is None else gram
    means = gram.mean(axis=0)
    values, vectors = spectrum(gram - means - means[:, None] + means.mean(), smallest=LEAST_EIGENVALUE)
    kept = values > ABSOLUTE_EIGENVALUE
    values, vectors = values[kept], vectors[:, kept]
    projection = vectors / values
    return Basis(vectors, values, KernelFeatures(kernel, X, projection, means @ projection))


def decompose_low_rank(kernel: Kernel, X: Any, landmarks: Codes) -> Basis:
    """The same for the Nystroem approximation by landmarks, in time and memory linear in the rows."""
    rows = KernelRows(kernel, X)
    raw, root = low_rank_features(rows, landmarks, "function")
    means = raw.mean(axis=0)
    raw -= means
    values, vectors = spectrum(raw.T @ raw, smallest=LEAST_EIGENVALUE)
    kept = values > ABSOLUTE_EIGENVALUE
    values, rotation = values[kept], vectors[:, kept] / np.sqrt(values[kept])
    feature_map = KernelFeatures(kernel, rows.support(landmarks), root @ rotation, means @ rotation)
    return Basis(raw @ rotation, values, feature_map)


@dataclass(frozen=True)
class Smoother:
    """Ridge regression on the features, for any centred targets.

    Attributes
    ----------
    features : array of shape (n, rank) [U]
    shrinkage : array of shape (rank,)
        w / (w + penalty).
    leverage : array of shape (n,)
        Diagonal of the hat matrix, that of the mean included.
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
        """Coefficients of the features in the fit to centred targets."""
        return np.asarray(self.shrinkage[:, None] * (self.features.T @ targets))

    def leave_one_out(self, targets: Floats) -> Floats:
        """Leave-one-out predictions; the mean of the targets counts as known."""
        return leave_one_out(self.features @ self.coefficients(targets), self.leverage, targets)


@dataclass(frozen=True)
class DualSmoother:
    """The same for one penalty by a Cholesky factor, in a quarter of the time of an eigendecomposition.

    Attributes
    ----------
    inverse : array of shape (n, n)
        That of the centred Gram matrix plus the penalty; the upper triangle alone.
    penalty : float
    leverage, means : arrays of shape (n,)
        Diagonal of the hat matrix, and means of the Gram matrix.
    """

    inverse: Floats
    penalty: float
    leverage: Floats
    means: Floats

    @classmethod
    def of(cls, gram: Floats, penalty: float) -> DualSmoother:
        """From the Gram matrix, which is overwritten."""
        means = gram.mean(axis=0)
        gram -= means
        gram -= (means - means.mean())[:, None]
        gram.flat[:: len(gram) + 1] += penalty
        factor, failed = dpotrf(gram.T, overwrite_a=1)  # transposed: LAPACK's order of the same numbers
        if failed:
            raise np.linalg.LinAlgError("the kernel has no Cholesky factor; it must be positive semidefinite")
        inverse = dpotri(factor, overwrite_c=1)[0]
        return cls(inverse, penalty, 1 - penalty * np.diag(inverse) + 1 / len(gram), means)

    def coefficients(self, targets: Floats) -> Floats:
        """Dual coefficients of the fit to centred targets."""
        return np.ascontiguousarray(dsymm(1.0, self.inverse, targets))

    def leave_one_out(self, targets: Floats) -> Floats:
        """Leave-one-out predictions; the mean of the targets counts as known."""
        return leave_one_out(targets - self.penalty * self.coefficients(targets), self.leverage, targets)


def leave_one_out(fitted: Floats, leverage: Floats, targets: Floats) -> Floats:
    """Leave-one-out predictions by leverage, but with the mean of all targets.

    A mean without row i would be lower where the target of i is higher, and so leak it.
    """
    predictions = ridge.leave_one_out(fitted, targets, leverage[:, None], ridge.INTERPOLATION)
    return np.asarray(predictions + targets / (len(targets) - 1))


def choose_penalty(basis: Basis, targets: Floats) -> tuple[float, float]:
    """The penalty with the least leave-one-out squared error (PRESS), and this error."""
    features, values = basis.features, basis.values
    shrinkage = values[:, None] / (values[:, None] + SMOOTHER_PENALTIES)
    leverages = np.square(features) @ shrinkage + 1 / len(features)
    shrunk = shrinkage[:, :, None] * (features.T @ targets)[:, None]  # (rank, penalties, columns of targets)
    fitted = np.tensordot(features, shrunk, 1)
    errors = [
        np.square(targets - leave_one_out(fitted[:, index], leverage, targets)).sum()
        for index, leverage in enumerate(leverages.T)
    ]
    best = int(np.argmin(errors))
    return float(SMOOTHER_PENALTIES[best]), float(errors[best])


def choose_width(X: Any, targets: Floats) -> Basis:
    """Basis of the Gaussian kernel whose ridge fit, at its best penalty, has the least leave-one-out squared error."""
    squared = squared_distances(X)
    apart = squared[squared > 0]
    scale = float(np.median(apart)) if apart.size else 1.0
    kernels = [Gaussian(float(width)) for width in np.sqrt(scale * SQUARED_RELATIVE_WIDTHS)]
    bases = (decompose(kernel, X, kernel.of_squared_distance(squared)) for kernel in kernels)
    return min(bases, key=lambda basis: choose_penalty(basis, targets)[1])
