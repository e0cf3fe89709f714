"""Exploration policies: greedy, uniform exploration (epsilon-greedy), upper confidence bounds."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from noisewise._deprecation import renamed
from noisewise._validation import check_number


class _Policy:
    """What the learners read of a policy: here neither a UCB bonus nor exploration."""

    share = renamed("share", "exploration_rate")
    first_share = renamed("first_share", "first_exploration_rate")
    width_in_std: float = 0.0

    @property
    def exploration_rate(self) -> float:
        """Fraction of rounds played uniformly at random."""
        return 0.0

    @property
    def first_exploration_rate(self) -> float:
        """Fraction of rounds played uniformly before the noise has been estimated."""
        return self.exploration_rate


@dataclass(frozen=True)
class Greedy(_Policy):
    """Play the class with the highest score.

    >>> Greedy().exploration_rate
    0.0
    """


@dataclass(frozen=True)
class UniformExploration(_Policy):
    """Play the best class, except in a fraction `gamma` of the rounds, played uniformly (epsilon-greedy).

    The greedy class has the propensity 1 - gamma + gamma / K, every other gamma / K.

    References
    ----------
    .. [1] Kakade, S. M., Shalev-Shwartz, S., Tewari, A. (2008). Efficient bandit algorithms for online multiclass
       prediction. ICML 25, 440-447. Algorithm 1.

    Examples
    --------
    >>> UniformExploration(gamma=0.1).exploration_rate
    0.1
    """

    gamma: float = 0.05

    def __post_init__(self) -> None:
        _check_rate("gamma", self.gamma)

    @property
    def exploration_rate(self) -> float:
        """Fraction of rounds played uniformly at random."""
        return self.gamma


@dataclass(frozen=True)
class UpperConfidence(_Policy):
    """Play the class with the highest upper confidence bound (UCB): score + `width_in_std` standard deviations [k].

    A fraction `exploration` of the rounds is played uniformly; 0 by default. Without it, the false-positive rate of the
    feedback is not identified from the learner's own log. Where the noise is tracked, `first_exploration` holds until
    it has been estimated for the first time.

    References
    ----------
    .. [1] Li, L., Chu, W., Langford, J., Schapire, R. E. (2010). A contextual-bandit approach to personalized news
       article recommendation. WWW 19, 661-670. Algorithm 1.

    Examples
    --------
    >>> UpperConfidence(width_in_std=1.2).exploration_rate
    0.0
    """

    width_in_std: float = 1.0
    exploration: float = 0.0
    first_exploration: float | None = None

    def __post_init__(self) -> None:
        wanted = "it is a number of standard deviations, 0 or more"
        check_number("width_in_std", self.width_in_std, lambda width: 0 <= width < inf, wanted)
        _check_rate("exploration", self.exploration)
        _check_rate("first_exploration", self.first_exploration_rate)

    @property
    def exploration_rate(self) -> float:
        """Fraction of rounds played uniformly at random."""
        return self.exploration

    @property
    def first_exploration_rate(self) -> float:
        """Fraction of rounds played uniformly before the noise has been estimated."""
        return self.exploration if self.first_exploration is None else self.first_exploration


Policy = Greedy | UniformExploration | UpperConfidence


def _check_rate(name: str, rate: float) -> None:
    check_number(name, rate, lambda rate: 0 <= rate <= 1, "it is a fraction of the rounds, between 0 and 1")
