"""Metrics on noisy test labels, corrected to those on true labels, with confidence intervals."""

from noisewise.metrics.predicted_labels import corrected_accuracy, corrected_balanced_accuracy, corrected_f1
from noisewise.metrics.probabilities import corrected_log_loss, corrected_roc_auc
from noisewise.metrics.score import Score
from noisewise.metrics.scorer import CorrectedScorer, make_corrected_scorer

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
