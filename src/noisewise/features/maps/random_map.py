"""Unbiased estimates of a kernel's feature map from a random number of noisy replicates.

References
----------
.. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
   Information Theory 57(12). (Lemma 1, Subroutines 2 to 7.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import generator
from noisewise.kernels import Binomial, ConicSum, Gaussian, Kernel
from noisewise.losses import Loss
from noisewise.noise.unbiased import HIGHEST_DEGREE, random_degree

Estimator = Literal["auto", "roulette", "geometric"]
NOTHING = -1  # the degree of an estimate that is zero and needs no copies


class Maps(NamedTuple):
    """Random maps: index of the first vector of each, number of its vectors, its scalar factor, and all vectors."""

    starts: NDArray[np.int64]
    degrees: NDArray[np.int64]
    sizes: Floats
    vectors: Floats


@dataclass(frozen=True, eq=False)
class RandomTerms:
    """An unbiased estimate of a power series from a random number of its terms.

    Parameters
    ----------
    coefficients : array
        Of the powers 0, 1, ...; the series is taken as infinite if one of the last two is not zero.
    estimator : "auto", "roulette" or "geometric"
        "geometric" takes the term of a random degree N alone, over its probability (p - 1) / p^(N + 1): Lemma 1 of the
        paper. "roulette" (Russian roulette) takes all terms up to N, term n over the probability P(N >= n) = p^-n: the
        same copies, less variance. "auto" takes all terms of a polynomial, exactly, and roulette for other series.
    p : float
        Above 1; the larger, the fewer copies and the more variance.

    Examples
    --------
    >>> exponential = RandomTerms(1 / np.cumprod([1, *range(1, 61)], dtype=float), "roulette", p=2.0)
    >>> exponential.weighted()[:4].round(3)
    array([1.   , 2.   , 2.   , 1.333])
    >>> exponential.degrees(5, rng=0)
    array([1, 0, 0, 0, 2])
    """

    coefficients: Floats
    estimator: Estimator = "auto"
    p: float = 2.0

    def __post_init__(self) -> None:
        if self.estimator not in ("auto", "roulette", "geometric"):
            raise ValueError(f"estimator is {self.estimator!r}; 'auto', 'roulette' and 'geometric' are known")
        if not (np.isfinite(self.p) and self.p > 1):
            raise ValueError(f"p is {self.p}; above 1, the number of copies has a finite mean 1 / (p - 1)")

    @cached_property
    def is_polynomial(self) -> bool:
        """Whether the series is finite: its last coefficients are zero."""
        return not bool(np.any(self.coefficients[-2:]))

    @cached_property
    def top(self) -> int:
        """The highest degree with a coefficient other than zero."""
        return int(np.max(np.flatnonzero(self.coefficients), initial=0))

    @property
    def single(self) -> bool:
        """Whether an estimate is one term, not a sum."""
        return self.estimator == "geometric"

    @property
    def lost_probability(self) -> float:
        """Probability of a degree beyond the last coefficient; such terms are truncated."""
        return 0.0 if self.is_polynomial else float(self.p ** -len(self.coefficients))

    def weighted(self) -> Floats:
        """Each coefficient times the weight of its term, up to `top`."""
        return self.coefficients[: self.top + 1] * self.weights()

    def weights(self) -> Floats:
        """The inverse probability of each term."""
        powers = self.p ** np.arange(self.top + 1.0)
        if self.single:
            return np.asarray(powers * self.p / (self.p - 1))
        return np.ones(self.top + 1) if self.estimator == "auto" and self.is_polynomial else powers

    def degrees(self, n: int, rng: RandomState = None) -> Codes:
        """Degrees of `n` estimates; -1 for one that is zero."""
        if self.estimator == "auto" and self.is_polynomial:
            return np.full(n, self.top)
        return self.truncate(random_degree(rng, self.p, n))

    def truncate(self, drawn: Codes) -> Codes:
        """Drawn degrees within the series: larger ones become the highest (roulette) or make the estimate zero."""
        if not self.single:
            return np.minimum(drawn, self.top)
        known = np.minimum(drawn, self.top)
        return np.where((drawn <= self.top) & (self.coefficients[known] != 0), drawn, NOTHING)

    def compiled(self) -> Any:
        """The terms as arguments of compiled loops."""
        from noisewise._loops.random_maps import Terms

        return Terms(self.weighted(), self.single)


def loss_terms(loss: Loss, estimator: Estimator = "auto", p: float = 2.0) -> RandomTerms:
    """The derivative of a loss, as a series to be estimated [gamma].

    Roulette is for infinite series. The squared loss takes one factor: leaving it out at random would double the mean
    square of the gradient, and save half a map.

    >>> from noisewise.losses import Squared
    >>> loss_terms(Squared(), "roulette").weighted()
    array([0., 2.])
    """
    return RandomTerms(loss.taylor(HIGHEST_DEGREE + 1), "auto" if estimator == "roulette" else estimator, p)


class RandomMap:
    """Unbiased estimates of Psi(x), the feature map of a kernel, from noisy copies (replicates) of x.

    These are Subroutines 2 to 7 of the paper, corrected.

    Parameters
    ----------
    kernel : Linear, Polynomial, Exponential, Binomial, sums of these, or Gaussian
        A Gaussian kernel takes pairs of copies for its factor exp(-|x|^2 / s^2) and further copies for the rest.
    estimator, p
        As for `RandomTerms`.

    Examples
    --------
    >>> from noisewise.kernels import Polynomial
    >>> square = RandomMap(Polynomial(2))  # two copies, nothing random
    >>> plan = square.draw(1, rng=0)
    >>> plan
    array([[0, 2]])
    >>> maps = square.estimate(plan, [[1.0, 0.0], [0.5, 0.5]])
    >>> square.mult(maps, [2.0, 0.0])  # 1 + 2 * 2 + 2 * 1
    array([7.])
    """

    def __init__(self, kernel: Kernel, estimator: Estimator = "auto", p: float = 2.0) -> None:
        n = HIGHEST_DEGREE + 1
        order = np.arange(n)
        factorials = np.cumprod(np.maximum(order, 1), dtype=np.float64)
        self.kernel, self.p = kernel, p
        self.size: RandomTerms | None = None
        if isinstance(kernel, Gaussian):
            rate = kernel.width**-2.0
            taylor = (2 * rate) ** order / factorials
            self.size = RandomTerms((-rate) ** order / factorials, estimator, p)
        elif hasattr(kernel, "taylor"):
            taylor = kernel.taylor(n)
        else:
            raise TypeError(f"{kernel!r} is not understood; kernels of the inner product and the Gaussian kernel are")
        self.roots: Floats = np.sqrt(taylor)
        self.terms = RandomTerms(self.roots, estimator, p)

    @property
    def lost_probability(self) -> float:
        """Probability that a map has a degree beyond the truncation."""
        return self.terms.lost_probability + (self.size.lost_probability if self.size else 0.0)

    @property
    def radius(self) -> float:
        """Upper bound of p times the mean squared length of the copies, for a finite variance."""
        return 1.0 if any(isinstance(part, Binomial) for part in _parts(self.kernel)) else np.inf

    def draw(self, n: int, rng: RandomState = None) -> NDArray[np.int64]:
        """A plan for `n` maps, of shape (n, 2): pairs of copies for the scalar factor, and single copies."""
        rng = generator(rng)
        plan = np.zeros((n, 2), dtype=np.int64)
        if self.size is None:
            plan[:, 1] = self.terms.degrees(n, rng)
            return plan
        drawn = random_degree(rng, self.p, 2 * n).reshape(n, 2)
        plan[:, 0], plan[:, 1] = self.size.truncate(drawn[:, 0]), self.terms.truncate(drawn[:, 1])
        plan[plan.min(axis=1) < 0] = NOTHING
        return plan

    @staticmethod
    def queries(plan: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of copies of each map of a plan."""
        return np.asarray(np.maximum(plan, 0) @ np.array([2, 1]))

    def estimate(self, plan: NDArray[np.int64], copies: ArrayLike) -> Maps:
        """Maps from the copies, which are used in order."""
        from noisewise._loops.random_maps import sizes_of_maps

        vectors = np.ascontiguousarray(copies, dtype=np.float64)
        begins = np.cumsum(self.queries(plan)) - self.queries(plan)
        sizes = np.ones(len(plan))
        sizes_of_maps(self.compiled_size(), vectors, begins, plan[:, 0].copy(), sizes)
        return Maps(begins + 2 * np.maximum(plan[:, 0], 0), plan[:, 1].copy(), sizes, vectors)

    def prod(self, maps: Maps, others: Maps) -> Floats:
        """Inner products <Psi~, Psi~'> of map i of the one with map i of the other (Subroutines 3 and 6)."""
        from noisewise._loops.random_maps import products

        out = np.empty(len(maps.starts))
        products(self.terms.compiled(), tuple(maps), tuple(others), out)
        return out

    def mult(self, maps: Maps, x: ArrayLike) -> Floats:
        """Inner products <Psi~, Psi(x)> with the map of a clean x (Subroutines 4 and 7)."""
        from noisewise._loops.random_maps import products_with_row

        row, out = np.asarray(x, dtype=np.float64), np.empty(len(maps.starts))
        products_with_row(self.terms.compiled(), self.roots, tuple(maps), row, out)
        return np.asarray(out * self.size_at(row[None])[0])

    def size_at(self, X: Floats) -> Floats:
        """The factor exp(-|x|^2 / s^2) of clean rows; 1 for kernels of the inner product."""
        if not isinstance(self.kernel, Gaussian):
            return np.ones(len(X))
        return np.asarray(np.exp(-np.einsum("ij,ij->i", X, X) / self.kernel.width**2))

    def compiled_size(self) -> Any:
        """The series of the scalar factor as an argument of compiled loops; empty without one."""
        from noisewise._loops.random_maps import Terms

        return Terms(np.empty(0), False) if self.size is None else self.size.compiled()


def _parts(kernel: Kernel) -> Iterator[Kernel]:
    if isinstance(kernel, ConicSum):
        for part in kernel.kernels:
            yield from _parts(part)
    else:
        yield kernel
