"""Flip rates of right/wrong feedback that differ by action, estimated from the rounds a learner has played."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

from noisewise._numerics.ridge import fit_per_action, leave_one_out_per_action
from noisewise._typing import Codes, Floats
from noisewise.noise import FlipMatrix, proportion_interval, with_interval
from noisewise.noise.logged_rounds import check_log
from noisewise.online.rates import flip_rates
from noisewise.online.rates.flip_rates import USELESS
from noisewise.online.rates.refit import Refitter, shrunk_shares, sure_of

LEAST_SIGNAL = 0.1  # 1 - rho0 - rho1 is kept above it
COUNTING_FROM = 3000  # rounds; before, quantiles of the scores are better than counts
GATE = 1e-5  # p-value below which the rates are taken to differ
LEAST_SHARE, LOOKS = 0.2, 3  # an action is taken to be right in this part of an even share of the rounds at least
TURNS, FULL_TURNS, CLOSE = 12, 5, 0.002


@dataclass(frozen=True)
class ActionRates:
    """Estimated flip rates of each action, and whether they differ enough to be used.

    Attributes
    ----------
    false_positive, false_negative : arrays
        P(seen as right | wrong) and P(seen as wrong | right) of each action [rho0, rho1].
    wrong_rounds, right_rounds : arrays
        How many surely wrong and surely right rounds they rest on.
    p_value : float
        Of the hypothesis that all actions have the same rates.
    on : bool
        Whether it is rejected, so that the rates are used; otherwise the feedback is taken as it is.
    """

    false_positive: Floats
    false_negative: Floats
    wrong_rounds: Floats
    right_rounds: Floats
    p_value: float
    on: bool

    @property
    def useless(self) -> NDArray[np.bool_]:
        """Actions whose feedback says too little; they are judged by elimination."""
        return self.on & (1 - self.false_positive - self.false_negative < USELESS)

    @property
    def noise(self) -> list[FlipMatrix]:
        """The noise to correct for, one for each action; no noise where the rates are not used."""
        used = self.on * np.column_stack([self.false_positive, self.false_negative])
        return [FlipMatrix.binary(wrong, right) for wrong, right in used]

    def columns(self) -> dict[str, Any]:
        """All that is believed, one entry for each action; the ends of 95 % intervals count chance alone."""
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
            "useless": self.useless,
        }


class ActionRateTracker(Refitter):
    """Keeps a learner's rounds and estimates flip rates for each action, after 500 rounds and every half more.

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
        """Take in rounds; the probabilities of the actions are checked, but not needed."""
        rows, played, seen, _ = check_log(X, actions, feedback, probabilities, self.n_classes)
        self._keep(rows, played, seen)

    def estimate(self) -> ActionRates:
        """The rates as of the last refit; refits first if one is due."""
        if self.log is not None and self.due:
            targets = self.log.answers[: self.log.n].astype(np.float64)
            rounds = self.log.X, self.log.actions, targets, self.n_classes, self.ridge
            found = action_rates(*rounds)
            if self.report.on and not found.on and self.log.n > COUNTING_FROM:
                again = action_rates(*rounds, np.stack([self.report.false_positive, self.report.false_negative]))
                found = again if again.on else found
            self.report = found
            self.next_refit = int(self.growth * self.log.n)
        return self.report


def action_rates(
    X: Floats, actions: Codes, feedback: Floats, n_actions: int, ridge: float = 1.0, believed: Floats | None = None
) -> ActionRates:
    """Flip rates of each action from a whole log: who is surely right, who surely wrong, and how often it was said.

    The first guess is what was `believed`, or takes quantiles of left-out ridge scores; longer logs are then counted
    until the rates settle. By quantiles alone, an action that is never said to be right may be missed once it is rarely
    played.
    """
    fit = fit_per_action(X, actions, feedback, n_actions, ridge)
    scores, baseline = leave_one_out_per_action(fit, X, actions, feedback)
    rates = likely_rates(scores, baseline) if believed is None else believed
    counts = _count(scores, baseline, rates, actions, feedback)
    if len(X) > COUNTING_FROM:
        for turn in range(TURNS):
            counted = keep_signal(shrunk_shares(*counts[:2]), shrunk_shares(*counts[2:]))
            move = counted - rates
            rates = rates + (move if turn < FULL_TURNS else move / 2)
            counts = _count(scores, baseline, rates, actions, feedback)
            if np.abs(move).max() < CLOSE:
                break
    p_value = min(equal_shares_p_value(*counts[:2]), equal_shares_p_value(*counts[2:]))
    return ActionRates(rates[0], rates[1], counts[1], counts[3], p_value, p_value < GATE)


def likely_rates(scores: Floats, baseline: Floats) -> Floats:
    """Both rates of each action from the middle of its scores where it is likely wrong, and where it is likely right.

    An action is taken to be right in as many rounds as it looks best in, though not in fewer than a fifth of its even
    share: one that is never said to be right may be. What looks best is looked at again through the rates.
    """
    n, n_actions = scores.shape
    rates = np.zeros((2, n_actions))
    for _ in range(LOOKS):
        best = corrected_scores(scores, baseline, rates).argmax(axis=1)
        shares = np.maximum(np.bincount(best, minlength=n_actions) / n, LEAST_SHARE / n_actions)
        middles = [np.quantile(s, [(1 - share) / 2, 1 - share / 2]) for s, share in zip(scores.T, shares)]
        wrong, right = np.transpose(middles)
        rates = keep_signal(np.clip(wrong, 0, 1), np.clip(1 - right, 0, 1))
    return rates


def corrected_scores(scores: Floats, baseline: Floats, rates: Floats) -> Floats:
    """`flip_rates.corrected_scores` for the rates (rho0, rho1) of each action, of shape (2, n_actions)."""
    signal = 1 - rates[0] - rates[1]
    uninformative = signal < USELESS
    return flip_rates.corrected_scores(scores, baseline, rates[0], signal, uninformative & ~uninformative.all())


def keep_signal(false_positive: Floats, false_negative: Floats) -> Floats:
    """Both rates, scaled down where they leave less than a tenth of signal; shape (2, n_actions)."""
    rates = np.stack([false_positive, false_negative])
    return np.asarray(rates * np.minimum(1, (1 - LEAST_SIGNAL) / np.maximum(rates.sum(axis=0), 1e-12)))


def equal_shares_p_value(hits: Floats, rounds: Floats) -> float:
    """G2 test of equal shares in all groups."""
    some = rounds > 0
    if some.sum() < 2:
        return 1.0
    hits, rounds = hits[some], rounds[some]
    pooled = hits.sum() / rounds.sum()
    statistic = 2 * (_log_likelihood(hits, rounds, hits / rounds) - _log_likelihood(hits, rounds, pooled))
    return float(chi2.sf(statistic, len(hits) - 1))


def _log_likelihood(hits: Floats, rounds: Floats, share: Any) -> float:
    share = np.clip(share, 1e-12, 1 - 1e-12)
    return float(np.sum(hits * np.log(share) + (rounds - hits) * np.log1p(-share)))


def _count(
    scores: Floats, baseline: Floats, rates: Floats, actions: Codes, feedback: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Praise in surely wrong rounds and their number, blame in surely right rounds and their number, by action."""
    n_actions = scores.shape[1]
    right, wrong = sure_of(corrected_scores(scores, baseline, rates), actions)

    def tally(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
        return np.bincount(actions[chosen], weights=values[chosen], minlength=n_actions).astype(np.float64)

    ones = np.ones(len(actions))
    return tally(feedback, wrong), tally(ones, wrong), tally(1 - feedback, right), tally(ones, right)
