"""Flip rates of right/wrong feedback that differ by action, estimated from the rounds a learner has played."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise._deprecation import renamed
from noisewise._numerics.ridge import fit_per_action, leave_one_out_per_action
from noisewise._typing import Codes, Floats
from noisewise.noise import (
    SEVERAL_OR_NONE,
    SEVERAL_RIGHT,
    ExplorationMoment,
    FlipMatrix,
    check_log,
    exploration_terms,
    several_are_right,
    sharper_scores,
    with_interval,
)
from noisewise.online.rates import flip_rates
from noisewise.online.rates.flip_rates import LEAST_CORRECTED_SIGNAL
from noisewise.online.rates.margin_curve import RatesByMargin, bin_by_margin, rates_by_margin, signed_margins
from noisewise.online.rates.overlap import (
    NONE,
    SEVERAL,
    ConfidentRounds,
    GroupCounts,
    count_by_group,
    implied_right_actions,
)
from noisewise.online.rates.pooling import equal_rates_p_value, shrunken_rates
from noisewise.online.rates.refit import Refitter

LEAST_ACTION_SIGNAL = 0.1  # of one action; below LEAST_CORRECTED_SIGNAL, so that uninformative actions are found
COUNTING_FROM = 3000  # rounds; before, quantiles of the scores are more accurate than counts
LEAST_RIGHT = 0.2  # an action is assumed right in at least this fraction of 1 / n_actions of the rounds
QUANTILE_ITERATIONS = 3  # of the best action in each round and the quantiles that follow
LEAST_GAP = 0.0  # from wrong to right feedback of two actions, of the median signal: above it, ranks stay as they are
LEAST_EARLY_GAP = -0.5  # the same where rates are quantiles, which scatter
# Rounds for each action, on average, before rates may be used: 15 for each of the actions it may be confused with,
# between these two. That of many actions was chosen on letter, where rates used earlier cost up to .012 of the rounds
LEAST_PER_PAIR, LEAST_PER_ACTION = 15, (150, 400)
LARGEST_GATE_EXCESS = 0.25  # of negative feedback in less confident rounds, of the median signal: classes overlap
GATE_OVERLAP = 1.0  # part of the excess that may be overlap in the test of equal rates
GATE_LEVEL = 1e-6  # of that test: it is repeated, and a false alarm is costly
HARMLESS_SIGNAL = 0.5  # of the median action's; an action with less gains little from a correction
HARMLESS_LEVELS = (0.25, 0.75)  # of an uninformative action, from the wrong level of the others (0) to the right (1)
EARLY = f"the rates are not identified: up to {COUNTING_FROM:,} rounds they are rough, and have no intervals"
UNSEEN = "the rates are not identified: too few rounds show whether this action was right or wrong"
COUNT_ITERATIONS, UNDAMPED, TOLERANCE = 12, 5, 0.002  # of the fixed point; steps are halved after the first five


@dataclass(frozen=True)
class ActionRates:
    """Estimated flip rates of each action, and whether they differ significantly and are used.

    Attributes
    ----------
    false_positive, false_negative : arrays
        P(positive feedback | wrong) and P(negative feedback | right) of each action [rho0, rho1].
    wrong_rounds, right_rounds : arrays
        Number of high-confidence rounds, wrong and right, they are estimated from.
    p_value : float
        Of the hypothesis that all actions have the same rates.
    on : bool
        Whether it is rejected, the rates would mislead, and they are used; else the feedback is taken as it is.
    limits : array of shape (2, 2, n_actions), or None
        Lower and upper limits of the 95 % intervals of both rates, if they do not follow from the rest.
    reason : str
        Why no rates are identified, if none are.
    bins : array of shape (n_actions, n_bins, 3), or None
        Rounds by their margin, from which intervals follow that include overlapping classes (`rates_by_margin`); up
        to 3,000 rounds None, and nothing is identified.
    """

    false_positive: Floats
    false_negative: Floats
    wrong_rounds: Floats
    right_rounds: Floats
    p_value: float
    on: bool
    limits: Floats | None = None
    reason: str = ""
    bins: Floats | None = None

    useless = renamed("useless", "uninformative")

    @property
    def uninformative(self) -> NDArray[np.bool_]:
        """Actions whose feedback hardly depends on the truth and misleads; they are scored by elimination."""
        little = 1 - self._rates.sum(axis=0) < LEAST_CORRECTED_SIGNAL
        return np.asarray(self.on & little & ~self._harmless)

    @property
    def noise(self) -> list[FlipMatrix]:
        """The noise to correct for, one for each action; no noise where the rates are not used."""
        rates = self._rates
        used = np.where(self._harmless, np.median(rates, axis=1, keepdims=True), rates)
        return [FlipMatrix.binary(wrong, right) for wrong, right in (self.on * used).T]

    @property
    def _rates(self) -> Floats:
        return np.stack([self.false_positive, self.false_negative])

    @property
    def _limits(self) -> Floats:
        """Lower and upper limits of both rates, of shape (2, 2, n_actions), extended to hold the rates."""
        rates, limits = self._rates, self.limits
        if limits is None and self._by_margin is not None:
            limits = self._by_margin.limits
        if limits is None:
            limits = anything(len(self.false_positive))
        return np.stack([np.minimum(limits[0], rates), np.maximum(limits[1], rates)])

    @cached_property
    def _by_margin(self) -> RatesByMargin | None:
        """Intervals by the margin of the rounds; computed when a report is asked for, not while a learner plays."""
        return None if self.bins is None else rates_by_margin(self.bins)

    @property
    def _why_not(self) -> str:
        return self.reason or (EARLY if self._by_margin is None else self._by_margin.reason)

    @property
    def _harmless(self) -> NDArray[np.bool_]:
        """Actions that are left as they are, which is no worse than elimination, or a correction of their noise."""
        return np.asarray(self.on & harmless(self._rates))

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Whether the rates of an action can be told from its wrong guesses; their intervals are narrower than one."""
        low, high = self._limits
        return np.asarray(((high - low) < 1).all(axis=0) & (not self._why_not))

    def columns(self) -> dict[str, Any]:
        """Columns of a report, one entry for each action."""
        n, (low, high) = len(self.false_positive), self._limits
        return {
            "action": np.arange(n),
            **with_interval("false_positive", self.false_positive, low[0], high[0]),
            **with_interval("false_negative", self.false_negative, low[1], high[1]),
            "wrong_rounds": self.wrong_rounds,
            "right_rounds": self.right_rounds,
            "p_value": np.full(n, self.p_value),
            "on": np.full(n, self.on),
            "useless": self.uninformative,
            "identified": self.identified,
            "reason": [self._why_not or ("" if known else UNSEEN) for known in self.identified],
        }


class ActionRateTracker(Refitter):
    """Estimates flip rates of each action from a learner's rounds, after 500 rounds and every half more.

    Rates are the fractions of positive feedback in rounds whose action was wrong with high confidence, and of negative
    feedback in those whose action was right, shrunk to the pooled rate. They are used if a likelihood ratio test
    rejects that they are equal, also where classes overlap, and they differ so much that feedback would mislead.

    References
    ----------
    .. [1] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Section 3, the noise model, here with rates for each action.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=4000)
    >>> X = np.eye(3)[y] + rng.normal(scale=0.2, size=(4000, 3))
    >>> actions = rng.integers(3, size=4000)
    >>> right = (actions == y).astype(int)
    >>> noises = FlipMatrix.binary(0.5, 0.1), FlipMatrix.binary(0.05, 0.6), FlipMatrix.none(2)
    >>> feedback = np.choose(actions, [noise.corrupt(right, rng) for noise in noises])
    >>> tracker = ActionRateTracker(n_classes=3)
    >>> tracker.observe(X, actions, np.full(4000, 1 / 3), feedback)
    >>> rates = tracker.estimate()
    >>> rates.on, bool(abs(rates.false_positive - [0.5, 0.05, 0]).max() < 0.05)
    (True, True)
    """

    def __init__(self, n_classes: int, ridge: float = 1.0, first: int = 500, growth: float = 1.5) -> None:
        super().__init__(n_classes, ridge, first, growth)
        nothing = np.zeros(n_classes)
        self.report = ActionRates(nothing, nothing, nothing, nothing, p_value=1.0, on=False)

    def observe(self, X: Any, actions: ArrayLike, probabilities: ArrayLike, feedback: ArrayLike) -> None:
        """Add rounds; the propensities are needed for the test that one action is right for each row."""
        rows, played, observed, propensities = check_log(X, actions, feedback, probabilities, self.n_classes)
        self._keep(rows, played, observed, propensities=propensities)

    def estimate(self) -> ActionRates:
        """The rates of the last refit; refits first if one is due."""
        if self.log is not None and self.due:
            targets = self.log.feedback[: self.log.n].astype(np.float64)
            rounds = self.log.X, self.log.actions, targets, self.n_classes, self.ridge
            found = action_rates(*rounds)
            if self.report.on and not found.on and self.log.n > COUNTING_FROM:
                again = action_rates(*rounds, np.stack([self.report.false_positive, self.report.false_negative]))
                found = again if again.on else found
            self.report = self._none_if_several_are_right(found, targets)
            self.next_refit = int(self.growth * self.log.n)
        return self.report

    def _none_if_several_are_right(self, found: ActionRates, feedback: Floats) -> ActionRates:
        """No rates, and the reason, where a row may have several right actions or none.

        The test is on feedback corrected by the rates found: where these differ, the feedback of a random action
        depends on which one is right, though exactly one is. Of a log without exploration, or whose propensities are
        not known, the feedback of the two best actions tells, but less surely: rates that are used stay in use.
        """
        assert self.log is not None
        X, played, n = self.log.X, self.log.actions, self.log.n
        fit = fit_per_action(X, played, feedback, self.n_classes, self.ridge)
        scores, _ = leave_one_out_per_action(fit, X, played, feedback)
        rho0, signal = found.false_positive, 1 - found.false_positive - found.false_negative
        expected, corrected = (scores - rho0) / signal, (feedback - rho0[played]) / signal[played]
        terms, weights = exploration_terms(expected, played, corrected, self.log.propensities[:n])
        moment = ExplorationMoment.of(terms, weights, expected.mean(axis=1))
        if not moment.covers_all_actions:
            right = implied_right_actions(scores, played, feedback, rho0[played], found.false_negative[played])
            if not (right.several or right.none):
                return found
            return replace(found, limits=anything(self.n_classes), reason=SEVERAL if right.several else NONE)
        several = several_are_right(*_more_than_one(moment, self.n_classes))
        if not (moment.depends_on_rows or several):
            return found
        nothing, rounds = np.zeros(self.n_classes), (found.wrong_rounds, found.right_rounds)
        reason = SEVERAL_OR_NONE if moment.depends_on_rows else SEVERAL_RIGHT
        return ActionRates(nothing, nothing, *rounds, 1.0, False, anything(self.n_classes), reason)


def _more_than_one(moment: ExplorationMoment, n_actions: int) -> tuple[float, float]:
    """The number of right actions above one, of those above one there may be, and in standard errors.

    The moment is of corrected feedback, of which a random action has 1 / n_actions where one action is right.
    """
    above = n_actions * moment.mean - 1
    return above / (n_actions - 1), above / max(n_actions * moment.error, 1e-12)


def anything(n_actions: int) -> Floats:
    """Intervals of both rates that hold every value, of shape (2, 2, n_actions)."""
    return np.stack([np.zeros((2, n_actions)), np.ones((2, n_actions))])


def action_rates(
    X: Floats, actions: Codes, feedback: Floats, n_actions: int, ridge: float = 1.0, start: Floats | None = None
) -> ActionRates:
    """Flip rates of each action from a whole log, as the fixed point of scores, high-confidence rounds and counts.

    It starts from the rates given, or from quantiles of leave-one-out ridge scores. From quantiles alone, an action
    without positive feedback may be missed once it is rarely played.
    """
    fit = fit_per_action(X, actions, feedback, n_actions, ridge)
    scores, baseline = leave_one_out_per_action(fit, X, actions, feedback)
    counting = len(X) > COUNTING_FROM
    if counting:
        kept, scores, baseline = sharper_scores(X, scores, actions, feedback, baseline)
        actions, feedback = actions[kept], feedback[kept]
    rates = rates_from_quantiles(scores, baseline) if start is None else start
    wrong, right = _count(scores, baseline, rates, actions, feedback)
    if counting:
        for iteration in range(COUNT_ITERATIONS):
            counted = keep_signal(shrunken_rates(*wrong[:2]), shrunken_rates(*right[:2]))
            move = counted - rates
            rates = rates + (move if iteration < UNDAMPED else move / 2)
            wrong, right = _count(scores, baseline, rates, actions, feedback)
            if np.abs(move).max() < TOLERANCE:
                break
    p_value = min(equal_rates_p_value(*each[:2], GATE_OVERLAP * each.sure_excess) for each in (wrong, right))
    bins = None
    if counting:
        margins = signed_margins(corrected_scores(scores, baseline, rates), actions)
        bins = bin_by_margin(margins, feedback, actions, n_actions)
    enough = len(X) >= n_actions * np.clip(LEAST_PER_PAIR * n_actions, *LEAST_PER_ACTION)
    separate = right.sure_excess.min() <= LARGEST_GATE_EXCESS * usual_signal(rates)
    # as counted: scaled to keep some signal, the rates of an action that always gets the same feedback do not mislead
    observed = np.stack([shrunken_rates(*each[:2]) for each in (wrong, right)]) if counting else rates
    on = bool(
        enough and separate and p_value < GATE_LEVEL and misleads(observed, LEAST_GAP if counting else LEAST_EARLY_GAP)
    )
    return ActionRates(rates[0], rates[1], wrong.rounds, right.rounds, p_value, on, bins=bins)


def misleads(rates: Floats, least_gap: float = LEAST_GAP) -> bool:
    """Whether rates (rho0, rho1) of each action would mislead a learner that takes the feedback as it is.

    They would if a wrong action has more positive feedback than another that is right. An action of little signal
    between both is left out: it is played where no other is likely right.

    >>> misleads(np.array([[0.1, 0.2, 0.5], [0.1, 0.1, 0.45]])), misleads(np.array([[0.5, 0.05], [0.1, 0.6]]))
    (False, True)
    """
    counted = rates[:, ~harmless(rates)]
    if counted.shape[1] < 2:
        return False
    gaps = (1 - counted[1])[:, None] - counted[0][None, :]
    np.fill_diagonal(gaps, np.inf)
    return bool(gaps.min() < least_gap * usual_signal(rates))


def harmless(rates: Floats) -> NDArray[np.bool_]:
    """Actions of little signal whose fraction of positive feedback lies between those of wrong and right others."""
    usual, signal = usual_signal(rates), 1 - rates.sum(axis=0)
    level = ((1 + rates[0] - rates[1]) / 2 - np.median(rates[0])) / usual
    low, high = HARMLESS_LEVELS
    return np.asarray((signal < HARMLESS_SIGNAL * usual) & (low < level) & (level < high))


def usual_signal(rates: Floats) -> float:
    """1 - rho0 - rho1 of the median rates."""
    return max(1 - float(np.median(rates, axis=1).sum()), 1e-12)


def rates_from_quantiles(scores: Floats, baseline: Floats) -> Floats:
    """Both rates of each action: the median of its scores where it is likely wrong, and where it is likely right.

    An action is assumed right in as many rounds as it scores best in, and at least in a fifth of 1 / n_actions of
    them: one without positive feedback may be right too. The best action is found again with the corrected scores.
    """
    n, n_actions = scores.shape
    rates = np.zeros((2, n_actions))
    for _ in range(QUANTILE_ITERATIONS):
        best = corrected_scores(scores, baseline, rates).argmax(axis=1)
        right_fractions = np.maximum(np.bincount(best, minlength=n_actions) / n, LEAST_RIGHT / n_actions)
        medians = [np.quantile(s, [(1 - right) / 2, 1 - right / 2]) for s, right in zip(scores.T, right_fractions)]
        when_wrong, when_right = np.transpose(medians)
        rates = keep_signal(np.clip(when_wrong, 0, 1), np.clip(1 - when_right, 0, 1))
    return rates


def corrected_scores(scores: Floats, baseline: Floats, rates: Floats) -> Floats:
    """`flip_rates.corrected_scores` for the rates (rho0, rho1) of each action, of shape (2, n_actions)."""
    signal = 1 - rates[0] - rates[1]
    uninformative = signal < LEAST_CORRECTED_SIGNAL
    return flip_rates.corrected_scores(scores, baseline, rates[0], signal, uninformative & ~uninformative.all())


def keep_signal(false_positive: Floats, false_negative: Floats) -> Floats:
    """Both rates, scaled down where 1 - rho0 - rho1 is below a tenth; shape (2, n_actions)."""
    rates = np.stack([false_positive, false_negative])
    return np.asarray(rates * np.minimum(1, (1 - LEAST_ACTION_SIGNAL) / np.maximum(rates.sum(axis=0), 1e-12)))


def _count(
    scores: Floats, baseline: Floats, rates: Floats, actions: Codes, feedback: Floats
) -> tuple[GroupCounts, GroupCounts]:
    """Positive feedback in wrong rounds, and negative feedback in right ones, by action."""
    masks = ConfidentRounds.of(corrected_scores(scores, baseline, rates), actions)
    n_actions = scores.shape[1]
    return (
        count_by_group(feedback, masks.wrong, masks.less_wrong, actions, n_actions),
        count_by_group(1 - feedback, masks.right, masks.less_right, actions, n_actions),
    )
