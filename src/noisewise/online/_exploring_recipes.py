"""Named algorithms that learn from feedback and explore uniformly: Banditron and its relatives."""

from __future__ import annotations

from math import inf
from typing import Any

from noisewise._inputs import Chance
from noisewise.online._bandit import BanditClassifier
from noisewise.online._policies import UniformExploration
from noisewise.online._rates import Noise
from noisewise.online._recipe_parts import Classes, default_tracker, made_of
from noisewise.online._rules import Additive, PassiveAggressive, SecondOrderPerceptron


def banditron(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    gamma: float = 0.05,
    noise: Noise = None,
    random_state: Chance = None,
) -> BanditClassifier:
    """Banditron: a Perceptron for feedback, with a share `gamma` of uniform rounds; noise ruins it (see `rcnbf`)."""
    return made_of(UniformExploration(gamma), Additive(), "importance", n_classes, classes, noise, random_state)


def rcnbf(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    gamma: float = 0.05,
    noise: Noise = None,
    random_state: Chance = None,
) -> BanditClassifier:
    """Robust classification from noisy bandit feedback: Banditron on feedback corrected for known `noise`.

    >>> from noisewise import FlipMatrix
    >>> rcnbf(n_classes=10, noise=FlipMatrix.binary(false_positive=0.1, false_negative=0.3)).noise_
    FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
    """
    return banditron(n_classes, classes=classes, gamma=gamma, noise=noise, random_state=random_state)


def rcine(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    gamma: float = 0.05,
    block: int = 50_000,
    tracker: Any = None,
    noise: Noise = None,
    random_state: Chance = None,
) -> BanditClassifier:
    """As `rcnbf`, with the noise estimated after every `block` rounds [N_s] by `tracker`; `noise` is a first guess."""
    chosen = default_tracker(n_classes, classes) if tracker is None else tracker
    return made_of(
        UniformExploration(gamma),
        Additive(),
        "importance",
        n_classes,
        classes,
        noise,
        random_state,
        tracker=chosen,
        block=block,
    )


def bandit_pa(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    gamma: float = 0.005,
    C: float = inf,
    noise: Noise = None,
    random_state: Chance = None,
) -> BanditClassifier:
    """Passive-aggressive learning from feedback; under noise cap the step (`C` = 0.02) and explore little.

    `noise` helps where the step is capped, and hurts where it is not: corrected steps are longer.
    """
    rule = PassiveAggressive(C)
    return made_of(UniformExploration(gamma), rule, "sign", n_classes, classes, noise, random_state)


def soba(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    gamma: float = 0.05,
    ridge: float = 1.0,
    covariance: str = "diagonal",
    noise: Noise = None,
    random_state: Chance = None,
) -> BanditClassifier:
    """Second-order Banditron, which learns from praise only; the worst choice where praise may be false.

    The correlation of past updates is kept for each class apart, by its diagonal or in full. `noise` corrects every
    answer, but the steps are not linear in it, so that their mean is not that without noise.
    """
    rule = SecondOrderPerceptron(ridge)
    signal = "importance_rival"
    return made_of(UniformExploration(gamma), rule, signal, n_classes, classes, noise, random_state, covariance)
