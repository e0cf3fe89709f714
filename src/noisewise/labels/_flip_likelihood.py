"""The penalised likelihood of observed labels when true ones are logistic behind a flip matrix (rKLR eqs. 3, 28)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from noisewise._inputs import Codes, Floats
from noisewise.labels._flip_parameters import flips_of, prior_counts, slope_of
from noisewise.labels._flip_rows import FlipRows


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
