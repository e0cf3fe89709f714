"""Flip rates of right/wrong feedback from two moments of a log: confident rounds and logged exploration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise._typing import Codes, Floats
from noisewise._validation import check_number, find_actions, known_classes
from noisewise.noise.estimate import with_interval
from noisewise.noise.flip_matrix import FlipMatrix
from noisewise.noise.logged_rounds import RELATIVE_PENALTY, check_log, leave_one_out_scores, narrow

LEAST_SIGNAL = 0.15  # 1 - rho0 - rho1: below it, correcting multiplies the noise by more than 1 / 0.15


@dataclass(frozen=True)
class RateEstimate:
    """Estimated flip rates of right/wrong feedback, with 95 % intervals and what they rest on.

    ``noise`` can be passed on wherever a noise is asked for. Where ``identified`` is false, ``reason`` says what is
    missing, the rate that could not be found stands at 0, or at what it came out as, and its interval covers all that
    is possible.
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
        """P(seen as right | wrong) [rho0]."""
        return float(self.noise.matrix[0, 1])

    @property
    def false_negative(self) -> float:
        """P(seen as wrong | right) [rho1]."""
        return float(self.noise.matrix[1, 0])

    def columns(self) -> dict[str, list[Any]]:
        """All that is believed, in one row."""
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
    """An estimate whose rates leave some signal, scaled down if they did not; a reason means "not identified"."""
    identified, total = not reason, sum(rates)
    if total > 1 - LEAST_SIGNAL:
        shrink = (1 - LEAST_SIGNAL) / total
        rates = rates[0] * shrink, rates[1] * shrink
        clipped = f"the rates summed to {total:.2f} and were scaled down to {1 - LEAST_SIGNAL}"
        reason = f"{reason}; {clipped}" if reason else clipped
    noise = FlipMatrix.binary(*rates)
    ends = [(min(low, rate), max(high, rate)) for rate, (low, high) in zip(rates, intervals)]
    return RateEstimate(noise, ends[0], ends[1], exploring_rounds, confident_rounds, identified, reason)


STEPS = 0.7 ** np.arange(6)  # shares of the candidate rounds, from all of them down to the surest sixth
LEAST_ROUNDS = 400  # fewer sure rounds than this say too little to narrow further
SURPRISE = 3.0  # standard errors by which a head must exceed a surer one; at two, chance alone would narrow one in ten
DOUBT = 0.008  # bias allowed for in "surely wrong" rounds: the learner chose them, and may have known better
CHOICE = 1.15  # the standard error is this much larger because the head was chosen by looking at the values
SUREST = 0.5  # share of the rounds that played the best guess; the others are not sure enough
NARROWED = 1.65  # an interval is this much wider where a smaller head was taken, for being low, perhaps by chance
Z = 1.959963984540054  # 95 %
USUAL = 2.0**-20  # the largest number of rows in usual units is at least this, and at most one over it

Share = tuple[float, float, int]  # mean, its standard error, and of how many rounds


def rates_from_moments(
    X: Any,
    actions: ArrayLike,
    feedback: ArrayLike,
    probabilities: ArrayLike,
    n_classes: int | None = None,
    ridge: float = RELATIVE_PENALTY,
    classes: Sequence[Any] | None = None,
) -> RateEstimate:
    """Flip rates of right/wrong feedback from a log with its exploration probabilities.

    A ridge regression of the feedback on (x, action), each round scored without itself, finds the rounds where the
    played action is surely right: the share of "wrong" there is rho1. Weighting by the logged probabilities gives the
    mean feedback of an action drawn at random, which is rho0 + (1 - rho0 - rho1) / n_classes. Both rest on exactly one
    action being right for each row: clicks on adverts, of which several or none may please, have no such rates. Where
    the best guesses are praised no more than actions at random, neither rate is identified, whatever they came out as.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rounds, n_features)
    actions : codes 0 ... n_classes - 1 of the played actions, or their labels if `classes` are given
    feedback : 0 or 1, as observed
    probabilities : of the played actions, as they were when they were drawn
    n_classes : number of actions
    ridge : strength of the regression's penalty, in mean squared row lengths
    classes : labels of all actions, played or not, in place of their number

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
    rows, played, seen, chances = check_log(X, coded, feedback, probabilities, len(known))
    scores = leave_one_out_scores(narrow(of_usual_size(rows)), played, seen, len(known), ridge)
    terms, weights = exploration_terms(scores, played, seen, chances)
    moment = ExplorationMoment.of(terms, weights)
    return combine(scores, played, seen, moment)


@dataclass(frozen=True)
class ExplorationMoment:
    """Sums over a log that give the mean feedback of an action drawn at random; plain numbers, so they add up."""

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

    def __add__(self, other: ExplorationMoment) -> ExplorationMoment:
        return ExplorationMoment(
            self.rounds + other.rounds,
            self.terms + other.terms,
            self.squared_terms + other.squared_terms,
            self.weights + other.weights,
            self.squared_weights + other.squared_weights,
        )

    @property
    def mean(self) -> float:
        """Mean feedback of a uniformly drawn action."""
        return self.terms / self.rounds

    @property
    def error(self) -> float:
        """Its standard error."""
        return float(np.sqrt(max(self.squared_terms / self.rounds - self.mean**2, 0.0) / self.rounds))

    @property
    def effective_rounds(self) -> float:
        """As many uniformly drawn actions would say as much."""
        return self.weights**2 / max(self.squared_weights, 1e-300)

    @property
    def covers_all_actions(self) -> bool:
        """Whether the weights average one, as they must if every action had a chance in every round."""
        mean = self.weights / self.rounds
        spread = np.sqrt(max(self.squared_weights / self.rounds - mean**2, 0.0) / self.rounds)
        return bool(mean + 5 * spread > 0.95 and self.effective_rounds >= 20)


def combine(
    scores: Floats,
    actions: Codes,
    feedback: Floats,
    moment: ExplorationMoment,
    known_wrong: Share | None = None,
    doubt: float = 1.0,
) -> RateEstimate:
    """Both rates from held-out scores of every action, and the exploration moment.

    `known_wrong`: mean feedback, its error and the count of rounds that are better known to be wrong than by scores.
    `doubt`: how much wider the interval of rho1 is than its rounds alone would make it.
    """
    n_classes = scores.shape[1]
    sure_right, sure_wrong = sure_rounds(scores, actions)
    rho1, error1, count = plateau(1.0 - feedback[sure_right], largest=SUREST)
    if count < 20:
        reason = "rho1 is not identified: fewer than 20 rounds played the regression's own best guess"
        return clipped_estimate((0.0, 0.0), ((0.0, 1.0), (0.0, 1.0)), moment.effective_rounds, count, reason)
    reach = Z * error1 * doubt * (NARROWED if count < int(SUREST * len(sure_right)) else 1.0)
    near1 = (max(rho1 - reach, 0.0), min(rho1 + reach, 1.0))
    if not moment.covers_all_actions:
        reason = (
            "rho0 is not identified: the log has hardly any rounds whose action was drawn by chance; "
            "explore a little (1 % is enough) and log the probability of each action"
        )
        return clipped_estimate((0.0, rho1), ((0.0, 1 - rho1), near1), moment.effective_rounds, count, reason)
    rho0 = (moment.mean - (1 - rho1) / n_classes) * n_classes / (n_classes - 1)
    error0 = float(np.hypot(moment.error * n_classes, error1) / (n_classes - 1))
    rho0, error0 = with_known_wrong(rho0, error0, *(known_wrong or _by_scores(feedback[sure_wrong])))
    near0 = (min(max(rho0 - Z * error0, 0.0), 1.0), max(min(rho0 + Z * error0, 1.0), 0.0))
    reason = ""
    if 1 - rho0 - rho1 <= Z * np.hypot(error0, error1):
        near0 = near1 = (0.0, 1.0)
        reason = (
            "the rates are not identified: the regression's best guesses are praised no more than actions at random, "
            "so that X does not tell which action is right, or the answers do not"
        )
    return clipped_estimate((min(max(rho0, 0.0), 1.0), rho1), (near0, near1), moment.effective_rounds, count, reason)


def of_usual_size(rows: Any) -> Any:
    """Very large or small rows scaled to about one, by a power of two that leaves their digits as they are.

    They are kept in float32, where squares of other units could be too large or too small for any number.
    """
    largest = max(float(rows.max()), -float(rows.min()))
    if largest == 0 or USUAL <= largest <= 1 / USUAL:
        return rows
    return rows * 2.0 ** -max(int(np.frexp(largest)[1]), -1000)


def exploration_terms(scores: Floats, actions: Codes, feedback: Floats, probabilities: Floats) -> tuple[Floats, Floats]:
    """Doubly robust terms whose mean is the feedback of a uniformly drawn action, and the weights 1 / (K P)."""
    weights = 1.0 / (scores.shape[1] * probabilities)
    own = scores[np.arange(len(actions)), actions]
    return scores.mean(axis=1) + weights * (feedback - own), weights


def sure_rounds(scores: Floats, actions: Codes) -> tuple[Codes, Codes]:
    """Rounds whose played action is the best guess, and those where it is not among the two best; surest first."""
    n_classes = scores.shape[1]
    ordered = np.sort(scores, axis=1)
    own = scores[np.arange(len(actions)), actions]
    right = np.flatnonzero(own == ordered[:, -1])
    second = ordered[:, -2] if n_classes > 2 else ordered[:, -1]  # of two actions, one is best
    wrong = np.flatnonzero(own < second)
    lead = ordered[:, -1] - ordered[:, -2]
    return (
        right[np.argsort(-lead[right], kind="stable")],
        wrong[np.argsort((own - ordered[:, -1])[wrong], kind="stable")],
    )


def plateau(values: Floats, largest: float = 1.0, surprise: float = SURPRISE) -> Share:
    """Mean of the surest values, standard error and count: as many as agree with all that are surer still.

    Doubtful rounds push the mean up, so the largest head that is not above the smaller ones, by more than `surprise`
    standard errors, is taken, and none larger than the share `largest`.
    """
    if len(values) == 0:
        return 0.0, 1.0, 0
    sizes = (largest * STEPS * len(values)).astype(int)
    sizes = sizes[sizes >= min(LEAST_ROUNDS, sizes[0])]
    if sizes[0] == 0:
        return 0.0, 1.0, 0
    means = np.cumsum(values)[sizes - 1] / sizes
    variances = np.maximum(means * (1 - means), 2.0 / sizes)
    for j in range(len(sizes)):  # heads are nested: the variance of a difference is that of the surplus
        spread = np.sqrt(variances[j + 1 :] * (1 / sizes[j + 1 :] - 1 / sizes[j]))
        if np.all(means[j] - means[j + 1 :] <= surprise * spread):
            break
    return float(means[j]), float(CHOICE * np.sqrt(variances[j] / sizes[j])), int(sizes[j])


def _by_scores(feedback: Floats) -> Share:
    """Mean feedback of the surest seven tenths of the rounds that score as wrong, with some doubt."""
    mean, error, count = plateau(feedback, largest=0.7) if len(feedback) > 1 else (0.0, 1.0, 0)
    return mean, float(np.hypot(error, DOUBT)), count


def with_known_wrong(rho0: float, error: float, mean: float, spread: float, count: int) -> tuple[float, float]:
    """Sharpen rho0 by the rounds whose action is surely wrong, unless they contradict the exploration."""
    if count < 20 or abs(mean - rho0) > 3 * np.hypot(spread, error):
        return rho0, error
    weight = error**2 / (error**2 + spread**2)
    shared = min(mean * (1 - mean) / count, error**2)  # covariance: exploring rounds, mostly wrong, stand in both
    variance = (weight * spread) ** 2 + ((1 - weight) * error) ** 2 + 2 * weight * (1 - weight) * shared
    return weight * mean + (1 - weight) * rho0, float(np.sqrt(variance))
