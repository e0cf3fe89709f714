"""The objective of logistic regression through a flip matrix: penalised negative log-likelihood (rKLR eqs. 3, 28)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from noisewise._typing import Codes, Floats
from noisewise.labels.flip_likelihood import flip_likelihood
from noisewise.labels.flip_parameters import prior_counts, to_flips, unconstrained_gradient


@dataclass(frozen=True)
class FlipProblem:
    """Data and penalties of the objective, in coefficients C of shape (p, n_scores) and the flip matrix T.

        sum_j penalties_j |C_j|^2 / 2 - sum_i w_i log sum_k T[k, y_i] P(true = k | features_i C)

    and, where T is learned, minus the logarithm of its Dirichlet prior, if it has one.

    Attributes
    ----------
    features : array or CSR of shape (n, p)
    codes : array of int of shape (n,)
    weights : array of shape (n,)
    penalties : array of shape (p,)
        Zero for a feature without a penalty (an intercept).
    n_classes : int
    n_scores : int
        1 for two classes (log-odds of the second), else one score a class.
    flips : array of shape (n_classes, n_classes) or None
        None: the flip matrix is learned too.
    prior : bool
        Whether a learned flip matrix has the weak Dirichlet prior; the paper's has none.
    """

    features: Any
    codes: Codes
    weights: Floats
    penalties: Floats
    n_classes: int
    n_scores: int
    flips: Floats | None = None
    prior: bool = True

    @property
    def prior_counts(self) -> Floats:
        """Pseudo-counts [true, observed] of a learned flip matrix; zero without a prior."""
        return prior_counts(self.n_classes) if self.prior else np.zeros((self.n_classes, self.n_classes))

    @property
    def shape(self) -> tuple[int, int]:
        """Of the coefficients."""
        return len(self.penalties), self.n_scores

    def flips_at(self, parameters: Floats) -> Floats:
        """The flip matrix: the known one, or that of unconstrained parameters."""
        return self.flips if self.flips is not None else to_flips(parameters, self.n_classes)

    def scores(self, coefficients: Floats) -> Floats:
        """Scores of the rows for coefficients of shape (p, n_scores)."""
        return np.asarray(safe_sparse_dot(self.features, coefficients, dense_output=True))

    def loss(self, coefficients: Floats, parameters: Floats) -> tuple[float, Floats, Floats]:
        """The objective, and its gradients in the coefficients and in the unconstrained parameters of the flip matrix.

        This is the negative of eq. 3, with penalty / 2 for zeta and the flip matrix's prior.
        """
        return self.loss_at(coefficients, self.scores(coefficients), parameters)

    def loss_at(self, coefficients: Floats, scores: Floats, parameters: Floats) -> tuple[float, Floats, Floats]:
        """The same where the scores of the coefficients are known."""
        flips = self.flips_at(parameters)
        value, by_scores, counts = flip_likelihood(scores, self.codes, flips, self.weights)
        shrunk = self.penalties[:, None] * coefficients
        gradient = shrunk - safe_sparse_dot(self.features.T, by_scores, dense_output=True)
        loss = float(np.sum(shrunk * coefficients)) / 2 - value
        if self.flips is not None:
            return loss, gradient, np.zeros(0)
        prior = self.prior_counts
        by_parameters = -unconstrained_gradient(parameters, counts + prior)
        log_prior = float(np.sum(prior * np.log(flips))) if self.prior else 0.0
        return loss - log_prior, gradient, by_parameters

    def loss_without_prior(self, fit: FlipFit) -> float:
        """Penalised negative log-likelihood of the observed labels alone, by which fits of any noise compare."""
        return replace(self, flips=fit.flips).loss(fit.coefficients, np.zeros(0))[0]


@dataclass(frozen=True)
class FlipFit:
    """The result of a solver: coefficients (p, n_scores), the flip matrix, and the path of the objective."""

    coefficients: Floats
    flips: Floats
    n_iter: int
    history: list[float]  # the objective, from the start on
    converged: bool
