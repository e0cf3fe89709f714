"""Estimated flip rates of right/wrong feedback: how sure they are, and whether they can be told at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noisewise.noise._estimate import with_interval
from noisewise.noise._flip import FlipMatrix

LEAST_SIGNAL = 0.15  # 1 - rho0 - rho1: below it, correcting multiplies the noise by more than 1 / 0.15


@dataclass(frozen=True)
class RateEstimate:
    """Estimated flip rates of right/wrong feedback, with 95 % intervals and what they rest on.

    ``noise`` can be passed on wherever a noise is asked for. Where ``identified`` is false, ``reason`` says what is
    missing, the rate that could not be found stands at 0, or at what it came out as, and its interval covers all that
    is possible.
    """

    noise: FlipMatrix
    false_positive_interval: tuple[float, float]
    false_negative_interval: tuple[float, float]
    exploring_rounds: float
    confident_rounds: int
    identified: bool
    reason: str

    @property
    def false_positive(self) -> float:
        """P(seen as right | wrong) [rho0]."""
        return float(self.noise.matrix[0, 1])

    @property
    def false_negative(self) -> float:
        """P(seen as wrong | right) [rho1]."""
        return float(self.noise.matrix[1, 0])

    def columns(self) -> dict[str, list[Any]]:
        """All that is believed, in one row."""
        return {
            name: [value]
            for name, value in {
                **with_interval("false_positive", self.false_positive, *self.false_positive_interval),
                **with_interval("false_negative", self.false_negative, *self.false_negative_interval),
                "exploring_rounds": self.exploring_rounds,
                "confident_rounds": self.confident_rounds,
                "identified": self.identified,
                "reason": self.reason,
            }.items()
        }


def clipped_estimate(
    rates: tuple[float, float],
    intervals: tuple[tuple[float, float], tuple[float, float]],
    exploring_rounds: float,
    confident_rounds: int,
    reason: str = "",
) -> RateEstimate:
    """An estimate whose rates leave some signal, scaled down if they did not; a reason means "not identified"."""
    identified, total = not reason, sum(rates)
    if total > 1 - LEAST_SIGNAL:
        shrink = (1 - LEAST_SIGNAL) / total
        rates = rates[0] * shrink, rates[1] * shrink
        clipped = f"the rates summed to {total:.2f} and were scaled down to {1 - LEAST_SIGNAL}"
        reason = f"{reason}; {clipped}" if reason else clipped
    noise = FlipMatrix.binary(*rates)
    ends = [(min(low, rate), max(high, rate)) for rate, (low, high) in zip(rates, intervals)]
    return RateEstimate(noise, ends[0], ends[1], exploring_rounds, confident_rounds, identified, reason)
