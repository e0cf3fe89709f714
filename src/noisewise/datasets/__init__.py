"""Data: the papers' data sets by name, synthetic generators, and oracles that give noisy feedback or copies."""

from noisewise.datasets.generators import (
    make_california_like,
    make_friedman_small,
    make_linear_stream,
    make_noisy_moons,
    make_ringnorm,
    make_sine,
    make_sine_2d,
    make_synnonsep,
    make_synsep,
    make_twonorm,
    make_waveform,
    sine_2d_posterior,
)
from noisewise.datasets.registry import CrowdLabels, Dataset, Listing, load, load_crowd, names
from noisewise.datasets.streams import CopyOracle, Oracle
from noisewise.tables import TableEncoder

__all__ = [
    "CopyOracle",
    "CrowdLabels",
    "Dataset",
    "Listing",
    "Oracle",
    "TableEncoder",
    "load",
    "load_crowd",
    "make_california_like",
    "make_friedman_small",
    "make_linear_stream",
    "make_noisy_moons",
    "make_ringnorm",
    "make_sine",
    "make_sine_2d",
    "make_synnonsep",
    "make_synsep",
    "make_twonorm",
    "make_waveform",
    "names",
    "sine_2d_posterior",
]
