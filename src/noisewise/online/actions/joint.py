"""The linear model of rewards with a full covariance: exact ridge regression, one round at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._loops.action_state import N_SCALING
from noisewise._typing import Floats
from noisewise.online.actions.feature_rows import Rows
from noisewise.online.actions.scaling import rescale, widened

Row = tuple[NDArray[np.int64], Floats]
INTERCEPT_PENALTY = 1e-3  # of the constant, as a fraction of the others': the mean reward is hardly shrunk
MOST_ELAPSED = 50.0  # units of memory between two rounds: what came before has a weight of 1e-22, and nothing overflows
MOST_GROWTH = 2.0  # of the weight of a round, where old ones are forgotten, between two exact solutions


@cache
def loops() -> Any:
    """The compiled loops, imported when the first one runs."""
    from noisewise._loops import action_rounds

    return action_rounds


def no_columns() -> Floats:
    """Scaling of the constant alone."""
    return widened(np.zeros((N_SCALING, 0)), [False], Rows(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0)))


def grown(growth: float, memory: float | None, elapsed: float | None) -> float:
    """The weight of a new round, where that of the latest one was `growth`: by rounds, or by the time elapsed."""
    if elapsed is not None:
        return growth * exp(min(elapsed, MOST_ELAPSED))
    return growth if memory is None else growth / (1 - 1 / memory)


@dataclass(eq=False)
class JointModel:
    """Ridge regression of rewards on products of context and action features, with the covariance of all weights.

    The penalty is `ridge` times the mean squared length of a row. It, and the scaling of the columns, are set anew each
    time the number of rounds has doubled, by an exact solution from the sums; in between, weights and covariance follow
    by the formula of Sherman and Morrison. With `memory`, a round's weight decays by 1 - 1 / memory with every later
    one; where rounds are learnt with the time `elapsed` since the latest one, by exp(-elapsed).
    """

    ridge: float
    memory: float | None = None
    contexts: Floats = field(default_factory=no_columns)
    actions: Floats = field(default_factory=no_columns)
    weights: Floats = field(default_factory=lambda: np.zeros(1))
    sigma: Floats = field(default_factory=lambda: np.ones((1, 1)))
    gram: Floats = field(default_factory=lambda: np.zeros((1, 1)))
    moment: Floats = field(default_factory=lambda: np.zeros(1))
    penalty: float = 1.0
    growth: float = 1.0  # the weight of a new round, relative to that at the last exact solution
    n_rounds: int = 0

    def widen(self, context_numeric: list[bool], action_numeric: list[bool], context: Rows, rows: Rows) -> None:
        """Make room for new columns, whose weights are 0 with the variance of the prior."""
        old = self.contexts.shape[1], self.actions.shape[1]
        if (len(context_numeric), len(action_numeric)) == old:
            return
        self.contexts = widened(self.contexts, context_numeric, context)
        self.actions = widened(self.actions, action_numeric, rows)
        n_contexts, n_actions = self.contexts.shape[1], self.actions.shape[1]
        kept = (np.arange(old[0])[:, None] * n_actions + np.arange(old[1])).ravel()
        n_weights, block = n_contexts * n_actions, np.ix_(kept, kept)
        weights, moment = np.zeros(n_weights), np.zeros(n_weights)
        weights[kept], moment[kept] = self.weights, self.moment
        gram, sigma = np.zeros((n_weights, n_weights)), np.diag(np.full(n_weights, 1 / self.penalty))
        gram[block], sigma[block] = self.gram, self.sigma
        self.weights, self.moment, self.gram, self.sigma = weights, moment, gram, sigma

    def score(self, context: Row, rows: Rows, relative: bool) -> tuple[Floats, Floats]:
        """Mean and variance of the score of each action; if `relative`, of its difference from the mean action."""
        means, variances = np.empty(len(rows)), np.empty(len(rows))
        loops().score_joint(
            self.weights, self.sigma, self.contexts, self.actions, *context, *rows, relative, means, variances
        )
        return means, variances * self.growth

    def learn(self, context: Row, row: Row, scale: float, target: float, elapsed: float | None = None) -> bool:
        """One round: the row times `scale` was worth `target`; False, and nothing learnt, if the row is too large."""
        growth = grown(self.growth, self.memory, elapsed)
        state = self.weights, self.sigma, self.gram, self.moment, self.contexts, self.actions
        if not loops().learn_joint(*state, *context, *row, scale, target, growth):
            return False
        self.growth = max(self.growth, growth)  # a late round counts less, and ages no other
        self.n_rounds += 1
        if self.n_rounds & (self.n_rounds - 1) == 0 or growth > MOST_GROWTH:
            self.solve()
        return True

    def add(self, contexts: Rows, rows: Rows, scales: Floats, targets: Floats, elapsed: Floats | None = None) -> None:
        """Add the rounds of a log to the sums; `solve` then learns from them, as from one round after the other."""
        n_rounds = len(targets)
        loops().observe_all(self.contexts, *contexts)
        loops().observe_all(self.actions, *rows)
        self._rescale()
        if elapsed is None:
            decay = 1.0 if self.memory is None else 1 - 1 / self.memory
            left, growths = decay**n_rounds, decay ** np.arange(n_rounds - 1, -1, -1.0)
        else:
            newest = max(0.0, float(elapsed.max()))
            left, growths = exp(-newest), np.exp(elapsed - newest)
        self.gram *= left
        self.moment *= left
        sides = self.contexts, self.actions
        loops().accumulate(self.gram, self.moment, *sides, *contexts, *rows, scales, targets, growths)
        self.n_rounds += n_rounds

    def solve(self) -> None:
        """Weights and covariance from the sums, with the columns scaled as they are by now."""
        self._rescale()
        total = self.gram[0, 0]  # of the weights of the rounds, as the first element of each row is the constant
        self.penalty = self.ridge * (float(np.trace(self.gram)) / total if total > 0 else 1.0)
        sigma = self.gram.copy()
        sigma.ravel()[:: len(sigma) + 1] += self.penalty
        sigma[0, 0] -= self.penalty * (1 - INTERCEPT_PENALTY)
        loops().invert(sigma)
        self.sigma, self.weights = sigma, np.zeros_like(self.moment)
        loops().add_product(sigma, self.moment, self.weights)

    def _rescale(self) -> None:
        """Sums at growth 1, with columns standardised as by the rows so far."""
        if self.growth != 1:
            self.gram, self.moment, self.growth = self.gram / self.growth, self.moment / self.growth, 1.0
        shape = self.contexts.shape[1], self.actions.shape[1]
        symmetric = np.tril(self.gram) + np.tril(self.gram, -1).T  # rounds are added below the diagonal
        gram, moment = symmetric.reshape(*shape, *shape), self.moment.reshape(shape)
        for side, scaling in enumerate((self.contexts, self.actions)):
            ratio, offset = rescale(scaling)
            if (ratio != 1).any() or offset.any():
                moment = _moved(moment, side, ratio, offset)
                gram = _moved(_moved(gram, side, ratio, offset), side + 2, ratio, offset)
        self.gram, self.moment = gram.reshape(self.gram.shape), moment.ravel()


def _moved(sums: Floats, axis: int, ratio: Floats, offset: Floats) -> Floats:
    """Sums of x along an axis as sums of ratio * x + offset, where the first element along it is the constant."""
    shape = [1] * sums.ndim
    shape[axis] = -1
    return np.asarray(sums * ratio.reshape(shape) + np.take(sums, [0], axis) * offset.reshape(shape))
