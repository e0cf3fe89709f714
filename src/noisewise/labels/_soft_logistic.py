"""Logistic regression on probabilities of labels, many times over with slowly moving targets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import safe_sparse_dot

from noisewise._inputs import Floats
from noisewise.labels._crowd_em import normalised
from noisewise.labels._unbiased import even_coordinates


class SoftLogisticRegression(BaseEstimator):
    """Logistic regression with a ridge penalty, whose targets are posteriors.

    Fitting again starts from where it was, so that a further fit to nearly the same targets costs a few steps. On
    one-hot targets it is scikit-learn's LogisticRegression.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty.
    tol : float, default=1e-6
        Largest gradient of the mean loss, in coordinates of equal curvature, at which a fit ends.
    max_iter : int, default=1000
        Most steps of one fit.
    """

    def __init__(self, C: float = 1.0, tol: float = 1e-6, max_iter: int = 1000) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def fit_soft(self, X: Any, posterior: Floats) -> Self:
        """Fit to the posteriors of the true class of each row; X is the same in every call."""
        n_scores = 1 if posterior.shape[1] == 2 else posterior.shape[1]
        targets, shape = posterior[:, -n_scores:], (X.shape[1] + 1, n_scores)
        if not hasattr(self, "columns_"):
            self.evened_, self.columns_ = even_coordinates(X, np.ones(X.shape[0]), 1 / self.C), np.zeros(shape)
        transposed, change = X.T, self.evened_

        def mean_loss(parameters: Floats) -> tuple[float, Floats]:
            columns = _times(change, parameters.reshape(shape))
            scores = _scores(X, columns)
            probabilities, evidence = normalised(_of_all_classes(scores))
            penalised = np.vstack([columns[:-1] / self.C, np.zeros((1, n_scores))])
            residual = probabilities[:, -n_scores:] - targets
            fall = (
                np.vstack([safe_sparse_dot(transposed, residual, dense_output=True), residual.sum(axis=0)]) + penalised
            )
            value = evidence - np.sum(targets * scores) + np.sum(penalised * columns) / 2
            return value / len(posterior), _times(change.T, fall).ravel() / len(posterior)

        options = {"maxiter": self.max_iter, "gtol": self.tol, "ftol": 1e-15}
        found = minimize(mean_loss, self.columns_.ravel(), jac=True, method="L-BFGS-B", options=options)
        self.columns_ = found.x.reshape(shape)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class 0, 1, ..."""
        scores = _scores(X, _times(self.evened_, self.columns_))
        return normalised(_of_all_classes(scores))[0]


def _scores(rows: Any, columns: Floats) -> Floats:
    return np.asarray(safe_sparse_dot(rows, columns[:-1], dense_output=True) + columns[-1])


def _of_all_classes(scores: Floats) -> Floats:
    """With a single column, the first class has score zero."""
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores.copy()


def _times(change: Floats, parameters: Floats) -> Floats:
    """Parameters in coordinates of equal curvature as weights of columns, or gradients the other way."""
    return np.asarray(change[:, None] * parameters if change.ndim == 1 else change @ parameters)
