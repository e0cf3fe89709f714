"""Recipes of bandit classifiers with upper confidence bounds (UCB): Confidit, LinUCB, UCWL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noisewise._typing import RandomState
from noisewise._validation import known_classes
from noisewise.online.learners.bandit import BanditClassifier
from noisewise.online.learners.policies import UpperConfidence
from noisewise.online.learners.rules import Confidence, LeastSquares
from noisewise.online.rates.feedback_codes import check_missing
from noisewise.online.rates.flip_rates import Noise
from noisewise.online.rates.per_action import ActionRateTracker
from noisewise.online.recipes.parts import Classes, default_tracker, made_of, refuse_both

RATES_EXPLORATION = 0.005  # where rates are estimated for each class; twice as much costs .01 of all rounds


def confidit(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    width_in_std: float = 1.0,
    ridge: float = 1.0,
    projection: bool = True,
    covariance: str = "diagonal",
    noise: Noise = None,
    random_state: RandomState = None,
) -> BanditClassifier:
    """Confidit: least squares of +-1 feedback and upper confidence bounds.

    `width_in_std` is the UCB width; `projection` keeps scores within [-1, 1]. `ridge` is (1 + alpha)^2 in the paper's
    terms: 4 for its deterministic version, alpha = 1.

    References
    ----------
    .. [1] Crammer, K., Gentile, C. (2013). Multiclass classification with bandit feedback using adaptive
       regularization. Machine Learning 90(3), 347-383.

    Examples
    --------
    >>> learner = confidit(n_classes=2, covariance="full")
    >>> learner.learn(learner.decide([1.0]), feedback=0).decision_function([[1.0]])
    array([[-0.5,  0. ]])
    """
    rule = LeastSquares(ridge, projection)
    return made_of(UpperConfidence(width_in_std), rule, "sign", n_classes, classes, noise, random_state, covariance)


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
    intercept: bool = True,
    random_state: RandomState = None,
) -> BanditClassifier:
    """LinUCB: ridge regression of the feedback for each class, full covariance, upper confidence bounds.

    `width_in_std` is the UCB width [alpha]. `intercept` adds a constant feature of 1 to every row: without one, a
    class that is right or wrong whatever the features are has no weight to say so. Noise that is the same for all
    classes does not change the best class. For rates that differ by class, `noise` (one `FlipMatrix` each) corrects
    the scores afterwards, so that the rates may change at any time (`use_noise`). A class with uninformative
    feedback (1 - rho0 - rho1 below 0.15) is scored by what the others leave of a probability of one.
    ``rates="action"`` estimates the rates of each class online and uses them only where a test shows that they
    differ, and so much that feedback misleads; ``tracker_.report`` has the estimates. The exploration rate is then
    `exploration` (0.005, else 0): without it, a class with positive feedback in all rounds is not identified.

    ``learn(decision, feedback, person=...)`` estimates flip rates per annotator and weights feedback by its
    information. ``missing="auto"`` reads missing feedback (None) as a third value if a test finds it missing not at
    random; "drop" and "no" do not test. ``report()`` has the estimates, in one frame. All three assume that exactly one
    class is right for each row: where several adverts may be clicked, or none, leave them out.

    References
    ----------
    .. [1] Li, L., Chu, W., Langford, J., Schapire, R. E. (2010). A contextual-bandit approach to personalized news
       article recommendation. WWW 19, 661-670. Algorithm 1.
    .. [2] Chu, W., Li, L., Reyzin, L., Schapire, R. E. (2011). Contextual bandits with linear payoff functions.
       AISTATS 14, 208-214.

    Examples
    --------
    >>> learner = linucb(classes=["cat", "dog"], rates="action", random_state=0)
    >>> learner.learn(learner.decide([1.0, 0.5]), feedback=1).report()["on"].to_list()
    [False, False]
    """
    check_missing(missing)
    if rates not in (None, "action"):
        raise ValueError(f"rates is {rates!r}; it is 'action' (estimated for each class) or None")
    if rates and noise is not None:
        raise ValueError("noise= gives the rates and rates='action' estimates them; give one of the two")
    tracker = ActionRateTracker(len(known_classes(n_classes, classes)), ridge) if rates else None
    rate = (RATES_EXPLORATION if rates else 0.0) if exploration is None else exploration
    policy, rule = UpperConfidence(width_in_std, rate), LeastSquares(ridge)
    options = {"tracker": tracker, "missing": missing, "intercept": intercept}
    return made_of(policy, rule, "value", n_classes, classes, noise, random_state, covariance, **options)


def ucwl(
    n_classes: int | None = None,
    *,
    classes: Classes = None,
    width_in_std: float = 1.2,
    confidence: float = 0.75,
    C: float = 0.125,
    covariance: str = "diagonal",
    noise: Noise = None,
    random_state: RandomState = None,
) -> BanditClassifier:
    """Upper confidence weighted learning (UCWL): SCW-I on +-1 feedback and upper confidence bounds.

    `width_in_std` is the UCB width [k]. The defaults suit rows of norm one; for raw features in [0, 1] try
    confidence=0.95 and width_in_std=2.

    References
    ----------
    .. [1] Ngo, H., Luciw, M., Vien, N. A., Schmidhuber, J. (2013). Upper confidence weighted learning for efficient
       exploration in multiclass prediction with binary feedback. IJCAI 23. Algorithm 1.
    .. [2] Wang, J., Zhao, P., Hoi, S. C. H. (2012). Exact soft confidence-weighted learning. ICML 29.

    Examples
    --------
    >>> learner = ucwl(classes=["cat", "dog"])
    >>> learner.learn(learner.decide([1.0, 0.5]), feedback=0).decide([1.0, 0.5]).action
    'dog'
    """
    rule = Confidence(confidence, C)
    return made_of(UpperConfidence(width_in_std), rule, "sign", n_classes, classes, noise, random_state, covariance)


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
    random_state: RandomState = None,
) -> BanditClassifier:
    """UCWL on corrected feedback: the expected step of its mean, over the noise, is the step without noise.

    With `noise=None` the rates are estimated after every `block` rounds by `tracker`, with the exploration rate
    `exploration` (five times that in the first block). `scale_step` shrinks C with the signal 1 - rho0 - rho1.

    References
    ----------
    .. [1] Ngo, H., Luciw, M., Vien, N. A., Schmidhuber, J. (2013). Upper confidence weighted learning for efficient
       exploration in multiclass prediction with binary feedback. IJCAI 23. Algorithm 1.
    .. [2] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Lemma 1 (the corrected feedback).

    Examples
    --------
    >>> from noisewise import FlipMatrix
    >>> known = corrected_ucwl(n_classes=2, noise=FlipMatrix.binary(false_positive=0.4, false_negative=0.2))
    >>> known.decide([1.0, 0.5]).probability, corrected_ucwl(n_classes=2, random_state=0).decide([1.0, 0.5]).probability
    (1.0, 0.975)
    """
    policy = UpperConfidence(width_in_std)
    refuse_both(noise, tracker)
    if noise is None:
        tracker = default_tracker(n_classes, classes) if tracker is None else tracker
        policy = UpperConfidence(width_in_std, exploration)  # checks the rate
        policy = replace(policy, first_exploration=min(1.0, 5 * exploration))
    rule, options = Confidence(confidence, C), {"scale_step": scale_step, "tracker": tracker, "block": block}
    return made_of(policy, rule, "sign", n_classes, classes, noise, random_state, covariance, **options)
