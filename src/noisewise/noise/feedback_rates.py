"""Flip rates of right/wrong feedback from two moments of a log: high-confidence rounds and logged exploration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noisewise._typing import Codes, Floats
from noisewise._validation import check_number, find_actions, known_classes
from noisewise.noise.estimate import with_interval
from noisewise.noise.flip_matrix import FlipMatrix
from noisewise.noise.high_confidence import ranked_rounds
from noisewise.noise.logged_rounds import RELATIVE_PENALTY, check_log, leave_one_out_scores, project_rows

LEAST_POOLED_SIGNAL = 0.15  # 1 - rho0 - rho1 of all actions: below it, the correction multiplies errors by 1 / 0.15
HEAD_FRACTIONS = 0.7 ** np.arange(6)  # of the candidate rounds, from all of them down to the most confident sixth
LEAST_HEAD = 400  # rounds: a smaller head has too large an error to narrow further
NARROWING_ERRORS = 3.0  # standard errors by which a head must exceed a smaller one; at 2, one in ten would by accident
SELECTION_BIAS = 0.008  # of the feedback in rounds that score as wrong: they were chosen by the player
SELECTION_ERROR = 1.15  # factor of the standard error, because the head was selected by its own values
LARGEST_RIGHT_HEAD = 0.5  # of the rounds that played the best action; the margins of the others are too small
LARGEST_WRONG_HEAD = 0.7  # of the rounds whose action is not among the two best
NARROWED_INTERVAL = 1.65  # factor where a smaller head was selected for its low mean, which may be an accident
LEAST_ROUNDS = 20  # fewer high-confidence or effective exploring rounds identify nothing
Z = 1.959963984540054  # 97.5 % quantile of the standard normal distribution
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


class MeanFeedback(NamedTuple):
    """Mean of selected feedback, its standard error, and the number of rounds."""

    mean: float
    error: float
    rounds: int


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
    scores = leave_one_out_scores(project_rows(rescale(rows)), played, observed, len(known), ridge)
    terms, weights = exploration_terms(scores, played, observed, propensities)
    return combine_moments(scores, played, observed, ExplorationMoment.of(terms, weights))


@dataclass(frozen=True)
class ExplorationMoment:
    """Sums over a log that give the mean feedback of a uniformly drawn action."""

    rounds: int
    terms: float
    squared_terms: float
    weights: float
    squared_weights: float

    @classmethod
    def of(cls, terms: Floats, weights: Floats) -> ExplorationMoment:
        """Sum up the rounds of a log."""
        squares = float(np.square(terms).sum()), float(np.square(weights).sum())
        return cls(len(terms), float(terms.sum()), squares[0], float(weights.sum()), squares[1])

    @property
    def mean(self) -> float:
        """Mean feedback of a uniformly drawn action."""
        return self.terms / self.rounds

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return float(np.sqrt(max(self.squared_terms / self.rounds - self.mean**2, 0.0) / self.rounds))

    @property
    def effective_rounds(self) -> float:
        """Kish's effective sample size of the importance weights, (sum w)^2 / sum w^2."""
        return self.weights**2 / max(self.squared_weights, 1e-300)

    @property
    def covers_all_actions(self) -> bool:
        """Whether the importance weights average one, as they do if every action has a positive propensity."""
        mean = self.weights / self.rounds
        error = np.sqrt(max(self.squared_weights / self.rounds - mean**2, 0.0) / self.rounds)
        return bool(mean + 5 * error > 0.95 and self.effective_rounds >= LEAST_ROUNDS)


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
    half-width of rho1's interval.
    """
    n_classes = scores.shape[1]
    right, wrong = ranked_rounds(scores, actions)
    rho1, error1, count = consistent_head(1.0 - feedback[right], largest=LARGEST_RIGHT_HEAD)
    if count < LEAST_ROUNDS:
        reason = f"rho1 is not identified: fewer than {LEAST_ROUNDS} rounds played the regression's own best guess"
        return not_identified(moment.effective_rounds, count, reason)
    half_width = Z * error1 * inflation * (NARROWED_INTERVAL if count < int(LARGEST_RIGHT_HEAD * len(right)) else 1.0)
    interval1 = (max(rho1 - half_width, 0.0), min(rho1 + half_width, 1.0))
    if not moment.covers_all_actions:
        reason = (
            "rho0 is not identified: the log has hardly any rounds whose action was drawn at random; "
            "explore a little (1 % is enough) and log the probability of each action"
        )
        return clipped_estimate((0.0, rho1), ((0.0, 1 - rho1), interval1), moment.effective_rounds, count, reason)
    rho0 = (moment.mean - (1 - rho1) / n_classes) * n_classes / (n_classes - 1)
    error0 = float(np.hypot(moment.error * n_classes, error1) / (n_classes - 1))
    rho0, error0 = pool_with_known_wrong(rho0, error0, *(known_wrong or _wrong_by_scores(feedback[wrong])))
    interval0 = (min(max(rho0 - Z * error0, 0.0), 1.0), max(min(rho0 + Z * error0, 1.0), 0.0))
    reason = ""
    if 1 - rho0 - rho1 <= Z * np.hypot(error0, error1):
        interval0 = interval1 = (0.0, 1.0)
        reason = (
            "the rates are not identified: the regression's best guesses have no more positive feedback than actions "
            "at random, so that X does not tell which action is right, or the feedback does not"
        )
    rates = min(max(rho0, 0.0), 1.0), rho1
    return clipped_estimate(rates, (interval0, interval1), moment.effective_rounds, count, reason)


def rescale(rows: Any) -> Any:
    """Very large or small rows scaled to about one, by a power of two that leaves their digits as they are.

    The regression is in float32, where squares of other units may overflow or underflow.
    """
    largest = max(float(rows.max()), -float(rows.min()))
    if largest == 0 or LEAST_SCALE <= largest <= 1 / LEAST_SCALE:
        return rows
    return rows * 2.0 ** -max(int(np.frexp(largest)[1]), -1000)


def exploration_terms(scores: Floats, actions: Codes, feedback: Floats, propensities: Floats) -> tuple[Floats, Floats]:
    """Doubly robust terms whose mean is the feedback of a uniformly drawn action, and the weights 1 / (K P)."""
    weights = 1.0 / (scores.shape[1] * propensities)
    own = scores[np.arange(len(actions)), actions]
    return scores.mean(axis=1) + weights * (feedback - own), weights


def consistent_head(values: Floats, largest: float = 1.0, n_errors: float = NARROWING_ERRORS) -> MeanFeedback:
    """Mean over the largest head (most confident values first) that is consistent with every smaller head.

    Less confident rounds can only raise the mean. By the k-standard-error rule the largest head is taken whose mean
    exceeds that of no smaller one by more than `n_errors` standard errors of the difference; it is at most the
    fraction `largest` of all values.
    """
    if len(values) == 0:
        return MeanFeedback(0.0, 1.0, 0)
    sizes = (largest * HEAD_FRACTIONS * len(values)).astype(int)
    sizes = sizes[sizes >= min(LEAST_HEAD, sizes[0])]
    if sizes[0] == 0:
        return MeanFeedback(0.0, 1.0, 0)
    means = np.cumsum(values)[sizes - 1] / sizes
    variances = np.maximum(means * (1 - means), 2.0 / sizes)
    for j in range(len(sizes)):  # heads are nested: Var(m_j - m_k) = s^2 (1 / n_k - 1 / n_j)
        errors = np.sqrt(variances[j + 1 :] * (1 / sizes[j + 1 :] - 1 / sizes[j]))
        if np.all(means[j] - means[j + 1 :] <= n_errors * errors):
            break
    return MeanFeedback(float(means[j]), float(SELECTION_ERROR * np.sqrt(variances[j] / sizes[j])), int(sizes[j]))


def _wrong_by_scores(feedback: Floats) -> MeanFeedback:
    """Mean feedback of the rounds that score as wrong, whose error allows for the bias of that selection."""
    head = consistent_head(feedback, largest=LARGEST_WRONG_HEAD) if len(feedback) > 1 else MeanFeedback(0.0, 1.0, 0)
    return head._replace(error=float(np.hypot(head.error, SELECTION_BIAS)))


def pool_with_known_wrong(rho0: float, error: float, mean: float, mean_error: float, count: int) -> tuple[float, float]:
    """Inverse-variance weighted mean of rho0 and of the feedback in rounds known to be wrong, and its standard error.

    Unless there are too few of these, or the two differ by more than three standard errors.
    """
    if count < LEAST_ROUNDS or abs(mean - rho0) > 3 * np.hypot(mean_error, error):
        return rho0, error
    weight = error**2 / (error**2 + mean_error**2)
    covariance = min(mean * (1 - mean) / count, error**2)  # exploring rounds, mostly wrong, are in both
    variance = (weight * mean_error) ** 2 + ((1 - weight) * error) ** 2 + 2 * weight * (1 - weight) * covariance
    return weight * mean + (1 - weight) * rho0, float(np.sqrt(variance))
