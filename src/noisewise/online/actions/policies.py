"""Policies for actions with features: Thompson sampling and inverse-gap weighting, beside those of all learners."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from noisewise._loops.action_state import BOUNDS, INVERSE_GAP, MATCHING
from noisewise._validation import check_number
from noisewise.online.learners.policies import Greedy, UniformExploration, UpperConfidence


@dataclass(frozen=True)
class ThompsonSampling:
    """Play each action with the probability that it is the best (probability matching).

    The posterior of the scores is normal, each action's independent of the others', with the standard deviation of its
    difference from the mean action multiplied by `width_in_std`. The probabilities are computed, not sampled, so the
    propensity of what was played is exact.

    References
    ----------
    .. [1] Thompson, W. R. (1933). On the likelihood that one unknown probability exceeds another in view of the
       evidence of two samples. Biometrika 25(3/4), 285-294.
    .. [2] Agrawal, S., Goyal, N. (2013). Thompson sampling for contextual bandits with linear payoffs. ICML 30,
       127-135.

    Examples
    --------
    >>> ThompsonSampling(width_in_std=0.5)
    ThompsonSampling(width_in_std=0.5)
    """

    width_in_std: float = 0.1

    def __post_init__(self) -> None:
        wanted = "it is a number of standard deviations, 0 or more"
        check_number("width_in_std", self.width_in_std, lambda width: 0 <= width < inf, wanted)


@dataclass(frozen=True)
class InverseGapWeighting:
    """Play each action with a probability that falls with the gap between its score and the best (SquareCB).

    P(a) = 1 / (K + gamma (best score - score of a)) for all but the best, with gamma = `gamma_scale` n^`exponent` after
    n rounds.

    References
    ----------
    .. [1] Foster, D. J., Rakhlin, A. (2020). Beyond UCB: optimal and efficient contextual bandits with regression
       oracles. ICML 37, 3199-3210. Algorithm 1.

    Examples
    --------
    >>> InverseGapWeighting().exponent
    0.5
    """

    gamma_scale: float = 10.0
    exponent: float = 0.5

    def __post_init__(self) -> None:
        check_number("gamma_scale", self.gamma_scale, lambda scale: 0 < scale < inf, "it is a number above 0")
        check_number("exponent", self.exponent, lambda power: 0 <= power <= 1, "it is between 0 and 1")


def policy_parameters(policy: Any) -> tuple[int, float, float]:
    """A policy as the loops take it: its kind and two numbers.

    >>> policy_parameters(UniformExploration(0.1))
    (0, 0.0, 0.1)
    """
    if isinstance(policy, ThompsonSampling):
        return MATCHING, float(policy.width_in_std), 0.0
    if isinstance(policy, InverseGapWeighting):
        return INVERSE_GAP, float(policy.gamma_scale), float(policy.exponent)
    if isinstance(policy, Greedy | UniformExploration | UpperConfidence):
        return BOUNDS, float(policy.width_in_std), float(policy.exploration_rate)
    raise ValueError(
        f"policy is {policy!r:.60}; ThompsonSampling(), InverseGapWeighting(), UpperConfidence(), UniformExploration() "
        "or Greedy() is needed"
    )
