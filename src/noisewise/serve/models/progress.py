"""Monitoring of a model from its log: counters, a noise-corrected learning curve, and estimated flip rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from noisewise._typing import Floats
from noisewise.online import RateTracker
from noisewise.serve.models.feedback_counts import (
    CORRECTED,
    FALSE_NEGATIVE,
    FALSE_POSITIVE,
    INFORMATION,
    N_DECISIONS,
    N_FEEDBACK,
    N_RIGHT,
    OBSERVED,
    TIME,
    FeedbackCounts,
)

BLOCK = 250  # rounds between two updates of the rate estimate
MAX_TRACKED_FEATURES = 256  # for wider rows the rate tracker would cost more than the learner
MAX_TRACKED_VALUES = 8_000_000  # of its regressions, actions x features^2: 64 megabytes
Z = float(ndtri(0.975))  # half-width of a 95 % interval in standard errors
# columns of the recent rounds; a point's accuracy is CORRECTED / INFORMATION
RHO0, BETA, ACTION = range(1, 4)


class Progress(FeedbackCounts):
    """Counters and estimates of a model; like the model itself, a deterministic function of its log."""

    def __init__(self, n_actions: int, n_features: int) -> None:
        super().__init__()
        self.decisions_by_action = np.zeros(n_actions, dtype=np.int64)
        self.feedback_by_action = np.zeros(n_actions, dtype=np.int64)
        self.right_by_action = np.zeros(n_actions, dtype=np.int64)
        self.tracks_rates = tracked_bytes(n_actions, n_features) > 0
        self.tracker = RateTracker(n_actions, n_kept=4000)
        self.block_rows = np.zeros((BLOCK if self.tracks_rates else 0, n_features))
        self.block_rounds = np.zeros((BLOCK, 3))  # action, propensity, feedback
        self.n_in_block = 0
        self.next_estimate = max(BLOCK, 2 * n_actions)
        self.estimate: dict[str, Any] | None = None

    def add_decision(self, code: int, time: float) -> None:
        """Count a decision."""
        self._count_decision(time)
        self.decisions_by_action[code] += 1

    def add_feedback(
        self, row: Floats, code: int, propensity: float, right: bool, rates: tuple[float, float] | None, time: float
    ) -> None:
        """Count feedback whose flip rates (rho0, rho1) are estimated to be `rates`; None for the estimate made here."""
        rates = self._estimated_rates() if rates is None else rates
        rho0, beta = rates[0], 1 - rates[0] - rates[1]
        self._count_feedback(right, (rho0, beta, code), (beta * (right - rho0), beta**2), time)
        self.feedback_by_action[code] += 1
        self.right_by_action[code] += right
        self._track_rates(row, code, propensity, right)
        self.learning_curve[-1, FALSE_POSITIVE:] = rates
        self._next_point()

    @property
    def estimates_next(self) -> bool:
        """Whether the next round with feedback makes the rate tracker work."""
        return self.tracks_rates and self.n_in_block == BLOCK - 1

    def accuracy(self) -> dict[str, float] | None:
        """Noise-corrected accuracy of the recent decisions, with its interval; None if all feedback is of one kind."""
        if self.one_kind() is not None:
            return None
        return _corrected_accuracy(self._recent())

    def by_action(self) -> list[dict[str, Any]]:
        """Counters and recent noise-corrected accuracy of each action."""
        recent = self._recent()
        return [
            {
                "decisions": int(self.decisions_by_action[code]),
                "answers": int(self.feedback_by_action[code]),
                "right": int(self.right_by_action[code]),
                "accuracy": _corrected_accuracy(recent[recent[:, ACTION] == code]),
            }
            for code in range(len(self.decisions_by_action))
        ]

    def history(self) -> list[dict[str, Any]]:
        """The learning curve: fraction of right decisions, as observed and corrected for the noise."""
        points, cumulative = [], np.cumsum(self.learning_curve, axis=0)
        for total, point in zip(cumulative, self.learning_curve):
            if point[N_FEEDBACK]:
                corrected = float(point[CORRECTED] / max(point[INFORMATION], 1e-12))
                points.append(
                    {
                        "time": float(point[TIME]),
                        "decisions": int(total[N_DECISIONS]),
                        "answers": int(total[N_FEEDBACK]),
                        "heard_right": float(point[N_RIGHT] / point[N_FEEDBACK]),
                        "accuracy": _clipped(corrected),
                        "false_positive": float(point[FALSE_POSITIVE]),
                        "false_negative": float(point[FALSE_NEGATIVE]),
                    }
                )
        return points

    def _estimated_rates(self) -> tuple[float, float]:
        found = self.estimate
        if found is None or not found["identified"]:
            return 0.0, 0.0
        return found["false_positive"]["value"], found["false_negative"]["value"]

    def _track_rates(self, row: Floats, code: int, propensity: float, right: bool) -> None:
        """Hand rounds to the rate tracker in blocks; estimate anew at geometrically growing intervals."""
        if not self.tracks_rates:
            return
        self.block_rows[self.n_in_block], self.block_rounds[self.n_in_block] = row, (code, propensity, right)
        self.n_in_block += 1
        if self.n_in_block == BLOCK:
            actions = self.block_rounds[:, 0].astype(np.int64)
            self.tracker.observe(self.block_rows, actions, self.block_rounds[:, 1], self.block_rounds[:, 2])
            self.n_in_block = 0
            if self.tracker.n_rounds >= self.next_estimate:
                # a regression for each action learns little from fewer rounds than there are actions
                step = max(BLOCK, len(self.decisions_by_action))
                self.next_estimate = max(self.next_estimate + step, int(1.15 * self.next_estimate))
                self.estimate = _as_values(self.tracker.estimate())


def tracked_bytes(n_actions: int, n_features: int) -> int:
    """Memory of the rate tracker's regressions; 0 for models that are too large to be tracked."""
    values = n_actions * n_features**2
    return 8 * values if n_features <= MAX_TRACKED_FEATURES and values <= MAX_TRACKED_VALUES else 0


def _corrected_accuracy(rounds: Floats) -> dict[str, float] | None:
    """Accuracy a of decisions whose feedback f has flip rates of its own in each round.

    E f = rho0 + beta a with beta = 1 - rho0 - rho1, so a minimises sum (f - rho0 - beta a)^2: least squares through the
    origin of f - rho0 on beta. The interval uses the heteroscedasticity-consistent standard error [1]_, with 1/4 added
    to the sum of squared scores so that it is not empty where all feedback agrees.

    References
    ----------
    .. [1] White, H. (1980). A heteroskedasticity-consistent covariance matrix estimator and a direct test for
       heteroskedasticity. Econometrica 48(4).
    """
    information = float(np.square(rounds[:, BETA]).sum())
    if len(rounds) < 2 or information < 1e-9:
        return None
    excess = rounds[:, OBSERVED] - rounds[:, RHO0]
    value = float(excess @ rounds[:, BETA]) / information
    scores = (excess - value * rounds[:, BETA]) * rounds[:, BETA]
    half_width = Z * float(np.sqrt(np.square(scores).sum() + 0.25)) / information
    low, high = value - half_width, value + half_width
    return {"value": _clipped(value), "low": _clipped(low), "high": _clipped(high)}


def _as_values(estimate: Any) -> dict[str, Any]:
    """Estimated rates as plain values that a model file can store."""
    low0, high0 = estimate.false_positive_interval
    low1, high1 = estimate.false_negative_interval
    return {
        "false_positive": {"value": estimate.false_positive, "low": float(low0), "high": float(high0)},
        "false_negative": {"value": estimate.false_negative, "low": float(low1), "high": float(high1)},
        "identified": bool(estimate.identified),
        "reason": str(estimate.reason),
    }


def _clipped(value: float) -> float:
    return min(max(value, 0.0), 1.0)
