"""Type aliases: arrays of numbers and class codes, and what a random state may be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
RandomState = np.random.Generator | np.random.RandomState | np.random.BitGenerator | np.random.SeedSequence | int | None
