"""Labels seen through a flip matrix, row by row: likelihood, its slope and its bend in the scores (rKLR eqs. 2, 28).

With s the softmax of the scores, T the flip matrix and y what was observed, P = sum_j s_j T[j, y], and
r_j = s_j T[j, y] / P is the posterior of the true class. In the scores, log P has the gradient r - s and the negative
Hessian (diag s - s s') - (diag r - r r'): what the labels would tell, less what the flips hide.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from noisewise._inputs import Codes, Floats

TINY = 1e-300


@dataclass(frozen=True)
class FlipRows:
    """What one set of scores says about every row; `n_functions` is 1 for two classes (class 0 scores zero)."""

    codes: Codes
    prior: Floats  # s, of shape (n, n_classes)
    posterior: Floats  # r
    weights: Floats  # of the rows, of shape (n, 1)
    log_likelihood: float
    n_functions: int

    @classmethod
    def at(cls, scores: Floats, codes: Codes, flips: Floats, weights: Floats) -> FlipRows:
        """Read scores of shape (n, n_functions) against the observed classes; all in logarithms, none too large."""
        if scores.shape[1] == 1:
            second = -np.logaddexp(0, -scores)
            logs = np.concatenate([second - scores, second], axis=1)
        else:
            logs = scores - _log_sums(scores)
        joint = logs + np.log(np.maximum(flips, TINY)).T[codes]
        totals = _log_sums(joint)
        value = float(np.dot(weights, totals[:, 0]))
        return cls(codes, np.exp(logs), np.exp(joint - totals), weights[:, None], value, scores.shape[1])

    @cached_property
    def gradient(self) -> Floats:
        """Slope of the log-likelihood in each score."""
        return self.weights * self._active(self.posterior - self.prior)

    @cached_property
    def curvature(self) -> Floats:
        """Negative second derivative in each score by itself; negative where a label looks flipped."""
        s, r = self._active(self.prior), self._active(self.posterior)
        return np.asarray(self.weights * (s * (1 - s) - r * (1 - r)))

    @property
    def counts(self) -> Floats:
        """Expected number of rows of each true class (rows) seen as each class (columns): the slope in log T."""
        return self._count(self.posterior)

    def bend(self, direction: Floats) -> Floats:
        """Negative Hessian times a direction in the scores, of shape (n, n_functions)."""
        if self.n_functions == 1:
            return np.asarray(self.curvature * direction)
        s, r = self._active(self.prior), self._active(self.posterior)
        along_s, along_r = s * direction, r * direction
        along_s -= s * along_s.sum(axis=1, keepdims=True)
        along_r -= r * along_r.sum(axis=1, keepdims=True)
        return np.asarray(self.weights * (along_s - along_r))

    def left_out(self, scores: Floats, leverage: Floats, least: float) -> Floats:
        """Scores as if each row's own label had not been seen, to first order.

        The score f of a row becomes ``f - a g / (1 - a k)`` with the slope g and the curvature k of its own label and
        the leverage a; where flips bend the other way the curvature counts as zero, and of 1 - a k at least `least`
        stays.
        """
        kept = np.maximum(1 - leverage * np.maximum(self.curvature, 0), least)
        return np.asarray(scores - leverage * self.gradient / kept)

    def curvature_slope(self, factors: Floats) -> Floats:
        """Slope in the scores of the sum of ``factors * curvature``, both of shape (n, n_functions)."""
        s, r = self._active(self.prior), self._active(self.posterior)
        by_s, by_r = factors * (1 - 2 * s) * s, factors * (1 - 2 * r) * r
        by_s -= s * by_s.sum(axis=1, keepdims=True)
        by_r -= r * by_r.sum(axis=1, keepdims=True)
        return np.asarray(self.weights * (by_s - by_r))

    def flip_slope(self, factors: Floats, direction: Floats) -> Floats:
        """Slope in log T[j, y] of log-likelihood + ``factors * curvature`` + ``direction * gradient``, summed."""
        r = self.posterior
        along = self._active(r) * (direction - factors * (1 - 2 * self._active(r)))
        total = r * (1 - along.sum(axis=1, keepdims=True))
        self._active(total)[...] += along
        return self._count(total)

    def _count(self, mass: Floats) -> Floats:
        """Add up rows by what was observed."""
        weighed, n_classes = self.weights * mass, mass.shape[1]
        return np.stack([np.bincount(self.codes, column, minlength=n_classes) for column in weighed.T])

    def _active(self, columns: Floats) -> Floats:
        return columns[:, -self.n_functions :]


def _log_sums(logs: Floats) -> Floats:
    """Logarithm of the summed exponentials of each row, as a column."""
    top = logs.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True)))
