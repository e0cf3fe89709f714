"""Feedback that often does not come: "no answer" as a third answer that says something, if it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise._numerics.ridge import RidgeFit, fit_per_action, leave_one_out_per_action
from noisewise._typing import Codes, Floats
from noisewise.noise import proportion_interval, with_interval
from noisewise.noise.logged_rounds import check_log
from noisewise.online.rates.feedback_table import (
    LEAST_BY_ACTION,
    LEAST_DIFFERENCE,
    N_ANSWERS,
    NONE,
    RIGHT,
    WRONG,
    channels_differ,
    equal_channels_p_value,
    oriented,
    shrunk_channels,
    silence_tells,
    unexplained_silence,
)
from noisewise.online.rates.refit import Refitter, sure_of

TURNS = 4
SAME = 0.8, 1.25  # an answer whose chance is that much alike under right and wrong says nothing
FIRST = np.array([0.0, 1.0, 0.5])


@dataclass(frozen=True)
class AnswerTable:
    """What to learn from each answer to each action: target, importance (0: nothing), and the width to explore with."""

    targets: Floats
    importance: Floats
    width: Floats

    @classmethod
    def fixed(cls, n_classes: int, missing: str) -> AnswerTable:
        """Tables that never change: missing feedback dropped ("drop"), taken as blame ("no") or as nothing known yet.

        >>> AnswerTable.fixed(2, "no").targets
        array([[0., 1., 0.],
               [0., 1., 0.]])
        """
        known = {"drop": ([0.0, 1.0, 0.0], [1.0, 1.0, 0.0]), "no": ([0.0, 1.0, 0.0], [1.0, 1.0, 1.0])}
        known["auto"] = (FIRST.tolist(), [1.0, 1.0, 1.0])
        if missing not in known:
            raise ValueError(f"missing is {missing!r}; it is 'auto', 'drop' or 'no'")
        targets, importance = (np.tile(row, (n_classes, 1)) for row in known[missing])
        return cls(targets, importance, np.ones(n_classes))


@dataclass(frozen=True)
class MissingReport:
    """What is believed of the answers "wrong", "right" and none, for each action.

    Attributes
    ----------
    when_wrong, when_right : arrays of shape (n_classes, 3)
        Probability of each answer if the action was wrong, or right.
    wrong_rounds, right_rounds : arrays
        How many rounds they rest on.
    p_value : float
        Of the hypothesis that all actions are answered alike; `by_action` says whether it is rejected.
    used : bool
        Whether the answers are read by these probabilities; if not, missing ones are dropped, others taken as they are.
    missing_used : bool
        Whether a missing answer counts: it does only if it depends on the truth, not just on x.
    """

    when_wrong: Floats
    when_right: Floats
    wrong_rounds: Floats
    right_rounds: Floats
    p_value: float
    by_action: bool
    used: bool
    missing_used: bool

    def columns(self) -> dict[str, Any]:
        """All that is believed, one entry for each action; the ends of 95 % intervals count chance alone."""
        n = len(self.when_wrong)
        answers = {"said_wrong": WRONG, "said_right": RIGHT, "said_nothing": NONE}
        columns: dict[str, Any] = {"action": np.arange(n)}
        for name, answer in answers.items():
            for truth, shares, rounds in (
                ("wrong", self.when_wrong[:, answer], self.wrong_rounds),
                ("right", self.when_right[:, answer], self.right_rounds),
            ):
                columns |= with_interval(f"{name}_when_{truth}", shares, *proportion_interval(shares, rounds))
        columns |= {"wrong_rounds": self.wrong_rounds, "right_rounds": self.right_rounds}
        for flag in ("p_value", "by_action", "used", "missing_used"):
            columns[flag] = np.full(n, getattr(self, flag))
        return columns


class MissingTracker(Refitter):
    """Keeps a learner's rounds, answered or not, and learns what each answer, and silence, is worth.

    Refits at ``first`` rounds and each time the log has grown by ``growth``; between, `table` says what to learn.

    Examples
    --------
    >>> tracker = MissingTracker(n_classes=2)
    >>> tracker.observe([[1.0, 0.0]], actions=[0], answers=[2])
    >>> tracker.table.targets[0]
    array([0. , 1. , 0.5])
    """

    def __init__(self, n_classes: int, ridge: float = 1.0, first: int = 500, growth: float = 1.5) -> None:
        super().__init__(n_classes, ridge, first, growth)
        self.table = AnswerTable.fixed(n_classes, "auto")
        self.report: MissingReport | None = None

    def observe(self, X: Any, actions: ArrayLike, answers: ArrayLike) -> None:
        """Take in rounds; answers are 0 (wrong), 1 (right) or 2 (none given)."""
        heard = np.asarray(answers)
        if not np.isin(heard, range(N_ANSWERS)).all():
            raise ValueError("answers must be 0 (wrong), 1 (right) or 2 (none given)")
        rows, played, *_ = check_log(X, actions, heard == RIGHT, np.ones(heard.shape), self.n_classes)
        self._keep(rows, played, heard)

    def refit(self) -> RidgeFit:
        """Judge all rounds again; the regression to go on with, while `table` and `report` are new."""
        if self.log is None:
            raise ValueError("there are no rounds to go over yet")
        X, actions, answers = self.log.X, self.log.actions, self.log.answers[: self.log.n]
        found = answer_channels(X, actions, answers, self.n_classes, self.ridge)
        if not found[0].used and self.report is not None and self.report.used:
            again = answer_channels(X, actions, answers, self.n_classes, self.ridge, self.table)
            found = again if again[0].used else found
        self.report, self.table = found
        self.next_refit = int(self.growth * self.log.n)
        targets, importance = self.table.targets[actions, answers], self.table.importance[actions, answers]
        return fit_per_action(X, actions, targets, self.n_classes, self.ridge, importance)


def answer_channels(
    X: Floats, actions: Codes, answers: Codes, n_actions: int, ridge: float = 1.0, believed: AnswerTable | None = None
) -> tuple[MissingReport, AnswerTable]:
    """How each action is answered when right and when wrong, from a whole log, and what to learn from each answer.

    It begins with what is `believed`, or with nothing. From nothing the wrong actions of a good player, which are few,
    may not be found: where they are never answered, the log then looks as if praise followed mistakes.
    """
    table = AnswerTable.fixed(n_actions, "auto") if believed is None else believed
    for turn in range(TURNS):
        targets, importance = table.targets[actions, answers], table.importance[actions, answers]
        fit = fit_per_action(X, actions, targets, n_actions, ridge, importance)
        scores, baseline = leave_one_out_per_action(fit, X, actions, targets, importance)
        if turn == 0 and believed is None:
            scores = _by_quantiles(scores, baseline)
        right, wrong = sure_of(scores, actions)
        surprise = unexplained_silence(X, scores, answers, ridge)
        report = _report(actions, answers, n_actions, right, wrong, surprise)
        table = answer_table(report)
    return report, table


def answer_table(report: MissingReport) -> AnswerTable:
    """Targets whose mean is 0 if the action was wrong and 1 if right; answers that say nothing are left out."""
    n_actions = len(report.when_wrong)
    if not report.used:
        return AnswerTable.fixed(n_actions, "drop")
    r, w = np.maximum(report.when_right, 1e-6), np.maximum(report.when_wrong, 1e-6)
    kept = (r / w <= SAME[0]) | (r / w >= SAME[1])
    kept[:, NONE] &= report.missing_used
    kept[kept.sum(axis=1) < 2, :NONE] = True  # one answer alone tells nothing apart
    r, w = r * kept, w * kept
    r, w = r / r.sum(axis=1, keepdims=True), w / w.sum(axis=1, keepdims=True)
    values = np.where(kept, (r - w) / np.maximum(r + w, 1e-12), 0.0)
    low, high = np.sum(w * values, axis=1, keepdims=True), np.sum(r * values, axis=1, keepdims=True)
    values = np.where(kept, (values - low) / np.maximum(high - low, 0.01), 0.0)
    variance = (np.sum(w * values**2, axis=1) + np.sum(r * (values - 1) ** 2, axis=1)) / 2
    return AnswerTable(values, kept.astype(np.float64), np.clip(2 * np.sqrt(variance), 0.5, 4.0))


def _report(
    actions: Codes,
    answers: Codes,
    n_actions: int,
    right: NDArray[np.bool_],
    wrong: NDArray[np.bool_],
    surprise: Floats,
) -> MissingReport:
    cells = actions * N_ANSWERS + answers
    counts = [
        np.bincount(cells[chosen], minlength=n_actions * N_ANSWERS).reshape(n_actions, -1).astype(np.float64)
        for chosen in (wrong, right)
    ]
    wrong_rounds, right_rounds = (table.sum(axis=1) for table in counts)
    tells = silence_tells(surprise, np.zeros_like(actions), right, wrong, LEAST_DIFFERENCE)
    if not tells and channels_differ(*counts):  # it may still, one way for some actions and the other way for others
        tells = silence_tells(surprise, actions, right, wrong, LEAST_BY_ACTION)
    read = slice(None) if tells else slice(NONE)
    by_action = channels_differ(*(table[:, read] for table in counts))
    p_value = min(equal_channels_p_value(table[:, read]) for table in counts)
    if not by_action:
        counts = [np.repeat(table.sum(axis=0, keepdims=True), n_actions, axis=0) for table in counts]
    when_wrong, when_right = (shrunk_channels(table) for table in counts)
    used = oriented(when_right, when_wrong)
    return MissingReport(when_wrong, when_right, wrong_rounds, right_rounds, p_value, by_action, used, used and tells)


def _by_quantiles(scores: Floats, baseline: Floats) -> Floats:
    """First guess at undoing channels that differ by action: each action's middle score is 0, its high scores 1."""
    n_actions = scores.shape[1]
    low, high = np.quantile(scores, [0.5, 1 - 1 / (2 * n_actions)], axis=0)
    return np.asarray((scores - low * baseline) / np.maximum(high - low, 0.1))
