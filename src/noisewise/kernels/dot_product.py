"""Dot-product kernels: power series in <x, x'> with non-negative coefficients."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import binom

from noisewise._numerics.distances import inner_products, squared_norms
from noisewise._typing import Floats
from noisewise.kernels.base import Kernel, keep_positive
from noisewise.kernels.pairwise import check_pair, check_rows, pairwise


class DotProduct(Kernel):
    """A kernel that is a function of the inner product <x, x'>."""

    @abstractmethod
    def of_dot(self, dot: Floats) -> Floats:
        """The kernel's value where <x, x'> is `dot`."""

    @abstractmethod
    def taylor(self, n: int) -> Floats:
        """First `n` coefficients of the power series in <x, x'> [beta]; none is negative."""

    def gram(self, X: Any, Z: Any = None) -> Floats:
        """Values for all pairs of rows, of shape (rows of X, rows of Z); `Z` None means X again."""
        return pairwise(lambda left, right: self.of_dot(inner_products(left, right)), *check_pair(X, Z))

    def diagonal(self, X: Any) -> Floats:
        """Value of each row with itself, without the rest of the Gram matrix."""
        return self.of_dot(squared_norms(check_rows(X)))


@dataclass(frozen=True)
class Linear(DotProduct):
    """The inner product <x, x'> itself.

    >>> Linear().gram([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def of_dot(self, dot: Floats) -> Floats:
        """The inner product."""
        return dot

    def taylor(self, n: int) -> Floats:
        """0, 1, 0, 0, ..."""
        return np.asarray(np.eye(2, n)[1])


@dataclass(frozen=True)
class Polynomial(DotProduct):
    """(<x, x'> + constant) ** degree: homogeneous with constant 0, all degrees up to the given one with 1.

    >>> Polynomial(2).gram([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    >>> Polynomial(2).taylor(4)
    array([1., 2., 1., 0.])
    """

    degree: int
    constant: float = 1.0

    def __post_init__(self) -> None:
        if self.degree < 1 or self.degree != int(self.degree):
            raise ValueError(f"the degree is {self.degree}; a polynomial kernel has a whole degree, 1 or more")
        if not (np.isfinite(self.constant) and self.constant >= 0):
            raise ValueError(f"the constant is {self.constant}; below 0, the polynomial is not a kernel")
        object.__setattr__(self, "degree", int(self.degree))
        object.__setattr__(self, "constant", float(self.constant))

    def of_dot(self, dot: Floats) -> Floats:
        """(dot + constant) ** degree."""
        return np.asarray((dot + self.constant) ** self.degree)

    def taylor(self, n: int) -> Floats:
        """Binomial coefficients times powers of the constant, up to the degree; then 0."""
        order = np.arange(n)
        left = np.maximum(self.degree - order, 0)
        return np.where(order <= self.degree, binom(self.degree, order) * self.constant**left, 0.0)


@dataclass(frozen=True)
class Exponential(DotProduct):
    """exp <x, x'>.

    >>> Exponential().gram([[0.0, 2.0]], [[5.0, 0.0]])
    array([[1.]])
    """

    def of_dot(self, dot: Floats) -> Floats:
        """Exp of the inner product."""
        largest = float(np.max(dot, initial=-np.inf))
        if largest > 700:
            raise ValueError(f"exp <x, x'> overflows at <x, x'> = {largest:.4g}; divide the rows by their typical norm")
        return np.asarray(np.exp(dot))

    def taylor(self, n: int) -> Floats:
        """1 / k!."""
        return np.cumprod(1 / np.maximum(np.arange(n), 1), dtype=np.float64)


@dataclass(frozen=True)
class Binomial(DotProduct):
    """(1 - <x, x'>) ** -power [alpha], for rows within the unit ball.

    The paper [1]_ prints a plus sign; its series then has negative coefficients, and it is not a kernel.

    >>> Binomial(1.0).gram([[0.5]])
    array([[1.33333333]])

    References
    ----------
    .. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
       Information Theory 57(12).
    """

    power: float

    def __post_init__(self) -> None:
        keep_positive(self, "power")

    def of_dot(self, dot: Floats) -> Floats:
        """(1 - dot) ** -power; refuses inner products of size 1 or more."""
        largest = float(np.max(np.abs(dot), initial=0.0))
        if largest >= 1:
            raise ValueError(
                f"the binomial kernel needs |<x, x'>| < 1, but here it reaches {largest:.4g}; "
                "divide all rows by a number above the largest norm"
            )
        return np.asarray((1 - dot) ** -self.power)

    def taylor(self, n: int) -> Floats:
        """Rising products: power (power + 1) ... (power + k - 1) / k!."""
        order = np.arange(1, max(n, 1))
        return np.concatenate(([1.0], np.cumprod((self.power + order - 1) / order)))[:n]
