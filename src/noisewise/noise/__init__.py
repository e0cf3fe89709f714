"""Noise models of labels, feedback and features, estimators of their rates, and corrections for them."""

from noisewise.noise import unbiased
from noisewise.noise.anchors import anchor_matrix as anchor_matrix
from noisewise.noise.anchors import anchor_scores, flip_from_anchors, rates_from_anchors
from noisewise.noise.calibration.noise_models import Calibration as Calibration
from noisewise.noise.calibration.noise_models import NoiseModel
from noisewise.noise.calibration.read_noise import likely_wrong as likely_wrong
from noisewise.noise.calibration.read_noise import read_noise
from noisewise.noise.calibration.softmax_map import CalibrationMap
from noisewise.noise.em import expected_counts, mixture_rows, mixture_step
from noisewise.noise.estimate import Estimate
from noisewise.noise.estimate import proportion_interval as proportion_interval
from noisewise.noise.estimate import with_interval as with_interval
from noisewise.noise.feature_noise import GaussianNoise, LaplaceNoise, MaskingNoise, SymmetricNoise
from noisewise.noise.feedback_rates import RateEstimate, rates_from_moments
from noisewise.noise.flip_matrix import FlipMatrix

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
__shared__ = ["Calibration", "anchor_matrix", "likely_wrong", "proportion_interval", "with_interval"]
__model_parts__ = [part.__name__ for part in (Calibration, CalibrationMap, NoiseModel)]
