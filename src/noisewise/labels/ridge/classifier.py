"""The classifier behind the label audit: leave-one-out scores of a pooled kernel ridge, calibrated through noise."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.threads import threads_for
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import check_binary_or_more, check_weights, encode_labels, find_labels, generator
from noisewise.labels.base import ROW_TYPES, NoisyLabelClassifier
from noisewise.labels.noise_argument import NoiseArgument, resolve_noise
from noisewise.labels.ridge.landmarks import default_landmarks
from noisewise.labels.ridge.pooled_fit import fit_pooled_ridge
from noisewise.noise import read_noise


class RobustRidgeClassifier(NoisyLabelClassifier):
    """Kernel ridge classifier for noisy labels, with leave-one-out posteriors of the true label of every row of fit.

    Ridge regression on one-hot labels, in up to four views of the rows (Nystroem features of three kernels, and the
    rows themselves), gives each row leave-one-out scores, without it and its exact duplicates. `read_noise` calibrates
    them: candidate noise models, each a calibration map behind a flip matrix, are averaged by their evidence over a
    grid of noise rates. Nothing needs tuning; time grows linearly with the rows. Rows of counts (more than 1,000
    columns, none negative, nine of ten zero) are scaled to length one before.

    The noise is identified by the assumptions that flips depend on the true class alone and that clean posteriors are
    a softmax of the scores: classes that truly overlap in one direction only can look like flips.

    Parameters
    ----------
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default, estimates it with the model.
    n_landmarks : int, optional
        Landmarks of the kernels; 500 by default, up to 1000 with more than 25 classes, and 1000 with more than 1,000
        columns, which enter through the landmarks alone.
    random_state : int, RandomState, Generator or None
        Draws landmarks and, of many rows, those to learn from. None gives the same draw every time.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, in order.
    noise_ : FlipMatrix
        The noise, given or estimated.
    true_label_posterior_ : array of shape (n_rows, n_classes)
        Posterior of the true class for the rows of `fit`, given the row and its observed label;
        the scores are leave-one-out.
    label_quality_ : array of shape (n_rows,)
        Probability that the observed label of each row of `fit` is the true one.
    scores_ : array of shape (n_rows, n_classes)
        Leave-one-out scores of the rows of `fit`: rough probabilities of the *observed* classes.
    n_wrong_ : float
        Expected number of wrong labels among the rows of `fit`.
    n_wrong_interval_ : tuple of two floats
        Interval of this number with 90 % coverage; a lower bound of 0 means that label noise is not proven.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2  # a setosa called virginica
    >>> model = RobustRidgeClassifier().fit(X, y)
    >>> int(model.label_quality_.argmin())
    7
    >>> model.predict(X[7:8])
    array([0])

    References
    ----------
    .. [1] Williams, C. K. I., Seeger, M. (2001). Using the Nystroem method to speed up kernel machines. NeurIPS 13.
    .. [2] Breiman, L. (1996). Stacked regressions. Machine Learning 24.
    .. [3] Hoeting, J. A., Madigan, D., Raftery, A. E., Volinsky, C. T. (1999). Bayesian model averaging: a tutorial.
       Statistical Science 14.
    """

    def __init__(self, noise: NoiseArgument = None, n_landmarks: int | None = None, random_state: RandomState = None):
        self.noise = noise
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the ridge, compute leave-one-out scores, and estimate the noise from them.

        A weight counts rows: a row of weight 2 equals two rows, and both are left out of its scores; a row of weight 0
        is scored only.
        """
        if hasattr(X, "map_blocks"):  # rows that are not in memory were checked when they were encoded
            self.classes_, codes = encode_labels(y)
            self.n_features_in_ = X.shape[1]
            return self._fit_rows(X, codes, check_weights(sample_weight, X))
        X, codes = self._check_training(X, y, accept_sparse="csr", dtype=ROW_TYPES)
        weights = check_weights(sample_weight, X)
        check_binary_or_more(self.classes_[np.unique(codes[weights > 0])])
        return self._fit_rows(X, codes, weights)

    def _fit_rows(self, X: Any, codes: Codes, weights: Floats) -> Self:
        """Fit to checked rows: an array, CSR, or rows in blocks that are not in memory (see `map_blocks`)."""
        n_classes = len(self.classes_)
        noise = resolve_noise(self.noise, X, codes, n_classes, weights)
        rng = generator(0 if self.random_state is None else self.random_state)
        if self.n_landmarks is not None and self.n_landmarks < 1:
            raise ValueError(f"n_landmarks is {self.n_landmarks}; one or more are needed")
        n_landmarks = self.n_landmarks or default_landmarks(X.shape[1], n_classes)
        with threads_for(X.shape[0]):
            self.ridge_ = fit_pooled_ridge(X, codes, n_classes, n_landmarks, rng, weights=weights)
            self.scores_ = self.ridge_.leave_one_out_scores(X, codes)
        reading = read_noise(self.scores_, codes, noise, rng, weights=weights)
        self.calibration_, self.noise_ = reading.calibration, reading.calibration.noise
        self.true_label_posterior_ = reading.posterior
        self.label_quality_ = reading.posterior[np.arange(len(codes)), codes]
        self.n_wrong_, self.n_wrong_interval_ = reading.n_wrong, reading.interval
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each *true* class."""
        rows = self._check_rows(X)
        return self.calibration_.clean_posterior(self.ridge_.scores(rows))

    def label_quality(self, X: Any, y: Any) -> Floats:
        """P(true label = observed label | row, observed label); leave-one-out for rows of `fit`."""
        return super().label_quality(X, y)

    def _explain(self, X: Any, y: Any) -> tuple[Codes, Floats]:
        rows = self._check_rows(X)
        codes = find_labels(y, self.classes_)
        check_consistent_length(rows, codes)
        return codes, self.calibration_.explain(self.ridge_.leave_one_out_scores(rows, codes), codes)

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=ROW_TYPES, reset=False)
