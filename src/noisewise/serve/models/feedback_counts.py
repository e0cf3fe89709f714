"""Counters of a model's decisions and feedback, its learning curve, and whether its feedback could mislead it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from noisewise.online import PlainState

RECENT = 1000  # rounds with feedback that the current accuracy rests on
MAX_POINTS = 256  # of the learning curve
LEAST_TELLING = 5  # rounds with feedback of one kind before that is remarkable
MOST_TELLING = 200  # rounds that are looked at: an accurate model hears of one of its errors by then
LEAST_UNANSWERED = 0.2  # fraction of decisions whose missing feedback may mean something
# columns of the learning curve, the same for all kinds of models up to N_RIGHT
N_DECISIONS, N_FEEDBACK, N_RIGHT, CORRECTED, INFORMATION, TIME, FALSE_POSITIVE, FALSE_NEGATIVE = range(8)
OBSERVED = 0  # first column of the recent rounds: whether the feedback was positive


class FeedbackCounts(PlainState):
    """What is counted of a model of any kind; like the model itself, a deterministic function of its log."""

    default = "default_right"  # the field of a specification that says what missing feedback means
    estimate: dict[str, Any] | None = None  # of flip rates

    def __init__(self) -> None:
        self.n_decisions = self.n_feedback = self.n_right = self.n_missing = self.n_defaults = self.n_refused = 0
        self.recent = np.zeros((RECENT, 4))
        self.decisions_at = np.zeros(RECENT, dtype=np.int64)  # decisions made when the recent feedback came
        self.learning_curve = np.zeros((1, 8))
        self.feedback_per_point = 10

    @classmethod
    def __from_noisewise_state__(cls, state: dict[str, Any]) -> Self:
        earlier = np.zeros(RECENT, dtype=np.int64)  # a version that did not note them
        return super().__from_noisewise_state__({"decisions_at": earlier} | state)

    def accuracy(self) -> dict[str, float] | None:
        """Accuracy of the recent decisions with its interval, where feedback says right or wrong."""
        return None

    def reward(self) -> dict[str, float] | None:
        """Mean reward of the recent decisions with its interval, where feedback is a reward."""
        return None

    @property
    def estimates_next(self) -> bool:
        """Whether the next round with feedback makes an estimate that takes long."""
        return False

    @property
    def is_misleading(self) -> bool:
        """Whether a learner would be misled: decisions without feedback, and all feedback that comes is positive.

        Positive feedback alone says that whatever was played is right; what was played least then looks best.
        """
        n = min(self.n_feedback, MOST_TELLING)
        if n < LEAST_TELLING or self.n_right < n or not self.recent.item((self.n_feedback - 1) % RECENT, OBSERVED):
            return False
        at = np.arange(self.n_feedback - n, self.n_feedback) % RECENT
        return bool(self.recent[at, OBSERVED].all()) and self._unanswered(n) >= LEAST_UNANSWERED

    def one_kind(self) -> str | None:
        """What is wrong with the feedback if it is all of one kind; None if it is not, or if there is little yet."""
        if self.is_misleading:
            missing = round(100 * self._unanswered(min(self.n_feedback, MOST_TELLING)))
            return (
                f"only positive feedback comes, and for {missing} % of the decisions none: send negative feedback "
                f"too, or set wait_seconds and {self.default}; until then actions are chosen uniformly"
            )
        return self._no_difference() if self.n_feedback >= LEAST_TELLING else None

    def _no_difference(self) -> str | None:
        """What can't be known, if all feedback so far is the same."""
        if self.n_right not in (0, self.n_feedback):
            return None
        kind, other = ("positive", "negative") if self.n_right else ("negative", "positive")
        return f"only {kind} feedback so far: without {other} feedback nobody can tell how accurate the model is"

    def _count_decision(self, time: float) -> None:
        self.n_decisions += 1
        self.learning_curve[-1, N_DECISIONS] += 1
        self.learning_curve[-1, TIME] = time

    def _count_feedback(self, right: bool, recent: tuple[float, ...], sums: tuple[float, ...], time: float) -> None:
        """Count a round with feedback, with what else is kept of recent rounds, and summed by the learning curve."""
        self.recent[self.n_feedback % RECENT] = right, *recent
        self.decisions_at[self.n_feedback % RECENT] = self.n_decisions
        self.n_feedback += 1
        self.n_right += right
        point = self.learning_curve[-1]
        point[N_FEEDBACK] += 1
        point[N_RIGHT] += right
        point[CORRECTED:TIME] += sums
        point[TIME] = time

    def _recent(self) -> Any:
        return self.recent[: min(self.n_feedback, RECENT)]

    def _unanswered(self, n: int) -> float:
        """Fraction of decisions without feedback since the one that the n-th last feedback came after."""
        first = int(self.decisions_at[(self.n_feedback - n) % RECENT])
        return 1 - n / max(self.n_decisions - first + 1, n)

    def _next_point(self) -> None:
        if self.learning_curve[-1, N_FEEDBACK] < self.feedback_per_point:
            return
        if len(self.learning_curve) == MAX_POINTS:  # merge pairs of points, so that memory is bounded
            merged = self.learning_curve[0::2] + self.learning_curve[1::2]
            merged[:, TIME:] = self.learning_curve[1::2, TIME:]
            self.learning_curve = merged
            self.feedback_per_point *= 2
        self.learning_curve = np.vstack([self.learning_curve, np.zeros((1, 8))])
