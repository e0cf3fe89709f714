"""One round of a log as files have it: features by name, the actions on offer, and their propensities."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from noisewise._typing import Floats
from noisewise.online.learners.decision import check_probabilities

Features = Mapping[str, float]
NO_FEATURES: Features = MappingProxyType({})


class Choice(NamedTuple):
    """An action that was on offer in a round, its own features, and its propensity, where that is known."""

    action: Any
    features: Features = NO_FEATURES
    probability: float | None = None


class LoggedRound(NamedTuple):
    """One round of a log as files have it, with features by name.

    A name is ``feature`` or ``namespace^feature``. `feedback` is 1 for right and 0 for wrong, or any reward where the
    log was read with an interval of rewards. `offered` is empty where every action could be played. `dropped` is
    the probability with which such a round was left out of the log.
    """

    features: Features
    action: Any
    feedback: float
    probability: float
    offered: tuple[Choice, ...] = ()
    id: str | None = None
    dropped: float = 0.0


def checked_round(
    features: Features,
    action: Any,
    feedback: float,
    probability: float,
    offered: tuple[Choice, ...],
    name: str | None,
    dropped: float = 0.0,
) -> LoggedRound:
    """A round whose propensity and probability of being dropped are possible."""
    if not 0 < probability <= 1:  # the array check says why, but is slow for one number
        check_probabilities(probability)
    if not 0 <= dropped < 1:
        check_dropped(dropped)
    return LoggedRound(features, action, feedback, float(probability), offered, name, float(dropped))


def check_dropped(dropped: Any) -> Floats:
    """Probabilities that leave some rounds in the log."""
    given = np.asarray(dropped, dtype=np.float64)
    wrong = ~((given >= 0) & (given < 1))
    if wrong.any():
        raise ValueError(
            f"a round was dropped with probability {np.atleast_1d(given)[np.atleast_1d(wrong)][0]} (pdrop in DSJSON); "
            "for one that is in the log it was 0 or more and below 1"
        )
    return given


def refuse_dropped(dropped: float, where: str) -> None:
    """Refuse rounds that stand for others in formats without a field for it."""
    if dropped:
        raise ValueError(
            f"rounds like this were dropped with probability {dropped:g}, for which {where} has no field; "
            "log.repeated() has each round as often as it stands for"
        )
