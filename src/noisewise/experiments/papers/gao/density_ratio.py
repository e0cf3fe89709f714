"""Importance reweighting as the robust k-NN paper seems to have it: the noisy posterior from density ratios."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier

from noisewise._typing import Codes, Floats
from noisewise.noise import FlipMatrix

CENTRES = 100
FOLDS = 5
STEPS = (1.0, 0.1)  # of the search for a width, down from WIDEST
WIDEST = 10.0
RATES = tuple(10.0**power for power in range(3, -4, -1))  # of the ascent, one after the other
ASCENT = 100  # steps at most with each
LEAST = 1e-300


class RatioReweightedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier on rows weighted by (P(y|x) - rho_-y) / ((1 - rho_+ - rho_-) P(y|x)), P(y|x) from density ratios.

    `noisewise.labels.ImportanceReweightedClassifier` has the posterior of rows that were left out. Here it is
    P(y) p(x|y) / p(x) at the training rows themselves, and the ratio of either class is fitted by KLIEP without regard
    to the other, so that the two posteriors need not sum to one. Negative weights are zero.

    Parameters
    ----------
    estimator : classifier that takes sample_weight
    noise : FlipMatrix
    random_state : int

    References
    ----------
    .. [1] Liu, T., Tao, D. (2016). Classification with noisy labels by importance reweighting. IEEE Transactions on
       Pattern Analysis and Machine Intelligence 38, section 5.
    .. [2] Sugiyama, M., Nakajima, S., Kashima, H., von Buenau, P., Kawanabe, M. (2007). Direct importance estimation
       with model selection and its application to covariate shift adaptation. NeurIPS 20.
    """

    def __init__(self, estimator: Any, noise: FlipMatrix, random_state: int = 0) -> None:
        self.estimator = estimator
        self.noise = noise
        self.random_state = random_state

    def fit(self, X: Floats, y: Codes) -> RatioReweightedClassifier:
        """Estimate the posterior of the observed label at each row, weight the rows, and fit the classifier."""
        rng = np.random.default_rng(self.random_state)
        posterior = np.empty(len(y))
        for label in (0, 1):
            own = y == label
            posterior[own] = own.mean() * density_ratio(X, X[own], rng)[own]
        self.weights_ = ratio_weights(posterior, y, self.noise)
        self.classes_ = np.array([0, 1])
        kept = self.weights_ > 0
        one_class = len(np.unique(y[kept])) < 2
        inner = DummyClassifier() if one_class else clone(self.estimator)
        self.estimator_ = inner.fit(X[kept], y[kept], sample_weight=self.weights_[kept])
        return self

    def predict(self, X: Floats) -> Codes:
        """The label by the weighted classifier."""
        return np.asarray(self.estimator_.predict(X))


def ratio_weights(posterior: Floats, observed: Codes, noise: FlipMatrix) -> Floats:
    """Weights from the posterior of each row's observed label; zero where it is below the rate of the other class.

    >>> noise = FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
    >>> ratio_weights(np.array([0.8, 0.05]), np.array([1, 1]), noise)
    array([1.45833333, 0.        ])
    """
    other = noise.matrix[1 - observed, observed]
    signal = 1 - noise.matrix[0, 1] - noise.matrix[1, 0]
    return np.asarray(np.maximum(1 - other / np.maximum(posterior, LEAST), 0) / signal)


def density_ratio(rows: Floats, above: Floats, rng: np.random.Generator) -> Floats:
    """Density of the rows `above` divided by that of `rows`, at `rows`, by KLIEP.

    The ratio is a sum of Gaussians at rows of `above` with weights >= 0 that maximises mean log ratio over `above`, the
    mean over `rows` being one. Their width is made smaller from 10 while the held-out mean log ratio grows.
    """
    centres = above[rng.permutation(above.shape[0])[:CENTRES]]
    width, best = WIDEST, -np.inf
    for step in STEPS:
        while width - step > step / 2:
            score = _held_out(rows, above, centres, width - step, rng)
            if not score > best:
                break
            width, best = width - step, score
    around, at = _gaussians(rows, centres, width), _gaussians(above, centres, width)
    return np.asarray(around @ _ascend(around.mean(axis=0), at))


def _held_out(rows: Floats, above: Floats, centres: Floats, width: float, rng: np.random.Generator) -> float:
    mean, at = _gaussians(rows, centres, width).mean(axis=0), _gaussians(above, centres, width)
    fold = rng.permutation(len(at)) * FOLDS // len(at)
    ratios = (at[fold == k] @ _ascend(mean, at[fold != k]) for k in range(FOLDS))
    return float(np.mean([np.log(np.maximum(ratio, LEAST)).mean() for ratio in ratios]))


def _gaussians(X: Floats, centres: Floats, width: float) -> Floats:
    from sklearn.metrics.pairwise import rbf_kernel

    return np.asarray(rbf_kernel(X, centres, gamma=1 / (2 * width**2)))


def _ascend(mean: Floats, at: Floats) -> Floats:
    """Weights of the Gaussians by projected gradient ascent; a rate is kept while the mean log ratio grows."""
    weights, ratio, best = _project(np.ones(len(mean)), mean, at)
    for rate in RATES:
        for _ in range(ASCENT):
            moved, moved_ratio, score = _project(weights + rate * (1 / ratio) @ at, mean, at)
            if not score > best:
                break
            weights, ratio, best = moved, moved_ratio, score
    return weights


def _project(weights: Floats, mean: Floats, at: Floats) -> tuple[Floats, Floats, float]:
    """Weights >= 0 with a mean ratio of one, the ratios at the rows above, and their mean logarithm."""
    weights = np.maximum(weights + mean * (1 - mean @ weights) / (mean @ mean), 0)
    weights = weights / (mean @ weights)
    ratio = np.maximum(at @ weights, LEAST)
    return weights, ratio, float(np.log(ratio).mean())
