"""Smooth convex losses with their derivatives and the Taylor series of these, for unbiased gradient estimates.

References
----------
.. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
   Information Theory 57(12). (Analytic losses and their smoothed versions.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, erfc, erfcx, erfi, expit, zeta

from noisewise._typing import Floats

MAX_SHARPNESS = 26.0  # coefficients grow as exp(sharpness^2), near overflow here; the loss is within 0.022 of |a|
ROOT_PI = float(np.sqrt(np.pi))


class Loss(ABC):
    """A smooth convex loss of a scalar a.

    `argument` is the kind of a: a residual (prediction - target) or a margin (target * prediction, targets -1 and 1).
    The derivative is the sum of ``taylor(n)[k] * a**k`` over k, for ``|a| < radius``.
    """

    argument: ClassVar[Literal["residual", "margin"]]
    radius: ClassVar[float] = np.inf

    @abstractmethod
    def value(self, a: ArrayLike) -> Floats:
        """The loss at a."""

    @abstractmethod
    def derivative(self, a: ArrayLike) -> Floats:
        """Its derivative at a."""

    @abstractmethod
    def taylor(self, n: int) -> Floats:
        """First `n` Taylor coefficients of the derivative at 0 [gamma]."""

    @abstractmethod
    def absolute_series(self, a: ArrayLike) -> Floats:
        """The derivative's series with absolute coefficients, ``sum |gamma_k| a^k``, for a >= 0 [l'_+]."""


@dataclass(frozen=True)
class Squared(Loss):
    """a^2, of the residual a = prediction - target.

    >>> Squared().value(3.0), Squared().derivative(3.0)
    (np.float64(9.0), np.float64(6.0))
    """

    argument = "residual"

    def value(self, a: ArrayLike) -> Floats:
        """a^2."""
        return np.square(_floats(a))

    def derivative(self, a: ArrayLike) -> Floats:
        """2a."""
        return 2 * _floats(a)

    def taylor(self, n: int) -> Floats:
        """0, 2, 0, 0, ..."""
        return np.asarray(2 * np.eye(2, n)[1])

    def absolute_series(self, a: ArrayLike) -> Floats:
        """2a."""
        return 2 * _absolute(a)


@dataclass(frozen=True)
class Exponential(Loss):
    """exp(-a), of the margin a = target * prediction.

    >>> Exponential().derivative(0.0)
    np.float64(-1.0)
    """

    argument = "margin"

    def value(self, a: ArrayLike) -> Floats:
        """exp(-a), infinite where that is beyond floating point."""
        with np.errstate(over="ignore"):
            return np.exp(-_floats(a))

    def derivative(self, a: ArrayLike) -> Floats:
        """-exp(-a)."""
        return -self.value(a)

    def taylor(self, n: int) -> Floats:
        """-(-1)^k / k!."""
        return np.cumprod(-1 / np.maximum(np.arange(n), 1), dtype=np.float64)

    def absolute_series(self, a: ArrayLike) -> Floats:
        """exp(a)."""
        return self.value(-_absolute(a))


@dataclass(frozen=True)
class _Smoothed(Loss):
    sharpness: float = 1.0

    def __post_init__(self) -> None:
        sharpness = float(self.sharpness)
        if not 0 < sharpness <= MAX_SHARPNESS:
            raise ValueError(f"the sharpness is {sharpness}; it must be above 0 and at most {MAX_SHARPNESS:.0f}")
        object.__setattr__(self, "sharpness", sharpness)


@dataclass(frozen=True)
class SmoothedAbsolute(_Smoothed):
    """``|a|`` made smooth, a erf(ca) + exp(-c^2 a^2) / (c sqrt(pi)), of the residual a = prediction - target.

    It lies above ``|a|`` by at most 1 / (c sqrt(pi)), c being the sharpness.

    >>> SmoothedAbsolute(sharpness=10.0).value([-2.0, 0.0]).round(3)
    array([2.   , 0.056])
    """

    argument = "residual"

    def value(self, a: ArrayLike) -> Floats:
        """The loss at a: a erf(ca) + exp(-c^2 a^2) / (c sqrt(pi))."""
        residual, c = _floats(a), self.sharpness
        return _unwrap(residual * erf(c * residual) + _gaussian(c * residual) / (c * ROOT_PI))

    def derivative(self, a: ArrayLike) -> Floats:
        """erf(ca)."""
        return _unwrap(erf(self.sharpness * _floats(a)))

    def taylor(self, n: int) -> Floats:
        """2 (-1)^k c^(2k+1) / (sqrt(pi) k! (2k+1)) at the odd powers 2k + 1, else 0."""
        coefficients, c = np.zeros(n), self.sharpness
        k = np.arange(n // 2)
        powers = c * np.cumprod(np.where(k > 0, -(c**2) / np.maximum(k, 1), 1.0))
        coefficients[1::2] = 2 / ROOT_PI * powers / (2 * k + 1)
        return coefficients

    def absolute_series(self, a: ArrayLike) -> Floats:
        """erfi(ca), the error function with all signs positive."""
        return _unwrap(erfi(self.sharpness * _absolute(a)))


@dataclass(frozen=True)
class SmoothedHinge(_Smoothed):
    """max(0, 1 - a) made smooth, of the margin a = target * prediction.

    It lies above the hinge by at most 1 / (2c sqrt(pi)), c being the sharpness.

    >>> SmoothedHinge(sharpness=10.0).value([-1.0, 1.0, 3.0]).round(3)
    array([2.   , 0.028, 0.   ])
    """

    argument = "margin"

    def value(self, a: ArrayLike) -> Floats:
        """(exp(-u^2) / sqrt(pi) - u erfc(u)) / 2c with u = c (a - 1)."""
        u = self.sharpness * (_floats(a) - 1)
        beyond = np.clip(u, 0, 30)  # both terms are tiny here: take their common factor exp(-u^2) out
        above = _gaussian(beyond) * (1 / ROOT_PI - beyond * erfcx(beyond))
        below = _gaussian(u) / ROOT_PI - np.minimum(u, 0) * erfc(u)
        return _unwrap(np.where(u > 0, above, below) / (2 * self.sharpness))

    def derivative(self, a: ArrayLike) -> Floats:
        """(erf(c (a - 1)) - 1) / 2."""
        return _unwrap(-0.5 * erfc(self.sharpness * (_floats(a) - 1)))

    def taylor(self, n: int) -> Floats:
        """c^k H_{k-1}(c) exp(-c^2) / (sqrt(pi) k!) with Hermite polynomials H; the first is (erf(-c) - 1) / 2."""
        return np.fromiter(islice(self._terms(np.ones(())), n), np.float64, n)

    def absolute_series(self, a: ArrayLike) -> Floats:
        """Summed term by term (there is no closed form), infinite where that is beyond floating point."""
        sizes = np.minimum(_absolute(a), 40 / self.sharpness)  # infinite from here: near exp((ca)^2 - c^2 / 2)
        largest = self.sharpness * float(np.max(sizes, initial=0.0))
        n = 60 + int(6 * largest**2)  # terms rise up to 2 (ca)^2, then fall like a normal tail
        total = np.zeros(sizes.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            for term in islice(self._terms(sizes), n):
                total = total + np.abs(term)
        return _unwrap(np.where(np.isnan(total), np.inf, total))

    def _terms(self, a: Floats) -> Iterator[Floats]:
        """Terms taylor[k] * a^k, one after the other, by the recurrence of the Hermite polynomials."""
        c = self.sharpness
        yield np.full(a.shape, -0.5 * erfc(-c))
        before, term = np.zeros(a.shape), c * a * np.exp(-(c**2)) / ROOT_PI
        for k in count(1):
            yield term
            before, term = term, 2 * c**2 * a / (k + 1) * (term - (k - 1) / k * a * before)


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-a)), of the margin a = target * prediction; its series holds for ``|a| < pi`` only.

    >>> Logistic().derivative(0.0)
    np.float64(-0.5)
    """

    argument = "margin"
    radius = np.pi

    def value(self, a: ArrayLike) -> Floats:
        """log(1 + exp(-a))."""
        return np.logaddexp(0.0, -_floats(a))

    def derivative(self, a: ArrayLike) -> Floats:
        """-1 / (1 + exp(a))."""
        return _unwrap(-expit(-_floats(a)))

    def taylor(self, n: int) -> Floats:
        """-1/2, then (2^2k - 1) B_2k / (2k)! at the odd powers 2k - 1 (Bernoulli numbers B), else 0."""
        coefficients = np.zeros(n)
        coefficients[:1] = -0.5
        even = 2.0 * np.arange(1, n // 2 + 1)
        signs = np.where(even % 4 == 2, 1.0, -1.0)
        coefficients[1::2] = 2 * signs * (1 - 2.0**-even) * zeta(even) / np.pi**even  # B_2k through zeta(2k)
        return coefficients

    def absolute_series(self, a: ArrayLike) -> Floats:
        """1/2 + tan(a/2) / 2 below pi, infinite from there on."""
        sizes = _absolute(a)
        inside = sizes < np.pi
        return _unwrap(np.where(inside, 0.5 + 0.5 * np.tan(np.where(inside, sizes, 0.0) / 2), np.inf))


def _floats(a: ArrayLike) -> Floats:
    return np.asarray(a, dtype=np.float64)


def _absolute(a: ArrayLike) -> Floats:
    sizes = _floats(a)
    if np.any(sizes < 0):
        raise ValueError(f"the absolute series is for a >= 0, not {np.min(sizes):.4g}")
    return sizes


def _unwrap(values: Any) -> Floats:
    """An array for an array, a scalar for a scalar."""
    return np.asarray(values, dtype=np.float64)[()]


def _gaussian(u: Floats) -> Floats:
    """exp(-u^2); 39 is beyond where that is zero in floating point."""
    return np.exp(-np.square(np.clip(u, -39.0, 39.0)))
