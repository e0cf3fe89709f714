"""How a model is doing, as far as its log tells: counts, a learning curve, and the noise in the answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise.online import RateTracker
from noisewise.online.rates.refit import PlainState

RECENT = 1000  # answers that the accuracy of this moment rests on
POINTS = 256  # of the learning curve
BLOCK = 250  # answers between two looks at the noise
WIDEST = 256  # features; wider rows would cost more to watch than to learn from
Z = 1.959963984540054  # 95 %
DECISIONS, ANSWERS, RIGHT, PRAISE, SIGNAL, TIME, FALSE_POSITIVE, FALSE_NEGATIVE = range(8)  # columns of the curve
HEARD, RHO0, BETA, CODE = range(4)  # columns of the recent answers


class Progress(PlainState):
    """Counts and estimates of a model; a function of its log, as the model itself is."""

    def __init__(self, n_actions: int, n_features: int) -> None:
        self.decisions = self.answers = self.right = self.missing = self.defaults = self.refused = 0
        self.played = np.zeros(n_actions, dtype=np.int64)
        self.answered = np.zeros(n_actions, dtype=np.int64)
        self.praised = np.zeros(n_actions, dtype=np.int64)
        self.recent = np.zeros((RECENT, 4))
        self.curve = np.zeros((1, 8))
        self.bucket = 10  # answers a point
        self.watched = n_features <= WIDEST
        self.tracker = RateTracker(n_actions, n_kept=4000)
        self.rows = np.zeros((BLOCK if self.watched else 0, n_features))
        self.rounds = np.zeros((BLOCK, 3))
        self.waiting = 0
        self.next_estimate = BLOCK
        self.estimate: dict[str, Any] | None = None

    def decided(self, code: int, time: float) -> None:
        """Count a decision."""
        self.decisions += 1
        self.played[code] += 1
        self.curve[-1, DECISIONS] += 1
        self.curve[-1, TIME] = time

    def heard(
        self, row: Floats, code: int, probability: float, right: bool, rates: tuple[float, float], time: float
    ) -> None:
        """Count an answer that is believed to be flipped at these rates."""
        rho0, beta = rates[0], 1 - rates[0] - rates[1]
        self.recent[self.answers % RECENT] = right, rho0, beta, code
        self.answers += 1
        self.right += right
        self.answered[code] += 1
        self.praised[code] += right
        self._watch(row, code, probability, right)
        point = self.curve[-1]
        point[ANSWERS] += 1
        point[RIGHT] += right
        point[PRAISE] += beta * (right - rho0)
        point[SIGNAL] += beta**2
        point[TIME] = time
        point[FALSE_POSITIVE:] = rates
        if point[ANSWERS] >= self.bucket:
            self._next_point()

    def accuracy(self) -> dict[str, float] | None:
        """Share of the recent decisions that were right, corrected for the noise, with its interval."""
        return _corrected(self.recent[: min(self.answers, RECENT)])

    def by_action(self) -> list[dict[str, Any]]:
        """For each action: how often it was played, and how often it was right of late."""
        recent = self.recent[: min(self.answers, RECENT)]
        return [
            {
                "decisions": int(self.played[code]),
                "answers": int(self.answered[code]),
                "right": int(self.praised[code]),
                "accuracy": _corrected(recent[recent[:, CODE] == code]),
            }
            for code in range(len(self.played))
        ]

    def history(self) -> list[dict[str, Any]]:
        """The learning curve: share of right answers by stretches of the log, as heard and corrected."""
        points, before = [], np.cumsum(self.curve, axis=0)
        for total, point in zip(before, self.curve):
            if point[ANSWERS]:
                corrected = point[PRAISE] / max(point[SIGNAL], 1e-12)
                points.append(
                    {
                        "time": float(point[TIME]),
                        "decisions": int(total[DECISIONS]),
                        "answers": int(total[ANSWERS]),
                        "heard_right": float(point[RIGHT] / point[ANSWERS]),
                        "accuracy": float(min(max(corrected, 0.0), 1.0)),
                        "false_positive": float(point[FALSE_POSITIVE]),
                        "false_negative": float(point[FALSE_NEGATIVE]),
                    }
                )
        return points

    def _watch(self, row: Floats, code: int, probability: float, right: bool) -> None:
        if not self.watched:
            return
        self.rows[self.waiting], self.rounds[self.waiting] = row, (code, probability, right)
        self.waiting += 1
        if self.waiting == BLOCK:
            actions = self.rounds[:, 0].astype(np.int64)
            self.tracker.observe(self.rows, actions, self.rounds[:, 1], self.rounds[:, 2])
            self.waiting = 0
            if self.tracker.n_rounds >= self.next_estimate:
                self.next_estimate = max(self.next_estimate + BLOCK, int(1.15 * self.next_estimate))
                self.estimate = _plain(self.tracker.estimate())

    def _next_point(self) -> None:
        if len(self.curve) == POINTS:  # two become one, so that the curve never grows
            merged = self.curve[0::2] + self.curve[1::2]
            merged[:, TIME:] = self.curve[1::2, TIME:]
            self.curve = merged
            self.bucket *= 2
        self.curve = np.vstack([self.curve, np.zeros((1, 8))])


def _corrected(answers: Floats) -> dict[str, float] | None:
    """Share of right decisions from answers with flip rates each: a regression of f - rho0 on 1 - rho0 - rho1."""
    information = float(np.square(answers[:, BETA]).sum())
    if len(answers) < 2 or information < 1e-9:
        return None
    heard = answers[:, HEARD] - answers[:, RHO0]
    value = float(heard @ answers[:, BETA]) / information
    errors = (heard - value * answers[:, BETA]) * answers[:, BETA]
    spread = Z * float(np.sqrt(np.square(errors).sum() + 0.25)) / information
    return {"value": _share(value), "low": _share(value - spread), "high": _share(value + spread)}


def _plain(estimate: Any) -> dict[str, Any]:
    """Estimated rates in plain values, so that a model file can hold them."""
    low0, high0 = estimate.false_positive_interval
    low1, high1 = estimate.false_negative_interval
    return {
        "false_positive": {"value": estimate.false_positive, "low": float(low0), "high": float(high0)},
        "false_negative": {"value": estimate.false_negative, "low": float(low1), "high": float(high1)},
        "identified": bool(estimate.identified),
        "reason": str(estimate.reason),
    }


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)
