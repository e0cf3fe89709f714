"""Eigendecompositions of Gram matrices, cut off where eigenvalues are rounding: roots for Nystroem features.

Three forms of one decomposition K = U diag(l) U'. They differ in LAPACK driver, order and cut-off, and so in the last
bits; fitted models depend on them.

References
----------
.. [1] Williams, C. K. I., Seeger, M. (2001). Using the Nystroem method to speed up kernel machines. NeurIPS 13.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from noisewise._typing import Floats

SMALLEST = 1e-11  # eigenvalues below this fraction of the largest are rounding
LEAST_WHITENED = 1e-6  # the same for whitening, whose features are in single precision


def spectrum(gram: Floats, rank: int | None = None, smallest: float = SMALLEST) -> tuple[Floats, Floats]:
    """Eigenvalues, largest first, and eigenvectors of a symmetric matrix, which is overwritten; none that is rounding.

    >>> spectrum(np.array([[2.0, 1.0], [1.0, 2.0]]))[0]
    array([3., 1.])
    >>> spectrum(np.ones((3, 3)))[0].round(9)
    array([3.])
    """
    n = len(gram)
    options = {"driver": "evd"} if rank is None or rank >= n else {"subset_by_index": (n - rank, n - 1)}
    values, vectors = scipy.linalg.eigh(gram, overwrite_a=True, check_finite=False, **options)
    kept = np.flatnonzero(values > max(smallest * values[-1], 1e-300))[::-1]
    return values[kept], np.ascontiguousarray(vectors[:, kept])


def inverse_root(gram: Floats) -> Floats:
    """Symmetric inverse square root ``U diag(l)^(-1/2) U'`` of a Gram matrix, without eigenvalues that are rounding."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > values[-1] * len(gram) * np.finfo(np.float64).eps
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]) @ vectors[:, kept].T)


def whitening(gram: Floats) -> Floats:
    """Whitening transform ``U diag(l)^(-1/2)``: features times it have the identity for `gram`; low ranks are cut."""
    values, vectors = scipy.linalg.eigh(gram, driver="evd")
    kept = values > LEAST_WHITENED * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))
