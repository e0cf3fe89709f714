"""Noise added to features: cheap sensors, low doses, data blurred for privacy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from noisewise._inputs import Chance, Floats, generator


@dataclass(frozen=True, eq=False)
class GaussianNoise:
    """Gaussian noise of known covariance, added to every row [Sigma].

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

    def corrupt(self, X: ArrayLike, rng: Chance = None) -> Floats:
        """One noisy copy of X."""
        return np.asarray(self.copies(X, 1, rng)[:, 0])

    def copies(self, X: ArrayLike, n: int, rng: Chance = None) -> Floats:
        """`n` independent noisy copies of every row, of shape (n_rows, n, d)."""
        clean = rows_to_copy(X, n)
        rows, d = clean.shape
        standard = generator(rng).standard_normal((rows, n, d))
        return clean[:, None, :] + standard @ self._root(d).T

    def _root(self, d: int) -> Floats:
        """A matrix R with R R' = covariance."""
        if self.covariance.ndim < 2:
            return np.asarray(np.sqrt(self.matrix(d)))
        values, vectors = np.linalg.eigh(self.matrix(d))
        return np.asarray(vectors * np.sqrt(np.clip(values, 0, None)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GaussianNoise) and np.array_equal(self.covariance, other.covariance)

    def __hash__(self) -> int:
        return hash((self.covariance.shape, (self.covariance + 0.0).tobytes()))  # a zero below zero is equal to zero

    def __repr__(self) -> str:
        return f"GaussianNoise({np.array2string(self.covariance, precision=4, separator=', ')})"


def rows_to_copy(X: ArrayLike, n: int) -> Floats:
    """Clean rows as an array, if there are rows and `n` copies of them can be made."""
    clean = np.asarray(X, dtype=np.float64)
    if clean.ndim != 2:
        raise ValueError(f"X has shape {clean.shape}; rows of features (two axes) are needed")
    if n < 1:
        raise ValueError(f"{n} copies were asked for; at least one is needed")
    return clean


def _check_semidefinite(covariance: Floats) -> None:
    scale = max(float(np.abs(covariance).max(initial=0)), 1e-300)
    if np.abs(covariance - covariance.T).max(initial=0) > 1e-8 * scale:
        raise ValueError("the covariance is not symmetric; use (C + C.T) / 2 if that is rounding")
    lowest = float(np.linalg.eigvalsh(covariance)[0]) if covariance.size else 0.0
    if lowest < -1e-8 * scale:
        raise ValueError(f"the covariance has a negative eigenvalue ({lowest:.3g}); no noise has such a covariance")
