"""Learning from noisy features: sensors, low doses, data blurred for privacy, values missing at random."""

from noisewise.features._laws import LaplaceNoise, MaskingNoise, SymmetricNoise
from noisewise.features._linear import NoisyFeatureClassifier, NoisyFeatureRegressor

__all__ = [
    "LaplaceNoise",
    "MaskingNoise",
    "NoisyFeatureClassifier",
    "NoisyFeatureRegressor",
    "SymmetricNoise",
]
