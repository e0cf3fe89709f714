"""What went wrong between truth and observation: noises, and ways to find and undo them."""

from noisewise.noise import unbiased
from noisewise.noise.anchors import anchor_scores, flip_from_anchors, rates_from_anchors
from noisewise.noise.calibration.noise_models import Account, Calibration
from noisewise.noise.calibration.read_noise import read_noise
from noisewise.noise.calibration.softmax_map import Curve
from noisewise.noise.em import expected_counts, mixture_rows, mixture_step
from noisewise.noise.estimate import Estimate
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
__model_parts__ = [part.__name__ for part in (Account, Calibration, Curve)]
