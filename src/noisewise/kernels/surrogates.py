"""Kernels under Gaussian noise: surrogates whose mean over the noise is the clean kernel, and the uncorrected mean.

References
----------
.. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
   Information Theory 57(12). (Surrogate Hilbert spaces, eq. 5; radial kernels, Theorem 5.)
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from noisewise._numerics.distances import inner_products
from noisewise._typing import Floats
from noisewise.kernels.base import Kernel
from noisewise.kernels.pairwise import centred, check_rows, pairwise, tile_of_squared_distances
from noisewise.kernels.radial import Gaussian, Radial

ADVISED_RATE = 0.25  # times 1 / |Sigma|, widths from 2 sqrt(|Sigma|): beyond, the variance of a surrogate dominates
MAX_NODES = 320  # of a quadrature; a discrete mixture is a kernel too, and its surrogate is exact for it
TOLERANCE = 1e-11  # relative, of the height


class Noise(Protocol):
    """A GaussianNoise, or any object with the same two members."""

    @property
    def covariance(self) -> Floats:
        """A number, one for each column, or a matrix [Sigma]."""

    def matrix(self, n_features: int) -> Floats:
        """The full covariance for rows of so many columns."""


def surrogate(kernel: Radial, noise: Noise, highest_rate: float | None = None) -> Surrogate:
    """A kernel whose mean over the noise of one argument is the clean kernel: E s(a, x + noise) = k(a, x).

    Parameters
    ----------
    kernel : Gaussian, Laplacian, RationalQuadratic or another Radial with a `schoenberg` density
    noise : GaussianNoise
        Any covariance [Sigma]. A Gaussian kernel needs ``width**2 > 2 * |Sigma|`` (largest eigenvalue);
        ``width**2 >= 4 * |Sigma|`` is advised, as the standard deviation of the surrogate grows without limit below.
    highest_rate : float, optional
        Other kernels are mixtures of Gaussian kernels exp(-u r^2), and only rates u below ``1 / (2 * |Sigma|)`` have a
        surrogate; it is that of the mixture up to this rate (attribute `clean`), ``1 / (4 * |Sigma|)`` by default.
        A rough kernel such as the Laplacian is visibly smoothed by that at small distances.

    References
    ----------
    .. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
       Information Theory 57(12). (Eq. 5 and Theorem 5.)

    Examples
    --------
    >>> from noisewise import GaussianNoise
    >>> from noisewise.kernels import Gaussian
    >>> surrogate(Gaussian(width=2.0), GaussianNoise(1.0)).gram([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.4142, 0.8578]])
    """
    return Surrogate(kernel, noise, highest_rate)


def blurred(kernel: Gaussian, noise: Noise) -> Blurred:
    """The mean of a Gaussian kernel over the noise of one argument, without correction: E k(a, x + noise).

    >>> from noisewise import GaussianNoise
    >>> blurred(Gaussian(width=2.0), GaussianNoise(1.0)).gram([[0.0]], [[0.0], [1.0]]).round(4)
    array([[0.8165, 0.6911]])
    """
    return Blurred(kernel, noise)


class _UnderNoise(Kernel):
    """A mixture of Gaussian kernels of rates u, each with its widths 1/u changed by `sign` * 2 Sigma.

    Every part is exp(-d'(I/u + 2 sign Sigma)^-1 d) / sqrt(det(I + 2 sign u Sigma)), computed
    along the eigenvectors of Sigma, where it is a product over columns (eq. 5 of the paper).
    """

    noise: Noise
    sign: float

    @abstractmethod
    def rates(self) -> tuple[Floats, Floats]:
        """Rates u of the mixture, and their weights."""

    def gram(self, X: Any, Z: Any = None) -> Floats:
        """Values for all pairs of rows, of shape (rows of X, rows of Z); `Z` None means X again."""
        left, right = centred(X, Z)
        rates, weights = self.rates()
        variances, axes = self._axes(left.shape[1])
        shrunk = rates[:, None] / (1 + 2 * self.sign * np.outer(rates, variances))
        heights = weights * np.prod(np.sqrt(shrunk / rates[:, None]), axis=1)
        if np.ptp(variances) == 0:  # isotropic noise: one distance for all rates
            return pairwise(lambda a, b: mix(heights, shrunk[:, 0], tile_of_squared_distances(a, b)), left, right)
        left = inner_products(left, axes.T)
        right = None if right is None else inner_products(right, axes.T)

        def values(a: Floats, b: Floats) -> Floats:
            parts = (
                height * np.exp(-tile_of_squared_distances(a * scale, b * scale))
                for height, scale in zip(heights, np.sqrt(shrunk))
            )
            return np.asarray(sum(parts))

        return pairwise(values, left, right)

    def diagonal(self, X: Any) -> Floats:
        """The height at no distance, once for each row."""
        rows = check_rows(X)
        return np.full(rows.shape[0], self.height(rows.shape[1]))

    def height(self, n_features: int) -> float:
        """The value of a row with itself [R^2]: how much larger than the clean kernel's 1 it is."""
        return float(self.gram(np.zeros((1, n_features)))[0, 0])

    def _axes(self, n_features: int) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors (columns) of the covariance."""
        if self.noise.covariance.ndim < 2:
            return np.asarray(np.diagonal(self.noise.matrix(n_features))), np.eye(n_features)
        values, vectors = np.linalg.eigh(self.noise.matrix(n_features))
        return np.clip(values, 0, None), vectors


@dataclass(frozen=True)
class Surrogate(_UnderNoise):
    """Kernel that `surrogate` makes; see there."""

    kernel: Radial
    noise: Noise
    highest_rate: float | None = None
    n_nodes: int | None = None

    sign = -1.0

    def __post_init__(self) -> None:
        largest = largest_variance(self.noise)
        if isinstance(self.kernel, Gaussian):
            _check_width(self.kernel.width, largest)
        elif not hasattr(self.kernel, "schoenberg"):
            raise TypeError(
                f"{self.kernel!r} has no surrogate: a Gaussian kernel, or a radial one with a `schoenberg` density of "
                "the rates it mixes, is needed"
            )
        elif not self._is_whole():
            _check_rate(self._limit(), largest)
            n_nodes = enough_nodes(self.kernel, self._limit(), largest) if self.n_nodes is None else self.n_nodes
            object.__setattr__(self, "n_nodes", n_nodes)

    @property
    def clean(self) -> Kernel:
        """The kernel whose noisy values this one estimates: the given kernel, up to the highest rate."""
        if isinstance(self.kernel, Gaussian) or self._is_whole():
            return self.kernel
        return Surrogate(self.kernel, _NoNoise(), self._limit(), self.n_nodes)

    def rates(self) -> tuple[Floats, Floats]:
        """The one rate of a Gaussian kernel, or nodes and weights of a quadrature over the mixture."""
        if isinstance(self.kernel, Gaussian):
            return np.array([self.kernel.width**-2]), np.ones(1)
        return mixture_nodes(self.kernel, self._limit(), self.n_nodes or MAX_NODES)

    def gram(self, X: Any, Z: Any = None) -> Floats:
        """Values for all pairs of rows, of shape (rows of X, rows of Z); `Z` None means X again."""
        return self.kernel.gram(X, Z) if self._is_whole() else super().gram(X, Z)

    def _is_whole(self) -> bool:
        """Without noise, all rates can stay: the surrogate is the kernel."""
        return self.highest_rate is None and largest_variance(self.noise) == 0

    def _limit(self) -> float:
        if self.highest_rate is not None:
            return float(self.highest_rate)
        return ADVISED_RATE / largest_variance(self.noise)


@dataclass(frozen=True)
class Blurred(_UnderNoise):
    """Kernel that `blurred` makes; see there."""

    kernel: Gaussian
    noise: Noise

    sign = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Gaussian):
            raise TypeError(f"{self.kernel!r} has no closed form under noise; a Gaussian kernel has")

    def rates(self) -> tuple[Floats, Floats]:
        """The one rate of a Gaussian kernel."""
        return np.array([self.kernel.width**-2]), np.ones(1)


def enough_nodes(kernel: Any, limit: float, variance: float = 0.0) -> int:
    """Number of quadrature nodes for which the height of a mixture's surrogate, in one noisy column, has converged."""
    before, n = np.inf, 20
    while n < MAX_NODES:
        rates, weights = mixture_nodes(kernel, limit, n)
        height = float(np.sum(weights / np.sqrt(1 - 2 * variance * rates)))
        if abs(height - before) <= TOLERANCE * abs(height):
            break
        before, n = height, 2 * n
    return n


def mixture_nodes(kernel: Any, limit: float, n_nodes: int) -> tuple[Floats, Floats]:
    """Rates and weights of a kernel's mixture up to a limit: Gauss-Legendre quadrature in the root of the rate."""
    points, weights = np.polynomial.legendre.leggauss(n_nodes)
    roots = (points + 1) / 2
    rates = limit * roots**2  # dense near 0, where densities of rates are sharp
    weights = limit * roots * weights * kernel.schoenberg(rates)
    kept = weights > 0
    return rates[kept], weights[kept]


def mix(heights: Floats, rates: Floats, squared: Floats) -> Floats:
    """The mixture's values at squared distances.

    >>> mix(np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.array([0.0, np.log(2)]))
    array([3., 2.])
    """
    total = np.zeros(squared.shape)
    for height, rate in zip(heights, rates):
        total += height * np.exp(-rate * squared)
    return total


def largest_variance(noise: Noise) -> float:
    """The largest eigenvalue of a noise's covariance."""
    covariance = np.asarray(noise.covariance)
    if covariance.ndim == 2:
        return max(float(np.linalg.eigvalsh(covariance)[-1]), 0.0)
    return float(np.max(covariance, initial=0.0))


def _check_width(width: float, largest: float) -> None:
    if width**2 <= 2 * largest:
        raise ValueError(
            f"the width is {width:.4g}, but noise with a variance of {largest:.4g} in one direction needs a width "
            f"above {np.sqrt(2 * largest):.4g} (width^2 > 2 |Sigma|); {2 * np.sqrt(largest):.4g} or more is advised"
        )


def _check_rate(limit: float, largest: float) -> None:
    if not (np.isfinite(limit) and limit > 0 and 2 * largest * limit < 1):
        raise ValueError(
            f"the highest rate is {limit:.4g}; it must be above 0 and, with a noise variance of {largest:.4g} in one "
            f"direction, below {_inverse(2 * largest):.4g}; up to {_inverse(4 * largest):.4g} is advised"
        )


def _inverse(number: float) -> float:
    return 1 / number if number > 0 else np.inf


@dataclass(frozen=True)
class _NoNoise:
    """No noise, for rows of any number of columns."""

    @property
    def covariance(self) -> Floats:
        return np.zeros(())

    def matrix(self, n_features: int) -> Floats:
        return np.zeros((n_features, n_features))
