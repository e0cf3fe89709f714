"""Gradient boosting kept as flat arrays: fitted by scikit-learn, predicted and stored as forests are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier

from noisewise._typing import Floats
from noisewise.labels.trees.soft_forest import SoftForest

LARGEST = float(np.finfo(np.float32).max)  # trees compare values of single precision


class BoostedTrees(ClassifierMixin, BaseEstimator):
    """Scikit-learn's HistGradientBoostingClassifier on dense rows without gaps, as arrays that a model file can hold.

    All iterations are made: held-out labels, which early stopping would look at, are as noisy as the others.

    Parameters
    ----------
    max_iter : int
        Trees of each class.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    baseline_ : array of shape (n_scores,)
        Scores before the first tree: one of two classes, else one for each.
    forests_ : list of SoftForest
        The trees of each score, whose leaves hold what they add.

    References
    ----------
    .. [1] Friedman, J. H. (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29.
    .. [2] Ke, G., et al. (2017). LightGBM: a highly efficient gradient boosting decision tree. NeurIPS 30.

    Examples
    --------
    >>> X = np.arange(200.0)[:, None]
    >>> BoostedTrees().fit(X, X[:, 0] > 70).predict_proba([[70.0], [71.0]]).round(2)
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, max_iter: int = 50) -> None:
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Boost trees. Rows are rounded to single precision first, so that flat trees split them as the others do."""
        boosting = HistGradientBoostingClassifier(max_iter=self.max_iter, early_stopping=False, random_state=0)
        fitted = boosting.fit(_single(X), y, sample_weight)
        self.classes_ = fitted.classes_
        self.baseline_ = np.ravel(fitted._baseline_prediction).astype(np.float64)
        by_score = zip(*fitted._predictors)  # a tree of every score in each iteration
        self.forests_ = [SoftForest.merged([_flat(tree.nodes) for tree in trees]) for trees in by_score]
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class."""
        rows = _single(X)
        sums = [len(forest.roots) * forest.predict_proba(rows) for forest in self.forests_]
        scores = self.baseline_ + np.hstack(sums)
        return np.asarray(softmax(np.hstack([0 * scores, scores]) if scores.shape[1] == 1 else scores, axis=1))

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _single(X: Any) -> Any:
    return np.clip(X, -LARGEST, LARGEST).astype(np.float32)


def _flat(nodes: Any) -> SoftForest:
    """A tree of scikit-learn's gradient boosting, from its array of nodes."""
    leaf = nodes["is_leaf"].astype(bool)
    children = np.column_stack([nodes["left"], nodes["right"]]).astype(np.int32)
    children[leaf] = np.column_stack([np.arange(np.count_nonzero(leaf)), np.full(np.count_nonzero(leaf), -1)])
    features = np.where(leaf, -1, nodes["feature_idx"]).astype(np.int32)
    values = nodes["value"][leaf, None].astype(np.float32)
    return SoftForest(np.zeros(1, np.int64), features, nodes["num_threshold"].astype(np.float64), children, values)
