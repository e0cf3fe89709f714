"""The noise of the features, as estimators take it: a distribution, a covariance for each row, or replicates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise._typing import Codes, Floats
from noisewise.noise import GaussianNoise, LaplaceNoise, MaskingNoise, SymmetricNoise

FeatureNoise = GaussianNoise | LaplaceNoise | MaskingNoise | SymmetricNoise | None
CONTRADICTION = 5.0  # standard errors between the stated and the observed noise; 6e-7 of normal samples exceed them


class Correction(NamedTuple):
    """The noise covariance in the second moment x x' of each row, as a sum of up to three parts.

    `variances` (r, d) and `covariances` (r, d, d) have length 0, 1 (for all rows) or one entry for each row; each row
    of `deviations` (n, m, d) represents the sum of v v' over its m vectors v.
    """

    variances: Floats
    covariances: Floats
    deviations: Floats

    def sums(self, folds: Codes, n_folds: int) -> Floats:
        """The correction summed over the rows of each fold, of shape (n_folds, d, d)."""
        d = self.variances.shape[1]
        total = np.zeros((n_folds, d, d))
        counts = np.bincount(folds, minlength=n_folds)
        for fold in range(n_folds):
            rows = np.flatnonzero(folds == fold)
            total[fold] += np.diag(_sum_rows(self.variances, rows, counts[fold]))
            total[fold] += _sum_rows(self.covariances, rows, counts[fold])
            vectors = self.deviations[rows].reshape(-1, d)
            total[fold] += vectors.T @ vectors
        return total

    def total(self, n_rows: int) -> Floats:
        """The correction summed over all rows, of shape (d, d)."""
        return np.asarray(self.sums(np.zeros(n_rows, dtype=np.intp), 1)[0])


def _sum_rows(parts: Floats, rows: Codes, count: int) -> Floats:
    if len(parts) <= 1:  # for all rows, or none
        return np.asarray(count * parts.sum(axis=0))
    return np.asarray(parts[rows].sum(axis=0))


def gather_copies(X: Floats, copies: ArrayLike | None) -> Floats:
    """All replicates of each row, of shape (n, m, d): X and the further `copies`.

    X is not counted twice where it is one of the copies already, or their mean.

    >>> gather_copies(np.ones((3, 2)), np.zeros((3, 1, 2))).shape
    (3, 2, 2)
    >>> gather_copies(np.zeros((3, 2)), np.zeros((3, 2, 2))).shape
    (3, 2, 2)
    """
    if copies is None:
        return X[:, None, :]
    further = np.asarray(copies, dtype=np.float64)
    if further.ndim != 3 or further.shape[0] != X.shape[0] or further.shape[2] != X.shape[1]:
        raise ValueError(
            f"copies have shape {further.shape}, and X has {X.shape}: m copies of X have shape "
            f"({X.shape[0]}, m, {X.shape[1]})"
        )
    if not np.isfinite(further).all():
        raise ValueError("copies hold NaN or infinity; drop these rows, or see MaskingNoise for missing values")
    if not further.shape[1]:
        return X[:, None, :]
    within = any(np.array_equal(X, further[:, copy]) for copy in range(further.shape[1]))
    if within or (further.shape[1] > 1 and np.allclose(X, further.mean(axis=1), rtol=1e-9, atol=0)):
        return further
    return np.concatenate([X[:, None, :], further], axis=1)


def correction_of_mean(
    copies: Floats, noise: FeatureNoise = None, row_covariances: ArrayLike | None = None
) -> Correction:
    """An unbiased estimate of the noise covariance in the second moment of the mean replicate of each row.

    Known noise contributes 1/m of its covariance. Unknown noise is estimated from m replicates: the sum of
    v v' / (m (m - 1)) over their deviations v from their mean. With two replicates the corrected second moment is the
    symmetrised product of the one with the other.
    """
    n, m, d = copies.shape
    none = Correction(np.zeros((0, d)), np.zeros((0, d, d)), np.zeros((n, 0, d)))
    if row_covariances is not None:
        if noise is not None:
            raise ValueError("noise and row_covariances are both given; give one of them")
        parts = _check_row_covariances(row_covariances, n, d) / m
        return none._replace(variances=parts) if parts.ndim == 2 else none._replace(covariances=parts)
    if isinstance(noise, MaskingNoise):
        return none._replace(variances=noise.variances(copies).mean(axis=1) / m)
    if noise is not None:
        covariance = noise_matrix(noise, d) / m
        if np.count_nonzero(covariance - np.diag(np.diag(covariance))):
            return none._replace(covariances=covariance[None])
        return none._replace(variances=np.diag(covariance)[None].copy())
    if m == 1:
        return none
    deviations = (copies - copies.mean(axis=1, keepdims=True)) / np.sqrt(m * (m - 1))
    return none._replace(deviations=deviations)


def noise_matrix(noise: Any, n_features: int) -> Floats:
    """The covariance of a noise for rows of `n_features` columns."""
    if not hasattr(noise, "matrix"):
        raise ValueError(
            f"noise is {noise!r}; GaussianNoise(covariance), LaplaceNoise(scale), MaskingNoise(keep), "
            "SymmetricNoise(function) or None are understood"
        )
    return np.asarray(noise.matrix(n_features), dtype=np.float64)


def noise_or_estimate(noise: FeatureNoise, covariances: Floats, n_rows: int) -> Any:
    """The given noise, or Gaussian noise with the mean of the rows' covariances, given their sum."""
    average = covariances / n_rows
    return GaussianNoise((average + average.T) / 2) if noise is None else noise


def characteristic_of_mean(noise: Any, frequencies: Floats, n_copies: int) -> Floats:
    """Characteristic function of the noise in the mean of `n_copies` replicates, at frequencies in the last axis [chi].

    >>> characteristic_of_mean(GaussianNoise(1.0), np.array([[2.0]]), 2).round(4)
    array([0.3679])
    """
    w = np.asarray(frequencies, dtype=np.float64)
    if isinstance(noise, GaussianNoise):
        covariance = noise.matrix(w.shape[-1])
        return np.asarray(np.exp(-0.5 / n_copies * np.einsum("...i,...i->...", w @ covariance, w)))
    if not hasattr(noise, "characteristic"):
        raise ValueError(
            f"noise is {noise!r}, which has no characteristic function; GaussianNoise, LaplaceNoise and "
            "SymmetricNoise have one"
        )
    return np.asarray(noise.characteristic(w / n_copies) ** n_copies)


def _check_row_covariances(given: ArrayLike, n: int, d: int) -> NDArray[np.float64]:
    parts = np.asarray(given, dtype=np.float64)
    if parts.shape not in ((n, d), (n, d, d)):
        raise ValueError(
            f"row_covariances have shape {parts.shape}; variances of shape ({n}, {d}) or covariances of shape "
            f"({n}, {d}, {d}) are needed"
        )
    if not np.isfinite(parts).all():
        raise ValueError("row_covariances must be finite")
    if parts.ndim == 2:
        lowest = float(parts.min(initial=0))
    else:
        scale = np.abs(parts).max(initial=1e-300)
        if np.abs(parts - parts.swapaxes(1, 2)).max(initial=0) > 1e-8 * scale:
            raise ValueError("a row's covariance is not symmetric; use (C + C.swapaxes(1, 2)) / 2 if that is rounding")
        lowest = float(np.linalg.eigvalsh(parts).min(initial=0) + 1e-8 * scale)
    if lowest < 0:
        raise ValueError(f"a row's covariance is not positive semidefinite (lowest value {lowest:.3g})")
    return parts
