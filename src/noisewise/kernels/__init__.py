"""How examples are like each other: Mercer kernels, their sums, and features that stand for them."""

from noisewise.kernels.combine import ConicSum, Grouped, Kernel
from noisewise.kernels.dot import Binomial, DotProduct, Exponential, Linear, Polynomial
from noisewise.kernels.fourier import FourierFeatures, draw_frequencies, fourier_features
from noisewise.kernels.nystroem_features import NystroemFeatures, nystroem
from noisewise.kernels.radial import Gaussian, Laplacian, Radial, RationalQuadratic, median_width
from noisewise.kernels.rows import squared_distances
from noisewise.kernels.surrogates import Blurred, Surrogate, blurred, surrogate

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
