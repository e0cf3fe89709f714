"""What another policy would have been worth, from the log of the one that played."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from noisewise._numerics.ridge import relative_penalty
from noisewise._typing import Codes, Floats
from noisewise._validation import check_number
from noisewise.noise import Estimate, project_rows
from noisewise.online.logs.feedback_log import FeedbackLog
from noisewise.online.off_policy.target_policy import policy_chances
from noisewise.online.rates.flip_rates import Noise, flip_rates

METHODS = ("ips", "snips", "dr")
FOLDS = 5
REWARD_MODEL_PENALTY = 1.0  # of the doubly robust regression, in units of the mean squared length of a row
FEW = 20  # rounds: below it, a normal interval can't be trusted


def off_policy_value(
    log: FeedbackLog, policy: Any, noise: Noise = None, method: str = "dr", confidence: float = 0.95
) -> Estimate:
    """Share of rounds in which a policy would have been right, from the log of another, corrected for flips.

    Each answer f is replaced by ``inv(T)[f, 1]``, whose mean over the noise is the true one, and divided by the
    probability with which its action was played. So the value is unbiased, and may lie outside [0, 1] in a short log.
    Without `noise` flipped feedback shows rho0 + (1 - rho0 - rho1) times the value. A round that stands for others that
    were dropped from the log counts for all of them; how many rounds there were is then estimated too, and the value
    is right only for long logs.

    Parameters
    ----------
    log : FeedbackLog
        Its probabilities are those with which the actions were drawn.
    policy : labels the policy would play, one a round; or its probabilities, of shape (n_rounds, n_classes), where the
        columns of a frame are found by their names; or an object with ``predict``, such as a learner. One that learnt
        from this very log looks better than it is.
    noise : FlipMatrix over wrong (0) and right (1), or one for each class, or None
        Taken as known: its own uncertainty is not in the interval.
    method : {"dr", "snips", "ips"}
        "ips" weighs answers by the probability of the policy over that of the log; "snips" divides by the sum of the
        weights, which spreads less but is right only for long logs; "dr" (doubly robust) weighs what a regression of
        the answers, fitted on other rounds, does not explain. From fewer than a hundred rounds that regression is poor,
        and its interval rather too narrow: take "ips" there.
    confidence : probability with which the interval holds the value

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, actions = rng.integers(3, size=2000), rng.integers(3, size=2000)
    >>> log = FeedbackLog(np.eye(3)[y], actions, actions == y, np.full(2000, 1 / 3))
    >>> value = off_policy_value(log, policy=y)
    >>> value.low <= 1 <= value.high, value.high - value.low < 0.02
    (True, True)
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; known are {', '.join(map(repr, METHODS))}")
    check_number("confidence", confidence, lambda chance: 0 < chance < 1, "it is a probability between 0 and 1")
    if not isinstance(log, FeedbackLog):
        raise ValueError(f"log is {log!r:.60}; a FeedbackLog is needed, which holds what was played and heard")
    if len(log) < 2:
        raise ValueError(f"the log has {len(log)} rounds; two or more are needed to say how sure a value is")
    codes, rates = log.codes, flip_rates(noise, log.classes)
    chances, shares = policy_chances(log, policy), log.weights / log.weights.mean()
    weights = chances[np.arange(len(log)), codes] / log.probabilities
    answers = (log.feedback - rates[codes, 0]) / (1 - rates[codes].sum(axis=1))  # h(f) = inv(T)[f, 1]
    _warn_of_wrong_weights(weights, shares)
    unseen = _unseen(shares * weights, log.feedback, float((1 / (1 - rates.sum(axis=1))).max()), confidence)
    if method == "snips":
        value, errors = _weighted_mean(answers, shares * weights)
    else:
        terms = weights * answers
        if method == "dr":
            expected = held_out_answers(project_rows(log.X), codes, answers, len(log.classes), shares)
            own = expected[np.arange(len(log)), codes]
            terms = (chances * expected).sum(axis=1) + weights * (answers - own)
        value, errors = _weighted_mean(terms, shares)
    low, high = _interval(value, errors, confidence)
    return Estimate(value, low - unseen[1], high + unseen[0])


def held_out_answers(X: NDArray[Any], codes: Codes, answers: Floats, n_classes: int, shares: Floats) -> Floats:
    """Ridge estimates of every action's answer in every round, from the rounds of the other folds; within [0, 1].

    `shares` say what each round counts for, 1 in the mean.
    """
    rows = np.column_stack([X, np.ones(len(X))]).astype(np.float64)
    penalty = np.full(rows.shape[1], relative_penalty(REWARD_MODEL_PENALTY, float(np.square(X).sum()), len(X)))
    penalty[-1] = 1e-9  # the mean itself is not shrunk
    expected = np.empty((len(X), n_classes))
    folds = np.arange(len(X)) % FOLDS
    for fold in range(min(FOLDS, len(X))):
        mine, others = folds == fold, folds != fold
        for action in range(n_classes):
            shown = others & (codes == action)
            if shown.any():
                seen = rows[shown]
                counted = seen.T * shares[shown]
                solved = np.linalg.solve(counted @ seen + np.diag(penalty), counted @ answers[shown])
                expected[mine, action] = rows[mine] @ solved
            else:
                expected[mine, action] = np.average(answers[others], weights=shares[others])
    return np.asarray(np.clip(expected, 0, 1))


def _weighted_mean(terms: Floats, weights: Floats) -> tuple[float, Floats]:
    """The mean, and what each term adds to its error; to first order where the weights depend on chance too."""
    total = float(weights.sum())
    if total == 0:
        raise ValueError('the policy never plays what the log played; method="snips" has nothing to go by')
    value = float((weights * terms).sum() / total)
    return value, weights * (terms - value) * len(weights) / total


def _unseen(weights: Floats, feedback: NDArray[np.int8], span: float, confidence: float) -> tuple[float, float]:
    """How far the value may lie above and below its interval for answers that did not come, if all were alike.

    Answers that are all alike have no spread, but the other answer may have a chance p as long as (1 - p)^n is not
    too small for n rounds.
    """
    heard = feedback[weights > 0]
    if len(heard) == 0 or heard.min() < heard.max():
        return 0.0, 0.0
    rounds = weights.sum() ** 2 / np.square(weights).sum()
    reach = span * (1 - ((1 - confidence) / 2) ** (1 / rounds))
    return (0.0, float(reach)) if heard[0] else (float(reach), 0.0)


def _interval(value: float, errors: Floats, confidence: float) -> tuple[float, float]:
    """Where the mean of terms with these errors may lie: Student's law, corrected for skewness (Hall, 1992).

    A few large weights make the terms skewed, and the plain interval then lies too low.
    """
    n = len(errors)
    error = float(np.sqrt(np.square(errors).sum() / (n - 1) / n))
    if error == 0:
        return value, value
    skew = float((errors**3).mean() / np.square(errors).mean() ** 1.5 / np.sqrt(n))
    quantile = float(stdtrit(n - 1, (1 + confidence) / 2))
    ends = np.array([quantile, -quantile])
    if abs(skew) > 1e-9:
        ends = 3 / skew * (np.cbrt(1 + skew * (ends - skew / 6)) - 1)
    low, high = value - error * ends
    return float(low), float(high)


def _warn_of_wrong_weights(weights: Floats, shares: Floats) -> None:
    mean, errors = _weighted_mean(weights, shares)
    counted = shares * weights
    total, squares = counted.sum(), np.square(counted).sum()
    spread = np.sqrt(np.square(errors).mean() / len(weights))
    # draws that all agreed by chance have no spread of their own; with a mean of 1 they would have this
    spread_of_one = max(spread, np.sqrt(max(squares / len(weights) - 1, 0) / len(weights)))
    if mean + 5 * spread < 0.95:
        wrong = f"the weights average {mean:.2f} instead of 1: the log never plays part of what the policy plays"
    elif mean - 5 * spread_of_one > 1.05:
        wrong = (
            f"the weights average {mean:.2f} instead of 1: the policy looks at the actions that were drawn, or the "
            "log's probabilities are not those they were drawn with"
        )
    elif total**2 < FEW * squares:
        wrong = f"the log agrees with the policy in as much as {total**2 / squares:.0f} rounds only"
    else:
        return
    warnings.warn(f"{wrong}; the value and its interval can't be trusted", RuntimeWarning, stacklevel=3)
