"""Monitoring of a model of offers: rewards along the log and by action, and agreement with the baseline."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from noisewise.serve.models.feedback_counts import CORRECTED, N_DECISIONS, N_FEEDBACK, RECENT, TIME, FeedbackCounts
from noisewise.serve.models.progress import Z

MOST_ACTIONS = 2_000  # whose counts are kept: those that were played last
REWARD = 1  # column of the recent rounds


class OfferProgress(FeedbackCounts):
    """Counters of a model of offers; like the model itself, a deterministic function of its log."""

    default = "default_reward"

    def __init__(self) -> None:
        super().__init__()
        self.actions: dict[Any, list[float]] = {}  # decisions, rewards and their sum; the last played one is the last
        self.agreed = np.zeros(RECENT, dtype=np.uint8)  # of recent decisions of a baseline: whether the model agreed
        self.n_compared = self.n_agreed = 0
        self.baseline_rewards = np.zeros(2)  # summed over decisions of a baseline, and those the model agreed with

    def add_decision(self, action: Any, agreed: bool | None, time: float) -> None:
        """Count a decision; `agreed` says whether the model would have played what a baseline did, if one decided."""
        self._count_decision(time)
        if agreed is not None:
            self.agreed[self.n_compared % RECENT] = agreed
            self.n_compared += 1
            self.n_agreed += agreed
        decisions, rewards, total = self.actions.pop(action, (0, 0, 0.0))
        self.actions[action] = [decisions + 1, rewards, total]
        if len(self.actions) > MOST_ACTIONS:
            del self.actions[next(iter(self.actions))]

    def add_feedback(self, action: Any, reward: float, highest: bool, agreed: bool | None, time: float) -> None:
        """Count a reward; `highest` says that none can be better, `agreed` is that of the decision."""
        self._count_feedback(highest, (reward, 0.0, 0.0), (reward, 1.0), time)
        if action in self.actions:
            decisions, rewards, total = self.actions[action]
            self.actions[action] = [decisions, rewards + 1, total + reward]
        if agreed is not None:
            self.baseline_rewards += reward, reward * agreed
        self._next_point()

    def reward(self) -> dict[str, float] | None:
        """Mean reward of the recent decisions, with its interval."""
        return _mean(self._recent()[:, REWARD])

    def agreement(self) -> dict[str, float] | None:
        """Fraction of recent decisions of a baseline in which the model agreed, with its interval."""
        return _mean(self.agreed[: min(self.n_compared, RECENT)])

    def by_action(self) -> list[dict[str, Any]]:
        """Counters and mean reward of each action, those with most decisions first."""
        order = sorted(self.actions.items(), key=lambda item: -item[1][0])
        return [
            {"action": action, "decisions": int(made), "answers": int(n), "reward": float(total / n) if n else None}
            for action, (made, n, total) in order
        ]

    def history(self) -> list[dict[str, Any]]:
        """The learning curve: mean reward of each point."""
        cumulative = np.cumsum(self.learning_curve, axis=0)
        return [
            {
                "time": float(point[TIME]),
                "decisions": int(total[N_DECISIONS]),
                "answers": int(total[N_FEEDBACK]),
                "reward": float(point[CORRECTED] / point[N_FEEDBACK]),
            }
            for total, point in zip(cumulative, self.learning_curve)
            if point[N_FEEDBACK]
        ]

    def _no_difference(self) -> str | None:
        rewards = self._recent()[:, REWARD]
        if np.ptp(rewards):
            return None
        return f"all rewards so far are {rewards[0]:g}: without others nobody can tell which actions are better"


def _mean(values: Any) -> dict[str, float] | None:
    """Mean and its 95 % interval; None of fewer than two values."""
    n = len(values)
    if n < 2:
        return None
    mean, half_width = float(np.mean(values)), Z * float(np.std(values, ddof=1)) / sqrt(n)
    return {"value": mean, "low": mean - half_width, "high": mean + half_width}
