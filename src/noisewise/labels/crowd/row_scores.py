"""Scores of the items' rows by a classifier that learns from the labels of the other items.

It learns from the votes. Fitted again to posteriors that its own scores had moved, it would hear its own mistakes, and
an item's labels would come back to it through its neighbours: the consensus is then right a little more often, but how
far it can be trusted is known less well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from noisewise._typing import Floats, RandomState
from noisewise._validation import generator
from noisewise.labels.crowd.row_prior import log_probabilities
from noisewise.labels.crowd.soft_labels import OutOfFoldScores, check_soft
from noisewise.labels.ridge.landmarks import default_landmarks
from noisewise.labels.ridge.pooled_fit import fit_pooled_ridge

RIDGE_SCALE = 5.0  # brings the ridge's scores, mostly between 0 and 1, to the size of log-probabilities
FOLDS = 5


def row_scores(X: Any, votes: Floats, model: Any = None, random_state: RandomState = None) -> Floats:
    """Scores of every class for every row, without the row's own labels; the size of log-probabilities.

    Parameters
    ----------
    X : array or CSR of shape (n_items, n_features)
    votes : array of shape (n_items, n_classes)
        Number of labels of each class; items without labels are scored only.
    model : classifier that takes `sample_weight`, optional
        Its out-of-fold probabilities; by default leave-one-out scores of the ridge of `RobustRidgeClassifier`.
    random_state : int, RandomState, Generator or None
        Draws landmarks or folds; None gives the same draw every time.
    """
    proportions = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    rng = generator(0 if random_state is None else random_state)
    if model is not None:
        check_soft(model)
        folds = rng.permutation(np.arange(X.shape[0]) % min(FOLDS, X.shape[0]))
        return log_probabilities(OutOfFoldScores(clone(model), X, folds)(proportions))
    rows, codes = np.nonzero(proportions)
    n_classes = votes.shape[1]
    n_landmarks = default_landmarks(X.shape[1], n_classes)
    ridge = fit_pooled_ridge(X[rows], codes, n_classes, n_landmarks, rng, weights=proportions[rows, codes])
    return RIDGE_SCALE * ridge.leave_one_out_scores(X, votes.argmax(axis=1)).astype(np.float64)
