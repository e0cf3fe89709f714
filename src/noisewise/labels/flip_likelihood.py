"""Log-likelihood of observed labels through a flip matrix: sum_i w_i log sum_j T[j, y_i] P(true = j | scores_i)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from noisewise._numerics.em import joint_counts
from noisewise._typing import Codes, Floats

TINY = 1e-300  # instead of a probability of zero, whose logarithm is not finite


@dataclass(frozen=True)
class FlipLikelihood:
    """The log-likelihood at given scores, and its derivatives row by row.

    Class posteriors are the softmax of the scores. `n_functions` is 1 for two classes: the score is the log-odds of the
    second class. Everything is computed in logarithms, so that large scores stay finite; `FlipMatrix.explain` is the
    same posterior of the true class for probabilities.
    """

    codes: Codes
    prior: Floats  # s = P(true | scores), of shape (n, n_classes)
    posterior: Floats  # r = P(true | scores, observed): the EM responsibilities
    weights: Floats  # of the rows, of shape (n, 1)
    log_likelihoods: Floats  # of the observed class of each row
    n_functions: int

    @classmethod
    def at(cls, scores: Floats, codes: Codes, flips: Floats, weights: Floats) -> FlipLikelihood:
        """The likelihood of the observed classes at scores of shape (n, n_functions)."""
        if scores.shape[1] == 1:
            second = -np.logaddexp(0, -scores)
            logs = np.concatenate([second - scores, second], axis=1)
        else:
            logs = scores - _log_sums(scores)
        joint = logs + np.log(np.maximum(flips, TINY)).T[codes]
        totals = _log_sums(joint)
        return cls(codes, np.exp(logs), np.exp(joint - totals), weights[:, None], totals[:, 0], scores.shape[1])

    @cached_property
    def log_likelihood(self) -> float:
        """Of all rows, by their weights."""
        return float(np.dot(self.weights[:, 0], self.log_likelihoods))

    @cached_property
    def gradient(self) -> Floats:
        """Gradient of the log-likelihood in the scores, w (r - s)."""
        return self.weights * self._active(self.posterior - self.prior)

    @cached_property
    def curvature(self) -> Floats:
        """Diagonal of the negative Hessian in the scores, w (s (1 - s) - r (1 - r)); negative at likely flips."""
        s, r = self._active(self.prior), self._active(self.posterior)
        return np.asarray(self.weights * (s * (1 - s) - r * (1 - r)))

    @property
    def counts(self) -> Floats:
        """Expected number of rows of each true class [row] observed as each class [column]: the gradient in log T."""
        return self._count(self.posterior)

    def hessian_product(self, direction: Floats) -> Floats:
        """Negative Hessian in the scores times a direction of shape (n, n_functions)."""
        if self.n_functions == 1:
            return np.asarray(self.curvature * direction)
        s, r = self._active(self.prior), self._active(self.posterior)
        by_s, by_r = s * direction, r * direction
        by_s -= s * by_s.sum(axis=1, keepdims=True)
        by_r -= r * by_r.sum(axis=1, keepdims=True)
        return np.asarray(self.weights * (by_s - by_r))

    def leave_one_out(self, scores: Floats, leverage: Floats, least: float) -> Floats:
        """Approximate leave-one-out scores: one Newton step of the fit without each row's own label.

        The score f becomes ``f - h g / (1 - h k)`` with the gradient g and the curvature k of the row's own term and
        the leverage h. A negative curvature counts as zero, and 1 - h k is at least `least`.
        """
        rest = np.maximum(1 - leverage * np.maximum(self.curvature, 0), least)
        return np.asarray(scores - leverage * self.gradient / rest)

    def curvature_gradient(self, factors: Floats) -> Floats:
        """Gradient in the scores of the sum of ``factors * curvature``, both of shape (n, n_functions)."""
        s, r = self._active(self.prior), self._active(self.posterior)
        by_s, by_r = factors * (1 - 2 * s) * s, factors * (1 - 2 * r) * r
        by_s -= s * by_s.sum(axis=1, keepdims=True)
        by_r -= r * by_r.sum(axis=1, keepdims=True)
        return np.asarray(self.weights * (by_s - by_r))

    def flip_gradient(self, factors: Floats, direction: Floats) -> Floats:
        """Gradient in log T of log-likelihood + sum ``factors * curvature`` + sum ``direction * gradient``."""
        r = self.posterior
        by_r = self._active(r) * (direction - factors * (1 - 2 * self._active(r)))
        total = r * (1 - by_r.sum(axis=1, keepdims=True))
        self._active(total)[...] += by_r
        return self._count(total)

    def _count(self, mass: Floats) -> Floats:
        """Weighted sums of the rows by observed class."""
        return joint_counts(self.weights * mass, self.codes)

    def _active(self, columns: Floats) -> Floats:
        return columns[:, -self.n_functions :]


def flip_likelihood(scores: Floats, codes: Codes, flips: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
    """Log-likelihood of observed labels, its gradient in the scores, and the expected counts [true, observed].

    The gradient of each row is P(true | x, observed) - P(true | x) (Bootkrajang & Kaban 2014, eqs. 5 and 29 without the
    penalty, in the form of EM); the gradient in the logarithm of the flip matrix is the counts (eqs. 7 and 8 normalise
    them).

    Parameters
    ----------
    scores : array of shape (n, 1) or (n, n_classes)
        One score is the log-odds of the second of two classes.
    codes : array of int of shape (n,)
    flips : array of shape (n_classes, n_classes)
    weights : array of shape (n,)

    Examples
    --------
    >>> flips = np.array([[0.9, 0.1], [0.3, 0.7]])
    >>> value, gradient, counts = flip_likelihood(np.array([[0.0]]), np.array([1]), flips, np.ones(1))
    >>> print(f"{np.exp(value):.3f} {gradient[0, 0]:.3f}")
    0.400 0.375
    >>> counts.round(3)
    array([[0.   , 0.125],
           [0.   , 0.875]])
    """
    likelihood = FlipLikelihood.at(scores, codes, flips, weights)
    return likelihood.log_likelihood, likelihood.gradient, likelihood.counts


def _log_sums(logs: Floats) -> Floats:
    """Log-sum-exp of each row, as a column; scipy.special.logsumexp rounds differently."""
    top = logs.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True)))
