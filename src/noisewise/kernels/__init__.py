"""Mercer kernels, their sums, their approximation by features, and their surrogates under noise."""

from noisewise.kernels.approximation import (
    FourierFeatures,
    NystroemFeatures,
    draw_frequencies,
    fourier_features,
    nystroem,
)
from noisewise.kernels.base import ConicSum, Grouped, Kernel
from noisewise.kernels.dot_product import Binomial, DotProduct, Exponential, Linear, Polynomial
from noisewise.kernels.pairwise import squared_distances
from noisewise.kernels.radial import Gaussian, Laplacian, Radial, RationalQuadratic, median_width
from noisewise.kernels.surrogates import ADVISED_RATE as ADVISED_RATE
from noisewise.kernels.surrogates import Blurred, Surrogate, blurred, surrogate
from noisewise.kernels.surrogates import largest_variance as largest_variance

__all__ = [
    "Binomial",
    "Blurred",
    "ConicSum",
    "DotProduct",
    "Exponential",
    "FourierFeatures",
    "Gaussian",
    "Grouped",
    "Kernel",
    "Laplacian",
    "Linear",
    "NystroemFeatures",
    "Polynomial",
    "Radial",
    "RationalQuadratic",
    "Surrogate",
    "blurred",
    "draw_frequencies",
    "fourier_features",
    "median_width",
    "nystroem",
    "squared_distances",
    "surrogate",
]
__shared__ = ["ADVISED_RATE", "largest_variance"]
