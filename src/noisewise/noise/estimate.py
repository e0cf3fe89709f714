"""Estimates with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv

from noisewise._typing import Floats

TAIL = 0.025  # of a 95 % interval


class Estimate(float):
    """A float with a confidence (or credible) interval: `low`, `high` and `interval`.

    >>> wrong = Estimate(12.0, 8.5, 16.0)
    >>> wrong + 1
    13.0
    >>> wrong.interval
    (8.5, 16.0)
    >>> wrong
    12 (8.5 to 16)
    """

    low: float
    high: float

    def __new__(cls, value: float, low: float, high: float) -> Estimate:
        """A float with the bounds of its interval."""
        estimate = super().__new__(cls, value)
        estimate.low, estimate.high = float(low), float(high)
        return estimate

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper bound."""
        return self.low, self.high

    def __repr__(self) -> str:
        return f"{float(self):.4g} ({self.low:.4g} to {self.high:.4g})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return float(self), self.low, self.high


def proportion_interval(proportion: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Jeffreys' 95 % intervals of proportions among n observations, extended to hold the proportion itself.

    >>> low, high = proportion_interval(np.array([0.5, 0.5]), np.array([0, 100]))
    >>> low.round(2), high.round(2)
    (array([0. , 0.4]), array([1. , 0.6]))

    References
    ----------
    .. [1] Brown, L. D., Cai, T. T., DasGupta, A. (2001). Interval estimation for a binomial proportion. Statistical
       Science 16.
    """
    yes, no = proportion * n + 0.5, (1 - proportion) * n + 0.5
    low, high = betaincinv(yes, no, TAIL), betaincinv(yes, no, 1 - TAIL)
    return np.minimum(low, proportion), np.maximum(high, proportion)


def with_interval(name: str, values: Any, low: Any, high: Any) -> dict[str, Any]:
    """Columns of a report for a rate and the bounds of its interval."""
    return {name: values, f"{name}_low": low, f"{name}_high": high}
