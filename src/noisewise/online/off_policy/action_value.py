"""Off-policy evaluation over actions with features: the value of a target policy from the log of another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise._validation import check_number
from noisewise.noise import Estimate
from noisewise.online.actions.bandit import ContextualBandit
from noisewise.online.actions.rewards import RewardScale, channel_of
from noisewise.online.logs.logged_round import LoggedRound
from noisewise.online.off_policy.value import FOLDS, METHODS
from noisewise.online.off_policy.weighted_means import by_propensity, doubly_robust, warn_of_wrong_weights

Policy = ContextualBandit | Callable[[LoggedRound], Any]


def off_policy_action_value(
    rounds: Iterable[LoggedRound],
    policy: Policy,
    rewards: tuple[float, float] = (0.0, 1.0),
    noise: Any = None,
    method: str = "dr",
    confidence: float = 0.95,
) -> Estimate:
    """Off-policy estimate of the mean reward of a target policy among actions with features, with an interval.

    As `off_policy_value`, for logs whose rounds have different actions on offer. The reward model of "dr" is a
    `ContextualBandit` on the features of context and action, cross-fitted.

    Parameters
    ----------
    rounds : rounds of a log, as ``iter_vw(path, layout="adf", rewards=...)`` and `iter_dsjson` give them
    policy : a `ContextualBandit`, or a function from a round to the position of the action played among those offered,
        or to the probability of each. The value of one that learnt from this very log is biased upwards.
    rewards : the interval of the rewards
    noise : FlipMatrix over low (0) and high (1) reward, GaussianNoise, or None
        Taken as known: its own uncertainty is not in the interval.
    method : {"dr", "snips", "ips", "switch", "shrinkage"}
        Doubly robust; self-normalised; plain inverse propensity scoring; or doubly robust with large weights cut or
        shrunk, as in `off_policy_value`.
    confidence : probability with which the interval holds the value

    References
    ----------
    .. [1] Dudík, M., Langford, J., Li, L. (2011). Doubly robust policy evaluation and learning. ICML 28, 1097-1104.

    Examples
    --------
    >>> from noisewise.online import Choice
    >>> rng, offered = np.random.default_rng(0), (Choice("a", {"x": 1.0}), Choice("b", {"y": 1.0}))
    >>> log = [LoggedRound({}, "ab"[k], float(k), 0.5, offered) for k in rng.integers(2, size=500)]
    >>> value = off_policy_action_value(log, policy=lambda one: 1)  # always b
    >>> round(value, 2)
    1.0
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; known are {', '.join(map(repr, METHODS))}")
    check_number("confidence", confidence, lambda level: 0 < level < 1, "it is a probability between 0 and 1")
    log, scale = list(rounds), RewardScale.read(rewards, False, None)
    if len(log) < 2:
        raise ValueError(f"the log has {len(log)} rounds; two or more are needed for a confidence interval")
    channel = channel_of(noise, scale.high - scale.low)
    played = np.array([_played(one) for one in log])
    units = np.array([scale.unit(one.feedback, channel.bounded) for one in log])
    clean = (units - channel.offset) / channel.signal
    targets = [target_of(policy, one) for one in log]
    multiplicity = np.array([1 / (1 - one.dropped) for one in log])
    multiplicity /= multiplicity.mean()
    weights = np.array([target[k] for target, k in zip(targets, played)])
    weights /= np.array([one.probability for one in log])
    warn_of_wrong_weights(weights, multiplicity)
    if method in ("ips", "snips"):
        found = by_propensity(method, weights, clean, multiplicity, confidence)
    else:
        expected = _cross_fitted(log, noise, scale)
        own = np.array([each[k] for each, k in zip(expected, played)])
        direct = np.array([target @ each for target, each in zip(targets, expected)])
        found = doubly_robust(method, direct, weights, clean - own, multiplicity, confidence)
    return Estimate(*(float(scale.given(end)) for end in found))


def target_of(policy: Policy, one: LoggedRound) -> Floats:
    """The target policy's probability of each action on offer."""
    n_actions = len(one.offered)
    if isinstance(policy, ContextualBandit):
        features, names = [choice.features for choice in one.offered], [choice.action for choice in one.offered]
        return policy.probabilities(one.features, features, names)
    given = np.asarray(policy(one))
    if given.ndim == 0 and given.dtype.kind in "iu" and 0 <= given < n_actions:
        return np.asarray(np.arange(n_actions) == given, dtype=np.float64)
    if given.shape == (n_actions,) and (given >= 0).all() and abs(given.sum() - 1) < 1e-6:
        return np.asarray(given, dtype=np.float64)
    raise ValueError(
        f"the policy gave {given.tolist()!r:.60} for a round with {n_actions} actions; the position of one, or as many "
        "probabilities that sum to 1, are needed"
    )


def _played(one: LoggedRound) -> int:
    names = [choice.action for choice in one.offered]
    if one.action not in names:
        raise ValueError(f"a round played {one.action!r}, which was not on offer; a log in ADF layout is needed")
    return names.index(one.action)


def _cross_fitted(log: list[LoggedRound], noise: Any, scale: RewardScale) -> list[Floats]:
    """Out-of-fold estimates of the reward of each action on offer, within [0, 1]."""
    expected: list[Floats] = [np.zeros(0)] * len(log)
    folds = np.arange(len(log)) % min(FOLDS, len(log))
    for fold in range(folds.max() + 1):
        model = ContextualBandit(rewards=(scale.low, scale.high), noise=noise)
        model.learn_rounds([log[index] for index in np.flatnonzero(folds != fold)])
        for index in np.flatnonzero(folds == fold):
            features = [choice.features for choice in log[index].offered]
            predicted = scale.units(model.predict(log[index].features, features))
            expected[index] = np.clip(predicted, 0, 1)
    return expected
