"""Stress tests: which methods withstand how much noise, on a table of one's own."""

from __future__ import annotations

import warnings
from typing import Any

from noisewise.stress.methods import Corrupted
from noisewise.stress.result import StressResult
from noisewise.stress.run import stress_test

__all__ = ["Corrupted", "StressResult", "stress_test"]


def __getattr__(name: str) -> Any:
    if name == "Spoilt":
        warnings.warn("noisewise.stress.Spoilt is now noisewise.stress.Corrupted", DeprecationWarning, stacklevel=2)
        return Corrupted
    raise AttributeError(f"module 'noisewise.stress' has no attribute {name!r}")
