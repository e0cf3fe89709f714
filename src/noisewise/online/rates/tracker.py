"""Flip rates of right/wrong feedback, estimated online while a learner plays."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise._deprecation import renamed
from noisewise._numerics.ridge import leave_own_out, leverage_per_action, relative_penalty
from noisewise._typing import Codes, Floats
from noisewise._validation import check_number
from noisewise.noise import (
    NONLINEAR_FROM,
    RELATIVE_PENALTY,
    ExplorationMoment,
    MeanFeedback,
    RateEstimate,
    check_log,
    check_n_classes,
    combine_moments,
    consistent_head,
    exploration_sums,
    exploration_terms,
    not_identified,
    project_rows,
    sharper_scores,
    wrong_in_hindsight,
)
from noisewise.online.rates.refit import PlainState

BLOCK = 500  # rounds that are scored by the regression of the blocks before
VALUES_KEPT = 20_000_000  # float32 values in the kept rounds of a kind
HINDSIGHT_BIAS = 0.002  # of the feedback in rounds that were wrong in hindsight, added to their standard error
HINDSIGHT_ERRORS = 4.0  # standard errors of the narrowing rule: fewer than one in two hundred runs narrow by accident
N_SUMS = 6  # of the exploration moment
NO_FEEDBACK = MeanFeedback(0.0, 1.0, 0)
OWN_ROUNDS = 1.1  # factor of rho1's interval where feedback to a row also decided what was played next for it


class RateTracker(PlainState):
    """Online estimate of the flip rates of right/wrong feedback from the rounds a learner plays.

    The online form of `rates_from_moments`: it keeps a ridge regression of the feedback for each action, the sums of
    the exploration moment, and up to ``n_kept`` rounds of each of two kinds, those that played the regression's best
    action and those that did not. When a kind is full, every second round of it is dropped and from then on every
    second is taken, so the kept rounds stay evenly distributed over time, without randomness. The
    high-confidence rounds are found by a nonlinear regression of the kept ones, where it predicts better; with fewer
    than 2,000, rho0 is estimated from the rounds that a second classifier finds wrong in hindsight.

    Parameters
    ----------
    n_classes : int
        Number of actions.
    exploration : float, default=0.01
        Fraction of rounds whose action should be drawn uniformly, for callers of `exploration_rate`; the recipes
        explore by their own `exploration` or `gamma`.
    first_exploration : float, default=0.05
        The same for the first ``first_rounds`` rounds.
    n_kept : int, optional
        Default: as many as fit into 80 megabytes a kind, 300,000 rounds of 65 features.

    Attributes
    ----------
    n_rounds : int
        Rounds observed.

    References
    ----------
    .. [1] Dudík, M., Langford, J., Li, L. (2011). Doubly robust policy evaluation and learning. ICML 28, 1097-1104.

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
        for name, rate in (("exploration", exploration), ("first_exploration", first_exploration)):
            check_number(name, rate, lambda rate: 0 <= rate <= 1, "a fraction of the rounds lies between 0 and 1")
        self.n_classes = n_classes
        self.exploration = exploration
        self.first_exploration = first_exploration
        self.first_rounds = first_rounds
        self.n_kept = 0 if n_kept is None else n_kept
        self.n_rounds = 0
        self.moment_sums = np.zeros(N_SUMS)
        self.squared_length = 0.0
        self.strides = np.ones(2, dtype=np.int64)
        self.offered = np.zeros(2, dtype=np.int64)
        self.gram: NDArray[np.float64] | None = None

    player_knows_more = False  # than these rounds tell, so that it is often right where their regression finds it wrong
    share = renamed("share", "exploration_rate")

    @classmethod
    def __from_noisewise_state__(cls, state: dict[str, Any]) -> Self:
        sums = state["moment_sums"]  # of an earlier version: without those of the test for several right actions
        return super().__from_noisewise_state__({**state, "moment_sums": np.pad(sums, (0, N_SUMS - len(sums)))})

    def exploration_rate(self) -> float:
        """Fraction of uniform rounds the tracker wants from the next round on."""
        return self.first_exploration if self.n_rounds < self.first_rounds else self.exploration

    def observe(self, X: Any, actions: ArrayLike, probabilities: ArrayLike, feedback: ArrayLike) -> None:
        """Add rounds: features, played actions, their propensities, and the feedback.

        Rows are kept in float32; rounds whose squared row length overflows there are left out.
        """
        checked, played, observed, propensities = check_log(X, actions, feedback, probabilities, self.n_classes)
        with np.errstate(over="ignore"):
            rows = project_rows(checked)
            finite = np.isfinite(np.einsum("ij,ij->i", rows, rows))
        if not finite.all():
            rows, played, observed, propensities = (part[finite] for part in (rows, played, observed, propensities))
        if self.gram is None:
            self._start(rows.shape[1])
        if rows.shape[1] != self.moments.shape[1]:
            raise ValueError(f"rows have {rows.shape[1]} columns; the rounds before had {self.moments.shape[1]}")
        for start in range(0, len(rows), BLOCK):
            part = slice(start, start + BLOCK)
            self._observe_block(rows[part], played[part], observed[part], propensities[part])

    def estimate(self) -> RateEstimate:
        """The current rates, with intervals, or the reason why one of them is not identified."""
        if self.gram is None:
            raise ValueError("no rounds observed yet; call `observe` first")
        if not self.n_rounds:
            reason = "the rates are not identified: all rows are too long for float32; scale the features down"
            return not_identified(0.0, 0, reason)
        guessed = self.kept_rounds(0)
        rows, labels = _joined([guessed, self.kept_rounds(1)])
        played, observed = labels[:, 0].astype(np.intp), labels[:, 1].astype(np.float64)
        inverses = self._inverses()
        scores = np.asarray(rows @ self._weights(inverses).T)
        leave_own_out(scores, played, observed, leverage_per_action(inverses, rows, played))
        moment = ExplorationMoment(self.n_rounds, *self.moment_sums.tolist())
        wrong = None  # by the scores: from here on they are sharper than a second classifier
        if self.player_knows_more:
            wrong = NO_FEEDBACK
        elif len(rows) < NONLINEAR_FROM:
            wrong = self._known_wrong(rows, scores, played, observed, len(guessed[0]))
        kept, sharp, _ = sharper_scores(rows, scores, played, observed)
        return combine_moments(sharp, played[kept], observed[kept], moment, wrong, OWN_ROUNDS)

    def kept_rounds(self, kind: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Rows, and played action and feedback, of the kept rounds that played the best action [0] or did not [1]."""
        return _joined(self.kept[kind])

    def _known_wrong(
        self, rows: NDArray[Any], scores: Floats, played: Codes, observed: Floats, first: int
    ) -> MeanFeedback:
        """Mean feedback of the rounds that were wrong in hindsight."""
        coarsest = self.strides.max()
        even = np.concatenate(  # as many of a kind as were played
            [
                np.arange(0, first, coarsest // self.strides[0]),
                np.arange(first, len(rows), coarsest // self.strides[1]),
            ]
        )
        wrong = wrong_in_hindsight(rows, scores, played, even)
        head = consistent_head(observed[wrong], n_errors=HINDSIGHT_ERRORS)
        return head._replace(error=float(np.hypot(head.error, HINDSIGHT_BIAS)))

    def _start(self, width: int) -> None:
        self.n_kept = self.n_kept or VALUES_KEPT // width
        self.gram = np.zeros((self.n_classes, width, width))
        self.moments = np.zeros((self.n_classes, width))
        self.weights = np.zeros((self.n_classes, width))
        nothing = np.zeros((0, width), np.float32), np.zeros((0, 2), np.int64)
        self.kept = [[nothing], [nothing]]  # by kind, in parts, older ones longer
        self.next_solve = BLOCK

    def _observe_block(self, rows: NDArray[Any], played: Codes, observed: Floats, propensities: Floats) -> None:
        scores = np.asarray(rows @ self.weights.T)
        terms, weights = exploration_terms(scores, played, observed, propensities)
        self.n_rounds += len(rows)
        mean = (self.moment_sums[0] + terms.sum()) / self.n_rounds
        self.moment_sums += exploration_sums(terms, weights, scores.mean(axis=1), mean)
        guessed = scores.argmax(axis=1) == played
        for kind, of_kind in enumerate((guessed, ~guessed)):
            self._keep(kind, rows[of_kind], played[of_kind], observed[of_kind])
        self.squared_length += float(np.einsum("ij,ij->", rows, rows))
        assert self.gram is not None
        order = np.argsort(played, kind="stable")
        actions, starts = np.unique(played[order], return_index=True)
        for action, index in zip(actions.tolist(), np.split(order, starts[1:])):
            mine = rows[index]
            self.gram[action] += mine.T @ mine
            self.moments[action] += observed[index] @ mine
        if self.n_rounds >= self.next_solve:  # ever more rarely: a solve costs as much as thousands of rounds
            self.weights = self._weights(self._inverses())
            self.next_solve = int(1.2 * self.n_rounds)

    def _keep(self, kind: int, rows: NDArray[Any], played: NDArray[Any], observed: Floats) -> None:
        taken = (self.offered[kind] + np.arange(len(rows))) % self.strides[kind] == 0
        self.offered[kind] += len(rows)
        labels = np.stack([played, observed.astype(np.int64)], axis=1)
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
    """Refuse what can't track the rates of a learner with that many actions.

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
