"""What went wrong between truth and observation: noises, and ways to find and undo them."""

from noisewise.noise._flip import FlipMatrix
from noisewise.noise._gaussian import GaussianNoise

__all__ = ["FlipMatrix", "GaussianNoise"]
