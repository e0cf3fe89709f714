"""Kernel learners for features with noise of any unknown law: Algorithm 4, which asks for more copies by chance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import validate_data

from noisewise._typing import Floats
from noisewise._validation import check_binary_or_more, encode_labels, find_labels
from noisewise.features.maps.learner import MapLearner


class UnknownNoiseKernelRegressor(RegressorMixin, MapLearner):
    """Kernel regression on features with noise of an unknown law, from several noisy copies of each row.

    Online gradient descent on the clean loss: each step is unbiased, whatever the noise, because every factor of it
    takes copies of its own (Algorithm 4 of Cesa-Bianchi et al.). It needs many rows: with a polynomial kernel and
    squared loss, thousands; with other kernels or losses, tens of thousands. On fewer, average the copies.

    Parameters
    ----------
    kernel : Linear, Polynomial, Exponential, Binomial, sums of these, or Gaussian
        None means ``Polynomial(2)``.
    loss : Loss of `noisewise.losses`
        None means `Squared`. A loss of the residual; other than the squared one they take a random number of factors.
    estimator : {"auto", "roulette", "geometric"}
        How series are estimated. "geometric" is the paper's way; "roulette" has the same mean from the same copies,
        and less variance; the length of a squared loss, which is one factor, it takes without chance. "auto" is exact
        wherever a series ends: polynomial kernels too.
    p : float, default=2
        RandomState of one more copy is 1/p each time: above 1, larger means fewer copies and more variance.
    step : float, optional
        Constant step, such as the theory's [eta / sqrt(T)]; None adapts to the size of the maps.
    ball : float, optional
        Bound of the predictor's norm [root of B_w]; None adapts to targets and maps.
    averaging : float or None, default=3
        Predictors of all rounds are averaged with weights round^averaging; None takes the last alone.
    random_state : int, generator or None

    Attributes
    ----------
    dual_coef_ : array of shape (rounds, 1)
    n_queries_ : int, copies asked for
    lost_probability_ : float, chance of a term that was given up

    Examples
    --------
    >>> from noisewise import GaussianNoise
    >>> from noisewise.datasets import CopyOracle
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (8000, 2))
    >>> oracle = CopyOracle(X, X[:, 0] * X[:, 1], GaussianNoise(0.2), rng=0)
    >>> model = UnknownNoiseKernelRegressor(random_state=0).partial_fit(oracle)
    >>> model.n_queries_
    32000
    >>> model.score(X, X[:, 0] * X[:, 1]) > 0.9
    True
    """

    def fit(self, X: Any, y: Any, copies: ArrayLike | None = None) -> UnknownNoiseKernelRegressor:
        """Learn from rows and further noisy copies of them, of shape (n, m, d); without copies, X counts as clean."""
        self._forget()
        rows, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._place(rows)
        self._learn(self._oracle_of(rows, targets, copies), _column, 1)
        return self

    def partial_fit(self, X: Any, y: Any = None, copies: ArrayLike | None = None) -> UnknownNoiseKernelRegressor:
        """Learn from more rows, or from an oracle: a loop over it gives targets, its ``copies(n)`` noisy copies.

        An oracle whose targets are noisy too may have ``targets(n)``, and each factor gets a target of its own.
        """
        new = not hasattr(self, "state_")
        if new:
            self._forget()
        if hasattr(X, "copies"):
            self._learn(X, _column, 1)
            return self
        rows, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True, reset=new)
        if new:
            self._place(rows)
        self._learn(self._oracle_of(rows, targets, copies), _column, 1)
        return self

    def predict(self, X: Any) -> Floats:
        """Predictions for clean rows."""
        return self._values(X)[:, 0]


class UnknownNoiseKernelClassifier(ClassifierMixin, MapLearner):
    """Kernel classification on features with noise of an unknown law, from several noisy copies of each row.

    As `UnknownNoiseKernelRegressor`, for labels: two classes, or one predictor for each class against the rest.

    Parameters
    ----------
    kernel, estimator, p, step, ball, averaging, random_state
        As for `UnknownNoiseKernelRegressor`.
    loss : Loss of `noisewise.losses`
        Any. None means `Squared`, of targets -1 and 1: exact with few copies. Losses of the margin (`Exponential`,
        `SmoothedHinge`, `Logistic`) are estimated by a random number of factors; the logistic one is refused where its
        series has no finite variance.

    Attributes
    ----------
    classes_ : array of labels
    dual_coef_ : array of shape (rounds, predictors)
    n_queries_ : int, copies asked for

    Examples
    --------
    >>> from noisewise import GaussianNoise
    >>> from noisewise.datasets import CopyOracle
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> oracle = CopyOracle(X, y, GaussianNoise(0.2), rng=0)
    >>> model = UnknownNoiseKernelClassifier(random_state=0).partial_fit(oracle, classes=["other", "same"])
    >>> model.score(X, y) > 0.9
    True
    """

    def fit(self, X: Any, y: Any, copies: ArrayLike | None = None) -> UnknownNoiseKernelClassifier:
        """Learn from rows and further noisy copies of them, of shape (n, m, d); without copies, X counts as clean."""
        self._forget()
        self.classes_, codes = encode_labels(y)
        rows = validate_data(self, X, dtype=np.float64)
        _check_lengths(rows, codes)
        check_binary_or_more(self.classes_)
        self._place(rows)
        self._learn(self._oracle_of(rows, codes, copies), self._signs, self._n_outputs())
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, copies: ArrayLike | None = None
    ) -> UnknownNoiseKernelClassifier:
        """Learn from more rows, or from an oracle: a loop over it gives labels, its ``copies(n)`` noisy copies.

        The first call needs all `classes`, unless the oracle has its labels as `y` or they are -1 and 1.
        """
        new = not hasattr(self, "state_")
        is_oracle = hasattr(X, "copies")
        if new:
            self._forget()
            known = classes if classes is not None else getattr(X, "y", [-1, 1]) if is_oracle else y
            self.classes_, _ = encode_labels(known)
            check_binary_or_more(self.classes_)
        if is_oracle:
            labels = self.classes_
            self._learn(X, lambda seen: self._signs(find_labels(seen, labels)), self._n_outputs())
            return self
        rows = validate_data(self, X, dtype=np.float64, reset=new)
        codes = find_labels(y, self.classes_)
        _check_lengths(rows, codes)
        if new:
            self._place(rows)
        self._learn(self._oracle_of(rows, codes, copies), self._signs, self._n_outputs())
        return self

    def decision_function(self, X: Any) -> Floats:
        """Values of the predictors at clean rows: above 0 for the second of two classes, else one for each class."""
        values = self._values(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels for clean rows."""
        values = self.decision_function(X)
        return np.asarray(self.classes_[(values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)])

    def _n_outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _signs(self, codes: NDArray[Any]) -> Floats:
        if len(self.classes_) == 2:
            return np.asarray(2.0 * codes[:, None] - 1)
        return np.asarray(np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0))


def _column(seen: NDArray[Any]) -> Floats:
    return np.asarray(seen, dtype=np.float64)[:, None]


def _check_lengths(rows: Floats, codes: NDArray[Any]) -> None:
    if len(rows) != len(codes):
        raise ValueError(f"X has {len(rows)} rows and y has {len(codes)} labels; they must be as many")
