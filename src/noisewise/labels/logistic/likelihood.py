"""The penalised likelihood of observed labels when true ones are logistic behind a flip matrix (rKLR eqs. 3, 28)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from noisewise._numerics.em import joint_counts
from noisewise._typing import Codes, Floats
from noisewise.labels.logistic.flip_parameters import flips_of, prior_counts, slope_of

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
        return joint_counts(self.weights * mass, self.codes)

    def _active(self, columns: Floats) -> Floats:
        return columns[:, -self.n_functions :]


def _log_sums(logs: Floats) -> Floats:
    """Logarithm of the summed exponentials of each row, as a column."""
    top = logs.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True)))


def flip_likelihood(scores: Floats, codes: Codes, flips: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
    """Log-likelihood of observed labels, its slope in the scores, and the labels counted as [true, observed].

    Every row's slope is P(true | x, observed) - P(true | x) (eqs. 5 and 29 without the penalty, in EM's form); the
    slope in the logarithm of the flip matrix is the counts (eqs. 7 and 8 normalise them).

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
    >>> value, slope, counts = flip_likelihood(np.array([[0.0]]), np.array([1]), flips, np.ones(1))
    >>> print(f"{np.exp(value):.3f} {slope[0, 0]:.3f}")
    0.400 0.375
    >>> counts.round(3)
    array([[0.   , 0.125],
           [0.   , 0.875]])
    """
    rows = FlipRows.at(scores, codes, flips, weights)
    return rows.log_likelihood, rows.gradient, rows.counts


@dataclass(frozen=True)
class FlipProblem:
    """Everything a fit through a flip matrix needs: linear scores of features, a ridge, labels, and the noise if known.

    Attributes
    ----------
    features : array or CSR of shape (n, p)
    codes : array of int of shape (n,)
    weights : array of shape (n,)
    penalties : array of shape (p,)
        A feature's coefficients c bear ``penalty / 2 * c**2``; a zero leaves it free (an intercept).
    n_classes : int
    n_scores : int
        1 for two classes (log-odds of the second), else one score a class.
    flips : array of shape (n_classes, n_classes) or None
        None: the flip matrix is learned too, with a weak prior.
    """

    features: Any
    codes: Codes
    weights: Floats
    penalties: Floats
    n_classes: int
    n_scores: int
    flips: Floats | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Of the coefficients."""
        return len(self.penalties), self.n_scores

    @property
    def n_free(self) -> int:
        """Free numbers of the flip matrix."""
        return 0 if self.flips is not None else self.n_classes * (self.n_classes - 1)

    def scores(self, columns: Floats) -> Floats:
        """Scores of the rows for coefficients of shape (p, n_scores)."""
        return np.asarray(safe_sparse_dot(self.features, columns, dense_output=True))

    def loss(self, columns: Floats, free: Floats) -> tuple[float, Floats, Floats]:
        """Negative penalised log-likelihood, and its gradient in the coefficients and the free numbers.

        This is eq. 3 with its sign turned, penalty / 2 in the place of zeta, and the flip matrix's prior.
        """
        flips = self.flips if self.flips is not None else flips_of(free, self.n_classes)
        value, slope, counts = flip_likelihood(self.scores(columns), self.codes, flips, self.weights)
        shrunk = self.penalties[:, None] * columns
        gradient = shrunk - safe_sparse_dot(self.features.T, slope, dense_output=True)
        loss = float(np.sum(shrunk * columns)) / 2 - value
        if self.flips is not None:
            return loss, gradient, np.zeros(0)
        prior = prior_counts(self.n_classes)
        return loss - float(np.sum(prior * np.log(flips))), gradient, -slope_of(free, counts + prior)


@dataclass(frozen=True)
class FlipFit:
    """Where a solver ended: coefficients (p, n_scores), the flip matrix, and how it got there."""

    columns: Floats
    flips: Floats
    n_iter: int
    history: list[float]  # the loss, from the start on
    converged: bool
