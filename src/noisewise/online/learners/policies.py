"""How to act on scores: greedily, with uniform exploration, or by upper confidence bounds."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from noisewise._validation import check_number


@dataclass(frozen=True)
class Greedy:
    """Play the class with the highest score.

    >>> Greedy()
    Greedy()
    """

    @property
    def width_in_std(self) -> float:
        """No bonus for doubt."""
        return 0.0

    @property
    def share(self) -> float:
        """No uniform rounds."""
        return 0.0

    first_share = share


@dataclass(frozen=True)
class UniformExploration:
    """Play the best class, except in a share `gamma` of the rounds, played uniformly (the best class among them).

    >>> UniformExploration(gamma=0.1).share
    0.1
    """

    gamma: float = 0.05

    def __post_init__(self) -> None:
        _check_share("gamma", self.gamma)

    @property
    def width_in_std(self) -> float:
        """No bonus for doubt."""
        return 0.0

    @property
    def share(self) -> float:
        """Share of uniform rounds."""
        return self.gamma

    first_share = share


@dataclass(frozen=True)
class UpperConfidence:
    """Play the class whose score plus `width_in_std` standard deviations [k] is highest.

    A share `exploration` of the rounds is played uniformly; 0 by default. Without it, the rate of false praise
    can't be told from the learner's own log. Where the noise is tracked, `first_exploration` holds until it has been
    estimated for the first time.

    >>> UpperConfidence(width_in_std=1.2).share
    0.0
    """

    width_in_std: float = 1.0
    exploration: float = 0.0
    first_exploration: float | None = None

    def __post_init__(self) -> None:
        wanted = "it is a number of standard deviations, 0 or more"
        check_number("width_in_std", self.width_in_std, lambda width: 0 <= width < inf, wanted)
        _check_share("exploration", self.exploration)
        _check_share("first_exploration", self.first_share)

    @property
    def share(self) -> float:
        """Share of uniform rounds."""
        return self.exploration

    @property
    def first_share(self) -> float:
        """Share of uniform rounds before the noise has been estimated."""
        return self.exploration if self.first_exploration is None else self.first_exploration


Policy = Greedy | UniformExploration | UpperConfidence


def _check_share(name: str, share: float) -> None:
    check_number(name, share, lambda share: 0 <= share <= 1, "it is a share of the rounds, between 0 and 1")
