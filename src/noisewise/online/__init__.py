"""Learning one round at a time: from labels, or from right/wrong feedback that may itself be wrong."""

from noisewise.online import recipes
from noisewise.online._bandit import BanditClassifier
from noisewise.online._decision import Decision, History
from noisewise.online._labels import OnlineClassifier
from noisewise.online._policies import Greedy, UniformExploration, UpperConfidence
from noisewise.online._rules import (
    Adaptive,
    Additive,
    Confidence,
    Herd,
    LeastSquares,
    PassiveAggressive,
    SecondOrderPerceptron,
)
from noisewise.online._signals import (
    corrected_feedback,
    importance_signal,
    label_signal,
    rival_signal,
    sign_signal,
)
from noisewise.online._tracking import RateTracker

__all__ = [
    "Adaptive",
    "Additive",
    "BanditClassifier",
    "Confidence",
    "Decision",
    "Greedy",
    "Herd",
    "History",
    "LeastSquares",
    "OnlineClassifier",
    "PassiveAggressive",
    "RateTracker",
    "SecondOrderPerceptron",
    "UniformExploration",
    "UpperConfidence",
    "corrected_feedback",
    "importance_signal",
    "label_signal",
    "recipes",
    "rival_signal",
    "sign_signal",
]
