"""SFC64, the small fast chaotic generator of NumPy, for compiled loops: the same stream from a state of four uint64.

References
----------
.. [1] Doty-Humphrey, C. PractRand, https://pracrand.sourceforge.net/RNG_engines.txt: small fast chaotic PRNG (sfc),
   as in ``numpy.random.SFC64``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._loops.compiled import COMPILING, bare


@bare
def _uniform(state: NDArray[np.uint64]) -> Any:
    """The next uniform double in [0, 1), from the upper 53 bits; steps `state`."""
    total = state[0] + state[1] + state[3]
    state[3] += np.uint64(1)
    state[0] = state[1] ^ (state[1] >> np.uint64(11))
    state[1] = state[2] + (state[2] << np.uint64(3))
    state[2] = ((state[2] << np.uint64(24)) | (state[2] >> np.uint64(40))) + total
    return np.float64(total >> np.uint64(11)) * 2.0**-53


def _uniform_in_python(state: NDArray[np.uint64]) -> Any:
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64
        return _uniform(state)


uniform = _uniform if COMPILING else _uniform_in_python
