"""Missing feedback as a third kind of feedback, used if it is missing not at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

from noisewise._numerics.ridge import RidgeFit, fit_per_action, leave_one_out_per_action
from noisewise._typing import Codes, Floats
from noisewise.noise import check_log, proportion_interval, right_and_wrong, two_best, with_interval
from noisewise.online.rates.feedback_codes import MISSING, N_CODES, RIGHT, WRONG, check_missing
from noisewise.online.rates.pooling import SIGNIFICANCE, equal_channels_p_value, shrunken_channels
from noisewise.online.rates.refit import Refitter

ITERATIONS = 4  # of fit, high-confidence rounds and channels: they change little after the third
UNINFORMATIVE_RATIOS = 0.8, 1.25  # feedback with a likelihood ratio of right to wrong between them is left out
FIRST_TARGETS = [0.0, 1.0, 0.5]  # of wrong, right and missing feedback, before anything is estimated
LEAST_DIFFERENCE, LEAST_BY_ACTION = 0.1, 0.25  # in P(missing) between wrong and right actions, beyond what x explains
MNAR_LEVEL = 0.0027  # of the test for missing not at random: three standard errors, two-sided
LEAST_ODDS_RATIO = 1.2  # of positive to negative feedback, for right actions over wrong ones
ODDS_OFFSET = 0.02  # added to both probabilities, so that the odds of rare feedback are finite
WIDTHS = 0.5, 4.0  # limits of the factor of the UCB width


@dataclass(frozen=True)
class FeedbackTable:
    """Target, importance (0: ignored) of each feedback code for each action, and the factor of the UCB width."""

    targets: Floats
    importance: Floats
    width: Floats

    @classmethod
    def fixed(cls, n_classes: int, missing: str) -> FeedbackTable:
        """Missing feedback dropped ("drop"), taken for negative ("no"), or not estimated yet ("auto").

        >>> FeedbackTable.fixed(2, "no").targets
        array([[0., 1., 0.],
               [0., 1., 0.]])
        """
        check_missing(missing)
        row = FIRST_TARGETS if missing == "auto" else [0.0, 1.0, 0.0]
        importance = [1.0, 1.0, 0.0 if missing == "drop" else 1.0]
        return cls(np.tile(row, (n_classes, 1)), np.tile(importance, (n_classes, 1)), np.ones(n_classes))


@dataclass(frozen=True)
class MissingReport:
    """Estimated probabilities of wrong, right and missing feedback for each action.

    Attributes
    ----------
    when_wrong, when_right : arrays of shape (n_classes, 3)
        Probability of each feedback if the action was wrong, or right.
    wrong_rounds, right_rounds : arrays
        Number of high-confidence rounds they are estimated from.
    p_value : float
        Of the hypothesis that all actions have the same probabilities; `by_action` says whether it is rejected.
    used : bool
        Whether feedback is corrected by these probabilities; if not, missing feedback is dropped, other taken as it is.
    missing_used : bool
        Whether missing feedback counts: it does only if it is missing not at random, given x.
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
        """Columns of a report, one entry for each action; 95 % intervals are those of the counts alone."""
        n = len(self.when_wrong)
        codes = {"said_wrong": WRONG, "said_right": RIGHT, "said_nothing": MISSING}
        columns: dict[str, Any] = {"action": np.arange(n)}
        for name, code in codes.items():
            for truth, rates, rounds in (
                ("wrong", self.when_wrong[:, code], self.wrong_rounds),
                ("right", self.when_right[:, code], self.right_rounds),
            ):
                columns |= with_interval(f"{name}_when_{truth}", rates, *proportion_interval(rates, rounds))
        columns |= {"wrong_rounds": self.wrong_rounds, "right_rounds": self.right_rounds}
        for flag in ("p_value", "by_action", "used", "missing_used"):
            columns[flag] = np.full(n, getattr(self, flag))
        return columns


class MissingTracker(Refitter):
    """Estimates what wrong, right and missing feedback tell, from a learner's rounds.

    The channel P(feedback | right or wrong) of each action is estimated from high-confidence rounds, after ``first``
    rounds and each time the log has grown by ``growth``; between, `table` holds the unbiased target of each feedback.
    Missing feedback counts only if it is missing not at random [1]_: if P(missing | x, right) and P(missing | x, wrong)
    differ.

    References
    ----------
    .. [1] Rubin, D. B. (1976). Inference and missing data. Biometrika 63(3), 581-592.

    Examples
    --------
    >>> tracker = MissingTracker(n_classes=2)
    >>> tracker.observe([[1.0, 0.0]], actions=[0], answers=[2])
    >>> tracker.table.targets[0]
    array([0. , 1. , 0.5])
    """

    def __init__(self, n_classes: int, ridge: float = 1.0, first: int = 500, growth: float = 1.5) -> None:
        super().__init__(n_classes, ridge, first, growth)
        self.table = FeedbackTable.fixed(n_classes, "auto")
        self.report: MissingReport | None = None

    def observe(self, X: Any, actions: ArrayLike, answers: ArrayLike) -> None:
        """Add rounds; answers are the feedback: 0 (wrong), 1 (right) or 2 (missing)."""
        feedback = np.asarray(answers)
        if not np.isin(feedback, range(N_CODES)).all():
            raise ValueError("answers must be 0 (wrong), 1 (right) or 2 (missing)")
        rows, played, *_ = check_log(X, actions, feedback == RIGHT, np.ones(feedback.shape), self.n_classes)
        self._keep(rows, played, feedback)

    def refit(self) -> RidgeFit:
        """Estimate `report` and `table` from all rounds; the regression to continue with.

        From the first targets alone the wrong actions of a good player, which are few, may not be found: if their
        feedback is always missing, positive feedback then looks as if it followed mistakes. So where nothing is found,
        but was before, the estimation starts once more from the table before.
        """
        if self.log is None:
            raise ValueError("there are no rounds to go over yet")
        X, actions, feedback = self.log.X, self.log.actions, self.log.feedback[: self.log.n]
        found = estimate_channels(X, actions, feedback, self.n_classes, self.ridge)
        if not found[0].used and self.report is not None and self.report.used:
            again = estimate_channels(X, actions, feedback, self.n_classes, self.ridge, self.table)
            found = again if again[0].used else found
        self.report, self.table = found
        self.next_refit = int(self.growth * self.log.n)
        targets, importance = self.table.targets[actions, feedback], self.table.importance[actions, feedback]
        return fit_per_action(X, actions, targets, self.n_classes, self.ridge, importance)


def estimate_channels(
    X: Floats, actions: Codes, feedback: Codes, n_actions: int, ridge: float = 1.0, start: FeedbackTable | None = None
) -> tuple[MissingReport, FeedbackTable]:
    """P(feedback | right or wrong) of each action from a whole log, and the targets that follow.

    Alternates between a ridge regression of the targets, high-confidence rounds by its leave-one-out scores, and the
    feedback counted in these.
    """
    table = FeedbackTable.fixed(n_actions, "auto") if start is None else start
    for iteration in range(ITERATIONS):
        targets, importance = table.targets[actions, feedback], table.importance[actions, feedback]
        fit = fit_per_action(X, actions, targets, n_actions, ridge, importance)
        scores, baseline = leave_one_out_per_action(fit, X, actions, targets, importance)
        if iteration == 0 and start is None:
            scores = _rescaled_by_quantiles(scores, baseline)
        right, wrong = right_and_wrong(scores, actions)
        residuals = missingness_residuals(X, scores, feedback, ridge)
        report = _report(actions, feedback, n_actions, right, wrong, residuals)
        table = unbiased_targets(report)
    return report, table


def unbiased_targets(report: MissingReport) -> FeedbackTable:
    """Targets with mean 0 if the action was wrong and 1 if right; uninformative feedback is left out.

    With r and w the probabilities of each feedback for right and wrong actions, targets are the values
    v = (r - w) / (r + w), of nearly least variance, shifted and scaled so that sum(w v) = 0 and sum(r v) = 1.
    """
    n_actions = len(report.when_wrong)
    if not report.used:
        return FeedbackTable.fixed(n_actions, "drop")
    r, w = np.maximum(report.when_right, 1e-6), np.maximum(report.when_wrong, 1e-6)
    kept = (r / w <= UNINFORMATIVE_RATIOS[0]) | (r / w >= UNINFORMATIVE_RATIOS[1])
    kept[:, MISSING] &= report.missing_used
    kept[kept.sum(axis=1) < 2, :MISSING] = True  # a single kind of feedback carries no information
    r, w = r * kept, w * kept
    r, w = r / r.sum(axis=1, keepdims=True), w / w.sum(axis=1, keepdims=True)
    values = np.where(kept, (r - w) / np.maximum(r + w, 1e-12), 0.0)
    low, high = np.sum(w * values, axis=1, keepdims=True), np.sum(r * values, axis=1, keepdims=True)
    values = np.where(kept, (values - low) / np.maximum(high - low, 0.01), 0.0)
    variance = (np.sum(w * values**2, axis=1) + np.sum(r * (values - 1) ** 2, axis=1)) / 2
    return FeedbackTable(values, kept.astype(np.float64), np.clip(2 * np.sqrt(variance), *WIDTHS))


def _report(
    actions: Codes,
    feedback: Codes,
    n_actions: int,
    right: NDArray[np.bool_],
    wrong: NDArray[np.bool_],
    residuals: Floats,
) -> MissingReport:
    cells = actions * N_CODES + feedback
    counts = [
        np.bincount(cells[chosen], minlength=n_actions * N_CODES).reshape(n_actions, -1).astype(np.float64)
        for chosen in (wrong, right)
    ]
    wrong_rounds, right_rounds = (table.sum(axis=1) for table in counts)
    not_at_random = missing_not_at_random(residuals, np.zeros_like(actions), right, wrong, LEAST_DIFFERENCE)
    if not not_at_random and channels_differ(*counts):  # the difference may have another sign for other actions
        not_at_random = missing_not_at_random(residuals, actions, right, wrong, LEAST_BY_ACTION)
    used_codes = slice(None) if not_at_random else slice(MISSING)
    by_action = channels_differ(*(table[:, used_codes] for table in counts))
    p_value = min(equal_channels_p_value(table[:, used_codes]) for table in counts)
    if not by_action:
        counts = [np.repeat(table.sum(axis=0, keepdims=True), n_actions, axis=0) for table in counts]
    when_wrong, when_right = (shrunken_channels(table) for table in counts)
    used = oriented(when_right, when_wrong)
    missing_used = used and not_at_random
    return MissingReport(when_wrong, when_right, wrong_rounds, right_rounds, p_value, by_action, used, missing_used)


def _rescaled_by_quantiles(scores: Floats, baseline: Floats) -> Floats:
    """First correction of channels that differ by action: each action's median score is 0, its high scores 1."""
    n_actions = scores.shape[1]
    low, high = np.quantile(scores, [0.5, 1 - 1 / (2 * n_actions)], axis=0)
    return np.asarray((scores - low * baseline) / np.maximum(high - low, 0.1))


def channels_differ(wrong: Floats, right: Floats) -> bool:
    """Whether the channels of the actions differ, and each is still informative about right and wrong; from counts."""
    p_value = min(equal_channels_p_value(wrong), equal_channels_p_value(right))
    return p_value < SIGNIFICANCE and oriented(shrunken_channels(right), shrunken_channels(wrong))


def oriented(when_right: Floats, when_wrong: Floats) -> bool:
    """Whether the odds of positive feedback are clearly higher for right than for wrong actions, for each action."""
    odds_right = (when_right[:, RIGHT] + ODDS_OFFSET) / (when_right[:, WRONG] + ODDS_OFFSET)
    odds_wrong = (when_wrong[:, RIGHT] + ODDS_OFFSET) / (when_wrong[:, WRONG] + ODDS_OFFSET)
    return bool(np.all(odds_right > LEAST_ODDS_RATIO * odds_wrong))


def missingness_residuals(X: Floats, scores: Floats, feedback: Codes, ridge: float = 1.0) -> Floats:
    """Missing (1) or not (0), less its leave-one-out prediction by a ridge regression on x.

    The regression includes deciles of the best score and of the margin, which say how clear a case x is: where feedback
    is often missing little is learnt, and cases are unclear; without them, missing feedback would seem to follow
    mistakes.
    """
    missing = (feedback == MISSING).astype(np.float64)
    if not missing.any():
        return np.zeros(len(X))
    best, second = two_best(scores)
    rows = np.hstack([X, _deciles(best - second), _deciles(best)])
    one = np.zeros(len(X), dtype=np.intp)
    expected, _ = leave_one_out_per_action(fit_per_action(rows, one, missing, 1, ridge), rows, one, missing)
    return np.asarray(missing - expected[:, 0])


def missing_not_at_random(
    residuals: Floats, groups: Codes, right: NDArray[np.bool_], wrong: NDArray[np.bool_], least: float
) -> bool:
    """Test whether feedback is missing not at random: its residuals differ between right and wrong rounds.

    A chi-squared test of the differences in all groups, which must also have a root mean square of at least `least`.
    Each group has a difference of its own, because missing feedback may mean right for one and wrong for another.
    """

    def moments(chosen: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
        rounds = np.bincount(groups[chosen], minlength=n_groups)
        means = np.bincount(groups[chosen], residuals[chosen], n_groups) / np.maximum(rounds, 1)
        squares = np.bincount(groups[chosen], residuals[chosen] ** 2, n_groups) / np.maximum(rounds, 1)
        return rounds.astype(np.float64), means, np.maximum(squares - means**2, 1e-6) / np.maximum(rounds, 1)

    n_groups = int(groups.max()) + 1
    (n_right, mean_right, variance_right), (n_wrong, mean_wrong, variance_wrong) = moments(right), moments(wrong)
    both = (n_right >= 2) & (n_wrong >= 2)
    if not both.any():
        return False
    squares, variances = ((mean_wrong - mean_right) ** 2)[both], (variance_right + variance_wrong)[both]
    weights = n_right[both] * n_wrong[both] / (n_right[both] + n_wrong[both])
    size = np.average(squares - variances, weights=weights)  # unbiased for the squared difference
    p_value = chi2.sf(np.sum(squares / variances), len(squares))
    return bool(size >= least**2 and p_value < MNAR_LEVEL)


def _deciles(values: Floats) -> Floats:
    """The decile of each value, one-hot."""
    edges = np.quantile(values, np.arange(1, 10) / 10)
    return np.asarray(np.eye(10)[np.searchsorted(edges, values)])
