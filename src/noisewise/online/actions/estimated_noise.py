"""Noise of rewards estimated while learning: how each person's rewards follow what all of them together expect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisewise._typing import Floats

ROUNDS, PREDICTED, SQUARES, OBSERVED, PRODUCTS = range(5)  # sums of a group
PRIOR_ROUNDS = 20.0  # for which the pool stands in: with fewer, a group is taken to be like all
FIRST_ROUNDS = 200  # of all groups, before which predictions are too poor to judge by
LEAST_SLOPE = 0.1  # of rewards on predictions, for the same reason
LEAST_SIGNAL, LARGEST_SIGNAL = -5.0, 5.0  # relative to all


@dataclass(eq=False)
class NoiseEstimates:
    """For each group, the line on which its rewards follow the predictions, relative to that of all groups.

    A group's rewards are f = rho0 + (1 - rho0 - rho1) r on average. With predictions of what the mean group would have
    given, f is offset + signal * prediction: relative rates, which are all that a regression needs to tell actions
    apart. A group that says the opposite has a negative signal, and is as informative as one that does not.
    """

    groups: dict[Any, Floats] = field(default_factory=dict)
    pool: Floats = field(default_factory=lambda: np.zeros(5))

    def observe(self, group: Any, predicted: float, observed: float) -> None:
        """Take in a round: what was predicted before it was learnt from, and its reward, both in [0, 1]."""
        row = np.array([1.0, predicted, predicted**2, observed, predicted * observed])
        self.pool = self.pool + row
        self.groups[group] = self.groups.get(group, 0.0) + row

    def line(self, group: Any) -> tuple[float, float]:
        """Offset and signal of a group, shrunk to 0 and 1, those of all."""
        sums = self.groups.get(group)
        if sums is None or self.pool[ROUNDS] < FIRST_ROUNDS:
            return 0.0, 1.0
        mean, height, spread, together = _moments(self.pool)
        slope = together / spread if spread > 0 else 0.0
        if slope < LEAST_SLOPE:
            return 0.0, 1.0
        n, (own_mean, own_height, own_spread, own_together) = sums[ROUNDS], _moments(sums)
        steepness = (n * own_together + PRIOR_ROUNDS * together) / (n * own_spread + PRIOR_ROUNDS * spread)
        signal = float(np.clip(steepness / slope, LEAST_SIGNAL, LARGEST_SIGNAL))
        expected = height + slope * (own_mean - mean)  # by all groups, where this one was asked
        return float((own_height - signal * expected) * n / (n + PRIOR_ROUNDS)), signal


def _moments(sums: Floats) -> tuple[float, float, float, float]:
    """Mean prediction and reward, variance of the prediction, and covariance of both."""
    n, predicted, squares, observed, products = sums.tolist()
    mean, height = predicted / n, observed / n
    return mean, height, max(0.0, squares / n - mean**2), products / n - mean * height
