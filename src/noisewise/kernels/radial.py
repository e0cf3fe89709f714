"""Radial kernels: functions of the Euclidean distance, each a scale mixture of Gaussian kernels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import gamma, levy

from noisewise._typing import Floats, RandomState
from noisewise._validation import generator
from noisewise.kernels.base import Kernel, keep_positive
from noisewise.kernels.pairwise import centred, check_rows, pairwise, squared_distances, tile_of_squared_distances


class Radial(Kernel):
    """A kernel that is a function of the Euclidean distance r, in any dimension.

    By Schoenberg's theorem [1]_ it is a mixture of Gaussian kernels: the mean of exp(-u r^2) over a distribution of the
    rate u.

    References
    ----------
    .. [1] Schoenberg, I. J. (1938). Metric spaces and completely monotone functions. Annals of Mathematics 39(4).
    .. [2] Rasmussen, C. E., Williams, C. K. I. (2006). Gaussian Processes for Machine Learning. MIT Press. (Chapter 4.)
    """

    @abstractmethod
    def of_squared_distance(self, squared: Floats) -> Floats:
        """The kernel's value where r^2 is `squared`; 1 at zero."""

    @abstractmethod
    def draw_rates(self, n: int, rng: RandomState = None) -> Floats:
        """Draw `n` rates u from the distribution whose mean of exp(-u r^2) is the kernel."""

    def gram(self, X: Any, Z: Any = None) -> Floats:
        """Values for all pairs of rows, of shape (rows of X, rows of Z); `Z` None means X again."""
        return pairwise(
            lambda left, right: self.of_squared_distance(tile_of_squared_distances(left, right)), *centred(X, Z)
        )

    def diagonal(self, X: Any) -> Floats:
        """Ones: the distance of a row to itself is zero."""
        return np.ones(check_rows(X).shape[0])


@dataclass(frozen=True)
class Gaussian(Radial):
    """exp(-r^2 / width^2): ``gamma = 1 / width**2`` in scikit-learn's parametrisation [s].

    >>> Gaussian(width=2.0).gram([[0.0]], [[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679]])
    """

    width: float

    def __post_init__(self) -> None:
        keep_positive(self, "width")

    def of_squared_distance(self, squared: Floats) -> Floats:
        """exp(-squared / width^2)."""
        return np.asarray(np.exp(squared / -(self.width**2)))

    def draw_rates(self, n: int, rng: RandomState = None) -> Floats:
        """The one rate of a Gaussian kernel, 1 / width^2."""
        return np.full(n, self.width**-2)


@dataclass(frozen=True)
class Laplacian(Radial):
    """exp(-r / width) with the Euclidean distance r (scikit-learn's kernel of this name sums ``|x_i - x'_i|``).

    >>> Laplacian(width=5.0).gram([[0.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.3679]])
    """

    width: float

    def __post_init__(self) -> None:
        keep_positive(self, "width")

    def of_squared_distance(self, squared: Floats) -> Floats:
        """exp(-sqrt(squared) / width)."""
        return np.asarray(np.exp(np.sqrt(squared) / -self.width))

    def schoenberg(self, u: ArrayLike) -> Floats:
        """Density of the rate u [mu]: u^(-3/2) exp(-1 / (4 width^2 u)) / (2 width sqrt(pi)), a Levy distribution."""
        return np.asarray(levy.pdf(u, scale=1 / (2 * self.width**2)))

    def draw_rates(self, n: int, rng: RandomState = None) -> Floats:
        """Rates from the Levy distribution: 1 / (2 width^2 z^2) with z normal."""
        return np.asarray(0.5 / (self.width * generator(rng).standard_normal(n)) ** 2)


@dataclass(frozen=True)
class RationalQuadratic(Radial):
    """(1 + r^2 / scale) ** -power.

    >>> RationalQuadratic(power=2.0, scale=4.0).gram([[0.0]], [[0.0], [2.0]])
    array([[1.  , 0.25]])
    """

    power: float
    scale: float

    def __post_init__(self) -> None:
        keep_positive(self, "power", "scale")

    def of_squared_distance(self, squared: Floats) -> Floats:
        """(1 + squared / scale) ** -power."""
        return np.asarray((1 + squared / self.scale) ** -self.power)

    def schoenberg(self, u: ArrayLike) -> Floats:
        """Density of the rate u [mu]: a Gamma distribution of shape `power` and rate `scale`."""
        return np.asarray(gamma.pdf(u, self.power, scale=1 / self.scale))

    def draw_rates(self, n: int, rng: RandomState = None) -> Floats:
        """Rates from the Gamma distribution."""
        return generator(rng).gamma(self.power, 1 / self.scale, n)


def median_width(X: Any, max_rows: int = 1000, random_state: RandomState = None) -> float:
    """Median distance between two different rows: the median heuristic for the width of Gaussian and Laplacian.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_columns)
    max_rows : int
        Rows to compare; more than that are sampled.
    random_state : int, generator or None
        Draws the sample.

    Examples
    --------
    >>> median_width([[0.0], [0.0], [0.0], [1.0], [3.0]])
    2.0
    """
    rows = check_rows(X)
    if max_rows < 2:
        raise ValueError(f"max_rows is {max_rows}; a distance needs two rows")
    some = rows
    if rows.shape[0] > max_rows:
        some = rows[generator(random_state).choice(rows.shape[0], max_rows, replace=False)]
    distances = np.sqrt(squared_distances(some)[np.triu_indices(some.shape[0], 1)])
    distances = distances[distances > 0]  # duplicates of a row have no information about scale
    if not len(distances) and some.shape[0] < rows.shape[0]:  # nearly all are duplicates: compare one with all rows
        distances = np.sqrt(squared_distances(some[:1], rows))
        distances = distances[distances > 0]
    if not len(distances):
        raise ValueError(f"all rows are equal (n_samples = {rows.shape[0]}): their distances give no width, choose one")
    return float(np.median(distances))
