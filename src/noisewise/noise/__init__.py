"""What went wrong between truth and observation: noises, and ways to find and undo them."""

from noisewise.noise import unbiased
from noisewise.noise._accounts import Account, Calibration
from noisewise.noise._anchors import anchor_scores, flip_from_anchors, rates_from_anchors
from noisewise.noise._calibration import read_noise
from noisewise.noise._curve import Curve
from noisewise.noise._estimate import Estimate
from noisewise.noise._flip import FlipMatrix
from noisewise.noise._gaussian import GaussianNoise
from noisewise.noise._mixture import expected_counts, mixture_rows, mixture_step
from noisewise.noise._moments import rates_from_moments
from noisewise.noise._rate_estimate import RateEstimate

__all__ = [
    "Estimate",
    "FlipMatrix",
    "GaussianNoise",
    "RateEstimate",
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
