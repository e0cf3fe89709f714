"""Nonlinear conjugate gradients as in Bootkrajang and Kaban: Hestenes-Stiefel directions, fixed Hessian (eqs. 5, 6)."""

from __future__ import annotations

import numpy as np

from noisewise._numerics.em import responsibilities
from noisewise._typing import Codes, Floats


class ConjugateDirections:
    """Conjugate directions of ascent by the formula of Hestenes and Stiefel, one gradient after the other.

    References
    ----------
    .. [1] Hestenes, M. R., Stiefel, E. (1952). Methods of conjugate gradients for solving linear systems. Journal of
       Research of the National Bureau of Standards 49(6).

    Examples
    --------
    >>> directions = ConjugateDirections()
    >>> directions.next(np.array([1.0, 0.0]))
    array([1., 0.])
    >>> directions.next(np.array([0.0, 1.0]))
    array([1., 1.])
    """

    def __init__(self) -> None:
        self._gradient: Floats | None = None
        self._direction: Floats = np.zeros(1)

    def next(self, gradient: Floats) -> Floats:
        """The next direction, ``gradient - nu * last`` (the text before eq. 5)."""
        conjugacy = 0.0  # [nu], which the paper calls the step length
        if self._gradient is not None:
            change = gradient - self._gradient
            denominator = float(np.sum(self._direction * change))
            conjugacy = float(np.sum(gradient * change)) / denominator if denominator else 0.0
        self._direction = gradient - conjugacy * self._direction
        self._gradient = gradient
        return self._direction


class InitialHessian:
    """Second derivative of the log-likelihood where all scores are zero, along any direction of the scores."""

    def __init__(self, codes: Codes, flips: Floats, weights: Floats) -> None:
        self._posterior = responsibilities(np.ones(1), flips.T[codes])[0]  # all classes are equally likely
        self._weights = weights

    def curvature(self, direction: Floats) -> float:
        """Minus the second derivative along a direction of shape (n, 1) or (n, n_classes)."""
        if direction.shape[1] == 1:
            direction = np.column_stack([np.zeros(len(direction)), direction[:, 0]])
        prior = direction.var(axis=1)
        posterior = np.sum(self._posterior * direction**2, axis=1) - np.sum(self._posterior * direction, axis=1) ** 2
        curvature = float(self._weights @ (prior - posterior))
        return curvature if curvature > 0 else float(self._weights @ prior)


def step_length(gradient: Floats, direction: Floats, curvature: float) -> float:
    """The maximiser of the quadratic model along a direction (eq. 6).

    >>> step_length(np.array([2.0, 0.0]), np.array([1.0, 0.0]), 4.0)
    0.5
    """
    return float(np.sum(gradient * direction)) / max(curvature, 1e-300)
