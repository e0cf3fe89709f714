"""Distributions of noise in features: Gaussian, Laplace, masking, and any symmetric one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise._typing import Floats, RandomState
from noisewise._validation import generator


class _Replicated(ABC):
    """Noise of which replicates can be drawn."""

    def corrupt(self, X: ArrayLike, rng: RandomState = None) -> Floats:
        """One noisy replicate of X."""
        return np.asarray(self.copies(X, 1, rng)[:, 0])

    def copies(self, X: ArrayLike, n: int, rng: RandomState = None) -> Floats:
        """`n` independent noisy replicates of every row, of shape (n_rows, n, d)."""
        clean = np.asarray(X, dtype=np.float64)
        if clean.ndim != 2:
            raise ValueError(f"X has shape {clean.shape}; rows of features (two axes) are needed")
        if n < 1:
            raise ValueError(f"{n} copies were asked for; at least one is needed")
        return np.asarray(self._replicates(clean[:, None, :], (len(clean), n, clean.shape[1]), generator(rng)))

    @abstractmethod
    def _replicates(self, clean: Floats, shape: tuple[int, int, int], rng: np.random.Generator) -> Floats:
        """Replicates of this shape of clean rows, of shape (n_rows, 1, d)."""


@dataclass(frozen=True, eq=False)
class GaussianNoise(_Replicated):
    """Additive Gaussian noise of known covariance [Sigma]; `copies` draws replicates.

    Parameters
    ----------
    covariance : float, array of shape (d,) or (d, d)
        One variance for all columns, one for each column, or a full covariance matrix.

    Examples
    --------
    >>> noise = GaussianNoise([0.25, 0.0])
    >>> noise.corrupt(np.zeros((3, 2)), rng=0)
    array([[ 0.06286511,  0.        ],
           [ 0.32021133,  0.        ],
           [-0.26783469,  0.        ]])
    >>> noise.copies(np.zeros((3, 2)), 4, rng=0).shape
    (3, 4, 2)
    """

    covariance: Floats

    def __post_init__(self) -> None:
        covariance = np.array(self.covariance, dtype=np.float64)
        if covariance.ndim > 2 or (covariance.ndim == 2 and covariance.shape[0] != covariance.shape[1]):
            raise ValueError(
                f"a covariance is one number, one for each column or a square matrix, not {covariance.shape}"
            )
        if not np.isfinite(covariance).all():
            raise ValueError("the covariance must be finite")
        if covariance.ndim < 2 and covariance.size and covariance.min() < 0:
            raise ValueError(f"a variance is {covariance.min():.4g}; variances can't be negative")
        if covariance.ndim == 2:
            _check_semidefinite(covariance)
        covariance.setflags(write=False)
        object.__setattr__(self, "covariance", covariance)

    def matrix(self, n_features: int) -> Floats:
        """The full covariance for rows of `n_features` columns."""
        if self.covariance.ndim == 0:
            return np.asarray(self.covariance * np.eye(n_features))
        if len(self.covariance) != n_features:
            raise ValueError(f"the noise covers {len(self.covariance)} columns, the data have {n_features}")
        return np.diag(self.covariance) if self.covariance.ndim == 1 else self.covariance

    def _replicates(self, clean: Floats, shape: tuple[int, int, int], rng: np.random.Generator) -> Floats:
        return np.asarray(clean + rng.standard_normal(shape) @ self._root(shape[2]).T)

    def _root(self, d: int) -> Floats:
        """A matrix R with R R' = covariance."""
        if self.covariance.ndim < 2:
            return np.asarray(np.sqrt(self.matrix(d)))
        values, vectors = np.linalg.eigh(self.matrix(d))
        return np.asarray(vectors * np.sqrt(np.clip(values, 0, None)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GaussianNoise) and np.array_equal(self.covariance, other.covariance)

    def __hash__(self) -> int:
        return hash((self.covariance.shape, (self.covariance + 0.0).tobytes()))  # -0 is equal to 0

    def __repr__(self) -> str:
        return f"GaussianNoise({np.array2string(self.covariance, precision=4, separator=', ')})"


def _check_semidefinite(covariance: Floats) -> None:
    scale = max(float(np.abs(covariance).max(initial=0)), 1e-300)
    if np.abs(covariance - covariance.T).max(initial=0) > 1e-8 * scale:
        raise ValueError("the covariance is not symmetric; use (C + C.T) / 2 if that is rounding")
    lowest = float(np.linalg.eigvalsh(covariance)[0]) if covariance.size else 0.0
    if lowest < -1e-8 * scale:
        raise ValueError(f"the covariance has a negative eigenvalue ({lowest:.3g}); no noise has such a covariance")


@dataclass(frozen=True, eq=False)
class LaplaceNoise(_Replicated):
    """Additive Laplace noise, independent in every value, as in the Laplace mechanism of differential privacy.

    Parameters
    ----------
    scale : float or array of shape (d,)
        Scale of the noise, one for all columns or one for each; its standard deviation is sqrt(2) scale.

    Examples
    --------
    >>> LaplaceNoise(0.5).matrix(2)
    array([[0.5, 0. ],
           [0. , 0.5]])

    References
    ----------
    .. [1] Dwork, C., McSherry, F., Nissim, K., Smith, A. (2006). Calibrating noise to sensitivity in private data
       analysis. Theory of Cryptography Conference.
    """

    scale: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _per_column(self.scale, "a scale"))
        if self.scale.min(initial=0) < 0:
            raise ValueError(f"a scale is {self.scale.min():.4g}; scales can't be negative")

    def matrix(self, n_features: int) -> Floats:
        """The covariance for rows of `n_features` columns."""
        return np.diag(2 * _per_feature(self.scale, n_features) ** 2)

    def characteristic(self, frequencies: ArrayLike) -> Floats:
        """Characteristic function at frequencies w (last axis): the product of 1 / (1 + scale^2 w_j^2)."""
        w = np.asarray(frequencies, dtype=np.float64)
        return np.asarray(1 / np.prod(1 + (w * _per_feature(self.scale, w.shape[-1])) ** 2, axis=-1))

    def _replicates(self, clean: Floats, shape: tuple[int, int, int], rng: np.random.Generator) -> Floats:
        return np.asarray(clean + rng.laplace(size=shape) * _per_feature(self.scale, shape[2]))


@dataclass(frozen=True, eq=False)
class MaskingNoise(_Replicated):
    """Masking noise, values missing completely at random: each is kept with a known probability and divided by it.

    Missing values are zero, so every noisy value has the clean one as its mean. `fill` makes such rows from rows with
    NaN.

    Parameters
    ----------
    keep : float or array of shape (d,)
        Probability that a value is observed, for all columns or for each [q].

    Examples
    --------
    >>> MaskingNoise(0.5).fill([[1.0, np.nan], [3.0, 4.0]])
    array([[2., 0.],
           [6., 8.]])

    References
    ----------
    .. [1] Loh, P.-L., Wainwright, M. J. (2012). High-dimensional regression with noisy and missing data: provable
       guarantees with nonconvexity. Annals of Statistics 40(3).
    """

    keep: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", _per_column(self.keep, "a probability"))
        if not ((self.keep > 0) & (self.keep <= 1)).all():
            raise ValueError(f"keep is {self.keep}; a probability above 0 and at most 1 is needed")

    def fill(self, X: ArrayLike) -> Floats:
        """Rows with NaN for what is missing, as rows whose mean is the clean row."""
        rows = np.asarray(X, dtype=np.float64)
        return np.where(np.isnan(rows), 0.0, rows / _per_feature(self.keep, rows.shape[-1]))

    def variances(self, X: ArrayLike) -> Floats:
        """Unbiased estimates of each value's noise variance, from the noisy values alone: (1 - q) x^2."""
        rows = np.asarray(X, dtype=np.float64)
        return np.asarray((1 - _per_feature(self.keep, rows.shape[-1])) * rows**2)

    def _replicates(self, clean: Floats, shape: tuple[int, int, int], rng: np.random.Generator) -> Floats:
        keep = _per_feature(self.keep, shape[2])
        return np.asarray(clean * (rng.random(shape) < keep) / keep)


@dataclass(frozen=True, eq=False)
class SymmetricNoise:
    """Additive noise of any distribution that is symmetric about zero, given by its characteristic function.

    Parameters
    ----------
    function : callable
        For frequencies of shape (..., d), the characteristic function E[cos(w.noise)], of shape (...).
    covariance : float or array of shape (d,) or (d, d), optional
        The noise's covariance; the linear learners need it.

    Examples
    --------
    >>> uniform = SymmetricNoise(lambda w: np.sinc(w / np.pi).prod(axis=-1), covariance=1 / 3)  # on [-1, 1]
    >>> uniform.characteristic(np.array([[0.0], [1.0]])).round(3)
    array([1.   , 0.841])
    """

    function: Callable[[Any], Any]
    covariance: Floats | None = None

    def matrix(self, n_features: int) -> Floats:
        """The covariance for rows of `n_features` columns."""
        if self.covariance is None:
            raise ValueError("this learner needs the noise's covariance: SymmetricNoise(function, covariance=...)")
        return GaussianNoise(self.covariance).matrix(n_features)

    def characteristic(self, frequencies: ArrayLike) -> Floats:
        """The function's values, checked: real, and within [-1, 1]."""
        w = np.asarray(frequencies, dtype=np.float64)
        values = np.asarray(self.function(w))
        if values.shape != w.shape[:-1]:
            raise ValueError(
                f"the characteristic function gave shape {values.shape} for frequencies of shape {w.shape}; "
                f"one value for each frequency, shape {w.shape[:-1]}, is needed"
            )
        if np.abs(values.imag).max(initial=0) > 1e-9 or not np.abs(values).max(initial=0) <= 1 + 1e-9:
            raise ValueError(
                "the characteristic function of symmetric noise is real and within [-1, 1]; this one is not"
            )
        return np.asarray(values.real, dtype=np.float64)


def _per_column(values: ArrayLike, what: str) -> Floats:
    checked = np.array(values, dtype=np.float64)
    if checked.ndim > 1 or not np.isfinite(checked).all():
        raise ValueError(f"{what} is one finite number or one for each column, not an array of shape {checked.shape}")
    checked.setflags(write=False)
    return checked


def _per_feature(values: Floats, n_features: int) -> Floats:
    if values.ndim and len(values) != n_features:
        raise ValueError(f"the noise covers {len(values)} columns, the data have {n_features}")
    return np.broadcast_to(values, (n_features,))
