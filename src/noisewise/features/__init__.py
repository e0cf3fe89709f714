"""Learning from noisy features: sensors, low doses, data blurred for privacy, values missing at random."""

from noisewise.features import theory
from noisewise.features._fourier import DeconvolvedFourierClassifier, DeconvolvedFourierRegressor
from noisewise.features._kernel import NoisyKernelRegressor
from noisewise.features._laws import LaplaceNoise, MaskingNoise, SymmetricNoise
from noisewise.features._linear import NoisyFeatureClassifier, NoisyFeatureRegressor
from noisewise.features._online import OnlineNoisyRegressor
from noisewise.features._unknown import UnknownNoiseKernelClassifier, UnknownNoiseKernelRegressor

__all__ = [
    "DeconvolvedFourierClassifier",
    "DeconvolvedFourierRegressor",
    "LaplaceNoise",
    "MaskingNoise",
    "NoisyFeatureClassifier",
    "NoisyFeatureRegressor",
    "NoisyKernelRegressor",
    "OnlineNoisyRegressor",
    "SymmetricNoise",
    "UnknownNoiseKernelClassifier",
    "UnknownNoiseKernelRegressor",
    "theory",
]
