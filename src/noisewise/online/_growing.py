"""Learners from labels that get more features and classes while they learn."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from noisewise._loops import state as codes
from noisewise.online._labels import OnlineClassifier


def grown(learner: OnlineClassifier, n_features: int, n_classes: int) -> OnlineClassifier:
    """The same learner with room for more features and classes, of which it knows nothing."""
    larger: OnlineClassifier = clone(learner)
    larger.n_features_in_ = n_features
    larger._start(np.arange(n_classes), np.empty((0, n_features)))
    if not hasattr(learner, "table_"):
        return larger
    old_width, old_classes = learner.n_features_in_, len(learner.classes_)
    parts = 2 if learner.kinds_[codes.COVARIANCE] == codes.DIAGONAL else 1  # means and variances, four by four
    old, new = (one.table_.reshape(len(one.table_), -1, parts, codes.QUAD) for one in (learner, larger))
    for column in range(old_classes):
        quad, place = divmod(column, codes.QUAD)
        new[:old_width, quad, :, place] = old[:, quad, :, place]
    larger.sigma_[:old_classes, :old_width, :old_width] = learner.sigma_
    larger.sums_[...], larger.counts_[...] = learner.sums_, learner.counts_
    return larger
