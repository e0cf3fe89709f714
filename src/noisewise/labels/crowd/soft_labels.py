"""Classifiers fitted to posteriors of the true class (soft labels) instead of labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import has_fit_parameter

from noisewise._numerics.cholesky import logistic_preconditioner, precondition
from noisewise._progress import step
from noisewise._typing import Codes, Floats
from noisewise.labels.corrections.unbiased import all_scores
from noisewise.labels.crowd.em import normalised

LEAST_POSTERIOR = 1e-6  # below which a row is no example of a class


class SoftLogisticRegression(BaseEstimator):
    """Logistic regression with a ridge penalty on soft labels; a further fit is warm-started.

    It minimises the cross-entropy ``sum_i [logsumexp(scores_i) - posterior_i . scores_i] + |coef|^2 / (2 C)``; on
    one-hot posteriors it is scikit-learn's LogisticRegression.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty.
    tol : float, default=1e-6
        Largest gradient of the mean loss, in preconditioned variables, at which a fit ends.
    max_iter : int, default=1000
        Most iterations of one fit.
    """

    def __init__(self, C: float = 1.0, tol: float = 1e-6, max_iter: int = 1000) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def fit_soft(self, X: Any, posterior: Floats) -> Self:
        """Fit to the posteriors of the true class of each row; X is the same in every call."""
        n_scores = 1 if posterior.shape[1] == 2 else posterior.shape[1]
        targets, shape = posterior[:, -n_scores:], (X.shape[1] + 1, n_scores)
        if not hasattr(self, "parameters_"):
            self.preconditioner_ = logistic_preconditioner(X, np.ones(X.shape[0]), 1 / self.C)
            self.parameters_ = np.zeros(shape)
        transposed, change = X.T, self.preconditioner_

        def mean_loss(parameters: Floats) -> tuple[float, Floats]:
            weights = precondition(change, parameters.reshape(shape))
            scores = _scores(X, weights)
            probabilities, evidence = normalised(all_scores(scores).copy())
            penalised = np.vstack([weights[:-1] / self.C, np.zeros((1, n_scores))])
            residual = probabilities[:, -n_scores:] - targets
            gradient = (
                np.vstack([safe_sparse_dot(transposed, residual, dense_output=True), residual.sum(axis=0)]) + penalised
            )
            value = evidence - np.sum(targets * scores) + np.sum(penalised * weights) / 2
            return value / len(posterior), precondition(change.T, gradient).ravel() / len(posterior)

        options = {"maxiter": self.max_iter, "gtol": self.tol, "ftol": 1e-15}
        found = minimize(mean_loss, self.parameters_.ravel(), jac=True, method="L-BFGS-B", options=options)
        self.parameters_ = found.x.reshape(shape)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class 0, 1, ..."""
        scores = _scores(X, precondition(self.preconditioner_, self.parameters_))
        return normalised(all_scores(scores).copy())[0]


def _scores(rows: Any, weights: Floats) -> Floats:
    return np.asarray(safe_sparse_dot(rows, weights[:-1], dense_output=True) + weights[-1])


class OutOfFoldScores:
    """Class probabilities of every row by a classifier fitted to posteriors, out of fold (in sample without folds)."""

    def __init__(self, estimator: Any, X: Any, folds: Codes | None) -> None:
        everything = np.ones(X.shape[0], dtype=np.bool_)
        tests = [everything] if folds is None else [folds == fold for fold in range(folds.max() + 1)]
        trains = [everything] if folds is None else [~test for test in tests]
        self._parts = [(train, test, X[train], X[test]) for train, test in zip(trains, tests, strict=True)]
        self._models = [clone(estimator) for _ in tests]

    def __call__(self, posterior: Floats) -> Floats:
        """Probabilities of all classes for all rows."""
        scores = np.empty_like(posterior)
        with config_context(assume_finite=True, skip_parameter_validation=True):  # rows were checked before
            for index, (train, test, train_rows, test_rows) in enumerate(self._parts):
                self._models[index] = fit_soft(self._models[index], train_rows, posterior[train])
                scores[test] = self._models[index].predict_proba(test_rows)
                step(index + 1, len(self._parts))
        return scores


def fit_soft(estimator: Any, X: Any, posterior: Floats) -> Any:
    """A classifier fitted to every row as an example of each class, weighted by its posterior; classes are 0, 1, ...

    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = fit_soft(GaussianNB(), np.array([[0.0], [1.0]]), np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> model.theta_.ravel()
    array([0.25, 0.75])
    """
    if isinstance(estimator, SoftLogisticRegression):
        return estimator.fit_soft(X, posterior)
    kept = posterior > LEAST_POSTERIOR
    kept[posterior.argmax(axis=0), np.arange(posterior.shape[1])] = True  # every class has an example
    rows, classes = np.nonzero(kept)
    weights = np.maximum(posterior[rows, classes], LEAST_POSTERIOR)
    return clone(estimator).fit(X[rows], classes, **_weight_arguments(estimator, weights))


def check_soft(estimator: Any) -> None:
    """Refuse a classifier that can't be fitted to posteriors, or does not give any."""
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(f"{type(estimator).__name__} has no predict_proba; CalibratedClassifierCV would give it one")
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"{type(last).__name__} takes no sample_weight in fit, by which it would learn from probabilities; "
            "logistic regression, trees, forests, boosting and naive Bayes do"
        )


def _weight_arguments(estimator: Any, weights: Floats) -> dict[str, Floats]:
    if not isinstance(estimator, Pipeline):
        return {"sample_weight": weights}
    takers = [name for name, step in estimator.steps if has_fit_parameter(step, "sample_weight")]
    return {f"{name}__sample_weight": weights for name in takers}
