"""Logs of played actions and their feedback: validation, random projection, and leave-one-out ridge scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from noisewise._numerics.ridge import leave_own_out, leverage, relative_penalty, ridge_inverse, ridge_weights
from noisewise._typing import Codes, Floats

MAX_WIDTH = 512  # columns; wider rows are projected, because the regression's cost grows with the square
RELATIVE_PENALTY = 5.0  # of the ridge regression of feedback, in units of the mean squared length of a row

NONLINEAR_FROM = 2000  # rounds; fewer are no use to a regression on Fourier features for each action, nor show overlap
N_FOURIER = 300  # random Fourier features of a Gaussian kernel, whose width is the median distance of rows
FOURIER_PENALTY = 0.5  # of the regression on them, in units of the mean squared length
MAX_FOURIER_ROUNDS = 100_000  # every second, third, ... round is taken of more, so that their features fit in memory


def leave_one_out_scores(
    X: NDArray[Any], actions: Codes, feedback: Floats, n_classes: int, ridge: float = RELATIVE_PENALTY
) -> Floats:
    """Ridge estimates of P(feedback = 1 | x, action) for every action, leave-one-out for the action of each round.

    The arithmetic is that of X, which may be float32; one action's inverse is in memory at a time.
    """
    penalty = relative_penalty(ridge, float(np.einsum("ij,ij->", X, X)), len(X))
    weights = np.zeros((n_classes, X.shape[1]))
    h = np.zeros(len(X))
    for action in range(n_classes):
        mine = np.flatnonzero(actions == action)
        own = X[mine]
        inverse = ridge_inverse(own, penalty)
        weights[action] = inverse @ (feedback[mine].astype(own.dtype) @ own)
        h[mine] = leverage(own, inverse.astype(own.dtype))
    scores = np.asarray(X @ weights.T.astype(X.dtype), dtype=np.float64)
    leave_own_out(scores, actions, feedback, h)
    return scores


def sharper_scores(
    X: NDArray[Any],
    scores: Floats,
    actions: Codes,
    targets: Floats,
    baseline: Floats | None = None,
    importance: Floats | None = None,
) -> tuple[slice, Floats, Floats]:
    """Which rounds are taken, their scores by a nonlinear regression where it predicts better, and its baseline.

    It regresses on random Fourier features [1]_, cross-fitted: every second round is scored by the others. All copies
    of a row with much positive feedback by accident would score high leave-one-out, and be selected together. Of both
    regressions, the one with the smaller error is taken. The baseline is the regression of 1.

    References
    ----------
    .. [1] Rahimi, A., Recht, B. (2007). Random features for large-scale kernel machines. NIPS 20.
    """
    n_rounds, n_classes = scores.shape
    kept = slice(None, None, max(-(-n_rounds // MAX_FOURIER_ROUNDS), 1))
    baseline = np.ones_like(scores) if baseline is None else baseline
    if n_rounds < NONLINEAR_FROM:
        return kept, scores, baseline
    rows, played, goals, linear = X[kept].astype(np.float32), actions[kept], targets[kept], scores[kept]
    weights = np.ones(len(rows)) if importance is None else importance[kept]
    curved = _cross_fitted(fourier_features(rows).transform(rows), played, goals, weights, n_classes)
    rounds = np.arange(len(rows))
    errors = [float(weights @ np.square(goals - each[rounds, played])) for each in (linear, curved[0])]
    return (kept, curved[0], curved[1]) if errors[1] < errors[0] else (kept, linear, baseline[kept])


def _cross_fitted(X: NDArray[Any], actions: Codes, targets: Floats, importance: Floats, n_classes: int) -> Floats:
    """Regressions of the targets and of 1 for each action, of every second round, at the others."""
    penalty = relative_penalty(FOURIER_PENALTY, float(np.einsum("ij,ij->", X, X)), len(X))
    scores = np.zeros((2, len(X), n_classes))
    for half in (0, 1):
        rows, played = X[half::2], actions[half::2]
        goals = np.stack([targets[half::2], np.ones(len(rows))])
        weights = np.zeros((2, n_classes, X.shape[1]), X.dtype)
        for action in np.unique(played):
            mine = np.flatnonzero(played == action)
            weights[:, action] = ridge_weights(rows[mine], goals[:, mine], penalty, importance[half::2][mine])
        scores[:, 1 - half :: 2] = X[1 - half :: 2] @ weights.transpose(0, 2, 1)
    return scores


def fourier_features(X: NDArray[Any]) -> Any:
    """Random Fourier features of a Gaussian kernel with the median distance of these rows, fitted to their width."""
    from sklearn.kernel_approximation import RBFSampler  # imports a good part of scikit-learn

    half = len(X) // 2
    distance = float(np.median(np.square(X[:half] - X[half : 2 * half]).sum(axis=1)))
    return RBFSampler(gamma=0.5 / max(distance, 1e-12), n_components=N_FOURIER, random_state=0).fit(X)


def project_rows(X: Any) -> NDArray[Any]:
    """Rows in float32, of at most 512 columns: wider ones by a sparse random projection with a fixed seed.

    References
    ----------
    .. [1] Li, P., Hastie, T. J., Church, K. W. (2006). Very sparse random projections. KDD 12, 287-296.
    """
    if X.shape[1] > MAX_WIDTH:
        from sklearn.random_projection import SparseRandomProjection  # imports a good part of scikit-learn

        projection = SparseRandomProjection(MAX_WIDTH, random_state=0, dense_output=True)
        X = projection.fit_transform(X)
    dense = X.toarray() if sparse.issparse(X) else X
    return np.ascontiguousarray(dense, dtype=np.float32)


def check_n_classes(n_classes: Any) -> None:
    """Refuse a number of actions that leaves nothing to choose from."""
    if not isinstance(n_classes, int | np.integer) or n_classes < 2:
        raise ValueError(f"n_classes is {n_classes!r}; it is a number of actions, 2 or more")


def check_log(
    X: Any, actions: ArrayLike, feedback: ArrayLike, probabilities: ArrayLike, n_classes: int
) -> tuple[Any, Codes, Floats, Floats]:
    """Rows, actions, feedback and propensities as arrays of one length; a log that can't be right is refused."""
    check_n_classes(n_classes)
    rows = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub" or rows.shape[1] == 0:
        raise ValueError(f"X must be a table of numbers, one row a round; it has shape {rows.shape} and {rows.dtype}")
    if np.asarray(feedback).dtype.kind in "SU":
        raise ValueError("feedback must be 0 or 1 (False or True)")
    played, observed, propensities = np.asarray(actions), np.asarray(feedback, float), np.asarray(probabilities, float)
    n_rounds = rows.shape[0]
    if n_rounds == 0 or {played.shape, observed.shape, propensities.shape} != {(n_rounds,)}:
        raise ValueError(
            f"a log needs one action, feedback and probability per row of X, and at least one row; "
            f"X has {n_rounds} rows, the others {played.shape}, {observed.shape}, {propensities.shape}"
        )
    if played.dtype.kind not in "iub" or played.min() < 0 or played.max() >= n_classes:
        raise ValueError(f"actions must be whole numbers from 0 to {n_classes - 1}")
    if not np.isin(observed, (0.0, 1.0)).all():
        raise ValueError("feedback must be 0 or 1 (False or True)")
    if not ((propensities > 0) & (propensities <= 1)).all():
        raise ValueError("the probability of a played action must be above 0 and at most 1")
    if not np.isfinite(rows.data if sparse.issparse(rows) else rows).all():
        raise ValueError("X holds NaN or infinity; drop these rounds or fill them in")
    return rows, played.astype(np.intp), observed, propensities
