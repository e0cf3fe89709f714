"""How every loop is compiled: kept on disk, without the lock, and never with arithmetic that depends on the machine."""

from numba import njit

compiled = njit(cache=True, nogil=True, error_model="numpy")
