"""AROW and NHERD as the robust k-NN paper seems to have them: two classes, one weight vector, a full covariance."""

from __future__ import annotations

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator, ClassifierMixin

from noisewise._typing import Codes, Floats


class FullCovariance(ClassifierMixin, BaseEstimator):
    """One pass of AROW or NHERD over two classes, with a full covariance and without an intercept.

    The learners of `noisewise.online` have a weight vector for each class. With two of them each covariance shrinks by
    half as much, and by default it is diagonal: other accuracies than with the single vector of the publications.

    Parameters
    ----------
    regularisation : float
        r of AROW, 1 / C of NHERD.
    herding : bool
        Shrink the covariance as NHERD does.

    References
    ----------
    .. [1] Crammer, K., Kulesza, A., Dredze, M. (2009). Adaptive regularization of weight vectors. NeurIPS 22, fig. 1.
    .. [2] Crammer, K., Lee, D. D. (2010). Learning via Gaussian herding. NeurIPS 23, fig. 2.

    Examples
    --------
    >>> FullCovariance(0.1).fit(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1])).predict(np.array([[1.0, 2.0]]))
    array([1])
    """

    def __init__(self, regularisation: float = 1.0, herding: bool = False) -> None:
        self.regularisation = regularisation
        self.herding = herding

    def fit(self, X: Floats, y: Codes) -> FullCovariance:
        """One pass in the order of the rows."""
        self.classes_ = np.array([0, 1])
        self.coef_, self.covariance_ = np.zeros(X.shape[1]), np.eye(X.shape[1])
        rows, signs = np.ascontiguousarray(X, dtype=np.float64), np.where(y == 1, 1.0, -1.0)
        _pass(rows, signs, self.coef_, self.covariance_, self.regularisation, self.herding)
        return self

    def predict(self, X: Floats) -> Codes:
        """The side of the hyperplane; class 1 on it."""
        return np.asarray(X @ self.coef_ >= 0).astype(np.intp)


@njit(cache=True)
def _pass(X: Floats, signs: Floats, coef: Floats, covariance: Floats, r: float, herding: bool) -> None:
    """One pass over the rows; weights and covariance are changed in place."""
    for i in range(len(X)):
        x, sign = X[i], signs[i]
        margin = sign * (x @ coef)
        if margin < 1:
            moved = covariance @ x
            variance = x @ moved
            coef += sign * (1 - margin) / (variance + r) * moved
            shrinkage = (variance + 2 * r) / (variance + r) ** 2 if herding else 1 / (variance + r)
            for j in range(len(x)):
                covariance[j] -= shrinkage * moved[j] * moved
