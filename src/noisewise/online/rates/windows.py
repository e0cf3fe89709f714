"""Flip rates that change: a tracker of each window of rounds, and the window from which on they are others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise._frames import frame_like
from noisewise._validation import check_number
from noisewise.noise import RateEstimate
from noisewise.online.rates.refit import PlainState
from noisewise.online.rates.tracker import RateTracker

NAMES = ("false_positive", "false_negative")
NORMAL_975 = 1.96  # half-width of a 95 % interval in standard errors
HIGH_CONFIDENCE = 4.0  # standard errors between two windows, beyond which their rates differ
ENOUGH = 0.5  # of a window, from which on its own estimate is taken and not that of the window before


class RateChange(NamedTuple):
    """The round from which on flip rates are others, and (false_positive, false_negative) before and after."""

    round: int
    before: tuple[float, float]
    after: tuple[float, float]

    def __str__(self) -> str:
        rates = zip(NAMES, self.before, self.after)
        moved = ", ".join(f"{name} {old:.2f} -> {new:.2f}" for name, old, new in rates)
        return f"from round {self.round:,} on the flip rates are others: {moved}"


class WindowedRateTracker(PlainState):
    """A `RateTracker` that begins anew with each window of rounds, so that it follows rates that change.

    It takes the place of a `RateTracker` anywhere. `report` shows the rates of all windows, `change` the latest at
    which they differ by more than their intervals explain.

    Parameters
    ----------
    n_classes : int
        Number of actions.
    window : int, default=10000
        Rounds of a window: with fewer, the rates are less certain; with more, a change is followed later.
    exploration, first_exploration, first_rounds
        As of `RateTracker`.

    Examples
    --------
    >>> from noisewise.noise import FlipMatrix
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=8000)
    >>> X, actions = np.eye(3)[y] + rng.normal(scale=0.2, size=(8000, 3)), rng.integers(3, size=8000)
    >>> right, tracker = (actions == y).astype(int), WindowedRateTracker(n_classes=3, window=4000)
    >>> for start, rate in ((0, 0.05), (4000, 0.3)):
    ...     part = slice(start, start + 4000)
    ...     feedback = FlipMatrix.binary(rate, 0.1).corrupt(right[part], rng)
    ...     tracker.observe(X[part], actions[part], np.full(4000, 1 / 3), feedback)
    >>> change = tracker.change()
    >>> change.round, [round(rate, 1) for rate in change.after]
    (4000, [0.3, 0.1])
    """

    def __init__(
        self,
        n_classes: int,
        window: int = 10_000,
        exploration: float = 0.01,
        first_exploration: float = 0.05,
        first_rounds: int = 10_000,
    ) -> None:
        check_number("window", window, lambda n: n == int(n) and n >= 1, "it is a number of rounds, 1 or more")
        self.n_classes = n_classes
        self.window = int(window)
        self.exploration = exploration
        self.first_exploration = first_exploration
        self.first_rounds = first_rounds
        self.n_rounds = 0
        self.tracker = self._new()
        self.last: RateTracker | None = None
        self.rows = np.zeros((0, 9))  # of closed windows: first round, rounds, two rates with intervals, identified

    def exploration_rate(self) -> float:
        """Fraction of uniform rounds the tracker wants from the next round on."""
        return self.first_exploration if self.n_rounds < self.first_rounds else self.exploration

    def observe(self, X: Any, actions: ArrayLike, probabilities: ArrayLike, feedback: ArrayLike) -> None:
        """Add rounds: features, played actions, their propensities, and the feedback."""
        columns = [np.atleast_1d(np.asarray(column)) for column in (actions, probabilities, feedback)]
        start = 0
        while start < len(columns[0]):
            part = slice(start, start + self.window - self.n_rounds % self.window)
            self.tracker.observe(X[part], *(column[part] for column in columns))
            taken = len(columns[0][part])
            start, self.n_rounds = start + taken, self.n_rounds + taken
            if self.n_rounds % self.window == 0:
                self.rows = np.vstack([self.rows, self._row(self.n_rounds - self.window, self.tracker)])
                self.last, self.tracker = self.tracker, self._new()

    def estimate(self) -> RateEstimate:
        """The rates of the present window, or of the one before, while this one is short."""
        n_own = self.n_rounds % self.window
        return (self.tracker if self.last is None or n_own > ENOUGH * self.window else self.last).estimate()

    def report(self, backend: str | None = None) -> Any:
        """The rates of each window, with 95 % intervals, as a frame; the last one may be open."""
        rows = self._all_rows()
        columns: dict[str, NDArray[Any]] = {"first_round": rows[:, 0].astype(int), "rounds": rows[:, 1].astype(int)}
        for index, name in enumerate(NAMES):
            rates = rows[:, 2 + 3 * index : 5 + 3 * index].T
            columns |= dict(zip((name, f"{name}_low", f"{name}_high"), rates))
        return frame_like(columns | {"identified": rows[:, 8].astype(bool)}, backend=backend)

    def change(self) -> RateChange | None:
        """The latest window whose rates differ from those of the identified window before it; None if none does."""
        rows = self._all_rows()
        rows = rows[rows[:, 8] > 0]
        for before, after in zip(rows[-2::-1], rows[:0:-1]):
            for at in (2, 5):
                errors = [(row[at + 2] - row[at + 1]) / 2 / NORMAL_975 for row in (before, after)]
                if abs(after[at] - before[at]) > HIGH_CONFIDENCE * np.hypot(*errors):
                    rates = [(float(row[2]), float(row[5])) for row in (before, after)]
                    return RateChange(int(after[0]), *rates)
        return None

    def _new(self) -> RateTracker:
        made = RateTracker(self.n_classes, self.exploration, self.first_exploration, self.first_rounds)
        made.player_knows_more = self.n_rounds > 0  # from the windows before
        return made

    def _all_rows(self) -> NDArray[np.float64]:
        n_own = self.n_rounds % self.window
        return np.vstack([self.rows, self._row(self.n_rounds - n_own, self.tracker)]) if n_own else self.rows

    @staticmethod
    def _row(first: int, tracker: RateTracker) -> list[float]:
        found = tracker.estimate()
        rates = (
            found.false_positive,
            *found.false_positive_interval,
            found.false_negative,
            *found.false_negative_interval,
        )
        return [first, tracker.n_rounds, *rates, found.identified]
