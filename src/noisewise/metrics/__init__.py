"""Scores on test labels that are noisy themselves: what clean labels would have given, with an interval."""

from noisewise.metrics._labels import corrected_accuracy, corrected_balanced_accuracy, corrected_f1
from noisewise.metrics._score import Score
from noisewise.metrics._scorer import CorrectedScorer, make_corrected_scorer
from noisewise.metrics._scores import corrected_log_loss, corrected_roc_auc

__all__ = [
    "CorrectedScorer",
    "Score",
    "corrected_accuracy",
    "corrected_balanced_accuracy",
    "corrected_f1",
    "corrected_log_loss",
    "corrected_roc_auc",
    "make_corrected_scorer",
]
