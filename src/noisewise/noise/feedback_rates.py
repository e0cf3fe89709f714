"""Flip rates of right/wrong feedback from two moments of a log: high-confidence rounds and logged exploration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise._typing import Codes, Floats
from noisewise._validation import check_number, find_actions, known_classes
from noisewise.noise.estimate import with_interval
from noisewise.noise.exploration_moment import LEAST_ROUNDS, ExplorationMoment, exploration_terms
from noisewise.noise.flip_matrix import FlipMatrix
from noisewise.noise.heads import MeanFeedback, Z, consistent_head
from noisewise.noise.high_confidence import ranked_rounds
from noisewise.noise.logged_rounds import (
    NONLINEAR_FROM,
    RELATIVE_PENALTY,
    check_log,
    leave_one_out_scores,
    project_rows,
    sharper_scores,
)

LEAST_POOLED_SIGNAL = 0.15  # 1 - rho0 - rho1 of all actions: below it, the correction multiplies errors by 1 / 0.15
SELECTION_BIAS = 0.008  # of the feedback in rounds that score as wrong: they were chosen by the player
LARGEST_RIGHT_HEAD = 0.5  # of the rounds that played the best action; the margins of the others are too small
LARGEST_WRONG_HEAD = 0.7  # of the rounds whose action is not among the two best
# A head has at most this part of the excess of the rounds after it, where classes overlap. Chosen on digits, USPS,
# MNIST, Fashion-MNIST, shuttle, iris, mushroom, magic04, Raetsch's sets and Gaussian classes: 0 to .25 and 0 to .42
RIGHT_OVERLAP, WRONG_OVERLAP = 0.25, 0.4
LARGEST_EXCESS = 0.2  # in units of 1 - rho0 - rho1; of more, the head may have a larger part
WEIGHT_TAIL = 1.15  # factor of the exploration moment's error: few rounds of small propensity have most of its variance
NARROWED_INTERVAL = 1.65  # factor where a smaller head was selected for its low mean, which may be an accident
UNINFORMATIVE = (
    "the rates are not identified: the regression's best guesses have no more positive feedback than actions "
    "at random, so that X does not tell which action is right, or the feedback does not"
)
OVERLAP = (
    "the rates are not identified: even the regression's more confident guesses are often wrong, because X tells the "
    "right action of too few rows, or the rounds are too few, so that flipped feedback can't be told from wrong guesses"
)
SEVERAL_OR_NONE = (
    "the rates are not identified: actions drawn at random have more positive feedback on some rows than on others, "
    "so that several actions may be right for a row, or none, as with adverts"
)
SEVERAL_RIGHT = (
    "the rates are not identified: actions drawn at random have more positive feedback than one right action among "
    "wrong ones explains, so that several actions may be right for a row"
)
# Excess of a random action's positive feedback over that of wrong ones and one right one: as a fraction of
# 1 - rho0 - rho1, of which m right ones of K have (m - 1) / (K - 1), and in standard errors. Chosen on digits, segment,
# vehicle, landsat and pendigits: with one right action at most 2.1 standard errors in 160 logs
LEAST_SEVERAL, SEVERAL_ERRORS = 0.1, 2.5
LEAST_SCALE = 2.0**-20  # rows are left in their units if their largest value is between this and one over it


@dataclass(frozen=True)
class RateEstimate:
    """Estimated flip rates of right/wrong feedback, with 95 % confidence intervals and the rounds they rest on.

    ``noise`` can be passed wherever a noise is asked for. Where ``identified`` is false, ``reason`` says what is
    missing; the rate that is not identified is 0 or its raw estimate, and its interval covers all possible values.
    """

    noise: FlipMatrix
    false_positive_interval: tuple[float, float]
    false_negative_interval: tuple[float, float]
    exploring_rounds: float
    confident_rounds: int
    identified: bool
    reason: str

    @property
    def false_positive(self) -> float:
        """P(positive feedback | wrong) [rho0]."""
        return float(self.noise.matrix[0, 1])

    @property
    def false_negative(self) -> float:
        """P(negative feedback | right) [rho1]."""
        return float(self.noise.matrix[1, 0])

    def columns(self) -> dict[str, list[Any]]:
        """Columns of a report, in one row."""
        return {
            name: [value]
            for name, value in {
                **with_interval("false_positive", self.false_positive, *self.false_positive_interval),
                **with_interval("false_negative", self.false_negative, *self.false_negative_interval),
                "exploring_rounds": self.exploring_rounds,
                "confident_rounds": self.confident_rounds,
                "identified": self.identified,
                "reason": self.reason,
            }.items()
        }


def clipped_estimate(
    rates: tuple[float, float],
    intervals: tuple[tuple[float, float], tuple[float, float]],
    exploring_rounds: float,
    confident_rounds: int,
    reason: str = "",
) -> RateEstimate:
    """An estimate with 1 - rho0 - rho1 of at least 0.15, scaled down if need be; a reason means "not identified"."""
    identified, total = not reason, sum(rates)
    if total > 1 - LEAST_POOLED_SIGNAL:
        shrink = (1 - LEAST_POOLED_SIGNAL) / total
        rates = rates[0] * shrink, rates[1] * shrink
        clipped = f"the rates summed to {total:.2f} and were scaled down to {1 - LEAST_POOLED_SIGNAL}"
        reason = f"{reason}; {clipped}" if reason else clipped
    noise = FlipMatrix.binary(*rates)
    covering = [(min(low, rate), max(high, rate)) for rate, (low, high) in zip(rates, intervals)]
    return RateEstimate(noise, covering[0], covering[1], exploring_rounds, confident_rounds, identified, reason)


def not_identified(exploring_rounds: float, confident_rounds: int, reason: str) -> RateEstimate:
    """An estimate without information: rates of 0, intervals of all values, and the reason."""
    anything = (0.0, 1.0)
    return clipped_estimate((0.0, 0.0), (anything, anything), exploring_rounds, confident_rounds, reason)


def rates_from_moments(
    X: Any,
    actions: ArrayLike,
    feedback: ArrayLike,
    probabilities: ArrayLike,
    n_classes: int | None = None,
    ridge: float = RELATIVE_PENALTY,
    classes: Sequence[Any] | None = None,
) -> RateEstimate:
    """Flip rates of right/wrong feedback from a log with its propensities.

    Two moments identify the two rates. A ridge regression of the feedback on x for each action, leave-one-out, finds
    the rounds whose action is right with high confidence: the fraction of negative feedback there is rho1. The doubly
    robust estimate [1]_ of the mean feedback of a uniformly drawn action::

        mean_t [ mean_a q(x_t, a) + (f_t - q(x_t, a_t)) / (K P_t) ],    P_t the propensity of a_t,

    is rho0 + (1 - rho0 - rho1) / K, which gives rho0. Both rest on exactly one action being right for each row: clicks
    on adverts, of which several or none may please, have no such rates. Where the best actions have no more positive
    feedback than random ones, neither rate is identified, whatever its estimate.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rounds, n_features)
    actions : codes 0 ... n_classes - 1 of the played actions, or their labels if `classes` are given
    feedback : 0 or 1, as observed
    probabilities : propensities of the played actions, as they were when they were drawn
    n_classes : number of actions
    ridge : penalty of the regression, in units of the mean squared row length
    classes : labels of all actions, played or not, in place of their number

    References
    ----------
    .. [1] Dudík, M., Langford, J., Li, L. (2011). Doubly robust policy evaluation and learning. ICML 28, 1097-1104.
    .. [2] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Section 3, the noise model.

    Examples
    --------
    >>> from noisewise.noise import FlipMatrix
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=6000)
    >>> X = np.eye(3)[y] + rng.normal(scale=0.2, size=(6000, 3))
    >>> actions = rng.integers(3, size=6000)
    >>> feedback = FlipMatrix.binary(0.1, 0.3).corrupt((actions == y).astype(int), rng)
    >>> estimate = rates_from_moments(X, actions, feedback, np.full(6000, 1 / 3), n_classes=3)
    >>> estimate.identified, abs(estimate.false_positive - 0.1) < 0.02, abs(estimate.false_negative - 0.3) < 0.03
    (True, True, True)
    """
    check_number("ridge", ridge, lambda ridge: 0 < ridge < np.inf, "it must be positive and finite")
    known = known_classes(n_classes, classes)
    coded = actions if classes is None else find_actions(actions, known)
    rows, played, observed, propensities = check_log(X, coded, feedback, probabilities, len(known))
    features = project_rows(rescale(rows))
    scores = leave_one_out_scores(features, played, observed, len(known), ridge)
    terms, weights = exploration_terms(scores, played, observed, propensities)
    moment = ExplorationMoment.of(terms, weights, scores.mean(axis=1))
    kept, sharp, _ = sharper_scores(features, scores, played, observed)
    return combine_moments(sharp, played[kept], observed[kept], moment)


def combine_moments(
    scores: Floats,
    actions: Codes,
    feedback: Floats,
    moment: ExplorationMoment,
    known_wrong: MeanFeedback | None = None,
    inflation: float = 1.0,
) -> RateEstimate:
    """Both rates from leave-one-out scores of every action, and the exploration moment.

    `known_wrong`: feedback of rounds that are wrong by better evidence than these scores. `inflation`: factor of the
    sampling part of rho1's interval. Overlap of the classes is allowed for where there are enough rounds to judge it.
    """
    n_classes, judged = scores.shape[1], len(actions) >= NONLINEAR_FROM
    right, wrong = ranked_rounds(scores, actions)
    head, bias, narrowed = _right_by_scores(feedback[right], judged)
    if head.rounds < LEAST_ROUNDS:
        reason = f"rho1 is not identified: fewer than {LEAST_ROUNDS} rounds played the regression's own best guess"
        return not_identified(moment.effective_rounds, head.rounds, reason)
    if moment.covers_all_actions and moment.depends_on_rows:
        return not_identified(moment.effective_rounds, head.rounds, SEVERAL_OR_NONE)
    rho1, half_width = max(head.mean, 0.0), Z * head.error * inflation * narrowed + bias
    interval1 = _within_one(head.mean - half_width, head.mean + half_width)
    if not moment.covers_all_actions:
        reason = (
            "rho0 is not identified: the log has hardly any rounds whose action was drawn at random; "
            "explore a little (1 % is enough) and log the probability of each action"
        )
        return clipped_estimate((0.0, rho1), ((0.0, 1 - rho1), interval1), moment.effective_rounds, head.rounds, reason)
    error1 = float(np.hypot(head.error, bias))
    rho0 = (moment.mean - (1 - rho1) / n_classes) * n_classes / (n_classes - 1)
    explored = moment.error * n_classes * (WEIGHT_TAIL if judged else 1.0)
    error0 = float(np.hypot(explored, error1) / (n_classes - 1))
    known = known_wrong or _wrong_by_scores(feedback[wrong], judged)
    excess, unit = rho0 - known.mean, max(1 - rho0 - rho1, LEAST_POOLED_SIGNAL)
    in_errors = excess / float(np.hypot(error0, known.error))
    if known.rounds >= LEAST_ROUNDS and several_are_right(excess / unit, in_errors):
        return not_identified(moment.effective_rounds, head.rounds, SEVERAL_RIGHT)
    rho0, error0 = pool_with_known_wrong(rho0, error0, known)
    interval0 = _within_one(rho0 - Z * error0, rho0 + Z * error0)
    signal, reason = 1 - rho0 - rho1, ""
    if signal <= Z * np.hypot(error0, error1):
        reason = UNINFORMATIVE
    elif judged and head.excess > LARGEST_EXCESS * signal:
        reason = OVERLAP
    if reason:
        interval0 = interval1 = (0.0, 1.0)
    rates = min(max(rho0, 0.0), 1.0), rho1
    return clipped_estimate(rates, (interval0, interval1), moment.effective_rounds, head.rounds, reason)


def several_are_right(excess: float, in_errors: float) -> bool:
    """Whether a random action has more positive feedback than with one right action, in two units of the excess.

    >>> several_are_right(0.25, 4.0), several_are_right(0.25, 1.0), several_are_right(0.01, 4.0)
    (True, False, False)
    """
    return excess > LEAST_SEVERAL and in_errors > SEVERAL_ERRORS


def rescale(rows: Any) -> Any:
    """Very large or small rows scaled to about one, by a power of two that leaves their digits as they are.

    The regression is in float32, where squares of other units may overflow or underflow.
    """
    largest = max(float(rows.max()), -float(rows.min()))
    if largest == 0 or LEAST_SCALE <= largest <= 1 / LEAST_SCALE:
        return rows
    return rows * 2.0 ** -max(int(np.frexp(largest)[1]), -1000)


def rates_in_heads(X: Any, actions: Codes, feedback: Floats, n_classes: int) -> tuple[MeanFeedback, MeanFeedback]:
    """Both rates as the feedback in rounds that are wrong or right with high confidence; no propensities are needed.

    Unlike those of `rates_from_moments`, which pools two estimates of it, rho0 is only as good as the selected rounds.
    """
    features = project_rows(rescale(X))
    scores = leave_one_out_scores(features, actions, feedback, n_classes)
    kept, sharp, _ = sharper_scores(features, scores, actions, feedback)
    right, wrong = ranked_rounds(sharp, actions[kept])
    head, bias, narrowed = _right_by_scores(feedback[kept][right], True)
    error = float(np.hypot(head.error * narrowed, bias))
    return _wrong_by_scores(feedback[kept][wrong], True), head._replace(mean=max(head.mean, 0.0), error=error)


def _right_by_scores(feedback: Floats, judged: bool) -> tuple[MeanFeedback, float, float]:
    """Mean negative feedback of the rounds that score as right, in the middle of what overlap may have added to it.

    And the half of that, and the factor of the interval where a smaller head was selected.
    """
    head = consistent_head(1.0 - feedback, largest=LARGEST_RIGHT_HEAD)
    bias = RIGHT_OVERLAP / 2 * head.excess * judged
    narrowed = NARROWED_INTERVAL if head.rounds < int(LARGEST_RIGHT_HEAD * len(feedback)) else 1.0
    return head._replace(mean=head.mean - bias), bias, narrowed


def _wrong_by_scores(feedback: Floats, judged: bool) -> MeanFeedback:
    """Mean feedback of the rounds that score as wrong, whose error allows for overlap and for their selection."""
    head = consistent_head(feedback, largest=LARGEST_WRONG_HEAD) if len(feedback) > 1 else MeanFeedback(0.0, 1.0, 0)
    bias = WRONG_OVERLAP / 2 * head.excess * judged
    error = np.hypot(np.hypot(head.error, SELECTION_BIAS), bias)
    return head._replace(mean=max(head.mean - bias, 0.0), error=float(error))


def pool_with_known_wrong(rho0: float, error: float, known: MeanFeedback) -> tuple[float, float]:
    """Inverse-variance weighted mean of rho0 and of the feedback in rounds known to be wrong, and its standard error.

    Unless there are too few of these, or the two differ by more than three standard errors. A player who knows more
    than the regression is right in some of these rounds, and only the exploring rounds tell: what these rounds move
    rho0 by is in its error.
    """
    mean, mean_error, count, _ = known
    if count < LEAST_ROUNDS or abs(mean - rho0) > 3 * np.hypot(mean_error, error):
        return rho0, error
    weight = error**2 / (error**2 + mean_error**2)
    covariance = min(mean * (1 - mean) / count, error**2)  # exploring rounds, mostly wrong, are in both
    variance = (weight * mean_error) ** 2 + ((1 - weight) * error) ** 2 + 2 * weight * (1 - weight) * covariance
    return weight * mean + (1 - weight) * rho0, float(np.sqrt(variance + (weight * (mean - rho0)) ** 2))


def _within_one(low: float, high: float) -> tuple[float, float]:
    return min(max(low, 0.0), 1.0), max(min(high, 1.0), 0.0)
