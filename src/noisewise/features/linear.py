"""Linear regression and classification from noisy features, in one pass."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from noisewise._typing import Floats
from noisewise.features.checks import check_noise
from noisewise.features.noise_argument import FeatureNoise, correction_of_mean, gather_copies
from noisewise.features.solvers.cross_validation import centre, fold_products
from noisewise.features.solvers.least_squares import STRENGTHS, Fitted, amount_on_a_line, solve, solve_guarded
from noisewise.features.targets import LabelTargets, NumberTargets, Scored
from noisewise.noise import GaussianNoise


class _NoisyLinear(Scored):
    """Sums of products, fold by fold, with what the noise adds to them kept beside; solved after every piece."""

    coef_: Floats
    intercept_: Floats | float
    bent_coef_: Floats
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

    def _take(self, X: Floats, Y: Floats, copies: Any, row_covariances: Any, fresh: bool) -> Self:
        self._check_settings()
        every = gather_copies(X, copies)
        check_noise(self, every, copies, row_covariances)
        n, m, d = every.shape
        correction = correction_of_mean(every, self.noise, row_covariances)
        rows = np.column_stack([every.mean(axis=1), Y])
        if fresh:
            self.n_samples_seen_ = 0
            self._shift = rows.mean(axis=0)  # sums of large numbers would cancel
            self._sums = np.zeros((self.n_folds, 1 + rows.shape[1], 1 + rows.shape[1]))
            self._corrections = np.zeros((self.n_folds, d, d))
            self._noise_sum = np.zeros((d, d))
        first_fold = self.n_samples_seen_ % self.n_folds
        self._sums += fold_products(np.column_stack([np.ones(n), rows - self._shift]), self.n_folds, first_fold)
        added = correction.sums(n, self.n_folds, first_fold)
        self._corrections += added
        self._noise_sum += m * added.sum(axis=0)
        self.n_samples_seen_ += n
        self._solve(d, Y.shape[1])
        return self

    def _solve(self, d: int, q: int) -> None:
        fitted = self._fitted(q)
        weights = fitted.coefficients[1:]
        self._keep(weights.T, fitted.coefficients[0] + self._shift[d:] - self._shift[:d] @ weights)
        self.correction_, self.strength_ = fitted.amount, fitted.strength
        self.validation_loss_, self.validation_error_ = np.nan, np.nan
        if fitted.choice is not None:
            self.validation_loss_ = float(fitted.choice.means[fitted.choice.best])
            self.validation_error_ = float(fitted.choice.errors[fitted.choice.best])
        average = self._noise_sum / self.n_samples_seen_
        self.noise_ = GaussianNoise((average + average.T) / 2) if self.noise is None else self.noise
        self._say_how_bent(weights, q)

    def _fitted(self, q: int) -> Fitted:
        total, noise = self._sums.sum(axis=0), self._corrections.sum(axis=0)
        whole = None if self.target_noise is None else amount_on_a_line(total, noise, self.target_noise)
        if self.strength is None:
            return solve_guarded(self._sums, self._corrections, q, self.constraint, self.standard_errors, whole)
        strength, amount = np.array([float(self.strength)]), whole or 1.0
        return Fitted(solve(total, amount * noise, q, strength, self.constraint)[0], amount, float(strength[0]), None)

    def _say_how_bent(self, weights: Floats, q: int) -> None:
        """What plain least squares would have made of the same weights: G / (G + C) of them."""
        observed = centre(self._sums.sum(axis=0), q)[0]
        noise = self._corrections.sum(axis=0) / self.n_samples_seen_
        variances = np.diag(observed)
        share = np.divide(np.diag(noise), variances, out=np.zeros(len(noise)), where=variances > 0)
        self.reliability_ = np.clip(1 - share, 0.0, 1.0)
        values, vectors = np.linalg.eigh(observed - noise)
        signal = vectors * np.maximum(values, 0.0) @ vectors.T
        explained = signal @ weights
        bent = np.linalg.pinv(signal + noise, hermitian=True) @ explained
        size = float(np.sum(weights * explained))
        self.attenuation_ = float(np.clip(np.sum(bent * explained) / size, 0.0, 1.0)) if size > 0 else 1.0
        self._keep_bent(bent.T)

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

    def _keep(self, coef: Floats, intercept: Floats) -> None:
        self.coef_, self.intercept_ = coef, intercept

    def _keep_bent(self, coef: Floats) -> None:
        self.bent_coef_ = coef


class NoisyFeatureRegressor(NumberTargets, _NoisyLinear):
    """Least squares on features with known noise, or seen in several noisy copies: coefficients of the clean features.

    Noise in the features bends coefficients towards zero, and correlated columns into each other. Here the noise's
    share is taken away from the sums of products before they are solved. How much of it, and the ridge (or ball) that
    keeps the solution in bounds, are chosen by the unbiased loss on held-out folds plus two standard errors; plain
    least squares on the mean copy is among the candidates. One pass over the rows, memory (columns)^2 for each fold.

    Parameters
    ----------
    noise : GaussianNoise, LaplaceNoise, MaskingNoise, SymmetricNoise or None
        The noise, where it is known. None with copies: they show it. None without copies: no noise.
    constraint : {"ridge", "ball"}, default="ridge"
        What keeps the weights (of columns in units of their standard deviation) in bounds.
    strength : float, optional
        The ridge, or the ball's radius in units of the targets' standard deviation; then all noise is taken away.
        None chooses both.
    standard_errors : float, default=2
        How many standard errors of its loss a candidate has to bear.
    n_folds : int, default=20
        Folds that are held out in turn; rows go to them round and round.
    target_noise : float, optional
        Variance of the noise in the targets, where it is known and the rest of the target is a line of the features:
        the coefficients are then those of total least squares, as exact as can be. A value that does not fit is not
        used, with a warning.

    Attributes
    ----------
    coef_, intercept_ : the linear rule for clean features
    noise_ : the noise, given, or Gaussian of the covariance the copies showed
    correction_ : float, the share of the noise that was taken away
    strength_ : float, the ridge or radius chosen
    validation_loss_, validation_error_ : the unbiased held-out loss of the choice and its standard error
    reliability_ : array of shape (n_features,), the share of each column's variance that is signal
    bent_coef_ : what plain least squares makes of `coef_` in this noise; for predictions of rows as noisy as these
    attenuation_ : float, the share of `coef_` that is left in `bent_coef_`; 1 says that the noise bends nothing
    n_samples_seen_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40_000, 1))
    >>> noise = GaussianNoise(1.0)
    >>> model = NoisyFeatureRegressor(noise).fit(noise.corrupt(X, rng), 3 * X[:, 0])
    >>> model.coef_.round(1), model.bent_coef_.round(1), round(model.attenuation_, 2)
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

    def fit(self, X: Any, y: Any, copies: ArrayLike | None = None, row_covariances: ArrayLike | None = None) -> Self:
        """Learn from noisy rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Noisy rows; the first copy.
        y : array of shape (n,)
            Targets; noise in them does no harm as long as it is independent of the features' noise.
        copies : array of shape (n, m, d), optional
            Further independent noisy copies. X is not counted twice where it is one of them, or their mean.
        row_covariances : array of shape (n, d) or (n, d, d), optional
            Noise variances or covariance of each row, in place of `noise`.
        """
        return self._take(*self._check_training(X, y, fresh=True), copies, row_covariances, fresh=True)

    def partial_fit(
        self, X: Any, y: Any, copies: ArrayLike | None = None, row_covariances: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows; pieces one after the other give what `fit` gives for all of them."""
        fresh = not hasattr(self, "n_samples_seen_")
        return self._take(*self._check_training(X, y, fresh), copies, row_covariances, fresh)

    def _keep(self, coef: Floats, intercept: Floats) -> None:
        self.coef_, self.intercept_ = coef[0], float(intercept[0])

    def _keep_bent(self, coef: Floats) -> None:
        self.bent_coef_ = coef[0]


class NoisyFeatureClassifier(LabelTargets, _NoisyLinear):
    """Linear classification from features with known noise, or seen in several noisy copies.

    Squared loss on targets of -1 and 1, corrected and guarded as in `NoisyFeatureRegressor`, with the same parameters
    and attributes. It separates clean rows; noisy rows can be given to `predict` as well.

    Parameters
    ----------
    noise, constraint, strength, standard_errors, n_folds
        As in `NoisyFeatureRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,), the labels in order
    coef_ : array of shape (1, n_features) for two classes, else (n_classes, n_features)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> labels = np.where(X[:, 0] > 0, "right", "left")
    >>> model = NoisyFeatureClassifier().fit(X, labels, copies=GaussianNoise(1.0).copies(X, 2, rng))
    >>> bool(model.score(X, labels) > 0.97)
    True
    """

    def fit(self, X: Any, y: Any, copies: ArrayLike | None = None, row_covariances: ArrayLike | None = None) -> Self:
        """Learn from noisy rows; `copies` and `row_covariances` as in `NoisyFeatureRegressor.fit`."""
        return self._take(*self._check_training(X, y, fresh=True), copies, row_covariances, fresh=True)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        copies: ArrayLike | None = None,
        row_covariances: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows; the first call takes all `classes` that will ever come, or those of its labels."""
        fresh = not hasattr(self, "n_samples_seen_")
        return self._take(*self._check_training(X, y, fresh, classes), copies, row_covariances, fresh)
