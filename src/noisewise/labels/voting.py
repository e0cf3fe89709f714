"""Soft voting of classifiers for noisy labels: the mean of their posteriors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._typing import Floats
from noisewise._validation import check_weights
from noisewise.labels.base import NoisyLabelClassifier
from noisewise.labels.fisher.classifier import RobustKernelFisherClassifier
from noisewise.labels.gaussian_process.classifier import RobustGaussianProcessClassifier
from noisewise.labels.noise_argument import NoiseArgument, resolve_noise
from noisewise.labels.progress import shown
from noisewise.noise import FlipMatrix

LEAST_FLIP = 1e-6  # instead of an estimated flip probability of zero, whose logarithm is not finite


class RobustVotingClassifier(NoisyLabelClassifier):
    """Soft voting, the mean posterior of several classifiers for noisy labels; nothing to tune.

    By default these are RobustGaussianProcessClassifier, a discriminative model of the labels, and
    RobustKernelFisherClassifier, a generative model of the rows. They are wrong on different data, so that their mean
    is wrong less often. Of three classes or more both have one flip matrix, as the second estimates it. Ten classes of
    2,500 rows take some four seconds, 26 classes of 15,000 three quarters of a minute.

    Parameters
    ----------
    estimators : sequence of classifiers of `noisewise.labels`, optional
        The classifiers to average, with equal weights.
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default: each classifier resolves its own `noise`. Otherwise it is resolved once, for all of them.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    noise_ : FlipMatrix
        The noise, given, or of two classes the geometric mean of the classifiers' estimates: a flip that one of them
        estimates to be nearly impossible stays unlikely.
    estimators_ : list of fitted classifiers

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> observed = FlipMatrix.binary(false_positive=0.0, false_negative=0.3).corrupt(y, rng=0)
    >>> model = RobustVotingClassifier().fit(X, observed)
    >>> print(f"{(observed == y).mean():.2f} of the labels are right, {model.score(X, y):.2f} of the predictions")
    0.86 of the labels are right, 0.96 of the predictions
    """

    def __init__(self, estimators: Sequence[NoisyLabelClassifier] | None = None, noise: NoiseArgument = None) -> None:
        self.estimators = estimators
        self.noise = noise

    @shown
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit every classifier. A row of weight 2 counts as two rows."""
        voters = self._voters()
        X, codes = self._check_training(X, y, accept_sparse="csr", dtype=np.float64)
        weights = check_weights(sample_weight, X)
        known = resolve_noise(self.noise, X, codes, len(self.classes_), weights)
        self.estimators_ = [clone(voter) for voter in voters]
        for voter in reversed(self.estimators_):
            if known is not None:
                voter.set_params(noise=known)
            voter.fit(X, y, **({} if sample_weight is None else {"sample_weight": weights}))
            if self.estimators is None and len(self.classes_) > 2:
                known = voter.noise_  # that of the last by default, which is fitted first
        found = geometric_mean([voter.noise_.matrix for voter in self.estimators_])
        self.noise_ = FlipMatrix.estimated(found) if known is None else known
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the true label, one column a class: the mean of all."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return np.asarray(np.mean([voter.predict_proba(X) for voter in self.estimators_], axis=0))

    def _voters(self) -> Sequence[NoisyLabelClassifier]:
        if self.estimators is None:
            return [RobustGaussianProcessClassifier(), RobustKernelFisherClassifier()]
        if not (len(self.estimators) and all(isinstance(voter, NoisyLabelClassifier) for voter in self.estimators)):
            raise ValueError(
                "estimators must hold one classifier of noisewise.labels or more, such as "
                "[RobustGaussianProcessClassifier(), RobustRidgeClassifier()]"
            )
        return self.estimators

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = all(get_tags(voter).input_tags.sparse for voter in self._voters())
        return tags


def geometric_mean(matrices: Sequence[Floats]) -> Floats:
    """Normalised geometric mean of flip matrices, row by row.

    >>> geometric_mean([np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([[0.9, 0.1], [0.8, 0.2]])]).round(3)
    array([[0.9  , 0.1  ],
           [0.667, 0.333]])
    """
    return np.asarray(softmax(np.mean(np.log(np.maximum(matrices, LEAST_FLIP)), axis=0), axis=1))
