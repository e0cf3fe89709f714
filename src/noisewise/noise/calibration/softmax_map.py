"""The clean posterior as a curve over scores: softmax(slope g + offset).

Classes share one slope, or each has its own. Where two of four classes overlap and the others stand apart, a slope for
all of them is too steep for those two, and the labels of their overlap would look like flips.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats

OFFSET_PENALTY = 1e-3  # per row
SLOPE_SPREAD = 0.5  # standard deviation of the logarithms of the classes' own slopes
DOUBT, DOUBTED = 0.005, 1.0  # share and number of rows whose scores say nothing: no outlier is a flip for sure
START_SLOPE = 4.0
SMALLEST_SLOPE, LONGEST_STEP = 1e-6, 2.0  # of slopes of their own; steps are those of logarithms


@dataclass(frozen=True)
class Curve:
    """Clean posterior from (linked) scores: softmax(slope g + offset), but for a share of rows in doubt."""

    slope: float | Floats  # of all classes, or one for each
    offset: Floats
    doubt: float = DOUBT

    @classmethod
    def gentle(cls, rows: Labelled) -> Curve:
        """Where to start from: scores mean what they say, roughly; few rows never make sure."""
        return cls(START_SLOPE, np.zeros(rows.n_classes), min(DOUBT + DOUBTED / rows.n, 0.5))

    def with_own_slopes(self) -> Curve:
        """The same, but free to have slopes that differ."""
        return Curve(np.full(len(self.offset), max(self.slope, SMALLEST_SLOPE)), self.offset, self.doubt)

    @property
    def own_slopes(self) -> bool:
        """Whether each class has a slope of its own."""
        return np.ndim(self.slope) == 1

    def moved(self, step: Floats) -> Curve:
        """Another slope, which stays positive, and another offset; slopes of their own move by logarithms."""
        n_classes = len(self.offset)
        slope: float | Floats
        if self.own_slopes:
            ways = np.clip(step[:n_classes], -LONGEST_STEP, LONGEST_STEP)
            slope = np.maximum(self.slope * np.exp(ways), SMALLEST_SLOPE)
        else:
            slope = max(float(self.slope + step[0]), 0.0)
        return Curve(slope, self.offset + step[-n_classes:], self.doubt)

    def penalty(self, n_rows: float) -> float:
        """What offsets cost, and slopes that differ."""
        cost = OFFSET_PENALTY * n_rows * float(self.offset @ self.offset)
        if self.own_slopes:
            cost += len(self.offset) * float(np.log(self.slope).var()) / SLOPE_SPREAD**2
        return 0.5 * cost

    def softmax(self, linked: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class where the scores can be trusted."""
        logits = linked * np.asarray(self.slope, dtype=linked.dtype) + self.offset.astype(linked.dtype)
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return np.asarray(logits)

    def posterior(self, linked: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class."""
        clean = self.softmax(linked)
        clean *= 1 - self.doubt
        clean += linked.dtype.type(self.doubt / linked.shape[1])
        return clean


@dataclass(frozen=True)
class Labelled:
    """Linked scores, observed classes and how many rows each of them stands for."""

    linked: Floats
    codes: Codes
    weights: Floats

    @property
    def n(self) -> float:
        """Rows, each as often as it counts."""
        return float(self.weights.sum())

    @property
    def n_classes(self) -> int:
        """Classes, observed or not."""
        return int(self.linked.shape[1])
