"""The linear model of rewards with a diagonal covariance: for many features, whose products share a table by hash."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise.online.actions.feature_rows import Rows
from noisewise.online.actions.joint import MOST_GROWTH, JointModel, Row, grown, loops, no_columns
from noisewise.online.actions.scaling import rescale, widened

SCALED_UP_TO = 1024  # rounds: hashed weights can't follow when the scale of a column changes, so it stays from then on


@cache
def hashed_loops() -> Any:
    """The compiled loops, imported when the first one runs."""
    from noisewise._loops import hashed_rounds

    return hashed_rounds


@dataclass(eq=False)
class HashedModel:
    """Ridge regression as of `JointModel`, with 2^bits weights and the variance of each, but no covariances.

    Every product of a context and an action feature has the index of its hash. Two that share one share a weight.
    """

    ridge: float
    bits: int
    memory: float | None = None
    contexts: Floats = field(default_factory=no_columns)
    actions: Floats = field(default_factory=no_columns)
    weights: Floats = field(init=False)
    precisions: Floats = field(init=False)
    squared_lengths: float = 0.0
    growth: float = 1.0
    n_rounds: int = 0

    def __post_init__(self) -> None:
        self.weights, self.precisions = np.zeros(2**self.bits), np.zeros(2**self.bits)

    @property
    def penalty(self) -> float:
        """Precision of the prior: `ridge` times the mean squared length of a row, in the units of the precisions."""
        return self.growth * self.ridge * (self.squared_lengths / self.n_rounds if self.n_rounds else 1.0)

    def widen(self, context_numeric: list[bool], action_numeric: list[bool], context: Rows, rows: Rows) -> None:
        """Know the scale of new columns."""
        if len(context_numeric) > self.contexts.shape[1]:
            self.contexts = widened(self.contexts, context_numeric, context)
        if len(action_numeric) > self.actions.shape[1]:
            self.actions = widened(self.actions, action_numeric, rows)

    def score(self, context: Row, rows: Rows, relative: bool) -> tuple[Floats, Floats]:
        """Mean and variance of the score of each action; if `relative`, of its difference from the mean action."""
        means, variances = np.empty(len(rows)), np.empty(len(rows))
        state = self.weights, self.precisions, self.penalty, self.contexts, self.actions
        hashed_loops().score_hashed(*state, *context, *rows, relative, means, variances)
        return means, variances * self.growth

    def learn(self, context: Row, row: Row, scale: float, target: float, elapsed: float | None = None) -> bool:
        """One round: the row times `scale` was worth `target`; False, and nothing learnt, if the row is too large."""
        growth = grown(self.growth, self.memory, elapsed)
        state = self.weights, self.precisions, self.penalty, self.contexts, self.actions
        length = hashed_loops().learn_hashed(*state, *context, *row, scale, target, growth)
        if not np.isfinite(length):
            return False
        self._count(1, length, max(self.growth, growth))
        return True

    def solve(self) -> None:
        """Nothing is left to do: rounds are learnt from as they are added."""

    def add(self, contexts: Rows, rows: Rows, scales: Floats, targets: Floats, elapsed: Floats | None = None) -> None:
        """Learn from the rounds of a log, in order."""
        n = len(targets)
        if not self.n_rounds:  # scale and penalty by the whole log
            loops().observe_all(self.contexts, *contexts)
            loops().observe_all(self.actions, *rows)
            rescale(self.contexts)
            rescale(self.actions)
        if elapsed is not None:  # one by one: their weights may differ by any factor
            latest = 0.0
            for index, now in enumerate(elapsed.tolist()):
                round_ = contexts.row(index), rows.row(index), float(scales[index]), float(targets[index])
                self.learn(*round_, now - latest)
                latest = max(latest, now)
            return
        decay = 1.0 if self.memory is None else 1 - 1 / self.memory
        for start in range(0, n, 1024):  # growth stays finite
            part = slice(start, start + 1024)
            growths = self.growth * decay ** -np.arange(1.0, len(targets[part]) + 1)
            state = self.weights, self.precisions, self.penalty, self.contexts, self.actions
            sides = (*_part(contexts, part), *_part(rows, part))
            length = hashed_loops().learn_all_hashed(*state, *sides, scales[part], targets[part], growths)
            self._count(len(growths), length, float(growths[-1]))

    def _count(self, n_rounds: int, squared_length: float, growth: float) -> None:
        before = self.n_rounds
        self.n_rounds += n_rounds
        self.squared_lengths += squared_length
        self.growth = growth
        if growth > MOST_GROWTH:
            self.precisions /= growth
            self.growth = 1.0
        if before < SCALED_UP_TO and before.bit_length() != self.n_rounds.bit_length():
            rescale(self.contexts)
            rescale(self.actions)

    @classmethod
    def from_joint(cls, joint: JointModel, bits: int) -> HashedModel:
        """The same weights and variances, without covariances."""
        made = cls(joint.ridge, bits, joint.memory, joint.contexts, joint.actions)
        variances = np.diag(joint.sigma).copy()
        tables = made.weights, made.precisions
        hashed_loops().fill_hashed(joint.actions.shape[1], joint.weights, variances, joint.penalty, *tables)
        made.n_rounds, made.growth = joint.n_rounds, joint.growth
        made.squared_lengths = joint.penalty / joint.ridge * joint.n_rounds
        return made


def _part(rows: Rows, part: slice) -> Rows:
    starts = rows.starts[part.start : part.stop + 1]
    inside = slice(starts[0], starts[-1])
    return Rows(starts - starts[0], rows.columns[inside], rows.values[inside])
