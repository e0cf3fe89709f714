"""Triangular factors of curvatures, also where rounding has eaten what is left of them."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from scipy.sparse import issparse

from noisewise._typing import Floats

ROUNDING = 1e-12  # what is left of a column's square when the columns before are taken out; less is noise


def lower_factor(curvature: Floats, rows: Any, weights: Floats, penalties: Floats) -> Floats:
    """Lower triangular L with ``L L'`` the curvature, ``rows' diag(weights) rows + diag(penalties)`` but for a trace.

    The squares of columns that are very large, or far from zero, have no digits left for how they differ, and so no
    Cholesky factor, or a wrong one: then it comes from the rows themselves (QR), which have.

    >>> rows = np.array([[1e9, 1.0], [1e9 + 1, 1.0]])
    >>> curvature = rows.T @ rows + np.diag([1e-3, 1e-3])
    >>> np.abs(np.diag(lower_factor(curvature, rows, np.ones(2), np.full(2, 1e-3)))).round(2).tolist()[1]
    0.03
    """
    with contextlib.suppress(np.linalg.LinAlgError):
        factor = np.linalg.cholesky(curvature)
        if (np.square(np.diag(factor)) > ROUNDING * np.diag(curvature)).all():
            return np.asarray(factor, dtype=np.float64)
    dense = rows.toarray() if issparse(rows) else rows
    lines = np.vstack([np.sqrt(weights)[:, None] * dense, np.diag(np.sqrt(penalties))])
    return np.asarray(np.linalg.qr(lines, mode="r")).T
