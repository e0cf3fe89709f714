"""Which methods withstand noise: more and more of it put into the training rows of a table."""

from noisewise.stress.methods import Spoilt
from noisewise.stress.result import StressResult
from noisewise.stress.run import stress_test

__all__ = ["Spoilt", "StressResult", "stress_test"]
