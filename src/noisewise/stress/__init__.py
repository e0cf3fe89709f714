"""Stress tests: which methods withstand how much noise, on a table of one's own."""

from noisewise._deprecation import moved
from noisewise.stress.methods import Corrupted
from noisewise.stress.result import StressResult
from noisewise.stress.run import stress_test

__all__ = ["Corrupted", "StressResult", "stress_test"]
__getattr__ = moved(__name__, {"Spoilt": "noisewise.stress.Corrupted"})
