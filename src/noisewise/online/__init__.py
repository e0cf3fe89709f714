"""Learning one round at a time: from labels, or from right/wrong feedback that may itself be wrong."""

from noisewise.online import recipes, theory
from noisewise.online._action_rates import ActionRates, ActionRateTracker
from noisewise.online._bandit import BanditClassifier
from noisewise.online._decision import Decision, History
from noisewise.online._formats_dsjson import iter_dsjson, read_dsjson, write_dsjson
from noisewise.online._formats_obp import from_open_bandit, to_open_bandit
from noisewise.online._formats_vw import iter_vw, read_vw, write_vw
from noisewise.online._labels import OnlineClassifier
from noisewise.online._logged_round import Choice, LoggedRound
from noisewise.online._logs import FeedbackLog
from noisewise.online._missing import AnswerTable, MissingReport, MissingTracker
from noisewise.online._nrest import NREst
from noisewise.online._off_policy import off_policy_value
from noisewise.online._people import PeopleTracker
from noisewise.online._policies import Greedy, UniformExploration, UpperConfidence
from noisewise.online._printed_network import PrintedNetwork
from noisewise.online._refits import RoundLog
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
    "ActionRateTracker",
    "Adaptive",
    "Additive",
    "BanditClassifier",
    "Choice",
    "Confidence",
    "Decision",
    "FeedbackLog",
    "Greedy",
    "Herd",
    "History",
    "LeastSquares",
    "LoggedRound",
    "MissingTracker",
    "NREst",
    "OnlineClassifier",
    "PassiveAggressive",
    "PeopleTracker",
    "PrintedNetwork",
    "RateTracker",
    "SecondOrderPerceptron",
    "UniformExploration",
    "UpperConfidence",
    "corrected_feedback",
    "from_open_bandit",
    "importance_signal",
    "iter_dsjson",
    "iter_vw",
    "label_signal",
    "off_policy_value",
    "read_dsjson",
    "read_vw",
    "recipes",
    "rival_signal",
    "sign_signal",
    "theory",
    "to_open_bandit",
    "write_dsjson",
    "write_vw",
]
__model_parts__ = [part.__name__ for part in (ActionRates, AnswerTable, MissingReport, RoundLog)]
