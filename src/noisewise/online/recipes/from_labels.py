"""Named algorithms that learn from labels."""

from __future__ import annotations

from noisewise.online.learners.online_classifier import OnlineClassifier
from noisewise.online.learners.rules import Adaptive, Additive, Confidence, Herd, PassiveAggressive


def perceptron() -> OnlineClassifier:
    """Multi-class Perceptron: after a mistake, towards the true class and away from the guess.

    >>> perceptron().fit([[1.0, 0.0], [0.0, 1.0]], [0, 1]).mistakes_
    1
    """
    return OnlineClassifier(Additive(), signal="label")


def mpa(C: float = 1.0, variant: str = "I") -> OnlineClassifier:
    """Multi-class passive-aggressive learning; the step is capped ("I") or softened ("II") by `C`, not for C = inf.

    >>> mpa(C=0.1).fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).coef_
    array([[ 0.1, -0.1],
           [-0.1,  0.1]])
    """
    return OnlineClassifier(PassiveAggressive(C, variant))


def mcw(confidence: float = 0.75, covariance: str = "diagonal") -> OnlineClassifier:
    """Multi-class confidence-weighted learning, for clean labels: rows right with probability `confidence` [eta].

    >>> mcw(confidence=0.9).fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).predict([[2.0, 1.0]]).tolist()
    ['a']
    """
    return OnlineClassifier(Confidence(confidence), covariance=covariance)


def mscw(
    confidence: float = 0.75, C: float = 1.0, variant: str = "I", covariance: str = "diagonal"
) -> OnlineClassifier:
    """Multi-class soft confidence-weighted learning: as `mcw`, but a step never exceeds `C`; for noisy labels.

    >>> mscw(C=0.03).fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).n_updates_
    2
    """
    return OnlineClassifier(Confidence(confidence, C, variant), covariance=covariance)


def arow(regularisation: float = 1.0, covariance: str = "diagonal") -> OnlineClassifier:
    """Adaptive regularisation of weights; raise `regularisation` [r] with the noise.

    >>> arow(regularisation=10.0).fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).predict([[1.0, 2.0]]).tolist()
    ['b']
    """
    return OnlineClassifier(Adaptive(regularisation), covariance=covariance)


def nherd(C: float = 1.0, variant: str = "project", covariance: str = "diagonal") -> OnlineClassifier:
    """Gaussian herding; `variant` "project", "drop" or "exact" for a diagonal covariance, or "full".

    >>> nherd(C=0.1, variant="full").covariance
    'full'
    """
    if variant == "full":
        variant, covariance = "drop", "full"
    return OnlineClassifier(Herd(C, variant), covariance=covariance)
