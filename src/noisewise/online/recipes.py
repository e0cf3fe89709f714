"""The named algorithms: each a policy, a signal and a rule.

From labels (`OnlineClassifier`): `perceptron`, `mpa`, `mcw`, `mscw`, `arow`, `nherd`. From right/wrong feedback
(`BanditClassifier`): `banditron`, `bandit_pa`, `soba`, `confidit`, `linucb`, `ucwl`, and for noisy feedback `rcnbf`,
`rcine`, `corrected_ucwl`. Every feedback recipe takes `n_classes` or `classes=`, `noise=` (a `FlipMatrix` over wrong
and right, or one for each class) and `random_state=`, and corrects for the noise it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from noisewise._inputs import Chance
from noisewise.online._action_rates import ActionRateTracker
from noisewise.online._bandit import BanditClassifier
from noisewise.online._label_recipes import arow, mcw, mpa, mscw, nherd, perceptron
from noisewise.online._policies import Policy, UniformExploration, UpperConfidence
from noisewise.online._rates import Noise, flip_rates, known_classes
from noisewise.online._rules import (
    Additive,
    Confidence,
    LeastSquares,
    PassiveAggressive,
    Rule,
    SecondOrderPerceptron,
)
from noisewise.online._tracking import RateTracker
from noisewise.online._weighing import check_missing

__all__ = [
    "arow",
    "bandit_pa",
    "banditron",
    "confidit",
    "corrected_ucwl",
    "linucb",
    "mcw",
    "mpa",
    "mscw",
    "nherd",
    "perceptron",
    "rcine",
    "rcnbf",
    "soba",
    "ucwl",
]
Classes = Sequence[Any] | None


def banditron(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    gamma: float = 0.05,
    noise: Noise = None,
    random_state: Chance = None,
) -> BanditClassifier:
    """Banditron: a Perceptron for feedback, with a share `gamma` of uniform rounds; noise ruins it (see `rcnbf`)."""
    return _feedback(UniformExploration(gamma), Additive(), "importance", n_classes, classes, noise, random_state)


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
    chosen = _default_tracker(n_classes, classes) if tracker is None else tracker
    return _feedback(
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
    """Passive-aggressive learning from feedback; under noise cap the step (`C` = 0.02) and explore little."""
    rule = PassiveAggressive(C)
    return _feedback(UniformExploration(gamma), rule, "sign", n_classes, classes, noise, random_state)


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

    The correlation of past updates is kept for each class apart, by its diagonal or in full.
    """
    rule = SecondOrderPerceptron(ridge)
    signal = "importance_rival"
    return _feedback(UniformExploration(gamma), rule, signal, n_classes, classes, noise, random_state, covariance)


def confidit(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    width_in_std: float = 1.0,
    ridge: float = 1.0,
    projection: bool = True,
    covariance: str = "diagonal",
    noise: Noise = None,
    random_state: Chance = None,
) -> BanditClassifier:
    """Confidit: least squares of +-1 feedback and upper confidence; `projection` keeps scores within [-1, 1]."""
    rule = LeastSquares(ridge, projection)
    return _feedback(UpperConfidence(width_in_std), rule, "sign", n_classes, classes, noise, random_state, covariance)


def linucb(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    width_in_std: float = 1.0,
    ridge: float = 1.0,
    covariance: str = "full",
    noise: Noise = None,
    rates: str | None = None,
    exploration: float | None = None,
    missing: str = "drop",
    random_state: Chance = None,
) -> BanditClassifier:
    """LinUCB: least squares of the feedback for each class, full covariance, upper confidence.

    Noise that is the same for all classes does not move its best class. For rates that differ by class, `noise` (one
    `FlipMatrix` each) corrects the scores afterwards, so that the rates may change at any time (`use_noise`).
    ``rates="action"`` estimates them on line, uses them only where they surely differ, and judges a class whose
    feedback says too little by what the others leave over; ``tracker_.report`` has what it believes. A share
    `exploration` of the rounds is then played uniformly (0.01, else 0): praise for everything can't be seen otherwise.

    ``learn(decision, feedback, person=...)`` learns who can be believed and counts each answer by what it tells.
    ``missing="auto"`` reads no answer (None) as a third answer, if it depends on the truth; "drop" and "no" do not ask.
    ``report()`` has what is believed, in one frame.
    """
    check_missing(missing)
    if rates not in (None, "action"):
        raise ValueError(f"rates is {rates!r}; it is 'action' (estimated for each class) or None")
    tracker = ActionRateTracker(len(known_classes(n_classes, classes)), ridge) if rates else None
    share = (0.01 if rates else 0.0) if exploration is None else exploration
    policy, rule = UpperConfidence(width_in_std, share), LeastSquares(ridge)
    return _feedback(
        policy, rule, "value", n_classes, classes, noise, random_state, covariance, tracker=tracker, missing=missing
    )


def ucwl(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    width_in_std: float = 1.2,
    confidence: float = 0.75,
    C: float = 0.125,
    covariance: str = "diagonal",
    noise: Noise = None,
    random_state: Chance = None,
) -> BanditClassifier:
    """Upper confidence weighted learning: soft confidence-weighted learning of +-1 feedback and upper confidence.

    The defaults suit rows of norm one; for raw features in [0, 1] try confidence=0.95 and width_in_std=2.
    """
    rule = Confidence(confidence, C)
    return _feedback(UpperConfidence(width_in_std), rule, "sign", n_classes, classes, noise, random_state, covariance)


def corrected_ucwl(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    width_in_std: float = 1.2,
    confidence: float = 0.75,
    C: float = 0.125,
    scale_step: bool = True,
    covariance: str = "diagonal",
    noise: Noise = None,
    tracker: Any = None,
    block: int = 10_000,
    exploration: float = 0.01,
    random_state: Chance = None,
) -> BanditClassifier:
    """UCWL on corrected feedback: its mean moves, on average over the noise, as it would without noise.

    With `noise=None` the rates are estimated after every `block` rounds by `tracker`, from a share `exploration` of
    uniform rounds (five times that in the first block). `scale_step` shrinks C with the information in the feedback.
    """
    policy = UpperConfidence(width_in_std)
    if noise is None:
        tracker = _default_tracker(n_classes, classes) if tracker is None else tracker
        policy = UpperConfidence(width_in_std, exploration, min(1.0, 5 * exploration))
    return _feedback(
        policy,
        Confidence(confidence, C),
        "sign",
        n_classes,
        classes,
        noise,
        random_state,
        covariance,
        scale_step=scale_step,
        tracker=tracker,
        block=block,
    )


def _default_tracker(n_classes: int | None, classes: Classes) -> RateTracker:
    return RateTracker(len(known_classes(n_classes, classes)))


def _feedback(
    policy: Policy,
    rule: Rule,
    signal: str,
    n_classes: int | None,
    classes: Classes,
    noise: Noise,
    random_state: Chance,
    covariance: str = "diagonal",
    **options: Any,
) -> BanditClassifier:
    flip_rates(noise, len(known_classes(n_classes, classes)))  # refuse now rather than in the first round
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
