"""Ridge regression in closed form, and its leave-one-out predictions by leverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats

MAX_LEVERAGE = 0.95  # 1 / (1 - h) stays below 20 for a row that all but determines its own prediction
INTERPOLATION = 1 - 1e-9  # leverage beyond which the fit at a row is its own target, and rounding decides
LEAST_REMAINING = 1e-9  # of the weight of all rows: with less, no row is left
LEAST_MEAN_SQUARE = 1e-12  # of the rows, so that the penalty of rows of zeros is still positive


def relative_penalty(ridge: float, sum_of_squares: float, n_rows: int) -> float:
    """Penalty in units of the mean squared row length, so that the fit does not depend on the units of X."""
    return ridge * max(sum_of_squares / n_rows, LEAST_MEAN_SQUARE)


def ridge_inverse(X: NDArray[Any], penalty: float, weighted: NDArray[Any] | None = None) -> Floats:
    """inv(X' W X + penalty I) in float64; `weighted` holds the rows times their weights, W X."""
    gram = (X if weighted is None else weighted).T @ X
    return np.asarray(np.linalg.inv(gram.astype(np.float64, copy=False) + penalty * np.eye(X.shape[1])))


def ridge_weights(X: NDArray[Any], targets: NDArray[Any], penalty: float, importance: NDArray[Any]) -> Floats:
    """Weights of ridge regressions on weighted rows, (X' W X + penalty I)^-1 X' W t, in float64; a row for each target.

    Of fewer rows than columns the smaller system is solved, with V = W^(1/2) X: V' (V V' + penalty I)^-1 W^(1/2) t.

    >>> ridge_weights(np.array([[1.0, 2.0]]), np.array([[3.0]]), 1.0, np.ones(1))
    array([[0.5, 1. ]])
    """
    roots = np.sqrt(importance)
    rows, goals = X * roots[:, None].astype(X.dtype), targets * roots
    if len(X) >= X.shape[1]:
        normal = (rows.T @ rows).astype(np.float64, copy=False) + penalty * np.eye(X.shape[1])
        return np.asarray(np.linalg.solve(normal, rows.T @ goals.T.astype(X.dtype)).T)
    kernel = (rows @ rows.T).astype(np.float64, copy=False) + penalty * np.eye(len(X))
    return np.asarray(np.linalg.solve(kernel, goals.T).T @ rows)


def leverage(X: NDArray[Any], inverse: Floats) -> NDArray[Any]:
    """Diagonal of the hat matrix, h_i = x_i' inv(X' W X + penalty I) x_i; times w_i where rows are weighted."""
    return np.asarray(np.einsum("ij,ij->i", X @ inverse, X))


def leave_one_out(predictions: Floats, targets: Any, leverage: Floats, most: float = MAX_LEVERAGE) -> Floats:
    """Predictions of each row by the regression without it: (f_i - h_i y_i) / (1 - h_i), with h_i at most `most`.

    >>> leave_one_out(np.array([0.5]), np.array([1.0]), np.array([0.5]))
    array([0.])
    """
    h = np.minimum(leverage, most)
    return np.asarray((predictions - h * targets) / (1 - h))


def leave_copies_out(
    predictions: Floats, leverage: Floats, counts: Floats, targets: Floats, least: float, total: float = np.inf
) -> Floats:
    """Predictions at x of a ridge regression without r copies of x whose targets sum to t: (f - h t) / (1 - r h).

    With r = 1 and t = y this is leave-one-out, with r = 0 the prediction at a row that took no part in the fit.

    Features and targets that are centred on the mean of all rows, of weight n = `total`, would give the copies away:
    the centred rows sum to zero, so the others determine x, and their targets t. Around the mean of the other rows,
    x, t and their part of the normal matrix are q = n / (n - r) times as long, and the prediction is

        q (f - q h t) / (1 - r q h)

    above the mean target of the others. It is added to the mean of all rows, not of the others, which would reveal t
    with a minus sign. Without any other row, the result is zero, the mean; 1 - r q h counts as `least` where it is
    less, because it is rounding then.
    """
    remain = 1 - counts / total
    longer = np.where(remain > LEAST_REMAINING, 1 / np.maximum(remain, LEAST_REMAINING), 0.0)
    leverage = longer * leverage
    rest = np.maximum(1 - counts * leverage, least)
    return np.asarray((longer / rest)[:, None] * (predictions - leverage[:, None] * targets))


@dataclass(frozen=True)
class RidgeFit:
    """A ridge regression for each action: A = ridge I + sum w x x'.

    Attributes
    ----------
    inverses : array of shape (n_actions, n_features, n_features)
        inv(A).
    weights : array of shape (n_actions, n_features)
        inv(A) sum w t x, the regression of the targets t.
    baseline : array of shape (n_actions, n_features)
        inv(A) sum w x, the regression of the constant 1: how far the penalty shrinks a prediction.
    """

    inverses: Floats
    weights: Floats
    baseline: Floats


def fit_per_action(
    X: Floats,
    actions: Codes,
    targets: Floats,
    n_actions: int,
    ridge: float = 1.0,
    importance: Floats | None = None,
) -> RidgeFit:
    """Minimise sum_i w_i (x_i' beta_a - t_i)^2 + ridge |beta_a|^2 over the rounds of each action a."""
    d = X.shape[1]
    fit = RidgeFit(np.zeros((n_actions, d, d)), np.zeros((n_actions, d)), np.zeros((n_actions, d)))
    for action in range(n_actions):
        mine = np.flatnonzero(actions == action)
        own = X[mine]
        weighted = own if importance is None else own * importance[mine, None]
        inverse = fit.inverses[action] = ridge_inverse(own, ridge, weighted)
        fit.weights[action] = inverse @ (targets[mine] @ weighted)
        fit.baseline[action] = inverse @ weighted.sum(axis=0)
    return fit


def leave_one_out_per_action(
    fit: RidgeFit, X: Floats, actions: Codes, targets: Floats, importance: Floats | None = None
) -> tuple[Floats, Floats]:
    """Predictions of every action by `weights` and by `baseline`, leave-one-out for the action of each round."""
    h = leverage_per_action(fit.inverses, X, actions)
    if importance is not None:
        h *= importance
    scores, baseline = X @ fit.weights.T, X @ fit.baseline.T
    leave_own_out(scores, actions, targets, h)
    leave_own_out(baseline, actions, 1.0, h)
    return scores, baseline


def leverage_per_action(inverses: Floats, X: NDArray[Any], actions: Codes) -> Floats:
    """Leverage of each round in the regression of its action."""
    h = np.zeros(len(X))
    for action, inverse in enumerate(inverses):
        mine = np.flatnonzero(actions == action)
        h[mine] = leverage(X[mine].astype(np.float64, copy=False), inverse)
    return h


def leave_own_out(scores: Floats, actions: Codes, targets: Any, leverage: Floats) -> None:
    """Replace the score of each round's own action by its leave-one-out prediction, in place."""
    rounds = np.arange(len(actions))
    scores[rounds, actions] = leave_one_out(scores[rounds, actions], targets, leverage)
