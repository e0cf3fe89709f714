"""Off-policy evaluation: the value of a target policy from the log of another, corrected for flipped feedback."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._numerics.ridge import relative_penalty
from noisewise._typing import Codes, Floats
from noisewise._validation import check_number
from noisewise.noise import Estimate, project_rows
from noisewise.online.logs.feedback_log import FeedbackLog
from noisewise.online.off_policy.target_policy import target_probabilities
from noisewise.online.off_policy.weighted_means import (
    SHRUNK,
    by_propensity,
    doubly_robust,
    warn_of_wrong_weights,
)
from noisewise.online.rates.flip_rates import Noise, flip_rates

METHODS = ("ips", "snips", "dr", *SHRUNK)
FOLDS = 5  # of the cross-fitted reward model
REWARD_MODEL_PENALTY = 1.0  # of its ridge regression, in units of the mean squared length of a row


def off_policy_value(
    log: FeedbackLog, policy: Any, noise: Noise = None, method: str = "dr", confidence: float = 0.95
) -> Estimate:
    """Off-policy estimate of the accuracy of a target policy from the log of another, corrected for flips.

    Feedback f is replaced by the unbiased reward h(f) = ``inv(T)[f, 1]`` = (f - rho0) / (1 - rho0 - rho1), and weighted
    by the target policy's probability of the action over its propensity, w = pi(a | x) / P(a | x)::

        IPS:    mean_t  w_t h_t                                                     [1]_
        SNIPS:  sum_t w_t h_t / sum_t w_t                                           [2]_
        DR:     mean_t  sum_a pi(a | x_t) q(x_t, a) + w_t (h_t - q(x_t, a_t))       [3]_

    with a cross-fitted ridge regression q of the rewards; "switch" and "shrinkage" are DR with smaller weights. IPS and
    DR are unbiased, and may lie outside [0, 1] in a short log. Without `noise` flipped feedback has the mean
    rho0 + (1 - rho0 - rho1) times the value. A round that stands for others that were dropped from the log is weighted
    for all of them; the number of rounds is then estimated too, and the value is only consistent.

    Parameters
    ----------
    log : FeedbackLog
        Its probabilities are the propensities of the actions.
    policy : labels the policy would play, one a round; or its probabilities, of shape (n_rounds, n_classes), where the
        columns of a frame are found by their names; or an object with ``predict``, such as a learner. The value of one
        that learnt from this very log is biased upwards.
    noise : FlipMatrix over wrong (0) and right (1), or one for each class, or None
        Taken as known: its own uncertainty is not in the interval.
    method : {"dr", "snips", "ips", "switch", "shrinkage"}
        "ips" is inverse propensity scoring; "snips" is self-normalised, with less variance but only consistent; "dr" is
        doubly robust. From fewer than a hundred rounds the regression of "dr" is poor, and its interval rather too
        narrow: take "ips" there. Where a few large weights decide, "switch" trusts the regression alone in their rounds
        [5]_, and "shrinkage" makes large weights smaller [6]_; how far is chosen by the estimated squared error. The
        interval holds that of "dr".
    confidence : probability with which the interval holds the value

    References
    ----------
    .. [1] Horvitz, D. G., Thompson, D. J. (1952). A generalization of sampling without replacement from a finite
       universe. Journal of the American Statistical Association 47(260), 663-685.
    .. [2] Swaminathan, A., Joachims, T. (2015). The self-normalized estimator for counterfactual learning. NeurIPS 28.
    .. [3] Dudík, M., Langford, J., Li, L. (2011). Doubly robust policy evaluation and learning. ICML 28, 1097-1104.
    .. [4] Hall, P. (1992). On the removal of skewness by transformation. Journal of the Royal Statistical Society B
       54(1), 221-228. The interval.
    .. [5] Wang, Y.-X., Agarwal, A., Dudík, M. (2017). Optimal and adaptive off-policy evaluation in contextual bandits.
       ICML 34, 3589-3597. Eq. 9.
    .. [6] Su, Y., Dimakopoulou, M., Krishnamurthy, A., Dudík, M. (2020). Doubly robust off-policy evaluation with
       shrinkage. ICML 37, 9167-9176. Optimistic weights.

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
    check_number("confidence", confidence, lambda level: 0 < level < 1, "it is a probability between 0 and 1")
    if not isinstance(log, FeedbackLog):
        raise ValueError(f"log is {log!r:.60}; a FeedbackLog is needed, with what was played and its feedback")
    if len(log) < 2:
        raise ValueError(f"the log has {len(log)} rounds; two or more are needed for a confidence interval")
    codes, rates = log.codes, flip_rates(noise, log.classes)
    target, multiplicity = target_probabilities(log, policy), log.weights / log.weights.mean()
    weights = target[np.arange(len(log)), codes] / log.probabilities
    rewards = (log.feedback - rates[codes, 0]) / (1 - rates[codes].sum(axis=1))  # h(f) = inv(T)[f, 1]
    warn_of_wrong_weights(weights, multiplicity)
    largest_signal = float((1 / (1 - rates.sum(axis=1))).max())
    unobserved = _unobserved_feedback(multiplicity * weights, log.feedback, largest_signal, confidence)
    if method in ("ips", "snips"):
        value, low, high = by_propensity(method, weights, rewards, multiplicity, confidence)
    else:
        expected = cross_fitted_rewards(project_rows(log.X), codes, rewards, len(log.classes), multiplicity)
        direct, own = (target * expected).sum(axis=1), expected[np.arange(len(log)), codes]
        value, low, high = doubly_robust(method, direct, weights, rewards - own, multiplicity, confidence)
    return Estimate(value, low - unobserved[1], high + unobserved[0])


def cross_fitted_rewards(
    X: NDArray[Any], codes: Codes, rewards: Floats, n_classes: int, multiplicity: Floats
) -> Floats:
    """Out-of-fold ridge estimates of every action's reward in every round; within [0, 1].

    `multiplicity` weights the rounds, with mean 1.
    """
    rows = np.column_stack([X, np.ones(len(X))]).astype(np.float64)
    penalty = np.full(rows.shape[1], relative_penalty(REWARD_MODEL_PENALTY, float(np.square(X).sum()), len(X)))
    penalty[-1] = 1e-9  # the intercept is not shrunk
    expected = np.empty((len(X), n_classes))
    folds = np.arange(len(X)) % FOLDS
    for fold in range(min(FOLDS, len(X))):
        mine, others = folds == fold, folds != fold
        for action in range(n_classes):
            train = others & (codes == action)
            if train.any():
                own = rows[train]
                weighted = own.T * multiplicity[train]
                solved = np.linalg.solve(weighted @ own + np.diag(penalty), weighted @ rewards[train])
                expected[mine, action] = rows[mine] @ solved
            else:
                expected[mine, action] = np.average(rewards[others], weights=multiplicity[others])
    return np.asarray(np.clip(expected, 0, 1))


def _unobserved_feedback(
    weights: Floats, feedback: NDArray[np.int8], span: float, confidence: float
) -> tuple[float, float]:
    """How far to widen the interval above and below if all feedback is the same, for the other kind.

    Such feedback has a standard error of zero, but the other kind may have any probability p with
    (1 - p)^n >= (1 - confidence) / 2 in n effective rounds, as in the interval of Clopper and Pearson.
    """
    observed = feedback[weights > 0]
    if len(observed) == 0 or observed.min() < observed.max():
        return 0.0, 0.0
    rounds = weights.sum() ** 2 / np.square(weights).sum()
    width = span * (1 - ((1 - confidence) / 2) ** (1 / rounds))
    return (0.0, float(width)) if observed[0] else (float(width), 0.0)
