"""Base class of classifiers for noisy labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._typing import Codes, Floats
from noisewise._validation import check_binary_or_more, encode_labels, find_labels, naming_columns
from noisewise.labels.noise_argument import NoiseArgument
from noisewise.noise import FlipMatrix

ROW_TYPES = [np.float64, np.float32]  # other rows become the first


class NoisyLabelClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier whose `predict_proba` is the posterior of the true label; `noise_` is the noise it used."""

    classes_: NDArray[Any]
    noise_: FlipMatrix

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable true label of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    @abstractmethod
    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the true label, one column a class."""

    def label_quality(self, X: Any, y: Any) -> Floats:
        """P(true label = observed label | row, observed label), for rows that were not used in fit.

        The model was fitted to the labels of its training rows; `noisewise.audit_labels` assesses those, leave-one-out.
        """
        observed, explained = self._explain(X, y)
        return np.asarray(explained[np.arange(len(observed)), observed])

    def suggest(self, X: Any, y: Any) -> NDArray[Any]:
        """The most probable true label of each row, given the row and its observed label."""
        return np.asarray(self.classes_[np.argmax(self._explain(X, y)[1], axis=1)])

    def _explain(self, X: Any, y: Any) -> tuple[Codes, Floats]:
        check_is_fitted(self)
        check_consistent_length(X, y)
        observed = find_labels(y, self.classes_)
        return observed, self.noise_.explain(self.predict_proba(X), observed)

    def _check_training(self, X: Any, y: Any, **options: Any) -> tuple[Any, Codes]:
        """Rows as an array, labels as codes; sets `classes_` and what scikit-learn keeps about X."""
        with naming_columns(X):
            X = validate_data(self, X, **options)
        self.classes_, codes = encode_labels(y)
        check_consistent_length(X, codes)
        check_binary_or_more(self.classes_)
        return X, codes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearClassifier(NoisyLabelClassifier):
    """A classifier with linear scores and a ridge penalty on their coefficients."""

    coef_: Floats
    intercept_: Floats

    def __init__(
        self,
        noise: NoiseArgument = None,
        C: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        self.noise = noise
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes; with two classes the log-odds of the second."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return one_or_all(np.asarray(safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_))


def one_or_all(scores: Floats) -> Floats:
    """Scores of shape (n, 1) or (n, n_classes) in scikit-learn's shape, flat for two classes."""
    return scores.ravel() if scores.shape[1] == 1 else scores


def check_positive(name: str, value: Any) -> None:
    """Refuse a number that is not above zero and finite."""
    if not 0 < value < np.inf:
        raise ValueError(f"{name} is {value}; it must be above 0 and finite")


def check_iterations(max_iter: int) -> None:
    """Refuse less than one iteration."""
    if max_iter < 1:
        raise ValueError(f"max_iter is {max_iter}; one iteration or more is needed")
