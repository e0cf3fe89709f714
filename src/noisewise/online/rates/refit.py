"""What learners that go back over their rounds share: the rounds themselves, and a ridge regression of each action."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from noisewise._numerics.ridge import RidgeFit
from noisewise._typing import Codes, Floats
from noisewise.noise.logged_rounds import check_n_classes


class PlainState:
    """A class whose attributes are all there is to it, so that a model file can hold it."""

    def __noisewise_state__(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def __from_noisewise_state__(cls, state: dict[str, Any]) -> Self:
        restored = cls.__new__(cls)
        vars(restored).update(state)
        return restored


class RoundLog(PlainState):
    """All rounds so far, in plain arrays that grow by doubling."""

    def __init__(self, n_features: int) -> None:
        self.n = 0
        self.rows = np.zeros((1024, n_features))
        self.played = np.zeros(1024, dtype=np.int64)
        self.answers = np.zeros(1024, dtype=np.int64)
        self.groups = np.zeros(1024, dtype=np.int64)
        self.targets = np.zeros(1024)
        self.importance = np.zeros(1024)

    def append(
        self,
        X: Any,
        actions: ArrayLike,
        answers: ArrayLike,
        groups: ArrayLike = 0,
        targets: ArrayLike = 0.0,
        importance: ArrayLike = 1.0,
    ) -> None:
        """Add rounds: features, actions, answers (0, 1, ...), who gave them, and what was learnt from them."""
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        first, last = self.n, self.n + len(rows)
        while last > len(self.rows):
            for name in ("rows", "played", "answers", "groups", "targets", "importance"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        self.rows[first:last] = rows
        self.played[first:last] = actions
        self.answers[first:last] = answers
        self.groups[first:last] = groups
        self.targets[first:last] = targets
        self.importance[first:last] = importance
        self.n = last

    @property
    def X(self) -> Floats:
        """Features of all rounds."""
        return self.rows[: self.n]

    @property
    def actions(self) -> Codes:
        """Played actions."""
        return self.played[: self.n]


class Refitter(PlainState):
    """Keeps all rounds and goes over them again each time there are `growth` times as many."""

    def __init__(self, n_classes: int, ridge: float, first: int, growth: float) -> None:
        check_n_classes(n_classes)
        self.n_classes = n_classes
        self.ridge = ridge
        self.growth = growth
        self.next_refit = first
        self.log: RoundLog | None = None

    @property
    def due(self) -> bool:
        """Whether enough rounds have come in to go over them again."""
        return self.log is not None and self.log.n >= self.next_refit

    def _keep(self, X: Any, *columns: ArrayLike) -> None:
        """Add rounds to the log, which is made for the width of the first row."""
        rows = np.atleast_2d(np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64))
        if self.log is None:
            self.log = RoundLog(rows.shape[1])
        self.log.append(rows, *columns)


def load_fit(table: NDArray[Any], sigma: Floats, fit: RidgeFit) -> None:
    """Go on from a regression: fill a learner's mean weights (features by actions, twice) and covariances with it."""
    n_actions = len(fit.weights)
    table[:, :n_actions] = fit.weights.T
    table[:, n_actions : 2 * n_actions] = fit.baseline.T
    sigma[...] = fit.inverses


def weighted_step(table: NDArray[Any], sigma: Floats, x: Floats, action: int, target: float, importance: float) -> None:
    """Learn one round's target, counted by its importance, in the same arrays; the same as a regression with it."""
    if importance <= 0:
        return
    gain = sigma[action] @ x
    step = gain / (1 / importance + x @ gain)
    for column, goal in ((action, target), (len(sigma) + action, 1.0)):
        table[:, column] += (goal - table[:, column] @ x) * step
    sigma[action] -= np.outer(step, gain)


def sure_of(scores: Floats, actions: Codes) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rounds surely played the right action, and which surely a wrong one.

    Surely right: the best guess was played, with a lead in the upper half among the rounds of that guess. Surely
    wrong: what was played is not among the two best, and as far behind as such a guess leads.
    """
    n_actions = scores.shape[1]
    guess = scores.argmax(axis=1)
    top = np.partition(scores, (n_actions - 2, n_actions - 1), axis=1)
    lead = top[:, -1] - top[:, -2]
    usual = np.array([np.median(lead[guess == k]) if (guess == k).any() else np.inf for k in range(n_actions)])
    own = scores[np.arange(len(actions)), actions]
    right = (guess == actions) & (lead >= usual[guess])
    behind = top[:, -1] - own
    wrong = (behind > (lead if n_actions > 2 else 0.0)) & (behind >= usual[guess])  # of two, the other one is best
    return right, wrong


def shrunk_shares(hits: Floats, rounds: Floats) -> Floats:
    """Shares hits / rounds of each group, drawn to the pooled share as far as the groups look alike."""
    total = rounds.sum()
    if total == 0:
        return np.zeros(len(rounds))
    pooled = hits.sum() / total
    within = pooled * (1 - pooled)
    shares = hits / np.maximum(rounds, 1)
    freedom = max(total - np.square(rounds).sum() / total, 1e-9)
    between = (np.sum(rounds * np.square(shares - pooled)) - within * (len(rounds) - 1)) / freedom
    strength = max(within / max(between, 1e-6) - 1, 2.0)
    return np.asarray((hits + strength * pooled) / (rounds + strength))
