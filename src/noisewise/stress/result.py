"""Result of a stress test: accuracies with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from scipy.special import stdtrit

from noisewise._files import write_whole
from noisewise._frames import frame_like
from noisewise._typing import Floats

LOSS = 0.05  # of accuracy: a method that loses more does not withstand the noise


@dataclass(frozen=True, eq=False)
class StressResult:
    """Accuracy on clean test rows by method, rate of noise and repetition.

    Attributes
    ----------
    kind : str
        What was corrupted: "labels", "features" or "feedback".
    methods : tuple of str
    rates : tuple of float
    accuracy : array of shape (n_methods, n_rates, n_seeds)
        NaN where a method could not be fitted.
    n_rows : int
    notes : tuple of str
    """

    kind: str
    methods: tuple[str, ...]
    rates: tuple[float, ...]
    accuracy: Floats = field(repr=False)
    n_rows: int
    notes: tuple[str, ...] = ()
    X: Any = field(default=None, repr=False)

    @property
    def mean(self) -> Floats:
        """Mean accuracy by method and rate."""
        return np.asarray(self.accuracy.mean(axis=2))

    @property
    def interval(self) -> tuple[Floats, Floats]:
        """Bounds of the 90 % confidence interval (Student's t) of the mean accuracy over splits, noise and seeds."""
        n = self.accuracy.shape[2]
        half_width = stdtrit(n - 1, 0.95) * self.accuracy.std(axis=2, ddof=1) / np.sqrt(n)
        return np.clip(self.mean - half_width, 0, 1), np.clip(self.mean + half_width, 0, 1)

    @property
    def stands(self) -> dict[str, float | None]:
        """For each method the highest rate up to which it stays within .05 of the best accuracy at the first rate."""
        floor = np.nanmax(self.mean[:, 0]) - LOSS
        found: dict[str, float | None] = {}
        for name, line in zip(self.methods, self.mean, strict=True):
            good = int(np.cumprod(line >= floor).sum())
            found[name] = self.rates[good - 1] if good else None
        return found

    def to_frame(self, backend: str | None = None) -> Any:
        """One line for each method and rate: method, rate, accuracy, low, high."""
        low, high = self.interval
        columns = {
            "method": np.repeat(np.array(self.methods, dtype=object), len(self.rates)),
            "rate": np.tile(np.array(self.rates), len(self.methods)),
            "accuracy": self.mean.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
        return frame_like(columns, nw.from_native(self.X, pass_through=True), backend)

    def to_html(self, path: Any, title: str = "Stress test") -> None:
        """Write a report: one file that opens in any browser, without a network."""
        from noisewise.stress.report import stress_page

        write_whole(stress_page(self, title), path)

    def summary(self) -> dict[str, Any]:
        """Everything as plain values for JSON."""
        low, high = self.interval
        return {
            "kind": self.kind,
            "rows": self.n_rows,
            "rates": list(self.rates),
            "methods": [
                {
                    "method": name,
                    "accuracy": _plain(self.mean[m]),
                    "low": _plain(low[m]),
                    "high": _plain(high[m]),
                    "stands": self.stands[name],
                }
                for m, name in enumerate(self.methods)
            ],
            "notes": list(self.notes),
        }


def _plain(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 4) for value in values]
