"""Regret on clean examples, its bounds, and the step sizes of the bounds.

The bounds are those of [1]_ with corrected constants: several of the printed ones do not hold. The steps are those of
the bounds; adaptive steps are much better on finite streams.

References
----------
.. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
   Information Theory 57(12).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from noisewise._typing import Floats
from noisewise.kernels import DotProduct, Gaussian, Kernel
from noisewise.losses import Loss, Squared


class Guarantee(NamedTuple):
    """A constant step [eta], and the bound of the expected regret after all rounds if it is used."""

    step: float
    regret: float


def regret(predictions: ArrayLike, best: ArrayLike, y: ArrayLike, loss: Loss | None = None) -> Floats:
    """Regret on clean examples after each round: losses so far, minus those of the best fixed predictor.

    Parameters
    ----------
    predictions : array of shape (rounds,)
        At the clean row of each round, made before its update. Regret on noisy rows does not show the noise.
    best : array of shape (rounds,)
        Predictions of the competitor, for instance that of `best_in_ball`.
    y : array of shape (rounds,)
    loss : Loss, optional
        The squared loss by default.

    Examples
    --------
    >>> regret([0.0, 0.5, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    array([1.  , 1.25, 1.25])
    """
    loss = Squared() if loss is None else loss
    targets = np.asarray(y, dtype=np.float64)

    def losses(values: ArrayLike) -> Floats:
        given = np.asarray(values, dtype=np.float64)
        return loss.value(targets * given if loss.argument == "margin" else given - targets)

    return np.cumsum(losses(predictions) - losses(best))


def best_in_ball(features: ArrayLike, y: ArrayLike, ball: float) -> Floats:
    """Weights of norm `ball` at most with the least sum of squared errors.

    For a kernel, `features` may be any F with ``F @ F.T`` the Gram matrix, such as its Cholesky factor.

    >>> best_in_ball([[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0], ball=1.0)
    array([0.6, 0.8])
    """
    rows, targets = np.asarray(features, dtype=np.float64), np.asarray(y, dtype=np.float64)
    left, values, right = np.linalg.svd(rows, full_matrices=False)
    aim = left.T @ targets
    kept = values > 1e-12 * np.max(values, initial=0.0)
    aim, values, right = aim[kept], values[kept], right[kept]

    def excess(ridge: float) -> float:
        return float(np.linalg.norm(values * aim / (values**2 + ridge)) - ball)

    if excess(0.0) <= 0:
        return np.asarray((aim / values) @ right)
    ridge = brentq(excess, 0.0, float(np.linalg.norm(values * aim)) / ball, xtol=1e-14)
    return np.asarray((values * aim / (values**2 + ridge)) @ right)


def two_copies_guarantee(rounds: int, ball: float, row_bound: float, target_bound: float) -> Guarantee:
    """Linear predictors from two copies of each row (Algorithm 1, Theorem 1).

    Parameters
    ----------
    rounds : int
        [T]
    ball : float
        Bound of the weights' norm [B_w].
    row_bound, target_bound : float
        Roots of bounds of E ``|x~|^2`` and E y~^2 [B_x, B_y].

    Examples
    --------
    >>> two_copies_guarantee(rounds=100, ball=1.0, row_bound=1.0, target_bound=1.0)
    Guarantee(step=0.025, regret=40.0)
    """
    return _guarantee(rounds, ball, 4 * (ball * row_bound + target_bound) ** 2 * row_bound**2)


def known_covariance_guarantee(
    rounds: int, ball: float, row_bound: float, target_bound: float, covariance_bound: float
) -> Guarantee:
    """Linear predictors from one copy of each row and the noise's covariance (Algorithm 2, Theorem 2).

    As `two_copies_guarantee`; `row_bound` bounds the fourth root of E ``|x~|^4`` too, and `covariance_bound` the
    largest eigenvalue of the covariance [B_Sigma].
    """
    squares = 8 * ball**2 * row_bound**4 + 8 * target_bound**2 * row_bound**2
    cross = 8 * ball * covariance_bound * (ball * row_bound + target_bound) * row_bound
    return _guarantee(rounds, ball, squares + cross)


def surrogate_descent_guarantee(rounds: int, ball: float, height: float, target_bound: float) -> Guarantee:
    """Kernel predictors under Gaussian noise of known covariance (Algorithm 3, Theorems 3 and 5).

    Parameters
    ----------
    rounds : int
        [T]
    ball : float
        Bound of the norm in the surrogate space [W]; see `surrogate_ball`.
    height : float
        The surrogate kernel's value of a row with itself [R^2], ``surrogate(kernel, noise).height(n_features)``.
    target_bound : float
        Root of a bound of E y~^2 [B_y].
    """
    return _guarantee(rounds, ball, 4 * height * (ball * np.sqrt(height) + target_bound) ** 2)


def surrogate_ball(ball: float, height: float, angle: float = np.pi / 2) -> float:
    """The ball in the surrogate space that holds the image of one of the clean space [W].

    `angle` is the least one between the positive and the negative part of the predictors to compare with [beta].
    """
    if not 0 < angle <= np.pi / 2:
        raise ValueError(f"the angle is {angle:.4g}; it lies above 0 and up to pi / 2")
    return float(np.sqrt(5 * height) * ball / np.sin(angle))


def radial_height(variance: float, limit: float) -> float:
    """Bound of the height of the surrogate of (1 + r^2 / d)^-1, for any d, truncated at c = `limit` (Theorem 5).

    `variance` is that of the noise in each column; the limit must be below d / (4 variance).
    """
    return float(np.exp(2 * variance * limit))


def map_bound(
    kernel: Kernel, row_bound: float, p: float = 2.0, estimator: Literal["full", "roulette", "geometric"] = "geometric"
) -> float:
    """Bound of E ``|Psi~|^2``, the mean squared norm of a random map (Lemmas 12 and 14).

    Parameters
    ----------
    kernel : kernel of the inner product, or Gaussian
    row_bound : float
        Root of a bound of E ``|x~|^2``. (The paper's B_x here is its square.)
    p : float
    estimator : {"geometric", "roulette", "full"}
        The paper's, one random term; all terms up to a random one; all terms of a polynomial kernel.
    """
    squared, over = row_bound**2, p / (p - 1)
    if isinstance(kernel, Gaussian):
        if estimator == "full":
            raise ValueError("the feature map of a Gaussian kernel is infinite; take roulette or geometric estimates")
        both = float(np.exp(2 * (np.sqrt(p) + p) * squared / kernel.width**2))
        return both * over**2 if estimator == "geometric" else both
    if not isinstance(kernel, DotProduct):
        raise TypeError(f"{kernel!r} is not understood; kernels of the inner product and the Gaussian kernel are")
    argument = squared if estimator == "full" else p * squared
    value = float(kernel.of_dot(np.array(argument)))
    return value * over if estimator == "geometric" else value


def unknown_noise_guarantee(
    rounds: int,
    ball: float,
    loss: Loss,
    kernel: Kernel,
    row_bound: float,
    target_bound: float = 0.0,
    p: float = 2.0,
    estimator: Literal["full", "roulette", "geometric"] = "geometric",
) -> Guarantee:
    """Kernel predictors under noise of unknown distribution (Algorithm 4, Theorems 6 and 7).

    Parameters
    ----------
    rounds : int
        [T]
    ball : float
        Bound of the predictor's norm. (The paper's B_w here is its square.)
    loss : Loss
    kernel, row_bound, p, estimator
        As for `map_bound`; "full" needs a squared loss, too, which takes one factor.
    target_bound : float
        For losses of the residual: bound of the targets' size.
    """
    maps = map_bound(kernel, row_bound, p, estimator)
    factor = ball * np.sqrt(maps) + (target_bound if loss.argument == "residual" else 0.0)
    if estimator == "full":
        if not isinstance(loss, Squared):
            raise ValueError(f"{loss!r} takes a random number of factors; 'full' is for the squared loss")
        length = 4 * factor**2
    else:
        length = float(loss.absolute_series(np.sqrt(p) * factor)) ** 2
        length *= p / (p - 1) if estimator == "geometric" else 1.0
    return _guarantee(rounds, ball, length * maps)


def _guarantee(rounds: int, ball: float, mean_square: float) -> Guarantee:
    """Online gradient descent in a ball, with gradients of this mean square [G]."""
    if rounds < 1 or not (ball > 0 and mean_square > 0):
        raise ValueError("rounds, balls and bounds must be above 0")
    root = float(np.sqrt(mean_square * rounds))
    return Guarantee(float(ball / root), float(ball * root))
