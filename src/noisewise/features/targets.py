"""Mixins of regressors and of least-squares classifiers: checks of training data, scores and predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from noisewise._typing import Codes, Floats
from noisewise._validation import check_binary_or_more, encode_labels, find_labels, naming_columns


class Scored(BaseEstimator, ABC):
    """An estimator with one score, or one for each class, for every row."""

    @abstractmethod
    def _scores(self, X: Floats) -> Floats:
        """One column of scores, or one for each class."""

    @abstractmethod
    def _noisy_scores(self, X: Floats) -> Floats:
        """The same for rows with the noise of a single copy."""

    @abstractmethod
    def _check_training(self, X: Any, y: Any, fresh: bool) -> tuple[Floats, Floats]:
        """Rows and targets; a fresh start sets what scikit-learn keeps about X."""

    def _check_and_score(self, X: Any, noisy: bool = False) -> Floats:
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        return self._noisy_scores(rows) if noisy else self._scores(rows)


class NumberTargets(RegressorMixin, Scored):
    """A regressor of one target."""

    def predict(self, X: Any, noisy: bool = False) -> Floats:
        """The predicted target of each clean row; with ``noisy=True``, of rows with the noise of one training copy.

        For a noisy row that is the mean target of rows that look like it, E[y | noisy x], which is attenuated.
        """
        return np.asarray(self._check_and_score(X, noisy)[:, 0])

    def _check_training(self, X: Any, y: Any, fresh: bool) -> tuple[Floats, Floats]:
        with naming_columns(X):
            rows, targets = validate_data(self, X, y, reset=fresh, dtype=np.float64, y_numeric=True)
        return rows, np.asarray(targets, dtype=np.float64)[:, None]


class LabelTargets(ClassifierMixin, Scored):
    """A classifier by squared loss: two classes are one target of -1 or 1, more are one such target each."""

    classes_: NDArray[Any]

    def decision_function(self, X: Any, noisy: bool = False) -> Floats:
        """Score of each class; for two classes the score of the second, which is predicted above zero.

        Of clean rows; with ``noisy=True``, of rows with the noise of one training copy.
        """
        scores = self._check_and_score(X, noisy)
        return np.asarray(scores[:, 0]) if len(self.classes_) == 2 else scores

    def predict(self, X: Any, noisy: bool = False) -> NDArray[Any]:
        """The label with the highest score, of clean rows; with ``noisy=True``, of rows as noisy as a training copy."""
        scores = self._check_and_score(X, noisy)
        best = (scores[:, 0] > 0).astype(np.intp) if len(self.classes_) == 2 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _check_training(self, X: Any, y: Any, fresh: bool, classes: Any = None) -> tuple[Floats, Floats]:
        """Rows and targets; a fresh start takes the classes from `classes`, or from the labels."""
        with naming_columns(X):
            rows = validate_data(self, X, reset=fresh, dtype=np.float64)
        if fresh:
            known = encode_labels(y if classes is None else classes)[0]
            check_binary_or_more(known)
        else:
            known = self.classes_
            if classes is not None and encode_labels(classes)[0].tolist() != known.tolist():
                raise ValueError(f"classes is {classes!r}, not the same as on last call to partial_fit: {known!r}")
        codes = find_labels(y, known)
        check_consistent_length(rows, codes)
        self.classes_ = known
        return rows, signs(codes, len(known))


def signs(codes: Codes, n_classes: int) -> Floats:
    """Targets of -1 and 1, one column for two classes, else one for each class.

    >>> signs(np.array([0, 1]), 2)
    array([[-1.],
           [ 1.]])
    """
    columns = np.arange(n_classes)[-1:] if n_classes == 2 else np.arange(n_classes)
    return np.where(codes[:, None] == columns, 1.0, -1.0)
