"""The base class of Mercer kernels, and kernels made of others: conic sums and kernels of column groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from operator import index
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise.kernels.pairwise import Rows, check_pair, check_rows


class Kernel(ABC):
    """A similarity of two rows with positive semidefinite Gram matrices (a Mercer kernel).

    Kernels are values: they compare, hash, and their `repr` is the code that makes them. They are called like
    functions, so ``SVC(kernel=Gaussian(2.0))`` works; where scikit-learn calls once for each pair of rows (KernelRidge,
    KernelPCA), ``kernel="precomputed"`` with `gram` is much faster. Sums and positive multiples of kernels are kernels:

    >>> from noisewise.kernels import Gaussian, Linear
    >>> Linear() + 2 * Gaussian(width=3.0)
    ConicSum(kernels=(Linear(), Gaussian(width=3.0)), weights=(1.0, 2.0))
    """

    __array_ufunc__ = None  # numpy scalars leave `scalar * kernel` to the kernel

    @abstractmethod
    def gram(self, X: Any, Z: Any = None) -> Floats:
        """Values for all pairs of rows, of shape (rows of X, rows of Z); `Z` None means X again."""

    @abstractmethod
    def diagonal(self, X: Any) -> Floats:
        """Value of each row with itself, without the rest of the Gram matrix."""

    def __call__(self, X: Any, Z: Any = None) -> Floats | float:
        """The Gram matrix; for two single rows (as some of scikit-learn passes them), one float."""
        if Z is not None and np.ndim(X) == 1 and np.ndim(Z) == 1:
            return float(self.gram([X], [Z])[0, 0])
        return self.gram(X, Z)

    def __add__(self, other: object) -> ConicSum:
        if not isinstance(other, Kernel):
            return NotImplemented
        terms = (*self._terms(), *other._terms())
        return ConicSum(tuple(kernel for kernel, _ in terms), tuple(weight for _, weight in terms))

    def __mul__(self, weight: object) -> ConicSum:
        if not isinstance(weight, Real):
            return NotImplemented
        terms = self._terms()
        return ConicSum(tuple(kernel for kernel, _ in terms), tuple(float(weight) * w for _, w in terms))

    __rmul__ = __mul__

    def _terms(self) -> tuple[tuple[Kernel, float], ...]:
        return ((self, 1.0),)


@dataclass(frozen=True)
class ConicSum(Kernel):
    """Sum of kernels with weights that are not negative; ``kernel + kernel`` and ``kernel * weight`` make it.

    Parameters
    ----------
    kernels : sequence of kernels
    weights : sequence of float, optional
        One for each kernel [eta]; all 1 by default.

    Examples
    --------
    >>> from noisewise.kernels import Linear, Polynomial
    >>> both = ConicSum([Linear(), Polynomial(2, constant=0)], [1, 0.5])
    >>> both.gram([[1.0], [2.0]])
    array([[ 1.5,  4. ],
           [ 4. , 12. ]])
    >>> both.taylor(3)
    array([0. , 1. , 0.5])
    """

    kernels: Sequence[Kernel]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        kernels = tuple(self.kernels)
        if not kernels or not all(isinstance(kernel, Kernel) for kernel in kernels):
            raise ValueError("a sum needs one kernel or more, such as ConicSum([Gaussian(1.0), Linear()])")
        weights = (1.0,) * len(kernels) if self.weights is None else tuple(float(weight) for weight in self.weights)
        if len(weights) != len(kernels):
            raise ValueError(f"there are {len(kernels)} kernels and {len(weights)} weights; give one weight per kernel")
        if not all(np.isfinite(weight) and weight >= 0 for weight in weights):
            raise ValueError(f"the weights are {weights}; a sum is a kernel for finite weights of zero or more only")
        object.__setattr__(self, "kernels", kernels)
        object.__setattr__(self, "weights", weights)

    def gram(self, X: Any, Z: Any = None) -> Floats:
        """Weighted sum of the Gram matrices."""
        left, right = check_pair(X, Z)
        total = np.zeros((left.shape[0], (left if right is None else right).shape[0]))
        for kernel, weight in self._terms():
            if weight > 0:
                total += weight * kernel.gram(left, right)
        return total

    def diagonal(self, X: Any) -> Floats:
        """Weighted sum of the diagonals."""
        rows = check_rows(X)
        return np.asarray(sum(weight * kernel.diagonal(rows) for kernel, weight in self._terms()))

    def taylor(self, n: int) -> Floats:
        """First `n` coefficients of the power series in <x, x'> [beta], if all parts are dot-product kernels."""
        total = np.zeros(n)
        for kernel, weight in self._terms():
            taylor = getattr(kernel, "taylor", None)
            if taylor is None:
                raise TypeError(f"{kernel!r} is not a function of <x, x'>; only dot-product kernels have such a series")
            total += weight * taylor(n)
        return total

    def _terms(self) -> tuple[tuple[Kernel, float], ...]:
        return tuple(zip(self.kernels, self.weights or ()))


@dataclass(frozen=True)
class Grouped(Kernel):
    """A kernel of a group of columns: one view of the data, for sums over views.

    Parameters
    ----------
    kernel : Kernel
    columns : sequence of int
        Indices of the columns, from 0.

    Examples
    --------
    >>> from noisewise.kernels import Linear
    >>> Grouped(Linear(), range(1, 3)).gram([[9.0, 1.0, 2.0]])
    array([[5.]])
    """

    kernel: Kernel
    columns: Sequence[int]

    def __post_init__(self) -> None:
        columns = tuple(index(column) for column in self.columns)
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"{self.kernel!r} is not a kernel; Grouped(Gaussian(1.0), [0, 1]) would do")
        if not columns or min(columns) < 0:
            raise ValueError(f"the columns are {columns}; give one index or more, counted from 0")
        object.__setattr__(self, "columns", columns)

    def gram(self, X: Any, Z: Any = None) -> Floats:
        """Gram matrix of these columns."""
        left, right = check_pair(X, Z)
        return self.kernel.gram(self._pick(left), None if right is None else self._pick(right))

    def diagonal(self, X: Any) -> Floats:
        """Diagonal of the kernel on these columns."""
        return self.kernel.diagonal(self._pick(check_rows(X)))

    def _pick(self, rows: Rows) -> Rows:
        if max(self.columns) >= rows.shape[1]:
            raise ValueError(f"column {max(self.columns)} is asked for, but the rows have {rows.shape[1]} columns")
        return rows[:, list(self.columns)]


def keep_positive(kernel: Kernel, *names: str) -> None:
    """Check that these fields are positive and finite, and keep them as plain floats (so that `repr` is code)."""
    for name in names:
        value = float(getattr(kernel, name))
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"the {name} is {value}; it must be a positive number")
        object.__setattr__(kernel, name, value)
