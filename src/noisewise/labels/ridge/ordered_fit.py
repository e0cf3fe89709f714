"""Ordered classes: one number for each row by the pooled ridge, and thresholds on it (cumulative logit).

A row of class k has f(x) + logistic noise between the thresholds k - 1 and k, with f a leave-one-out ridge regression
of the classes' normal scores; a fraction of the labels is any class [1]_. So far fewer parameters are fitted than with
a score for each class, and a row at the low end is never taken for one at the high end because they differ from the
middle in the same way.

References
----------
.. [1] McCullagh, P. (1980). Regression models for ordinal data. Journal of the Royal Statistical Society B 42.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin

from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import encode_labels, generator
from noisewise.labels.ridge.target_fit import TargetRidge

ITERATIONS = 3  # fits, each with the labels weighted by the probability that they were not changed
FIRST_SCALE, FIRST_LOG_ODDS = 0.3, -2.0  # of the noise around f, in standard deviations of normal scores; of a change
PRIOR = 1e-3  # penalty on the squared log-odds of a change, a row
LEAST = 1e-9  # probability of a class


class OrderedRidgeClassifier(ClassifierMixin, BaseEstimator):
    """Probabilities of classes that are ordered as their sorted labels are, robust to some wrong labels.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        For the landmarks of the ridge; None gives the same landmarks every time.

    Examples
    --------
    >>> X = np.linspace(0, 1, 90)[:, None]
    >>> fitted = OrderedRidgeClassifier().fit(X, np.repeat([0, 1, 2], 30))
    >>> fitted.predict_proba(np.array([[0.1], [0.5], [0.9]])).argmax(axis=1).tolist()
    [0, 1, 2]
    """

    def __init__(self, random_state: RandomState = None):
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> OrderedRidgeClassifier:
        """Fit the number of each row, thresholds and noise in turn."""
        self.classes_, codes = encode_labels(y)
        targets = normal_scores(codes)
        ridge = TargetRidge(X, generator(0 if self.random_state is None else self.random_state))
        right = np.ones(len(codes))
        for _ in range(ITERATIONS):
            fitted = ridge.fitted(targets, right)
            self.thresholds_, self.scale_, self.flipped_ = fit_thresholds(fitted.leave_one_out(targets), codes)
            p = self._probabilities(fitted.leave_one_out(targets))[np.arange(len(codes)), codes]
            right = (1 - self.flipped_) * p / ((1 - self.flipped_) * p + self.flipped_ / len(self.classes_))
        self.ridge_ = fitted
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class."""
        return self._probabilities(self.ridge_.predict(X))

    def predict(self, X: Any) -> Any:
        """The most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _probabilities(self, f: Floats) -> Floats:
        return between(f, self.thresholds_, self.scale_)


def normal_scores(codes: Codes) -> Floats:
    """The normal quantile of the middle of each label's class among all.

    >>> normal_scores(np.array([0, 0, 1, 1])).round(2).tolist()
    [-0.67, -0.67, 0.67, 0.67]
    """
    counts = np.bincount(codes)
    return np.asarray(ndtri((np.cumsum(counts) - counts / 2) / counts.sum())[codes])


def between(f: Floats, thresholds: Floats, scale: float) -> Floats:
    """Probability that f + noise lies between each pair of neighbouring thresholds."""
    below = expit((thresholds - f[:, None]) / scale)
    edges = np.column_stack([np.zeros(len(f)), below, np.ones(len(f))])
    p = np.maximum(np.diff(edges, axis=1), LEAST)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def fit_thresholds(f: Floats, codes: Codes) -> tuple[Floats, float, float]:
    """Thresholds, scale of the noise and fraction of labels changed to any class: maximum likelihood."""
    counts = np.bincount(codes)
    n_classes, rows = len(counts), np.arange(len(codes))

    def parts(parameters: Floats) -> tuple[Floats, float, float]:
        steps = np.r_[parameters[0], np.exp(parameters[1 : n_classes - 1])]
        return np.cumsum(steps), float(np.exp(parameters[-2])), float(expit(parameters[-1]))

    def loss(parameters: Floats) -> float:
        thresholds, scale, flipped = parts(parameters)
        p = between(f, thresholds, scale)[rows, codes]
        return float(PRIOR * parameters[-1] ** 2 - np.log((1 - flipped) * p + flipped / n_classes).mean())

    first = ndtri(np.cumsum(counts)[:-1] / counts.sum())
    start = np.r_[first[0], np.log(np.diff(first)), np.log(FIRST_SCALE), FIRST_LOG_ODDS]
    return parts(minimize(loss, start, method="L-BFGS-B").x)
