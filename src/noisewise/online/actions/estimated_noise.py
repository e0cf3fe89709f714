"""Noise of rewards estimated while learning: how each person's rewards follow what all of them together expect."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any

import numpy as np

from noisewise._typing import Floats

ROUNDS, PREDICTED, SQUARES, OBSERVED, PRODUCTS = range(5)  # sums of a group
COUNTED = PREDICTED  # of `VarianceEstimates`
PRIOR_ROUNDS = 20.0  # for which the pool stands in: with fewer, a group is taken to be like all
FIRST_ROUNDS = 200  # of all groups, before which predictions are too poor to judge by
LEAST_SLOPE = 0.1  # of rewards on predictions, for the same reason
LEAST_SIGNAL, LARGEST_SIGNAL = -5.0, 5.0  # relative to all
LEAST_WEIGHT, LARGEST_WEIGHT = 0.01, 100.0  # of a group's rounds, relative to all


@dataclass(eq=False)
class NoiseEstimates:
    """For each group, the line on which its rewards follow the predictions, relative to that of all groups.

    A group's rewards are f = rho0 + (1 - rho0 - rho1) r on average. With predictions of what the mean group would have
    given, f is offset + signal * prediction: relative rates, which are all that a regression needs to tell actions
    apart. A group that says the opposite has a negative signal, and is as informative as one that does not.
    """

    groups: dict[Any, Floats] = field(default_factory=dict)
    pool: Floats = field(default_factory=lambda: np.zeros(5))
    bounded = True  # whether rewards lie in their interval

    def observe(self, group: Any, predicted: float, observed: float) -> None:
        """Take in a round: what was predicted before it was learnt from, and its reward, both in [0, 1]."""
        row = np.array([1.0, predicted, predicted**2, observed, predicted * observed])
        self.pool = self.pool + row
        self.groups[group] = self.groups.get(group, 0.0) + row

    def weight(self, group: Any) -> float:
        """How much a round of a group counts."""
        return 1.0

    def described(self, group: Any, span: float) -> dict[str, float]:
        """The estimates of a group, for a report."""
        return dict(zip(("offset", "signal"), self.line(group)))

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


@dataclass(eq=False)
class VarianceEstimates(NoiseEstimates):
    """For each group, the variance of its rewards around what is expected: additive noise, of which rounds count less.

    The weight of a group's rounds is the variance of all over its own, as in least squares with unequal variances; with
    few rounds its logarithm is shrunk to 0. Residuals of the first rounds, whose predictions are poor, do not count:
    COUNTED, in place of the sum of predictions, is the number of those that do.
    """

    bounded = False

    def observe(self, group: Any, predicted: float, observed: float) -> None:
        """Take in a round: what was predicted before it was learnt from, and its reward."""
        counted = float(self.pool[ROUNDS] >= FIRST_ROUNDS)
        super().observe(group, counted, counted * (observed - predicted) ** 2)

    def line(self, group: Any) -> tuple[float, float]:
        """Additive noise leaves the mean of the rewards."""
        return 0.0, 1.0

    def variance(self, group: Any) -> float:
        """Mean squared residual of a group, its logarithm shrunk to that of all; NaN while there is none."""
        if not self.pool[OBSERVED] > 0:
            return nan
        of_all = self.pool[OBSERVED] / self.pool[COUNTED]
        sums = self.groups.get(group, self.pool)
        n = sums[COUNTED]
        own = max(sums[OBSERVED] / n, of_all / LARGEST_WEIGHT) if n else of_all
        return float(of_all * (own / of_all) ** (n / (n + PRIOR_ROUNDS)))

    def weight(self, group: Any) -> float:
        """The variance of all over that of the group."""
        own = self.variance(group)
        if isnan(own):
            return 1.0
        return float(max(LEAST_WEIGHT, self.pool[OBSERVED] / self.pool[COUNTED] / own))

    def described(self, group: Any, span: float) -> dict[str, float]:
        """Variance in the units of the rewards, and the weight of a round."""
        return {"variance": self.variance(group) * span**2, "weight": self.weight(group)}


def _moments(sums: Floats) -> tuple[float, float, float, float]:
    """Mean prediction and reward, variance of the prediction, and covariance of both."""
    n, predicted, squares, observed, products = sums.tolist()
    mean, height = predicted / n, observed / n
    return mean, height, max(0.0, squares / n - mean**2), products / n - mean * height
