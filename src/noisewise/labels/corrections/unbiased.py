"""Logistic regression with the unbiased (backward corrected) loss of Natarajan et al."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot

from noisewise._numerics.cholesky import logistic_preconditioner, precondition
from noisewise._typing import Floats
from noisewise._validation import check_weights
from noisewise.labels.base import LinearClassifier, check_iterations
from noisewise.labels.noise_argument import resolve_noise


class UnbiasedLogisticRegression(LinearClassifier):
    """Logistic regression with the unbiased loss (backward correction), for two or more classes.

    The one-hot label in the log-loss is replaced by its unbiased estimate ``t_i = inv(T)[observed_i]``, a row of
    ``FlipMatrix.unbiased_targets``, and the objective is::

        sum_i [logsumexp(s_i) - t_i . s_i] + |coef|^2 / (2 C),   s_i = coef x_i + intercept.

    The rows of the inverse sum to one, so it is convex however strong the noise (Natarajan's symmetry condition holds
    for the logistic loss with any number of classes). Negative targets leave the loss of a single row unbounded below;
    the ridge penalty bounds the sum, and class proportions that the correction makes negative are raised above zero,
    with a warning. The stronger the noise, the smaller `C` should be; `noisewise.metrics.make_corrected_scorer` helps
    to choose it. Without noise it is scikit-learn's LogisticRegression.

    Parameters
    ----------
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default, is "ridge".
    C : float, default=1.0
        Inverse strength of the penalty ``|coef|^2 / (2 C)`` against the summed loss.
    fit_intercept : bool, default=True
        The intercept is not penalised.
    max_iter : int, default=1000
    tol : float, default=1e-6
        Largest gradient of the mean loss, in preconditioned variables, at which the fit ends.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    n_iter_ : int
    noise_ : FlipMatrix
    classes_ : array

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from noisewise import FlipMatrix
    >>> X, y = make_blobs(600, centers=[[0, 0], [3, 0], [0, 3]], random_state=0)
    >>> noise = FlipMatrix([[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6]])
    >>> model = UnbiasedLogisticRegression(noise=noise).fit(X, noise.corrupt(y, rng=0))
    >>> print(f"{model.score(X, y):.2f}")
    0.89

    References
    ----------
    .. [1] Natarajan, N., Dhillon, I. S., Ravikumar, P., Tewari, A. (2013). Learning with noisy labels. NeurIPS 26.
    .. [2] Patrini, G., Rozza, A., Menon, A. K., Nock, R., Qu, L. (2017). Making deep neural networks robust to label
       noise: a loss correction approach. CVPR.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Estimate the noise and minimise the corrected loss. A row of weight 2 counts as two rows."""
        X, codes = self._check_training(X, y, accept_sparse="csr", dtype=np.float64)
        self._check_settings()
        weights = check_weights(sample_weight, X)
        self.noise_ = resolve_noise(self.noise, X, codes, len(self.classes_), weights, default="ridge")
        targets = bounded_targets(self.noise_.unbiased_targets(codes), weights, self.noise is not None)
        if len(self.classes_) == 2:
            targets = targets[:, 1:]
        weights_of_columns, self.n_iter_ = minimise(
            X, targets, weights, 1 / self.C, self.fit_intercept, self.max_iter, self.tol
        )
        self.coef_ = np.ascontiguousarray(weights_of_columns[:-1].T)
        self.intercept_ = weights_of_columns[-1]
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the true label, one column a class."""
        scores = self.decision_function(X)
        return np.asarray(softmax(all_scores(scores.reshape(len(scores), -1)), axis=1))

    def _check_settings(self) -> None:
        if not 0 < self.C < np.inf:
            raise ValueError(f"C is {self.C}; it must be above 0 and finite: without a penalty the loss has no minimum")
        check_iterations(self.max_iter)


def corrected_loss(
    weights_of_columns: Floats, X: Any, targets: Floats, weights: Floats, penalty: float
) -> tuple[float, Floats]:
    """Summed log-loss against signed targets plus the ridge penalty, and its gradient.

    Parameters
    ----------
    weights_of_columns : array of shape (n_features + 1, n_scores)
        The last row is the intercept, which bears no penalty. One score, of the second class, stands for two classes.
    X : array or CSR of shape (n, n_features)
    targets : array of shape (n, n_scores)
    weights : array of shape (n,)
    penalty : float

    Examples
    --------
    >>> loss, gradient = corrected_loss(np.zeros((2, 1)), np.array([[1.0]]), np.array([[1.5]]), np.ones(1), 1.0)
    >>> print(round(loss, 4), gradient.ravel())
    0.6931 [-1. -1.]
    """
    coef = weights_of_columns[:-1]
    scores = safe_sparse_dot(X, coef, dense_output=True) + weights_of_columns[-1]
    every = all_scores(scores)
    value = weights @ (logsumexp(every, axis=1) - np.einsum("ij,ij->i", targets, scores))
    residual = weights[:, None] * (softmax(every, axis=1)[:, -scores.shape[1] :] - targets)
    gradient = np.vstack([safe_sparse_dot(X.T, residual, dense_output=True) + penalty * coef, residual.sum(axis=0)])
    return float(value + penalty / 2 * np.sum(coef**2)), gradient


def minimise(
    X: Any, targets: Floats, weights: Floats, penalty: float, fit_intercept: bool, max_iter: int, tol: float
) -> tuple[Floats, int]:
    """Weights and intercept that minimise the corrected loss, by preconditioned L-BFGS."""
    total = weights.sum()
    shape = (X.shape[1] + 1, targets.shape[1])
    change = logistic_preconditioner(X, weights, penalty)
    if not fit_intercept:
        change[-1] = 0

    def preconditioned(parameters: Floats) -> tuple[float, Floats]:
        value, gradient = corrected_loss(precondition(change, parameters.reshape(shape)), X, targets, weights, penalty)
        return value / total, precondition(change.T, gradient).ravel() / total

    options = {"maxiter": max_iter, "maxfun": 5 * max_iter, "maxls": 50, "gtol": tol, "ftol": 1e-16, "maxcor": 20}
    found = minimize(preconditioned, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options)
    if np.abs(found.jac).max() > 100 * tol:  # the last digits of the gradient are rounding
        warnings.warn(
            f"the corrected loss has not reached its minimum after {found.nit} iterations; "
            "scale the columns, raise max_iter, or lower C",
            ConvergenceWarning,
            stacklevel=3,
        )
    return precondition(change, found.x.reshape(shape)), int(found.nit)


def bounded_targets(targets: Floats, weights: Floats, given: bool = True) -> Floats:
    """Targets shifted so that their mean, the corrected class proportions, is positive: else an intercept diverges.

    A warning says so where the rates were `given`, which may be wrong; estimated ones are only rough.

    >>> bounded_targets(np.array([[1.5, -0.5], [-0.5, 1.5]]), np.ones(2))
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """
    proportions = np.average(targets, axis=0, weights=weights)
    least = 0.5 / max(1.0, weights.sum())  # half a row of each class
    if proportions.min() >= least:
        return targets
    raised = np.maximum(proportions, least)
    if given:
        warnings.warn(
            f"the corrected proportion of class number {int(np.argmin(proportions))} is {proportions.min():.3f}: its "
            "label is observed less often than the noise alone would make it; it was raised above zero, and the flip "
            "rates may be too high",
            RuntimeWarning,
            stacklevel=3,
        )
    return np.asarray(targets + raised / raised.sum() - proportions)


def all_scores(scores: Floats) -> Floats:
    """Scores of every class: with a single column, the first class has score zero."""
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
