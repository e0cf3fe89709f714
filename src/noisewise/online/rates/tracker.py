"""Flip rates of right/wrong feedback, followed while a learner plays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.kernel_approximation import RBFSampler

from noisewise._numerics.ridge import leave_own_out, leverage_per_action, relative_penalty
from noisewise._typing import Codes, Floats
from noisewise._validation import check_number
from noisewise.noise.feedback_rates import (
    ExplorationMoment,
    RateEstimate,
    clipped_estimate,
    combine,
    exploration_terms,
    plateau,
)
from noisewise.noise.logged_rounds import RELATIVE_PENALTY, check_log, check_n_classes, narrow
from noisewise.online.rates.refit import PlainState

N_WAVES = 300  # random features of the rows, of a Gaussian kernel as wide as rows lie apart
MOST_ROWS = 10_000  # rows to learn from: more bring nothing
PENALTY = 1.0
LEAST_GAP = 0.5  # in shares of votes: played actions this far behind the best one are candidates


def surely_wrong(rows: NDArray[Any], scores: Floats, actions: Codes, sample: Codes) -> Codes:
    """Rounds whose action was wrong, surest first, as a second classifier sees them that learns from the `sample`.

    The scores of a regression of the feedback are not fit to choose rounds by: praise for a wrong action makes a
    learner play it again, the answers that follow lower its score, and so the rounds that look most surely wrong are
    those that were praised too often. A classifier that learns the regression's best guess for every row, whatever was
    played and heard there, forgets the single answer.

    >>> y = np.arange(200) % 2
    >>> rows = np.eye(2, dtype=np.float32)[y]
    >>> actions = np.where(np.arange(200) < 20, 1 - y, y)
    >>> wrong = surely_wrong(rows, rows.astype(float), actions, sample=np.arange(200))
    >>> sorted(wrong.tolist()) == list(range(20))
    True
    """
    guesses = scores.argmax(axis=1)
    candidates = np.flatnonzero(guesses != actions)
    if len(candidates) == 0 or len(sample) < 2:
        return candidates[:0]
    sample = sample[:: -(-len(sample) // MOST_ROWS)]
    votes = _relearnt_votes(rows[sample], guesses[sample], rows[candidates], scores.shape[1])
    gap = votes.max(axis=1) - votes[np.arange(len(candidates)), actions[candidates]]
    order = np.argsort(-gap, kind="stable")
    return np.asarray(candidates[order[: int((gap > LEAST_GAP).sum())]])


def _relearnt_votes(known: NDArray[Any], guesses: Codes, asked: NDArray[Any], n_classes: int) -> Floats:
    """Ridge regression of one-hot guesses on random waves of the known rows, at the rows asked for."""
    half = len(known) // 2
    distance = float(np.median(np.square(known[:half] - known[half : 2 * half]).sum(axis=1)))
    waves = RBFSampler(gamma=0.5 / max(distance, 1e-12), n_components=N_WAVES, random_state=0).fit(known)
    features = waves.transform(known)
    gram = (features.T @ features).astype(np.float64) + PENALTY * np.eye(N_WAVES)
    targets = np.eye(n_classes, dtype=features.dtype)[guesses]
    weights = np.linalg.solve(gram, features.T @ targets).astype(features.dtype)
    return np.asarray(waves.transform(asked) @ weights, dtype=np.float64)


BLOCK = 500  # rounds between two looks at the regression: each block is scored by the blocks before it
NUMBERS_KEPT = 20_000_000  # of float32, in the rounds of a kind
HINDSIGHT_DOUBT = 0.002  # bias allowed for in rounds that were wrong as hindsight has it
HINDSIGHT_SURPRISE = 4.0  # standard errors: chance alone would narrow fewer than one of two hundred runs
OWN_ROUNDS = 1.1  # the interval of rho1 is this much wider where answers to a row also chose what it was shown next


class RateTracker(PlainState):
    """Follow the flip rates of right/wrong feedback from the rounds a learner plays.

    It keeps a ridge regression of the feedback per action, the exploration moment of every round seen, and up to
    ``n_kept`` rounds of each of two kinds: those that played the regression's best guess and those that did not.
    When a kind is full, every second round of it goes and from then on every second is taken, so the kept rounds stay
    evenly spread over time and nothing is left to chance.

    Parameters
    ----------
    n_classes : int
        Number of actions.
    exploration : float, default=0.01
        Share of rounds whose action should be drawn uniformly, for whoever asks `share`; the recipes explore by their
        own `exploration` or `gamma`.
    first_exploration : float, default=0.05
        The same for the first ``first_rounds`` rounds.
    n_kept : int, optional
        Default: as many as fit into 80 megabytes a kind, 300,000 rounds of 65 features.

    Attributes
    ----------
    n_rounds : int
        Rounds observed.

    Examples
    --------
    >>> from noisewise.noise import FlipMatrix
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=6000)
    >>> X = np.eye(3)[y] + rng.normal(scale=0.2, size=(6000, 3))
    >>> actions = rng.integers(3, size=6000)
    >>> feedback = FlipMatrix.binary(0.1, 0.3).corrupt((actions == y).astype(int), rng)
    >>> tracker = RateTracker(n_classes=3)
    >>> tracker.observe(X, actions, np.full(6000, 1 / 3), feedback)
    >>> estimate = tracker.estimate()
    >>> abs(estimate.false_positive - 0.1) < 0.03, abs(estimate.false_negative - 0.3) < 0.03
    (True, True)
    """

    def __init__(
        self,
        n_classes: int,
        exploration: float = 0.01,
        first_exploration: float = 0.05,
        first_rounds: int = 10_000,
        n_kept: int | None = None,
    ) -> None:
        check_n_classes(n_classes)
        if n_kept is not None and (not isinstance(n_kept, int | np.integer) or n_kept < 1):
            raise ValueError(f"n_kept is {n_kept!r}; it is a number of rounds, 1 or more")
        for name, share in (("exploration", exploration), ("first_exploration", first_exploration)):
            check_number(name, share, lambda share: 0 <= share <= 1, "a share of the rounds lies between 0 and 1")
        self.n_classes = n_classes
        self.exploration = exploration
        self.first_exploration = first_exploration
        self.first_rounds = first_rounds
        self.n_kept = 0 if n_kept is None else n_kept
        self.n_rounds = 0
        self.moment_sums = np.zeros(4)
        self.squared_length = 0.0
        self.strides = np.ones(2, dtype=np.int64)
        self.offered = np.zeros(2, dtype=np.int64)
        self.gram: NDArray[np.float64] | None = None

    def share(self) -> float:
        """Share of uniform exploration the tracker wants in the next round."""
        return self.first_exploration if self.n_rounds < self.first_rounds else self.exploration

    def observe(self, X: Any, actions: ArrayLike, probabilities: ArrayLike, feedback: ArrayLike) -> None:
        """Take in rounds: features, played actions, the probabilities they were drawn with, and the feedback.

        Rounds whose rows are too long for float32, in which all are kept, are left out.
        """
        checked, played, seen, chances = check_log(X, actions, feedback, probabilities, self.n_classes)
        with np.errstate(over="ignore"):
            rows = narrow(checked)
            short = np.isfinite(np.einsum("ij,ij->i", rows, rows))
        if not short.all():
            rows, played, seen, chances = rows[short], played[short], seen[short], chances[short]
        if self.gram is None:
            self._start(rows.shape[1])
        if rows.shape[1] != self.moments.shape[1]:
            raise ValueError(f"rows have {rows.shape[1]} columns; the rounds before had {self.moments.shape[1]}")
        for start in range(0, len(rows), BLOCK):
            part = slice(start, start + BLOCK)
            self._observe_block(rows[part], played[part], seen[part], chances[part])

    def estimate(self) -> RateEstimate:
        """The rates now, with intervals, or the reason why one of them can't be found."""
        if self.gram is None:
            raise ValueError("no rounds observed yet; call `observe` first")
        if not self.n_rounds:
            reason = "the rates are not identified: all rows are too long for float32; scale the features down"
            return clipped_estimate((0.0, 0.0), ((0.0, 1.0), (0.0, 1.0)), 0.0, 0, reason)
        guessed = self.kept_rounds(0)
        rows, labels = _joined([guessed, self.kept_rounds(1)])
        played, seen = labels[:, 0].astype(np.intp), labels[:, 1].astype(np.float64)
        inverses = self._inverses()
        scores = np.asarray(rows @ self._weights(inverses).T)
        leave_own_out(scores, played, seen, leverage_per_action(inverses, rows, played))
        moment = ExplorationMoment(self.n_rounds, *self.moment_sums.tolist())
        wrong = self._known_wrong(rows, scores, played, seen, len(guessed[0]))
        return combine(scores, played, seen, moment, wrong, OWN_ROUNDS)

    def kept_rounds(self, kind: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Rows, and played action and feedback, of the kept rounds that played the best guess [0] or did not [1]."""
        return _joined(self.kept[kind])

    def _known_wrong(
        self, rows: NDArray[Any], scores: Floats, played: NDArray[np.intp], seen: Floats, first: int
    ) -> tuple[float, float, int]:
        """Mean feedback of the rounds that were wrong as hindsight has it, its error, and their count."""
        coarsest = self.strides.max()
        even = np.concatenate(  # as many of a kind as were played
            [
                np.arange(0, first, coarsest // self.strides[0]),
                np.arange(first, len(rows), coarsest // self.strides[1]),
            ]
        )
        mean, error, count = plateau(seen[surely_wrong(rows, scores, played, even)], surprise=HINDSIGHT_SURPRISE)
        return mean, float(np.hypot(error, HINDSIGHT_DOUBT)), count

    def _start(self, width: int) -> None:
        self.n_kept = self.n_kept or NUMBERS_KEPT // width
        self.gram = np.zeros((self.n_classes, width, width))
        self.moments = np.zeros((self.n_classes, width))
        self.weights = np.zeros((self.n_classes, width))
        nothing = np.zeros((0, width), np.float32), np.zeros((0, 2), np.int64)
        self.kept = [[nothing], [nothing]]  # by kind, in parts, older ones longer
        self.next_solve = BLOCK

    def _observe_block(self, rows: NDArray[Any], played: NDArray[np.intp], seen: Floats, chances: Floats) -> None:
        scores = np.asarray(rows @ self.weights.T)
        terms, weights = exploration_terms(scores, played, seen, chances)
        self.moment_sums += np.array([terms.sum(), terms @ terms, weights.sum(), weights @ weights])
        self.n_rounds += len(rows)
        guessed = scores.argmax(axis=1) == played
        for kind, of_kind in enumerate((guessed, ~guessed)):
            self._keep(kind, rows[of_kind], played[of_kind], seen[of_kind])
        self.squared_length += float(np.einsum("ij,ij->", rows, rows))
        assert self.gram is not None
        for action in np.unique(played):
            mine = rows[played == action]
            self.gram[action] += mine.T @ mine
            self.moments[action] += seen[played == action] @ mine
        if self.n_rounds >= self.next_solve:  # ever more rarely: a solve costs as much as thousands of rounds
            self.weights = self._weights(self._inverses())
            self.next_solve = int(1.2 * self.n_rounds)

    def _keep(self, kind: int, rows: NDArray[Any], played: NDArray[Any], seen: Floats) -> None:
        taken = (self.offered[kind] + np.arange(len(rows))) % self.strides[kind] == 0
        self.offered[kind] += len(rows)
        labels = np.stack([played, seen.astype(np.int64)], axis=1)
        parts = self.kept[kind]
        parts.append((rows[taken], labels[taken]))
        while len(parts) > 1 and len(parts[-2][0]) <= len(parts[-1][0]):  # few parts, and few copies of a round
            parts[-2:] = [_joined(parts[-2:])]
        while sum(len(part) for part, _ in parts) > self.n_kept:
            every_row, every_label = _joined(parts)
            parts[:] = [(every_row[::2].copy(), every_label[::2].copy())]
            self.strides[kind] *= 2

    def _inverses(self) -> Floats:
        assert self.gram is not None
        penalty = relative_penalty(RELATIVE_PENALTY, self.squared_length, self.n_rounds)
        return np.asarray(np.linalg.inv(self.gram + penalty * np.eye(self.gram.shape[1])))

    def _weights(self, inverses: Floats) -> Floats:
        return np.asarray(np.einsum("kij,kj->ki", inverses, self.moments))


def check_tracker(tracker: Any, n_classes: int) -> None:
    """Refuse what can't follow the rates of a learner with that many actions.

    >>> check_tracker(RateTracker(3), n_classes=3)
    """
    able = all(callable(getattr(tracker, name, None)) for name in ("observe", "estimate"))
    if not able or isinstance(tracker, type):
        raise ValueError(
            f"tracker is {tracker!r:.60}; an object with observe(X, actions, probabilities, feedback) and estimate() "
            "is needed, as a RateTracker is"
        )
    own = getattr(tracker, "n_classes", n_classes)
    if own != n_classes:
        raise ValueError(f"the tracker is for {own} actions; the learner has {n_classes}")


def _joined(parts: list[tuple[NDArray[Any], NDArray[Any]]]) -> tuple[NDArray[Any], NDArray[Any]]:
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([labels for _, labels in parts])
