"""Recipes of bandit classifiers with uniform exploration: Banditron, RCNBF, RCINE, bandit PA, SOBA."""

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
    """Banditron: the Perceptron for bandit feedback, with exploration rate `gamma`; not robust to noise (see `rcnbf`).

    References
    ----------
    .. [1] Kakade, S. M., Shalev-Shwartz, S., Tewari, A. (2008). Efficient bandit algorithms for online multiclass
       prediction. ICML 25, 440-447. Algorithm 1.

    Examples
    --------
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
    """Robust classifier for noisy bandit feedback (RCNBF): Banditron on unbiased feedback h(f), for known `noise`.

    References
    ----------
    .. [1] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Algorithm 1.

    Examples
    --------
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
    """RCNBF with implicit noise estimation (RCINE): `tracker` estimates the flip rates every `block` rounds [N_s].

    Where `noise` is given, it is corrected for and nothing is estimated. The default tracker estimates by moments of
    the logged propensities; `NREst` is the paper's estimator.

    References
    ----------
    .. [1] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Algorithm 2.

    Examples
    --------
    >>> learner = rcine(n_classes=2, gamma=0.5, block=1000, random_state=0)
    >>> y = [0, 1] * 2000
    >>> history = learner.play([[1.0, 0.0], [0.0, 1.0]] * 2000, y)
    >>> learner.tracker_.estimate().identified
    True
    """
    refuse_both(noise, tracker)
    tracker = default_tracker(n_classes, classes) if tracker is None else tracker
    tracking: dict[str, Any] = {"tracker": tracker, "block": block}
    policy = UniformExploration(gamma)
    return made_of(policy, Additive(), "importance", n_classes, classes, noise, random_state, **tracking)


def bandit_pa(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    gamma: float = 0.005,
    C: float = inf,
    noise: Noise = None,
    random_state: RandomState = None,
) -> BanditClassifier:
    """Passive-aggressive learning from the sign of bandit feedback; under noise, cap the step (C = 0.02).

    `noise` helps where the step is capped, and hurts where it is not: corrected steps are longer.

    References
    ----------
    .. [1] Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S., Singer, Y. (2006). Online passive-aggressive
       algorithms. Journal of Machine Learning Research 7, 551-585.

    Examples
    --------
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
    variant: str = "published",
    covariance: str = "diagonal",
    noise: Noise = None,
    random_state: RandomState = None,
) -> BanditClassifier:
    """Second-order Banditron (SOBA) as published: learns from positive feedback; not robust to false positives.

    The correlation matrix of past updates is stored by its diagonal, or in full: one for the weights of all classes, of
    (n_classes n_features)^2 entries. `variant` "recursive" is not the authors' algorithm: it steps as theirs would with
    the full matrix, along a diagonal (or a full matrix for each class), which withstands false positives far better.
    `noise` corrects the feedback: the sum of the updates is linear in it, and so has the expectation without noise, but
    its matrix is not, and a recursive step is not either.

    References
    ----------
    .. [1] Beygelzimer, A., Orabona, F., Zhang, C. (2017). Efficient online bandit multiclass learning with
       O(sqrt(T)) regret. ICML 34, 488-497. Algorithm 1.
    .. [2] Cesa-Bianchi, N., Conconi, A., Gentile, C. (2005). A second-order perceptron algorithm. SIAM Journal on
       Computing 34(3), 640-668.

    Examples
    --------
    >>> learner = soba(n_classes=3, random_state=0)
    >>> learner.learn(learner.decide([1.0, 0.0]), feedback=0).n_updates_
    0
    """
    rule = SecondOrderPerceptron(ridge, variant)
    signal = "importance_rival"
    return made_of(UniformExploration(gamma), rule, signal, n_classes, classes, noise, random_state, covariance)
