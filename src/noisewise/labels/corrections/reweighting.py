"""Corrections by weights for any classifier with sample weights: importance reweighting, label-dependent costs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from noisewise._typing import Codes, Floats
from noisewise._validation import check_weights
from noisewise.labels.base import NoisyLabelClassifier
from noisewise.labels.noise_argument import NoiseArgument, fit_robust_ridge, resolve_noise
from noisewise.noise import FlipMatrix

LEAST_WEIGHT = 1e-3  # of rows of a class whose weights are all zero, which solvers refuse


def importance_weights(noisy_posterior: Floats, observed: Codes, noise: FlipMatrix) -> Floats:
    """Importance weights P(true = k | x) / P(observed = k | x) at the observed class k.

    Expectations over observed labels with these weights are expectations over true ones ([1]_, for any number of
    classes). The clean posterior is ``noise.pull(noisy_posterior)``, clipped to probabilities.

    >>> noise = FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
    >>> importance_weights(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([0, 1]), noise).round(3)
    array([0.667, 1.333])

    References
    ----------
    .. [1] Liu, T., Tao, D. (2016). Classification with noisy labels by importance reweighting. IEEE Transactions on
       Pattern Analysis and Machine Intelligence 38.
    """
    clean = noise.pull(noisy_posterior)
    rows = np.arange(len(observed))
    noisy = noise.push(clean)[rows, observed]
    return np.divide(clean[rows, observed], noisy, out=np.zeros(len(rows)), where=noisy > 0)  # impossible labels: 0


def label_dependent_weights(noise: FlipMatrix) -> Floats:
    """Label-dependent costs: weights alpha of label 0 and 1 - alpha of label 1, alpha = (1 - rho_plus + rho_minus) / 2.

    With them the minimiser of the noisy risk has its threshold at a clean posterior of 1/2, where the noisy posterior
    is alpha ([1]_, theorem 9).

    >>> label_dependent_weights(FlipMatrix.binary(false_positive=0.1, false_negative=0.3))
    array([0.4, 0.6])

    References
    ----------
    .. [1] Natarajan, N., Dhillon, I. S., Ravikumar, P., Tewari, A. (2013). Learning with noisy labels. NeurIPS 26.
    """
    if noise.n_classes != 2:
        raise ValueError(f"label-dependent costs are for two classes, the noise has {noise.n_classes}")
    alpha = (1 - noise.matrix[1, 0] + noise.matrix[0, 1]) / 2
    return np.array([alpha, 1 - alpha])


def _inner_has(method: str) -> Any:
    def check(self: Any) -> bool:
        inner = getattr(self, "estimator_", None) or self.estimator
        return inner is None or hasattr(inner, method)

    return available_if(check)


class _WeightedClassifier(NoisyLabelClassifier):
    """Meta-estimator that weights the rows of another classifier."""

    estimator: Any
    noise: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Estimate the noise, weight the rows, and fit the classifier. A row of weight 2 counts as two rows."""
        X, codes = self._check_training(X, y, accept_sparse="csr", dtype=(np.float64, np.float32))
        given = check_weights(sample_weight, X)
        inner = LogisticRegression(max_iter=1000, tol=1e-6) if self.estimator is None else clone(self.estimator)
        if not is_classifier(inner) or not has_fit_parameter(inner, "sample_weight"):
            raise ValueError(f"{type(inner).__name__} is no classifier whose fit takes sample_weight; one is needed")
        weights = given * self._correct(X, codes, given)
        self.estimator_ = inner.fit(X, codes, sample_weight=weights)
        return self

    @abstractmethod
    def _correct(self, X: Any, codes: Codes, given: Floats) -> Floats:
        """Set `noise_`; return the factor of each row's weight."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable true label of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.estimator_.predict(self._check_rows(X))])

    @_inner_has("predict_proba")
    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the true label, one column a class; available if the weighted classifier has it."""
        check_is_fitted(self)
        return self._read(np.asarray(self.estimator_.predict_proba(self._check_rows(X)), dtype=np.float64))

    @_inner_has("decision_function")
    def decision_function(self, X: Any) -> Floats:
        """Scores of the weighted classifier; available if it has them."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(self._check_rows(X)))

    def _read(self, posterior: Floats) -> Floats:
        return posterior

    def _check_rows(self, X: Any) -> Any:
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32))


class ImportanceReweightedClassifier(_WeightedClassifier):
    """Importance reweighting of any classifier: rows weighted by P(true | x) / P(observed | x) (Liu & Tao).

    The weighted empirical risk is an unbiased estimate of the clean risk, for any loss and any number of classes; rows
    whose observed label is probably wrong have small weights.

    Parameters
    ----------
    estimator : classifier that takes sample_weight, optional
        By default logistic regression.
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default, is "ridge".
    posterior_estimator : classifier with predict_proba, optional
        Estimates the noisy posterior, out of fold. By default the robust ridge does, leave-one-out.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on the weighted rows, with labels 0, 1, ...
    weights_ : array of shape (n_rows,)
        The correction of each row.
    noise_ : FlipMatrix
    classes_ : array

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(400, centers=[[0, 0], [3, 0]], random_state=0)
    >>> noise = FlipMatrix.binary(false_positive=0.0, false_negative=0.45)
    >>> observed = noise.corrupt(y, rng=0)
    >>> print(f"{LogisticRegression().fit(X, observed).score(X, y):.1f}")
    0.7
    >>> print(f"{ImportanceReweightedClassifier(noise=noise).fit(X, observed).score(X, y):.1f}")
    0.9

    References
    ----------
    .. [1] Liu, T., Tao, D. (2016). Classification with noisy labels by importance reweighting. IEEE Transactions on
       Pattern Analysis and Machine Intelligence 38.
    """

    def __init__(self, estimator: Any = None, noise: NoiseArgument = None, posterior_estimator: Any = None) -> None:
        self.estimator = estimator
        self.noise = noise
        self.posterior_estimator = posterior_estimator

    def _correct(self, X: Any, codes: Codes, given: Floats) -> Floats:
        n_classes = len(self.classes_)
        known = resolve_noise(self.noise, X, codes, n_classes, given)
        if self.posterior_estimator is None:
            posterior, self.noise_ = _ridge_posterior(known, X, codes, given)
        else:
            self.noise_ = resolve_noise(known, X, codes, n_classes, given, default="ridge")
            posterior = _out_of_fold(self.posterior_estimator, X, codes, given, n_classes)
        weights = importance_weights(posterior, codes, self.noise_)
        heaviest = np.zeros(n_classes)
        np.maximum.at(heaviest, codes, weights * (given > 0))
        self.weights_ = np.where(heaviest[codes] > 0, weights, LEAST_WEIGHT)
        return self.weights_


class LabelDependentClassifier(_WeightedClassifier):
    """Label-dependent costs for any binary classifier (alpha-weighted loss, Natarajan et al., theorem 9).

    The costs move the threshold to where the true classes are equally likely; equal flip rates give equal costs, and so
    the plain classifier. With three classes or more one cost per label is not enough, and they are refused:
    `ImportanceReweightedClassifier` takes them.

    Parameters
    ----------
    estimator : classifier that takes sample_weight, optional
        By default logistic regression.
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default, is "ridge".

    Attributes
    ----------
    estimator_ : classifier
        Fitted on the weighted rows, with labels 0 and 1; its probabilities are those of the weighted observed label.
    label_weights_ : array of two numbers
    noise_ : FlipMatrix
    classes_ : array

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(400, centers=[[0, 0], [3, 0]], random_state=0)
    >>> noise = FlipMatrix.binary(false_positive=0.0, false_negative=0.45)
    >>> observed = noise.corrupt(y, rng=0)
    >>> print(f"{LabelDependentClassifier(noise=noise).fit(X, observed).score(X, y):.1f}")
    0.9

    References
    ----------
    .. [1] Natarajan, N., Dhillon, I. S., Ravikumar, P., Tewari, A. (2013). Learning with noisy labels. NeurIPS 26.
    """

    def __init__(self, estimator: Any = None, noise: NoiseArgument = None) -> None:
        self.estimator = estimator
        self.noise = noise

    def _correct(self, X: Any, codes: Codes, given: Floats) -> Floats:
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: one cost per label "
                "can't undo the noise of three classes or more; ImportanceReweightedClassifier takes them"
            )
        self.noise_ = resolve_noise(self.noise, X, codes, len(self.classes_), given, default="ridge")
        self.label_weights_ = label_dependent_weights(self.noise_)
        return np.asarray(2 * self.label_weights_[codes])  # mean one: a penalty keeps its strength

    def _read(self, posterior: Floats) -> Floats:
        """The clean posterior behind the posterior of the weighted observed label."""
        noisy = posterior / self.label_weights_
        return self.noise_.pull(noisy / noisy.sum(axis=1, keepdims=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _ridge_posterior(known: FlipMatrix | None, X: Any, codes: Codes, given: Floats) -> tuple[Floats, FlipMatrix]:
    """Leave-one-out noisy posterior of each row by the robust ridge, and the noise, known or estimated."""
    ridge, indices = fit_robust_ridge(known, X, codes, given)
    clean = np.full((len(codes), ridge.scores_.shape[1]), 1 / ridge.scores_.shape[1])
    clean[indices] = ridge.calibration_.clean_posterior(ridge.scores_)
    return ridge.noise_.push(clean), ridge.noise_


def _out_of_fold(model: Any, X: Any, codes: Codes, given: Floats, n_classes: int) -> Floats:
    """Out-of-fold noisy posterior of each row; rows of weight zero take no part."""
    used = np.flatnonzero(given)
    smallest = int(np.bincount(codes[used], minlength=n_classes).min())
    if smallest < 2:
        raise ValueError("a class has fewer than two rows; out-of-fold posteriors need two or more of every class")
    folds = StratifiedKFold(min(5, smallest), shuffle=True, random_state=0)
    posterior = np.full((len(codes), n_classes), 1 / n_classes)
    posterior[used] = cross_val_predict(clone(model), X[used], codes[used], cv=folds, method="predict_proba")
    return posterior
