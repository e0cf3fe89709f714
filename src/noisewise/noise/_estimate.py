"""A number found from data, with the interval in which it may well lie."""

from __future__ import annotations

from typing import Any


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
