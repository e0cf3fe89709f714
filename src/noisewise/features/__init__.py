"""Learning from noisy features: sensors, low doses, data blurred for privacy, values missing at random."""

from noisewise.features import theory
from noisewise.features.fourier import DeconvolvedFourierClassifier, DeconvolvedFourierRegressor
from noisewise.features.kernel import NoisyKernelRegressor
from noisewise.features.linear import NoisyFeatureClassifier, NoisyFeatureRegressor
from noisewise.features.stream import OnlineNoisyRegressor
from noisewise.features.unknown_noise import UnknownNoiseKernelClassifier, UnknownNoiseKernelRegressor
from noisewise.noise.feature_noise import LaplaceNoise, MaskingNoise, SymmetricNoise

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
