"""Construction of the bandit classifiers of all recipes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from noisewise._typing import RandomState
from noisewise._validation import known_classes
from noisewise.online.learners.bandit import BanditClassifier
from noisewise.online.learners.policies import Policy
from noisewise.online.learners.rules import Rule
from noisewise.online.rates.flip_rates import Noise, flip_rates
from noisewise.online.rates.tracker import RateTracker

Classes = Sequence[Any] | None


def made_of(
    policy: Policy,
    rule: Rule,
    signal: str,
    n_classes: int | None,
    classes: Classes,
    noise: Noise,
    random_state: RandomState,
    covariance: str = "diagonal",
    **options: Any,
) -> BanditClassifier:
    """A configured learner; invalid noise is refused now rather than in the first round.

    Classes and noise are stored as a model file holds them: a range or a column of a frame is a list, a mapping a dict.
    """
    if isinstance(noise, Iterator):
        noise = list(noise)  # it is read more than once
    known = known_classes(n_classes, classes)
    flip_rates(noise, known)
    if not (classes is None or isinstance(classes, list | tuple | np.ndarray)):
        classes = known.tolist()
    if isinstance(noise, Mapping):
        noise = dict(noise)
    return BanditClassifier(
        policy,
        rule,
        signal,
        n_classes=n_classes,
        classes=classes,
        noise=noise,
        covariance=covariance,
        random_state=random_state,
        **options,
    )


def default_tracker(n_classes: int | None, classes: Classes) -> RateTracker:
    """The estimator of flip rates where the noise is not given."""
    return RateTracker(len(known_classes(n_classes, classes)))


def refuse_both(noise: Noise, tracker: Any) -> None:
    """Refuse a tracker that would never be used, because the noise is given."""
    if noise is not None and tracker is not None:
        raise ValueError("noise= gives the rates and tracker= estimates them; give one of the two")
