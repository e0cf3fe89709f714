"""Learners fitted to soft labels: the posterior of each row's true label instead of the label observed."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from noisewise._typing import Floats
from noisewise.labels.base import NoisyLabelClassifier
from noisewise.labels.stacking.readings import AmongAll
from noisewise.noise import FlipMatrix

LEAST_POSTERIOR = 0.02  # of a class for which a row gets a copy; with many classes most are impossible


def takes_soft_labels(model: Any) -> bool:
    """Whether a classifier can be fitted to soft labels: weights say how far each copy of a row counts."""
    return bool(has_fit_parameter(model, "sample_weight"))


def fit_to_posterior(model: Any, X: Any, posterior: Floats) -> AmongAll:
    """A classifier fitted to copies of every row, one for each class, weighted by the posterior of the class.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.array([[-1.0], [1.0]])
    >>> fitted = fit_to_posterior(LogisticRegression(C=1e6), X, np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> fitted.predict_proba(X).round(2)
    array([[0.9, 0.1],
           [0.2, 0.8]])
    """
    best = posterior.argmax(axis=1)
    kept = posterior >= LEAST_POSTERIOR
    kept[np.arange(len(best)), best] = True
    rows, codes = np.nonzero(kept)
    clean = {"noise": FlipMatrix.none(len(np.unique(codes)))} if isinstance(model, NoisyLabelClassifier) else {}
    fitted = clone(model).set_params(**clean).fit(X[rows], codes, sample_weight=posterior[kept])
    return AmongAll(fitted, posterior.shape[1])
