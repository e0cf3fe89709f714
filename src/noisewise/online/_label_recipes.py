"""Named algorithms that learn from labels."""

from __future__ import annotations

from noisewise.online._labels import OnlineClassifier
from noisewise.online._rules import Adaptive, Additive, Confidence, Herd, PassiveAggressive


def perceptron() -> OnlineClassifier:
    """Multi-class Perceptron: after a mistake, towards the true class and away from the guess.

    >>> perceptron().fit([[1.0, 0.0], [0.0, 1.0]], [0, 1]).mistakes_
    1
    """
    return OnlineClassifier(Additive(), signal="label")


def mpa(C: float = 1.0, variant: str = "I") -> OnlineClassifier:
    """Multi-class passive-aggressive learning; the step is capped ("I") or softened ("II") by `C`, not for C = inf."""
    return OnlineClassifier(PassiveAggressive(C, variant))


def mcw(confidence: float = 0.75, covariance: str = "diagonal") -> OnlineClassifier:
    """Multi-class confidence-weighted learning, for clean labels: rows right with probability `confidence` [eta]."""
    return OnlineClassifier(Confidence(confidence), covariance=covariance)


def mscw(
    confidence: float = 0.75, C: float = 1.0, variant: str = "I", covariance: str = "diagonal"
) -> OnlineClassifier:
    """Multi-class soft confidence-weighted learning: as `mcw`, but a step never exceeds `C`; for noisy labels."""
    return OnlineClassifier(Confidence(confidence, C, variant), covariance=covariance)


def arow(regularisation: float = 1.0, covariance: str = "diagonal") -> OnlineClassifier:
    """Adaptive regularisation of weights; raise `regularisation` [r] with the noise."""
    return OnlineClassifier(Adaptive(regularisation), covariance=covariance)


def nherd(C: float = 1.0, variant: str = "project", covariance: str = "diagonal") -> OnlineClassifier:
    """Gaussian herding; `variant` "project", "drop" or "exact" for a diagonal covariance, or "full"."""
    if variant == "full":
        variant, covariance = "drop", "full"
    return OnlineClassifier(Herd(C, variant), covariance=covariance)
