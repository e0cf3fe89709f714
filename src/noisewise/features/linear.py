"""Linear regression and classification with errors in the features: corrected least squares in one pass."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression

from noisewise._typing import Floats
from noisewise.features.checks import check_noise
from noisewise.features.noise_argument import FeatureNoise, correction_of_mean, gather_copies, noise_or_estimate
from noisewise.features.solvers.cross_validation import centre, fold_numbers, fold_products, subtract_noise
from noisewise.features.solvers.least_squares import (
    STRENGTHS,
    Fitted,
    attenuate,
    column_scales,
    disattenuate,
    solve,
    solve_cross_validated,
    total_least_squares_scale,
)
from noisewise.features.targets import LabelTargets, NumberTargets, Scored

LOGISTIC_STEPS = 1000  # of L-BFGS, on standardised columns
LEAST_RELIABILITY = 0.1  # of the best column: below, it is hardly known


class _NoisyLinear(Scored):
    """Second moments of each fold and the noise covariances in them, accumulated; solved after every piece."""

    coef_: Floats
    intercept_: Floats | float
    attenuated_coef_: Floats
    target_noise: float | None = None

    def __init__(
        self,
        noise: FeatureNoise = None,
        constraint: str = "ridge",
        strength: float | None = None,
        standard_errors: float = 2.0,
        n_folds: int = 20,
    ) -> None:
        self.noise = noise
        self.constraint = constraint
        self.strength = strength
        self.standard_errors = standard_errors
        self.n_folds = n_folds

    def fit(self, X: Any, y: Any, copies: ArrayLike | None = None, row_covariances: ArrayLike | None = None) -> Self:
        """Learn from noisy rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Noisy rows; the first copy.
        y : array of shape (n,)
            Targets, or labels; noise in them does no harm as long as it is independent of the features' noise.
        copies : array of shape (n, m, d), optional
            Further independent noisy copies. X is not counted twice where it is one of them, or their mean.
        row_covariances : array of shape (n, d) or (n, d, d), optional
            Noise variances or covariance of each row, instead of `noise`.
        """
        return self._take(*self._check_training(X, y, fresh=True), copies, row_covariances, fresh=True)

    def _take(self, X: Floats, Y: Floats, copies: Any, row_covariances: Any, fresh: bool) -> Self:
        self._check_settings()
        every = gather_copies(X, copies)
        check_noise(self, every, copies, row_covariances, refuse=fresh)
        n, m, d = every.shape
        correction = correction_of_mean(every, self.noise, row_covariances)
        rows = np.column_stack([every.mean(axis=1), Y])
        if fresh:
            self.n_samples_seen_ = 0
            self._shift = rows.mean(axis=0)  # against cancellation of large means
            self._sums = np.zeros((self.n_folds, 1 + rows.shape[1], 1 + rows.shape[1]))
            self._corrections = np.zeros((self.n_folds, d, d))
            self._noise_sum = np.zeros((d, d))
        folds = fold_numbers(every.reshape(n, m * d), self.n_folds, self.n_samples_seen_ % self.n_folds)
        self._sums += fold_products(np.column_stack([np.ones(n), rows - self._shift]), self.n_folds, folds)
        added = correction.sums(folds, self.n_folds)
        self._corrections += added
        self._noise_sum += m * added.sum(axis=0)
        self.n_samples_seen_ += n
        self._solve(d, Y.shape[1])
        return self

    def _solve(self, d: int, q: int) -> None:
        fitted = self._fitted(self._sums, self._corrections, q, self.target_noise)
        weights = fitted.coefficients[1:]
        self._keep(weights.T, fitted.coefficients[0] + self._shift[d:] - self._shift[:d] @ weights)
        self.correction_, self.strength_ = fitted.noise_fraction, fitted.strength
        self.validation_loss_, self.validation_error_ = fitted.validation
        self.noise_ = noise_or_estimate(self.noise, self._noise_sum, self.n_samples_seen_)
        self._keep_attenuation(weights, q)

    def _fitted(
        self,
        sums: Floats,
        corrections: Floats,
        q: int,
        target_noise: float | None = None,
        from_uncorrected: bool = False,
    ) -> Fitted:
        total, noise = sums.sum(axis=0), corrections.sum(axis=0)
        scale = None if target_noise is None else total_least_squares_scale(total, noise, target_noise)
        if self.strength is None:
            settings = self.constraint, self.standard_errors, scale, from_uncorrected
            return solve_cross_validated(sums, corrections, q, *settings)
        strength, fraction = np.array([float(self.strength)]), scale or 1.0
        coefficients = solve(total, fraction * noise, q, strength, self.constraint)[0]
        return Fitted(coefficients, fraction, float(strength[0]), None)

    def _keep_attenuation(self, weights: Floats, q: int) -> None:
        """The limit (G + C)^-1 G w of least squares on noisy rows, with signal covariance G and noise covariance C."""
        observed = centre(self._sums.sum(axis=0), q)[0]
        noise = self._corrections.sum(axis=0) / self.n_samples_seen_
        variances = np.diag(observed)
        noise_fraction = np.divide(np.diag(noise), variances, out=np.zeros(len(noise)), where=variances > 0)
        self.reliability_ = np.clip(1 - noise_fraction, 0.0, 1.0)
        explained, attenuated = attenuate(weights, observed, noise)
        size = float(np.sum(weights * explained))
        self.attenuation_ = float(np.clip(np.sum(attenuated * explained) / size, 0.0, 1.0)) if size > 0 else 1.0
        self._keep_attenuated(attenuated.T)

    def _check_settings(self) -> None:
        if self.constraint not in STRENGTHS:
            raise ValueError(f"constraint is {self.constraint!r}; 'ridge' or 'ball' will do")
        if self.strength is not None and not self.strength >= 0:
            raise ValueError(f"strength is {self.strength}; a number of 0 or more will do, or None to choose it")
        if self.target_noise is not None and not self.target_noise > 0:
            raise ValueError(f"target_noise is {self.target_noise}; a variance above 0 will do, or None if not known")
        if self.n_folds < 2:
            raise ValueError(f"n_folds is {self.n_folds}; at least two folds are needed to hold one out")

    def _scores(self, X: Floats) -> Floats:
        return np.asarray(X @ np.atleast_2d(self.coef_).T + self.intercept_)

    def _noisy_scores(self, X: Floats) -> Floats:
        """Least squares on single copies: the moments of the mean copy, with the noise of one copy."""
        d, q = X.shape[1], len(np.atleast_2d(self.coef_))
        further = np.trace(self._noise_sum) / max(np.trace(self._corrections.sum(axis=0)), 1e-300) - 1
        sums = subtract_noise(self._sums, -max(further, 0.0) * self._corrections)
        fitted = self._fitted(sums, np.zeros_like(self._corrections), q).coefficients
        return np.asarray((X - self._shift[:d]) @ fitted[1:] + fitted[0] + self._shift[d:])

    def _keep(self, coef: Floats, intercept: Floats) -> None:
        self.coef_, self.intercept_ = coef, intercept

    def _keep_attenuated(self, coef: Floats) -> None:
        self.attenuated_coef_ = coef

    @property
    def bent_coef_(self) -> Floats:
        """The earlier name of `attenuated_coef_`."""
        coef = self.attenuated_coef_
        warnings.warn("bent_coef_ is now attenuated_coef_", DeprecationWarning, stacklevel=2)
        return coef


class NoisyFeatureRegressor(NumberTargets, _NoisyLinear):
    """Corrected least squares for features with known noise, or with several noisy copies (replicates) of each row.

    Noise in the features attenuates coefficients towards zero and mixes those of correlated columns (attenuation
    bias). The noise covariance C is subtracted from the Gram matrix before it is solved: the estimate minimises the
    unbiased loss ``mean (y - w.x~)^2 - w'C w + ridge |w|^2`` of the noisy rows x~. The fraction of C to subtract and
    the ridge (or the norm bound of a ball) are chosen by cross-validation on the unbiased loss with the
    k-standard-error rule; least squares on the mean replicate is among the candidates. One pass over the rows, memory
    (columns)^2 for each fold.

    Parameters
    ----------
    noise : GaussianNoise, LaplaceNoise, MaskingNoise, SymmetricNoise or None
        The noise, where it is known. None with copies: estimated from them. None without copies: no noise.
    constraint : {"ridge", "ball"}, default="ridge"
        How the weights (of columns in units of their standard deviation) are regularised.
    strength : float, optional
        The ridge, or the ball's radius in units of the targets' standard deviation; the whole noise covariance is then
        subtracted. None chooses both.
    standard_errors : float, default=2
        The k of the k-standard-error rule.
    n_folds : int, default=20
        Folds that are held out one at a time; row i is in fold i mod n_folds.
    target_noise : float, optional
        Variance of the noise in the targets, where it is known and the target is otherwise linear in the features:
        the coefficients are then those of total least squares, which have less variance. A value that contradicts the
        rows is not used, with a warning.

    Attributes
    ----------
    coef_, intercept_ : the linear predictor for clean features
    noise_ : the noise, given, or Gaussian with the covariance estimated from the copies
    correction_ : float, the fraction of the noise covariance that was subtracted
    strength_ : float, the ridge or radius chosen
    validation_loss_, validation_error_ : the unbiased held-out loss of the choice and its standard error
    reliability_ : array of shape (n_features,), the fraction of each column's variance that is signal
    attenuated_coef_ : the limit of least squares on rows with this noise; for predictions from rows as noisy as these
    attenuation_ : float, the size of `attenuated_coef_` as a fraction of that of `coef_`; 1 is no attenuation
    n_samples_seen_ : int

    References
    ----------
    .. [1] Fuller, W. A. (1987). Measurement Error Models. Wiley.
    .. [2] Carroll, R. J., Ruppert, D., Stefanski, L. A., Crainiceanu, C. M. (2006). Measurement Error in Nonlinear
       Models: A Modern Perspective. 2nd edition, Chapman and Hall/CRC.
    .. [3] Loh, P.-L., Wainwright, M. J. (2012). High-dimensional regression with noisy and missing data: provable
       guarantees with nonconvexity. Annals of Statistics 40(3). (The corrected Gram matrix, also for missing values.)

    Examples
    --------
    >>> from noisewise import GaussianNoise
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40_000, 1))
    >>> noise = GaussianNoise(1.0)
    >>> model = NoisyFeatureRegressor(noise).fit(noise.corrupt(X, rng), 3 * X[:, 0])
    >>> model.coef_.round(1), model.attenuated_coef_.round(1), round(model.attenuation_, 2)
    (array([3.]), array([1.5]), 0.5)
    """

    def __init__(
        self,
        noise: FeatureNoise = None,
        constraint: str = "ridge",
        strength: float | None = None,
        standard_errors: float = 2.0,
        n_folds: int = 20,
        target_noise: float | None = None,
    ) -> None:
        super().__init__(noise, constraint, strength, standard_errors, n_folds)
        self.target_noise = target_noise

    def partial_fit(
        self, X: Any, y: Any, copies: ArrayLike | None = None, row_covariances: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows; pieces one after the other give what `fit` gives for all of them."""
        fresh = not hasattr(self, "n_samples_seen_")
        return self._take(*self._check_training(X, y, fresh), copies, row_covariances, fresh)

    def _keep(self, coef: Floats, intercept: Floats) -> None:
        self.coef_, self.intercept_ = coef[0], float(intercept[0])

    def _keep_attenuated(self, coef: Floats) -> None:
        self.attenuated_coef_ = coef[0]


class NoisyFeatureClassifier(LabelTargets, _NoisyLinear):
    """Linear classification for features with known noise, or with several noisy copies (replicates) of each row.

    Logistic regression on the mean replicate, whose coefficients v become those of clean rows: ``(G - f C)^-1 G v``,
    with the covariance G of the mean replicates and the fraction f of their noise covariance C that corrected least
    squares of targets -1 and 1 selects as in `NoisyFeatureRegressor`. Of three classes or more, of which least squares
    says less, that is none unless its loss is lower by two standard errors (`standard_errors`). Where it is none, it is
    logistic regression. In pieces (`partial_fit`) it is corrected least squares alone, from moments in one pass.

    Parameters
    ----------
    noise, constraint, strength, standard_errors, n_folds
        As in `NoisyFeatureRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,), the labels in order
    coef_ : array of shape (1, n_features) for two classes, else (n_classes, n_features)
    correction_, strength_, noise_, reliability_, attenuation_, n_samples_seen_
        As in `NoisyFeatureRegressor`, of the least-squares fit.

    References
    ----------
    .. [1] Fuller, W. A. (1987). Measurement Error Models. Wiley.
    .. [2] Carroll, R. J., Ruppert, D., Stefanski, L. A., Crainiceanu, C. M. (2006). Measurement Error in Nonlinear
       Models: A Modern Perspective. 2nd edition, Chapman and Hall/CRC. Chapter 4: regression calibration, by which the
       log-odds of noisy rows are those of the clean rows to be expected.

    Examples
    --------
    >>> from noisewise import GaussianNoise
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> labels = np.where(X[:, 0] > 0, "right", "left")
    >>> model = NoisyFeatureClassifier().fit(X, labels, copies=GaussianNoise(1.0).copies(X, 2, rng))
    >>> bool(model.score(X, labels) > 0.97)
    True
    """

    def fit(self, X: Any, y: Any, copies: ArrayLike | None = None, row_covariances: ArrayLike | None = None) -> Self:
        """Learn from noisy rows; parameters as in `NoisyFeatureRegressor.fit`, with labels for targets."""
        rows, Y = self._check_training(X, y, fresh=True)
        self._take(rows, Y, copies, row_covariances, fresh=True)
        if Y.shape[1] > 1:  # least squares can miss a class between others, and so what a correction is worth
            fitted = self._fitted(self._sums, self._corrections, Y.shape[1], from_uncorrected=True)
            self.correction_, self.strength_ = fitted.noise_fraction, fitted.strength
            self.validation_loss_, self.validation_error_ = fitted.validation
        self._fit_logistic(gather_copies(rows, copies).mean(axis=1), Y)
        return self

    def _fit_logistic(self, rows: Floats, Y: Floats) -> None:
        """Replace the least-squares coefficients by those of logistic regression, corrected as these were."""
        q = Y.shape[1]
        gram, _, means, _ = centre(self._sums.sum(axis=0), q)
        scale, mean = column_scales(gram, means), rows.mean(axis=0)
        # In units of the signal's deviation, and columns of noise alone are not brought to the size of the others.
        signal = np.sqrt(self.reliability_) / max(float(self.reliability_.max()), LEAST_RELIABILITY)
        codes = Y[:, 0] > 0 if q == 1 else Y.argmax(axis=1)
        logistic = LogisticRegression(max_iter=LOGISTIC_STEPS).fit((rows - mean) / scale * signal, codes)
        weights = logistic.coef_.T * signal[:, None]
        if self.correction_:
            ridge = self.strength_ if self.constraint == "ridge" else 0.0
            weights = disattenuate(weights, self._sums, self._corrections, q, self.correction_, ridge)
        self.coef_ = (weights / scale[:, None]).T
        self.intercept_ = logistic.intercept_ - self.coef_ @ mean

    def _noisy_scores(self, X: Floats) -> Floats:
        """Attenuated by the noise that the coefficients were corrected for, and that of one copy beyond the mean's."""
        q, n = len(self.coef_), self.n_samples_seen_
        observed, _, means, _ = centre(self._sums.sum(axis=0), q)
        of_mean, mean = self._corrections.sum(axis=0) / n, means + self._shift[: X.shape[1]]
        further = self._noise_sum / n - of_mean
        weights = attenuate(self.coef_.T, observed + further, further + self.correction_ * of_mean)[1]
        return np.asarray((X - mean) @ weights + self.coef_ @ mean + self.intercept_)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        copies: ArrayLike | None = None,
        row_covariances: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows; the first call takes all `classes`, or those of its labels."""
        fresh = not hasattr(self, "n_samples_seen_")
        return self._take(*self._check_training(X, y, fresh, classes), copies, row_covariances, fresh)
