"""Radial kernels as mixtures of Gaussian kernels exp(-u r^2): nodes and weights for their rates u (Schoenberg)."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._inputs import Floats

MOST_NODES = 320  # a mixture of that many is a kernel too, and the surrogate of just that mixture
TOLERANCE = 1e-11


def enough_nodes(kernel: Any, limit: float, variance: float = 0.0) -> int:
    """How many nodes bring the height of a mixture's surrogate, in one noisy column, to eleven digits."""
    before, n = np.inf, 20
    while n < MOST_NODES:
        rates, weights = mixture_nodes(kernel, limit, n)
        height = float(np.sum(weights / np.sqrt(1 - 2 * variance * rates)))
        if abs(height - before) <= TOLERANCE * abs(height):
            break
        before, n = height, 2 * n
    return n


def mixture_nodes(kernel: Any, limit: float, n_nodes: int) -> tuple[Floats, Floats]:
    """Rates and weights that stand for a kernel's mixture up to a limit: Gauss-Legendre in the root of the rate."""
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
