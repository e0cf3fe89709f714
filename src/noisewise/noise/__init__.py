"""Noise models of labels, feedback and features, estimators of their rates, and corrections for them."""

from noisewise.noise import unbiased
from noisewise.noise.anchors import anchor_matrix as anchor_matrix
from noisewise.noise.anchors import anchor_scores, flip_from_anchors, rates_from_anchors
from noisewise.noise.anchors import labels_at_anchors as labels_at_anchors
from noisewise.noise.calibration.fold_offsets import consecutive_folds as consecutive_folds
from noisewise.noise.calibration.fold_offsets import without_fold_offsets as without_fold_offsets
from noisewise.noise.calibration.judgement import Judgements as Judgements
from noisewise.noise.calibration.judgement import ModelError as ModelError
from noisewise.noise.calibration.judgement import fitted_temperature as fitted_temperature
from noisewise.noise.calibration.judgement import flips_of as flips_of
from noisewise.noise.calibration.judgement import read_judgements as read_judgements
from noisewise.noise.calibration.judgement import read_row_judgements as read_row_judgements
from noisewise.noise.calibration.label_calibration import LabelCalibration as LabelCalibration
from noisewise.noise.calibration.label_calibration import fit_label_calibration as fit_label_calibration
from noisewise.noise.calibration.noise_models import Calibration as Calibration
from noisewise.noise.calibration.noise_models import NoiseModel
from noisewise.noise.calibration.read_noise import NoiseReading as NoiseReading
from noisewise.noise.calibration.read_noise import graded as graded
from noisewise.noise.calibration.read_noise import likely_wrong as likely_wrong
from noisewise.noise.calibration.read_noise import read_noise
from noisewise.noise.calibration.recalibration import Recalibration as Recalibration
from noisewise.noise.calibration.recalibration import recalibrate as recalibrate
from noisewise.noise.calibration.residuals import ResidualReading as ResidualReading
from noisewise.noise.calibration.residuals import read_residuals as read_residuals
from noisewise.noise.calibration.softmax_map import CalibrationMap
from noisewise.noise.em import expected_counts, mixture_rows, mixture_step
from noisewise.noise.estimate import Estimate
from noisewise.noise.estimate import proportion_interval as proportion_interval
from noisewise.noise.estimate import with_interval as with_interval
from noisewise.noise.exploration_moment import ExplorationMoment as ExplorationMoment
from noisewise.noise.exploration_moment import exploration_sums as exploration_sums
from noisewise.noise.exploration_moment import exploration_terms as exploration_terms
from noisewise.noise.feature_noise import GaussianNoise, LaplaceNoise, MaskingNoise, SymmetricNoise
from noisewise.noise.feedback_rates import LEAST_POOLED_SIGNAL as LEAST_POOLED_SIGNAL
from noisewise.noise.feedback_rates import SEVERAL_OR_NONE as SEVERAL_OR_NONE
from noisewise.noise.feedback_rates import SEVERAL_RIGHT as SEVERAL_RIGHT
from noisewise.noise.feedback_rates import RateEstimate, rates_from_moments
from noisewise.noise.feedback_rates import clipped_estimate as clipped_estimate
from noisewise.noise.feedback_rates import combine_moments as combine_moments
from noisewise.noise.feedback_rates import not_identified as not_identified
from noisewise.noise.feedback_rates import rates_in_heads as rates_in_heads
from noisewise.noise.feedback_rates import several_are_right as several_are_right
from noisewise.noise.flip_matrix import FlipMatrix
from noisewise.noise.heads import SELECTION_ERROR as SELECTION_ERROR
from noisewise.noise.heads import MeanFeedback as MeanFeedback
from noisewise.noise.heads import consistent_head as consistent_head
from noisewise.noise.high_confidence import informative_about_annotators as informative_about_annotators
from noisewise.noise.high_confidence import margins as margins
from noisewise.noise.high_confidence import right_and_wrong as right_and_wrong
from noisewise.noise.high_confidence import two_best as two_best
from noisewise.noise.high_confidence import wrong_in_hindsight as wrong_in_hindsight
from noisewise.noise.logged_rounds import NONLINEAR_FROM as NONLINEAR_FROM
from noisewise.noise.logged_rounds import RELATIVE_PENALTY as RELATIVE_PENALTY
from noisewise.noise.logged_rounds import check_log as check_log
from noisewise.noise.logged_rounds import check_n_classes as check_n_classes
from noisewise.noise.logged_rounds import project_rows as project_rows
from noisewise.noise.logged_rounds import sharper_scores as sharper_scores

__all__ = [
    "Estimate",
    "FlipMatrix",
    "GaussianNoise",
    "LaplaceNoise",
    "MaskingNoise",
    "RateEstimate",
    "SymmetricNoise",
    "anchor_scores",
    "expected_counts",
    "flip_from_anchors",
    "mixture_rows",
    "mixture_step",
    "rates_from_anchors",
    "rates_from_moments",
    "read_noise",
    "unbiased",
]
__shared__ = [
    "LEAST_POOLED_SIGNAL",
    "NONLINEAR_FROM",
    "RELATIVE_PENALTY",
    "SELECTION_ERROR",
    "SEVERAL_OR_NONE",
    "SEVERAL_RIGHT",
    "Calibration",
    "ExplorationMoment",
    "Judgements",
    "LabelCalibration",
    "MeanFeedback",
    "ModelError",
    "NoiseReading",
    "Recalibration",
    "ResidualReading",
    "anchor_matrix",
    "check_log",
    "check_n_classes",
    "clipped_estimate",
    "combine_moments",
    "consecutive_folds",
    "consistent_head",
    "exploration_sums",
    "exploration_terms",
    "fit_label_calibration",
    "fitted_temperature",
    "flips_of",
    "graded",
    "informative_about_annotators",
    "labels_at_anchors",
    "likely_wrong",
    "margins",
    "not_identified",
    "project_rows",
    "proportion_interval",
    "rates_in_heads",
    "read_judgements",
    "read_row_judgements",
    "recalibrate",
    "read_residuals",
    "right_and_wrong",
    "several_are_right",
    "sharper_scores",
    "two_best",
    "with_interval",
    "without_fold_offsets",
    "wrong_in_hindsight",
]
__model_parts__ = [part.__name__ for part in (Calibration, CalibrationMap, NoiseModel)]
