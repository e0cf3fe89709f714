"""Labels seen through a flip matrix, row by row: likelihood, its slope and its bend in the scores.

With s the softmax of the scores, T the flip matrix and y what was observed, P = sum_j s_j T[j, y], and
r_j = s_j T[j, y] / P is the posterior of the true class. In the scores, log P has the gradient r - s and the negative
Hessian (diag s - s s') - (diag r - r r'): what the labels would tell, less what the flips hide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise._inputs import Codes, Floats

TINY = 1e-300


@dataclass(frozen=True)
class FlipRows:
    """What one set of scores says about every row; `n_functions` is 1 for two classes (class 0 scores zero)."""

    prior: Floats  # s, of shape (n, n_classes)
    posterior: Floats  # r
    weights: Floats  # of the rows, of shape (n, 1)
    log_likelihood: float
    n_functions: int

    @classmethod
    def at(cls, scores: Floats, observed: Floats, weights: Floats) -> FlipRows:
        """Read scores of shape (n, n_functions) against `observed`, the column T[:, y] of each row."""
        n_functions = scores.shape[1]
        if n_functions == 1:
            second = np.exp(-np.logaddexp(0, -scores))
            prior = np.concatenate([np.exp(-np.logaddexp(0, scores)), second], axis=1)
        else:
            prior = np.exp(scores - scores.max(axis=1, keepdims=True))
            prior /= prior.sum(axis=1, keepdims=True)
        joint = prior * observed
        likelihood = joint.sum(axis=1, keepdims=True)
        np.maximum(likelihood, TINY, out=likelihood)
        joint /= likelihood
        value = float(np.dot(weights[:, 0], np.log(likelihood[:, 0])))
        return cls(prior, joint, weights, value, n_functions)

    @property
    def gradient(self) -> Floats:
        """Slope of the log-likelihood in each score."""
        return self.weights * self._active(self.posterior - self.prior)

    @property
    def curvature(self) -> Floats:
        """Negative second derivative in each score by itself; negative where a label looks flipped."""
        s, r = self._active(self.prior), self._active(self.posterior)
        return np.asarray(self.weights * (s * (1 - s) - r * (1 - r)))

    def bend(self, direction: Floats) -> Floats:
        """Negative Hessian times a direction in the scores, of shape (n, n_functions)."""
        s, r = self._active(self.prior), self._active(self.posterior)
        along_s, along_r = s * direction, r * direction
        along_s -= s * along_s.sum(axis=1, keepdims=True)
        along_r -= r * along_r.sum(axis=1, keepdims=True)
        return np.asarray(self.weights * (along_s - along_r))

    def curvature_slope(self, factors: Floats) -> Floats:
        """Slope in the scores of the sum of ``factors * curvature``, both of shape (n, n_functions)."""
        s, r = self._active(self.prior), self._active(self.posterior)
        by_s, by_r = factors * (1 - 2 * s) * s, factors * (1 - 2 * r) * r
        by_s -= s * by_s.sum(axis=1, keepdims=True)
        by_r -= r * by_r.sum(axis=1, keepdims=True)
        return np.asarray(self.weights * (by_s - by_r))

    def flip_slope(self, factors: Floats, direction: Floats, codes: Codes) -> Floats:
        """Slope in log T[j, y] of log-likelihood + ``factors * curvature`` + ``direction * gradient``, summed."""
        r = self.posterior
        along = self._active(r) * (direction - factors * (1 - 2 * self._active(r)))
        total = r * (1 - along.sum(axis=1, keepdims=True))
        self._active(total)[...] += along
        slopes = np.zeros((r.shape[1], r.shape[1]))
        np.add.at(slopes.T, codes, self.weights * total)
        return slopes

    def _active(self, columns: Floats) -> Floats:
        return columns[:, -self.n_functions :]
