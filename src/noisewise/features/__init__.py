"""Regression and classification with noisy features: measurement error, privacy noise, values missing at random."""

from noisewise.features import theory
from noisewise.features.fourier import DeconvolvedFourierClassifier, DeconvolvedFourierRegressor
from noisewise.features.kernel import NoisyKernelRegressor
from noisewise.features.linear import NoisyFeatureClassifier, NoisyFeatureRegressor
from noisewise.features.maps.random_map import RandomMap as RandomMap
from noisewise.features.maps.random_map import RandomTerms as RandomTerms
from noisewise.features.maps.random_map import loss_terms as loss_terms
from noisewise.features.solvers.plain_ridge import PlainRidge as PlainRidge
from noisewise.features.stream import OnlineNoisyRegressor
from noisewise.features.unknown_noise import UnknownNoiseKernelClassifier, UnknownNoiseKernelRegressor
from noisewise.noise import LaplaceNoise, MaskingNoise, SymmetricNoise

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
__shared__ = ["RandomMap", "RandomTerms", "loss_terms"]
__model_parts__ = ["PlainRidge"]
