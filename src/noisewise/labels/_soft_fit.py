"""Any scikit-learn classifier fitted to probabilities of labels instead of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from noisewise._inputs import Codes, Floats
from noisewise.labels._soft_logistic import SoftLogisticRegression

LEAST_WEIGHT = 1e-6  # below it a row is no example of a class


class HonestScores:
    """What a classifier says about every row after it was fitted to posteriors, of other rows if there are folds."""

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
            for place, (train, test, train_rows, test_rows) in enumerate(self._parts):
                self._models[place] = fit_soft(self._models[place], train_rows, posterior[train])
                scores[test] = self._models[place].predict_proba(test_rows)
        return scores


def fit_soft(estimator: Any, X: Any, posterior: Floats) -> Any:
    """A classifier fitted to every row as an example of each class, weighted by its probability; classes are 0, 1, ...

    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = fit_soft(GaussianNB(), np.array([[0.0], [1.0]]), np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> model.theta_.ravel()
    array([0.25, 0.75])
    """
    if isinstance(estimator, SoftLogisticRegression):
        return estimator.fit_soft(X, posterior)
    kept = posterior > LEAST_WEIGHT
    kept[posterior.argmax(axis=0), np.arange(posterior.shape[1])] = True  # no class goes without example
    rows, classes = np.nonzero(kept)
    weights = np.maximum(posterior[rows, classes], LEAST_WEIGHT)
    return clone(estimator).fit(X[rows], classes, **_weight_arguments(estimator, weights))


def check_soft(estimator: Any) -> None:
    """Refuse a classifier that can't be fitted to probabilities, or does not give any."""
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
