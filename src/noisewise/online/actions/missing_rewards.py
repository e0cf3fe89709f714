"""Whether rewards are missing more often where less is expected, so that a missing one tells something."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noisewise._typing import Floats

FIRST_ROUNDS = 200  # before which expectations are too poor to judge by
HIGH_CONFIDENCE = 4.0  # standard errors of the slope of missing on expected
LEAST_DIFFERENCE = 0.1  # in P(missing), between a standard deviation below the mean expectation and one above


@dataclass(eq=False)
class MissingRewards:
    """Regression of whether a reward is missing on what was expected of it.

    >>> rng = np.random.default_rng(0)
    >>> found = MissingRewards()
    >>> for expected in rng.random(1000):
    ...     found.observe(expected, rng.random() < 0.6 - 0.5 * expected)
    >>> found.not_at_random
    True
    """

    sums: Floats = field(default_factory=lambda: np.zeros(5))  # rounds, expected, its squares, missing, products

    def observe(self, expected: float, missing: bool) -> None:
        """Take in a round: what was expected before it was learnt from, and whether its reward is missing."""
        self.sums = self.sums + np.array([1.0, expected, expected**2, missing, expected * missing])

    @property
    def not_at_random(self) -> bool:
        """Whether rewards are missing more often where less is expected, beyond doubt and by enough to matter."""
        n, expected, squares, missing, products = self.sums.tolist()
        if n < FIRST_ROUNDS:
            return False
        mean, rate = expected / n, missing / n
        variance, together = squares / n - mean**2, products / n - mean * rate
        if variance <= 0 or together >= 0:
            return False
        slope = together / variance
        error = np.sqrt(max(rate * (1 - rate) - slope * together, 0.0) / (n * variance))
        return bool(-slope > HIGH_CONFIDENCE * error and -2 * slope * np.sqrt(variance) >= LEAST_DIFFERENCE)
