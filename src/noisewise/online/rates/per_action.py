"""Flip rates of right/wrong feedback that differ by action, estimated from the rounds a learner has played."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise._deprecation import renamed
from noisewise._numerics.ridge import fit_per_action, leave_one_out_per_action
from noisewise._typing import Codes, Floats
from noisewise.noise import FlipMatrix, check_log, proportion_interval, right_and_wrong, with_interval
from noisewise.online.rates import flip_rates
from noisewise.online.rates.flip_rates import LEAST_CORRECTED_SIGNAL
from noisewise.online.rates.pooling import SIGNIFICANCE, equal_rates_p_value, shrunken_rates
from noisewise.online.rates.refit import Refitter

LEAST_ACTION_SIGNAL = 0.1  # of one action; below LEAST_CORRECTED_SIGNAL, so that uninformative actions are found
COUNTING_FROM = 3000  # rounds; before, quantiles of the scores are more accurate than counts
LEAST_RIGHT = 0.2  # an action is assumed right in at least this fraction of 1 / n_actions of the rounds
QUANTILE_ITERATIONS = 3  # of the best action in each round and the quantiles that follow
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
        Whether it is rejected, and the rates are used; otherwise the feedback is taken as it is.
    """

    false_positive: Floats
    false_negative: Floats
    wrong_rounds: Floats
    right_rounds: Floats
    p_value: float
    on: bool

    useless = renamed("useless", "uninformative")

    @property
    def uninformative(self) -> NDArray[np.bool_]:
        """Actions whose feedback hardly depends on the truth; they are scored by elimination."""
        return self.on & (1 - self.false_positive - self.false_negative < LEAST_CORRECTED_SIGNAL)

    @property
    def noise(self) -> list[FlipMatrix]:
        """The noise to correct for, one for each action; no noise where the rates are not used."""
        used = self.on * np.column_stack([self.false_positive, self.false_negative])
        return [FlipMatrix.binary(wrong, right) for wrong, right in used]

    def columns(self) -> dict[str, Any]:
        """Columns of a report, one entry for each action; 95 % intervals are those of the counts alone."""
        n = len(self.false_positive)
        of_wrong = proportion_interval(self.false_positive, self.wrong_rounds)
        of_right = proportion_interval(self.false_negative, self.right_rounds)
        return {
            "action": np.arange(n),
            **with_interval("false_positive", self.false_positive, *of_wrong),
            **with_interval("false_negative", self.false_negative, *of_right),
            "wrong_rounds": self.wrong_rounds,
            "right_rounds": self.right_rounds,
            "p_value": np.full(n, self.p_value),
            "on": np.full(n, self.on),
            "useless": self.uninformative,
        }


class ActionRateTracker(Refitter):
    """Estimates flip rates of each action from a learner's rounds, after 500 rounds and every half more.

    Rates are the fractions of positive feedback in rounds whose action was wrong with high confidence, and of negative
    feedback in those whose action was right, shrunk to the pooled rate. They are used if a likelihood ratio test
    rejects that they are equal.

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
    >>> noisy = FlipMatrix.binary(0.4, 0.1).corrupt((actions == y).astype(int), rng)
    >>> feedback = np.where(actions == 0, noisy, actions == y)
    >>> tracker = ActionRateTracker(n_classes=3)
    >>> tracker.observe(X, actions, np.full(4000, 1 / 3), feedback)
    >>> rates = tracker.estimate()
    >>> rates.on, bool(abs(rates.false_positive - [0.4, 0, 0]).max() < 0.05)
    (True, True)
    """

    def __init__(self, n_classes: int, ridge: float = 1.0, first: int = 500, growth: float = 1.5) -> None:
        super().__init__(n_classes, ridge, first, growth)
        nothing = np.zeros(n_classes)
        self.report = ActionRates(nothing, nothing, nothing, nothing, p_value=1.0, on=False)

    def observe(self, X: Any, actions: ArrayLike, probabilities: ArrayLike, feedback: ArrayLike) -> None:
        """Add rounds; the propensities are validated, but not needed."""
        rows, played, observed, _ = check_log(X, actions, feedback, probabilities, self.n_classes)
        self._keep(rows, played, observed)

    def estimate(self) -> ActionRates:
        """The rates of the last refit; refits first if one is due."""
        if self.log is not None and self.due:
            targets = self.log.feedback[: self.log.n].astype(np.float64)
            rounds = self.log.X, self.log.actions, targets, self.n_classes, self.ridge
            found = action_rates(*rounds)
            if self.report.on and not found.on and self.log.n > COUNTING_FROM:
                again = action_rates(*rounds, np.stack([self.report.false_positive, self.report.false_negative]))
                found = again if again.on else found
            self.report = found
            self.next_refit = int(self.growth * self.log.n)
        return self.report


def action_rates(
    X: Floats, actions: Codes, feedback: Floats, n_actions: int, ridge: float = 1.0, start: Floats | None = None
) -> ActionRates:
    """Flip rates of each action from a whole log, as the fixed point of scores, high-confidence rounds and counts.

    It starts from the rates given, or from quantiles of leave-one-out ridge scores. From quantiles alone, an action
    without positive feedback may be missed once it is rarely played.
    """
    fit = fit_per_action(X, actions, feedback, n_actions, ridge)
    scores, baseline = leave_one_out_per_action(fit, X, actions, feedback)
    rates = rates_from_quantiles(scores, baseline) if start is None else start
    counts = _count(scores, baseline, rates, actions, feedback)
    if len(X) > COUNTING_FROM:
        for iteration in range(COUNT_ITERATIONS):
            counted = keep_signal(shrunken_rates(*counts[:2]), shrunken_rates(*counts[2:]))
            move = counted - rates
            rates = rates + (move if iteration < UNDAMPED else move / 2)
            counts = _count(scores, baseline, rates, actions, feedback)
            if np.abs(move).max() < TOLERANCE:
                break
    p_value = min(equal_rates_p_value(*counts[:2]), equal_rates_p_value(*counts[2:]))
    return ActionRates(rates[0], rates[1], counts[1], counts[3], p_value, p_value < SIGNIFICANCE)


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
) -> tuple[Floats, Floats, Floats, Floats]:
    """Positive feedback in wrong rounds and their number, negative in right ones and their number, by action."""
    n_actions = scores.shape[1]
    right, wrong = right_and_wrong(corrected_scores(scores, baseline, rates), actions)

    def tally(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
        return np.bincount(actions[chosen], weights=values[chosen], minlength=n_actions).astype(np.float64)

    ones = np.ones(len(actions))
    return tally(feedback, wrong), tally(ones, wrong), tally(1 - feedback, right), tally(ones, right)
