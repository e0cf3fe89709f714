"""Named algorithms that learn from feedback and explore uniformly: Banditron and its relatives."""

from __future__ import annotations

from math import inf
from typing import Any

from noisewise._typing import RandomState
from noisewise.online.learners.bandit import BanditClassifier
from noisewise.online.learners.policies import UniformExploration
from noisewise.online.learners.rules import Additive, PassiveAggressive, SecondOrderPerceptron
from noisewise.online.rates.flip_rates import Noise
from noisewise.online.recipes.parts import Classes, default_tracker, made_of, refuse_both


def banditron(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    gamma: float = 0.05,
    noise: Noise = None,
    random_state: RandomState = None,
) -> BanditClassifier:
    """Banditron: a Perceptron for feedback, with a share `gamma` of uniform rounds; noise ruins it (see `rcnbf`).

    >>> banditron(classes=["cat", "dog"], gamma=0.2, random_state=0).decide([1.0, 0.5]).probability
    0.9
    """
    return made_of(UniformExploration(gamma), Additive(), "importance", n_classes, classes, noise, random_state)


def rcnbf(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    gamma: float = 0.05,
    noise: Noise = None,
    random_state: RandomState = None,
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
    random_state: RandomState = None,
) -> BanditClassifier:
    """As `rcnbf`, with the noise estimated after every `block` rounds [N_s] by `tracker`.

    Where `noise` is given, it is corrected for and nothing is estimated.

    >>> learner = rcine(n_classes=2, gamma=0.5, block=1000, random_state=0)
    >>> y = [0, 1] * 2000
    >>> history = learner.play([[1.0, 0.0], [0.0, 1.0]] * 2000, y)
    >>> learner.tracker_.estimate().identified
    True
    """
    refuse_both(noise, tracker)
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
    random_state: RandomState = None,
) -> BanditClassifier:
    """Passive-aggressive learning from feedback; under noise cap the step (`C` = 0.02) and explore little.

    `noise` helps where the step is capped, and hurts where it is not: corrected steps are longer.

    >>> learner = bandit_pa(n_classes=3, C=0.02, random_state=0)
    >>> learner.learn(learner.decide([1.0, 0.0]), feedback=1).decision_function([[1.0, 0.0]])
    array([[0.02, 0.  , 0.  ]])
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
    random_state: RandomState = None,
) -> BanditClassifier:
    """Second-order Banditron, which learns from praise only; the worst choice where praise may be false.

    The correlation of past updates is kept for each class apart, by its diagonal or in full. `noise` corrects every
    answer, but the steps are not linear in it, so that their mean is not that without noise.

    >>> learner = soba(n_classes=3, random_state=0)
    >>> learner.learn(learner.decide([1.0, 0.0]), feedback=0).n_updates_
    0
    """
    rule = SecondOrderPerceptron(ridge)
    signal = "importance_rival"
    return made_of(UniformExploration(gamma), rule, signal, n_classes, classes, noise, random_state, covariance)
