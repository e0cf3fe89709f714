"""Named algorithms that learn from feedback and explore where they are in doubt: UCWL, Confidit, LinUCB."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noisewise._typing import RandomState
from noisewise.online.learners.bandit import BanditClassifier
from noisewise.online.learners.policies import UpperConfidence
from noisewise.online.learners.rules import Confidence, LeastSquares
from noisewise.online.rates.flip_rates import Noise, known_classes
from noisewise.online.rates.per_action import ActionRateTracker
from noisewise.online.rates.weighting import check_missing
from noisewise.online.recipes.parts import Classes, default_tracker, made_of, refuse_both


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
    """Confidit: least squares of +-1 feedback and upper confidence; `projection` keeps scores within [-1, 1].

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
    random_state: RandomState = None,
) -> BanditClassifier:
    """LinUCB: least squares of the feedback for each class, full covariance, upper confidence.

    Noise that is the same for all classes does not move its best class. For rates that differ by class, `noise` (one
    `FlipMatrix` each) corrects the scores afterwards, so that the rates may change at any time (`use_noise`). A class
    whose feedback says too little (1 - rho0 - rho1 below 0.15) is judged by what the others leave over.
    ``rates="action"`` estimates the rates on line and uses them only where they surely differ; ``tracker_.report`` has
    what it believes. A share `exploration` of the rounds is then played uniformly (0.01, else 0): praise for everything
    can't be seen otherwise.

    ``learn(decision, feedback, person=...)`` learns who can be believed and counts each answer by what it tells.
    ``missing="auto"`` reads no answer (None) as a third answer, if it depends on the truth; "drop" and "no" do not ask.
    ``report()`` has what is believed, in one frame. All three rest on exactly one class being right for each row: where
    several adverts may be clicked, or none, leave them out.

    >>> learner = linucb(classes=["cat", "dog"], rates="action", random_state=0)
    >>> learner.learn(learner.decide([1.0, 0.5]), feedback=1).report()["on"].to_list()
    [False, False]
    """
    check_missing(missing)
    if rates not in (None, "action"):
        raise ValueError(f"rates is {rates!r}; it is 'action' (estimated for each class) or None")
    if rates and noise is not None:
        raise ValueError("noise= tells the rates and rates='action' finds them; give one of the two")
    tracker = ActionRateTracker(len(known_classes(n_classes, classes)), ridge) if rates else None
    share = (0.01 if rates else 0.0) if exploration is None else exploration
    policy, rule = UpperConfidence(width_in_std, share), LeastSquares(ridge)
    return made_of(
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
    random_state: RandomState = None,
) -> BanditClassifier:
    """Upper confidence weighted learning: soft confidence-weighted learning of +-1 feedback and upper confidence.

    The defaults suit rows of norm one; for raw features in [0, 1] try confidence=0.95 and width_in_std=2.

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
    """UCWL on corrected feedback: its mean moves, on average over the noise, as it would without noise.

    With `noise=None` the rates are estimated after every `block` rounds by `tracker`, from a share `exploration` of
    uniform rounds (five times that in the first block). `scale_step` shrinks C with the information in the feedback.

    >>> from noisewise import FlipMatrix
    >>> told = corrected_ucwl(n_classes=2, noise=FlipMatrix.binary(false_positive=0.4, false_negative=0.2))
    >>> told.decide([1.0, 0.5]).probability, corrected_ucwl(n_classes=2, random_state=0).decide([1.0, 0.5]).probability
    (1.0, 0.975)
    """
    policy = UpperConfidence(width_in_std)
    refuse_both(noise, tracker)
    if noise is None:
        tracker = default_tracker(n_classes, classes) if tracker is None else tracker
        policy = UpperConfidence(width_in_std, exploration)  # refuses what is no share
        policy = replace(policy, first_exploration=min(1.0, 5 * exploration))
    return made_of(
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
