"""Several classifiers for noisy labels, and the mean of what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._typing import Floats
from noisewise.labels.base import NoisyLabelClassifier
from noisewise.labels.fisher.classifier import RobustKernelFisherClassifier
from noisewise.labels.gaussian_process.classifier import RobustGaussianProcessClassifier
from noisewise.labels.noise_argument import NoiseArgument, resolve_noise
from noisewise.noise import FlipMatrix

SMALLEST = 1e-6  # rate of a flip that is held impossible


class RobustVotingClassifier(NoisyLabelClassifier):
    """The mean of what several classifiers for noisy labels say: the one to start with, nothing to tune.

    By default these are RobustGaussianProcessClassifier, which looks at how labels change from row to row, and
    RobustKernelFisherClassifier, which looks at where the rows lie. They go wrong on different data, so that their mean
    goes wrong less. The first takes its time where classes are many: with ten of them and thousands of rows minutes,
    where RobustRidgeClassifier takes seconds.

    Parameters
    ----------
    estimators : sequence of classifiers of `noisewise.labels`, optional
        Who votes; each has one vote.
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default: each classifier resolves its own `noise`. Otherwise it is resolved once, for all of them.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    noise_ : FlipMatrix
        The noise, given or the geometric mean of what the classifiers found: a flip that one of them holds nearly
        impossible stays unlikely.
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

    def fit(self, X: Any, y: Any) -> Self:
        """Fit every classifier."""
        voters = self._voters()
        X, codes = self._check_training(X, y, accept_sparse="csr", dtype=np.float64)
        known = resolve_noise(self.noise, X, codes, len(self.classes_))
        self.estimators_ = [clone(voter) for voter in voters]
        for voter in self.estimators_:
            if known is not None:
                voter.set_params(noise=known)
            voter.fit(X, y)
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
    """Flip matrices averaged in their logarithms, row by row.

    >>> geometric_mean([np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([[0.9, 0.1], [0.8, 0.2]])]).round(3)
    array([[0.9  , 0.1  ],
           [0.667, 0.333]])
    """
    return np.asarray(softmax(np.mean(np.log(np.maximum(matrices, SMALLEST)), axis=0), axis=1))
