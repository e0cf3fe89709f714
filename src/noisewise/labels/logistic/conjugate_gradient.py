"""The paper's way to climb: Hestenes and Stiefel's directions, steps as long as the first Hessian says (eqs. 5, 6)."""

from __future__ import annotations

import numpy as np

from noisewise._typing import Codes, Floats


class Directions:
    """Conjugate directions from one gradient after the other, for an objective that climbs.

    >>> directions = Directions()
    >>> directions.turn(np.array([1.0, 0.0]))
    array([1., 0.])
    >>> directions.turn(np.array([0.0, 1.0]))
    array([1., 1.])
    """

    def __init__(self) -> None:
        self._gradient: Floats | None = None
        self._direction: Floats = np.zeros(1)

    def turn(self, gradient: Floats) -> Floats:
        """The next direction, ``gradient - nu * last`` (the text before eq. 5)."""
        conjugacy = 0.0  # [nu], which the paper calls the step length
        if self._gradient is not None:
            change = gradient - self._gradient
            below = float(np.sum(self._direction * change))
            conjugacy = float(np.sum(gradient * change)) / below if below else 0.0
        self._direction = gradient - conjugacy * self._direction
        self._gradient = gradient
        return self._direction


class FirstHessian:
    """How much the log-likelihood curves where all scores are zero, along any move of the scores."""

    def __init__(self, codes: Codes, flips: Floats, weights: Floats) -> None:
        self._explained = flips.T[codes] / flips.T[codes].sum(axis=1, keepdims=True)
        self._weights = weights

    def curvature(self, moved: Floats) -> float:
        """Minus the second derivative as scores move by `moved`, of shape (n, 1) or (n, n_classes)."""
        if moved.shape[1] == 1:
            moved = np.column_stack([np.zeros(len(moved)), moved[:, 0]])
        clean = moved.var(axis=1)
        seen = np.sum(self._explained * moved**2, axis=1) - np.sum(self._explained * moved, axis=1) ** 2
        known = float(self._weights @ (clean - seen))
        return known if known > 0 else float(self._weights @ clean)


def step_length(gradient: Floats, direction: Floats, curvature: float) -> float:
    """How far to go along a direction (eq. 6).

    >>> step_length(np.array([2.0, 0.0]), np.array([1.0, 0.0]), 4.0)
    0.5
    """
    return float(np.sum(gradient * direction)) / max(curvature, 1e-300)
