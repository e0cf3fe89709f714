"""A number found from data, with the interval in which it may well lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv

from noisewise._typing import Floats


class Estimate(float):
    """A number that knows how sure it is.

    It is a float everywhere; `low`, `high` and `interval` say how far off it may be.

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
        """A float with the ends of its interval."""
        estimate = super().__new__(cls, value)
        estimate.low, estimate.high = float(low), float(high)
        return estimate

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end."""
        return self.low, self.high

    def __repr__(self) -> str:
        return f"{float(self):.4g} ({self.low:.4g} to {self.high:.4g})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return float(self), self.low, self.high


def share_interval(share: Floats, rounds: Floats) -> tuple[Floats, Floats]:
    """Ends of the 95 % intervals of shares that were counted in so many rounds (Jeffreys', made to hold the share).

    >>> low, high = share_interval(np.array([0.5, 0.5]), np.array([0, 100]))
    >>> low.round(2), high.round(2)
    (array([0. , 0.4]), array([1. , 0.6]))
    """
    yes, no = share * rounds + 0.5, (1 - share) * rounds + 0.5
    return np.minimum(betaincinv(yes, no, 0.025), share), np.maximum(betaincinv(yes, no, 0.975), share)


def with_interval(name: str, values: Any, low: Any, high: Any) -> dict[str, Any]:
    """Columns of a report for a rate and the ends of its interval."""
    return {name: values, f"{name}_low": low, f"{name}_high": high}
