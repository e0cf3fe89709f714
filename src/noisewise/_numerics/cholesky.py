"""Cholesky factors of regularised Hessians, by QR where rounding made them singular, and preconditioners of them."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import hstack, issparse
from sklearn.utils.extmath import safe_sparse_dot

from noisewise._numerics.blocks import blocks
from noisewise._typing import Floats

ROUNDING = 1e-12  # squared pivot as a fraction of the diagonal entry; a smaller one is rounding error
MANY_COLUMNS = 500  # from here on a preconditioner is diagonal: a full one costs the cube of the columns
JITTER = 1e-9  # times the weight of all rows, on the diagonal where there is no penalty


def lower_factor(curvature: Floats, rows: Any, weights: Floats, penalties: Floats) -> Floats:
    """Lower triangular L with ``L L'`` the Hessian ``rows' diag(weights) rows + diag(penalties)`` (but for jitter).

    Columns that are very large, or far from zero, lose all digits of their differences when they are squared; the
    Cholesky factor fails then, or is wrong, and L comes from a QR decomposition of the rows.

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
    stacked = np.vstack([np.sqrt(weights)[:, None] * dense, np.diag(np.sqrt(penalties))])
    return np.asarray(np.linalg.qr(stacked, mode="r")).T


def logistic_preconditioner(X: Any, weights: Floats, penalty: float) -> Floats:
    """Change of variables for a logistic loss on rows with an intercept, after which its Hessian is near the identity.

    The Hessian is at most ``H = X' W X / 4 + penalty I`` (with a column of ones; [1]_); the result is the inverse of a
    root of H / sum(W): a matrix, or from `MANY_COLUMNS` columns on the diagonal of it as a vector.

    References
    ----------
    .. [1] Boehning, D., Lindsay, B. G. (1988). Monotonicity of quadratic-approximation algorithms. Annals of the
       Institute of Statistical Mathematics 40.
    """
    total, ones = weights.sum(), np.ones((X.shape[0], 1))
    if X.shape[1] >= MANY_COLUMNS:
        squares = X.multiply(X).T @ weights if issparse(X) else weights @ (X * X)
        return np.asarray(1 / np.sqrt(np.append(squares / 4 + penalty, total / 4) / total))
    rows: Any = hstack([X, ones], format="csr") if issparse(X) else np.hstack([X, ones])
    weighted = rows.multiply(weights[:, None]).tocsr() if issparse(X) else rows * weights[:, None]
    curvature = safe_sparse_dot(rows.T, weighted, dense_output=True) / 4
    penalties = np.append(np.full(X.shape[1], penalty), 0.0)
    curvature[np.diag_indices(len(curvature))] += np.append(penalties[:-1], JITTER * total)
    return _inverse_factor(curvature, rows, weights, penalties)


def features_preconditioner(features: Floats, weights: Floats, penalties: Floats) -> Floats:
    """The same for dense features with a penalty each, ``H = F' W F / 4 + diag(penalties)``, a block at a time."""
    curvature = np.zeros((features.shape[1], features.shape[1]))
    for part in blocks(len(features)):
        curvature += features[part].T @ (features[part] * weights[part, None])
    curvature = curvature / 4 + np.diag(penalties + JITTER * weights.sum())
    return _inverse_factor(curvature, features, weights, penalties)


def precondition(change: Floats, parameters: Floats) -> Floats:
    """Preconditioned parameters in the original variables; with ``change.T``, a gradient the other way."""
    return np.asarray(change[:, None] * parameters if change.ndim == 1 else change @ parameters)


def _inverse_factor(curvature: Floats, rows: Any, weights: Floats, penalties: Floats) -> Floats:
    total = weights.sum()
    factor = lower_factor(curvature / total, rows, weights / (4 * total), penalties / total)
    return np.asarray(solve_triangular(factor, np.eye(len(factor)), lower=True).T)
