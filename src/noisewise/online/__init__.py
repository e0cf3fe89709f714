"""Online learning from labels, and contextual bandits with noisy right/wrong feedback."""

from noisewise.online import recipes, theory
from noisewise.online.actions.bandit import ContextualBandit
from noisewise.online.actions.bandit_state import TABLE_BITS as TABLE_BITS
from noisewise.online.actions.decision import ActionDecision
from noisewise.online.actions.encoder import PairEncoder
from noisewise.online.actions.estimated_noise import NoiseEstimates as NoiseEstimates
from noisewise.online.actions.estimated_noise import VarianceEstimates
from noisewise.online.actions.features import FeatureIndex
from noisewise.online.actions.features import FixedRecord as FixedRecord
from noisewise.online.actions.hashed import HashedModel
from noisewise.online.actions.joint import MOST_GROWTH as MOST_GROWTH
from noisewise.online.actions.joint import JointModel as JointModel
from noisewise.online.actions.missing_rewards import MissingRewards
from noisewise.online.actions.offers import Offer as Offer
from noisewise.online.actions.policies import InverseGapWeighting, ThompsonSampling
from noisewise.online.actions.policies import policy_parameters as policy_parameters
from noisewise.online.actions.ranking import decision_of as decision_of
from noisewise.online.actions.ranking import know_offer as know_offer
from noisewise.online.actions.ranking import rank_offer as rank_offer
from noisewise.online.actions.ranking import reasons as reasons
from noisewise.online.actions.rewards import Channel, RewardReader, RewardScale
from noisewise.online.actions.rounds import logged_round
from noisewise.online.learners.bandit import BanditClassifier
from noisewise.online.learners.base import rank_actions as rank_actions
from noisewise.online.learners.decision import Decision, History
from noisewise.online.learners.online_classifier import OnlineClassifier
from noisewise.online.learners.policies import Greedy, UniformExploration, UpperConfidence
from noisewise.online.learners.rules import (
    Adaptive,
    Additive,
    Confidence,
    Herd,
    LeastSquares,
    PassiveAggressive,
    SecondOrderPerceptron,
)
from noisewise.online.learners.signals import (
    corrected_feedback,
    importance_signal,
    label_signal,
    rival_signal,
    sign_signal,
)
from noisewise.online.logs.doctor import LogCheck, check_log
from noisewise.online.logs.dsjson import iter_dsjson, read_dsjson, write_dsjson
from noisewise.online.logs.feedback_log import FeedbackLog
from noisewise.online.logs.logged_round import Choice, LoggedRound
from noisewise.online.logs.open_bandit import from_open_bandit, iter_open_bandit, to_open_bandit
from noisewise.online.logs.vw import iter_vw, read_vw, write_vw
from noisewise.online.off_policy.action_value import off_policy_action_value
from noisewise.online.off_policy.value import off_policy_value
from noisewise.online.rates.change import Change, ChangeWatch
from noisewise.online.rates.flip_rates import rates_as_noise as rates_as_noise
from noisewise.online.rates.missing_feedback import FeedbackTable, MissingReport, MissingTracker
from noisewise.online.rates.nrest import NREst
from noisewise.online.rates.per_action import ActionRates, ActionRateTracker
from noisewise.online.rates.per_annotator import PeopleTracker
from noisewise.online.rates.printed_network import PrintedNetwork
from noisewise.online.rates.refit import PlainState as PlainState
from noisewise.online.rates.refit import RoundLog
from noisewise.online.rates.tracker import RateTracker
from noisewise.online.rates.windows import RateChange, WindowedRateTracker

__all__ = [
    "ActionDecision",
    "ActionRateTracker",
    "Adaptive",
    "Additive",
    "BanditClassifier",
    "Change",
    "ChangeWatch",
    "Choice",
    "Confidence",
    "ContextualBandit",
    "Decision",
    "FeedbackLog",
    "Greedy",
    "Herd",
    "History",
    "InverseGapWeighting",
    "LeastSquares",
    "LogCheck",
    "LoggedRound",
    "MissingTracker",
    "NREst",
    "OnlineClassifier",
    "PassiveAggressive",
    "PeopleTracker",
    "PrintedNetwork",
    "RateChange",
    "RateTracker",
    "SecondOrderPerceptron",
    "ThompsonSampling",
    "UniformExploration",
    "UpperConfidence",
    "WindowedRateTracker",
    "check_log",
    "corrected_feedback",
    "from_open_bandit",
    "importance_signal",
    "iter_dsjson",
    "iter_open_bandit",
    "iter_vw",
    "label_signal",
    "logged_round",
    "off_policy_action_value",
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
__shared__ = [
    *("PlainState", "rank_actions", "rates_as_noise"),
    *(
        "FixedRecord",
        "JointModel",
        "MOST_GROWTH",
        "NoiseEstimates",
        "Offer",
        "TABLE_BITS",
        "decision_of",
        "know_offer",
        "policy_parameters",
        "rank_offer",
        "reasons",
    ),
]
__model_parts__ = [
    part.__name__
    for part in (
        *(ActionRates, FeedbackTable, MissingReport, RoundLog),
        *(Channel, FeatureIndex, HashedModel, JointModel, NoiseEstimates, PairEncoder, RewardReader, RewardScale),
        *(MissingRewards, VarianceEstimates),
    )
]
