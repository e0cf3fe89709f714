"""Regression and classification on random Fourier features of noisy rows, deconvolved."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from noisewise._numerics.blocks import blocks
from noisewise._numerics.row_hash import row_hashes
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import generator
from noisewise.features.checks import check_noise
from noisewise.features.noise_argument import (
    FeatureNoise,
    characteristic_of_mean,
    correction_of_mean,
    gather_copies,
    noise_or_estimate,
)
from noisewise.features.solvers.cross_validation import fold_numbers, fold_products
from noisewise.features.solvers.deconvolution import (
    excess_products,
    noisier_products,
    pair_damping,
    solve_deconvolved,
)
from noisewise.features.solvers.least_squares import Fitted
from noisewise.features.solvers.plain_ridge import PlainRidge, fit_plain_ridge
from noisewise.features.targets import LabelTargets, NumberTargets, Scored
from noisewise.kernels import Gaussian, Radial, draw_frequencies, median_width
from noisewise.noise import MaskingNoise

RELATIVE_WIDTHS = (1.0, 0.5, 0.25, 2.0)  # candidates, in units of the median distance
BLOCK_ROWS = 8192  # rows whose features are held in memory at once
PLAIN_SEED = 0  # draws the landmarks of kernel ridge regression, apart from the frequencies


class _DeconvolvedFourier(Scored):
    """Second moments of cosines, and of sines, for each fold; the noise is corrected for when they are solved."""

    ridge_: PlainRidge | None = None  # models of earlier versions have none of these
    _noisy_ridge: PlainRidge | None = None
    _noisy_fit: Floats | None = None
    _fit_losses: tuple[float, float, float] | None

    def __init__(
        self,
        noise: FeatureNoise = None,
        kernel: Radial | None = None,
        n_components: int = 300,
        strength: float | None = None,
        max_inflation: float = 30.0,
        standard_errors: float = 2.0,
        n_folds: int = 10,
        random_state: RandomState = None,
    ) -> None:
        self.noise = noise
        self.kernel = kernel
        self.n_components = n_components
        self.strength = strength
        self.max_inflation = max_inflation
        self.standard_errors = standard_errors
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any, copies: ArrayLike | None = None) -> Self:
        """Learn from noisy rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Noisy rows; the first copy.
        y : array of shape (n,)
            Targets, or labels.
        copies : array of shape (n, m, d), optional
            Further independent noisy copies (replicates). X is not counted twice where it is one of them or their mean.
        """
        rows, Y = self._check_training(X, y, fresh=True)
        self._take(rows, Y, copies, fresh=True)
        if self.strength is None:
            self._compare_plain(gather_copies(rows, copies), Y)
        return self

    def _compare_plain(self, every: Floats, Y: Floats) -> None:
        """Keep kernel ridge regression on the mean copies where it gains more over the uncorrected features than they.

        What deconvolution gains is the unbiased loss on clean rows; what kernel ridge gains is the loss on noisy ones:
        that on clean rows can't be known. Its leave-one-out loss is none where rows are repeated.
        """
        rows = every.mean(axis=1)
        if self._fit_losses is None or len(np.unique(row_hashes(rows, exact=True))) < len(rows):
            return
        plain = fit_plain_ridge(rows[:, None], Y, self.kernel, generator(PLAIN_SEED))
        noisy, uncorrected, chosen = self._fit_losses
        if plain.loss >= noisy:
            return
        several = every.shape[1] > 1
        self._noisy_ridge = fit_plain_ridge(every, Y, self.kernel, generator(PLAIN_SEED)) if several else plain
        if noisy - plain.loss > uncorrected - chosen:
            self.ridge_, self.correction_ = plain, 0.0
            self.validation_loss_, self.validation_error_ = plain.loss, np.nan

    def _take(self, X: Floats, Y: Floats, copies: Any, fresh: bool) -> Self:
        self._check_settings()
        every = gather_copies(X, copies)
        check_noise(self, every, copies, refuse=fresh)
        n, m, d = every.shape
        rows = every.mean(axis=1)
        if fresh:
            self._draw(rows)
            self._start(m, Y)
        elif m != self.n_copies_:
            raise ValueError(f"this piece has {m} copies of each row, the first had {self.n_copies_}; all need as many")
        if self.noise is None and m > 1:
            self._noise_sum += m * correction_of_mean(every).total(n)
        folds = fold_numbers(every.reshape(n, m * d), self.n_folds, self.n_samples_seen_ % self.n_folds)
        for part in blocks(n, BLOCK_ROWS):
            self._add(rows[part], Y[part] - self._shift, folds[part])
        self.ridge_ = self._noisy_ridge = self._noisy_fit = None
        self._solve(Y.shape[1])
        return self

    def _draw(self, rows: Floats) -> None:
        """Frequencies of all widths; the prior variance of a weight is the density of a width over the mean density."""
        rng = generator(self.random_state)
        n, d = self.n_components, rows.shape[1]
        if self.kernel is None:
            base = median_width(rows, random_state=rng) if (rows != rows[0]).any() else 1.0
            widths = base * np.array(RELATIVE_WIDTHS)
            drawn = [draw_frequencies(Gaussian(width), d, -(-n // len(widths)), rng) for width in widths]
            self.frequencies_ = np.concatenate(drawn, axis=1).T[:n]
            squared = (self.frequencies_**2).sum(axis=1)
            log_density = d * np.log(widths)[:, None] - np.multiply.outer(widths**2 / 4, squared)
            density = np.exp(log_density - log_density.max(axis=0))
            self._priors = density / density.mean(axis=0)
        else:
            self.frequencies_ = draw_frequencies(self.kernel, d, n, rng).T
            self._priors = np.ones((1, n))
        self.phases_ = rng.uniform(0, 2 * np.pi, n)

    def _start(self, m: int, Y: Floats) -> None:
        n_columns = 1 + self.n_components + Y.shape[1]
        self.n_samples_seen_, self.n_copies_ = 0, m
        self._shift = Y.mean(axis=0)
        self._sums = np.zeros((self.n_folds, n_columns, n_columns))
        self._sines = np.zeros((self.n_folds, self.n_components, self.n_components))
        self._noise_sum = np.zeros((self.frequencies_.shape[1],) * 2)

    def _add(self, rows: Floats, targets: Floats, folds: Codes) -> None:
        angles = rows @ self.frequencies_.T + self.phases_
        columns = np.column_stack([np.ones(len(rows)), np.cos(angles), targets])
        self._sums += fold_products(columns, self.n_folds, folds)
        self._sines += fold_products(np.sin(angles, out=angles), self.n_folds, folds)
        self.n_samples_seen_ += len(rows)

    def _solve(self, q: int) -> None:
        self.noise_ = noise_or_estimate(self.noise, self._noise_sum, self.n_samples_seen_)
        damping = characteristic_of_mean(self.noise_, self.frequencies_, self.n_copies_)
        squares = characteristic_of_mean(self.noise_, 2 * self.frequencies_, self.n_copies_)
        kept = np.flatnonzero(np.minimum(np.abs(squares), damping**2) * self.max_inflation**2 >= 1)
        if not len(kept):
            raise ValueError(
                f"the noise hides all frequencies of the kernel (max_inflation is {self.max_inflation:g}); "
                "a wider kernel, more copies or less noise will do"
            )
        fitted = self._fitted(kept, damping, q)
        if fitted.noise_fraction == 0 and len(kept) < len(damping):  # without deconvolution none is inflated: keep all
            kept, damping = np.arange(len(damping)), np.ones(len(damping))
            fitted = self._fitted(kept, damping, q)
        self.coef_ = np.zeros((q, self.n_components))
        self.coef_[:, kept] = fitted.coefficients[1:].T * damping[kept]
        self.intercept_ = fitted.coefficients[0] + self._shift
        self.correction_, self.strength_, self.n_kept_ = fitted.noise_fraction, fitted.strength, len(kept)
        self._fit_losses = None
        if fitted.choice is not None:
            self._fit_losses = fitted.noisy_loss, fitted.choice.means[0], fitted.choice.means[fitted.choice.best]
        self.validation_loss_, self.validation_error_ = fitted.validation

    def _fitted(self, kept: Codes, damping: Floats, q: int) -> Fitted:
        columns = np.concatenate([[0], 1 + kept, np.arange(-q, 0)])
        sums = self._sums[:, columns[:, None], columns]
        corrections = np.zeros((self.n_folds, len(kept), len(kept)))
        if (damping[kept] < 1).any():
            factors = pair_damping(self.frequencies_[kept], self.noise_, self.n_copies_, self.max_inflation)
            inside = slice(1, 1 + len(kept))
            corrections = excess_products(sums[:, inside, inside], self._sines[:, kept[:, None], kept], *factors)
        return solve_deconvolved(
            sums, corrections, damping[kept], self._priors[:, kept], q, self.strength, self.standard_errors
        )

    def _scores(self, X: Floats) -> Floats:
        if self.ridge_ is not None:
            return self.ridge_(X)
        return self._of_features(X, self.coef_, self.intercept_)

    def _noisy_scores(self, X: Floats) -> Floats:
        """The better uncorrected fit: kernel ridge, or that of the features, to moments damped like a single copy's."""
        if self._noisy_ridge is not None:
            return self._noisy_ridge(X)
        if self._noisy_fit is None:
            q, least = len(self.coef_), self.max_inflation**-2
            sums = noisier_products(self._sums, self._sines, self.frequencies_, self.noise_, self.n_copies_, least)
            none = np.zeros_like(self._sines)
            fitted = solve_deconvolved(sums, none, np.ones(len(none[0])), self._priors, q, self.strength)
            self._noisy_fit = fitted.coefficients
        return self._of_features(X, self._noisy_fit[1:].T, self._noisy_fit[0] + self._shift)

    def _of_features(self, X: Floats, coef: Floats, intercept: Floats) -> Floats:
        parts = blocks(len(X), BLOCK_ROWS)
        scores = [np.cos(X[part] @ self.frequencies_.T + self.phases_) @ coef.T for part in parts]
        return np.asarray(np.concatenate(scores) + intercept)

    def _check_settings(self) -> None:
        if isinstance(self.noise, MaskingNoise):
            raise ValueError(
                "values missing at random are no additive noise and have no characteristic function; "
                "NoisyFeatureRegressor and OnlineNoisyRegressor correct for them"
            )
        if self.kernel is not None and not isinstance(self.kernel, Radial):
            raise ValueError(f"kernel is {self.kernel!r}; Gaussian, Laplacian, RationalQuadratic or None will do")
        if self.n_components < 1:
            raise ValueError(f"n_components is {self.n_components}; at least one feature is needed")
        if self.n_folds < 2:
            raise ValueError(f"n_folds is {self.n_folds}; at least two folds are needed to hold one out")
        if not self.max_inflation >= 1:
            raise ValueError(f"max_inflation is {self.max_inflation}; a number of 1 or more will do")
        if self.strength is not None and not self.strength >= 0:
            raise ValueError(f"strength is {self.strength}; a ridge of 0 or more will do, or None to choose it")


class DeconvolvedFourierRegressor(NumberTargets, _DeconvolvedFourier):
    """Nonlinear regression on noisy features: random Fourier features, deconvolved.

    Additive noise convolves the regression function: the mean of a Fourier feature cos(w.x + b) is damped by the
    noise's characteristic function chi(w). Ridge regression on random Fourier features of a radial kernel is corrected
    for it: a noisy feature over chi(w) is unbiased for the clean one, and products of two features are corrected by
    chi(w - w') and chi(w + w').
    Width, ridge, and whether to deconvolve at all are chosen by cross-validation on the unbiased loss with the
    k-standard-error rule. Time is linear in the rows; memory does not grow with them.

    Columns should have comparable units, as for any radial kernel.

    Parameters
    ----------
    noise : GaussianNoise, LaplaceNoise, SymmetricNoise or None
        The distribution of the noise. None with copies: Gaussian, with the covariance estimated from them. None without
        copies: no noise.
    kernel : Gaussian, Laplacian, RationalQuadratic or None
        None tries Gaussian kernels of a quarter, half, once and twice the median distance (in `partial_fit`, between
        the rows of the first piece).
    n_components : int, default=300
        Number of random Fourier features.
    strength : float, optional
        The ridge, as a fraction of the features' variance; the function is then deconvolved. None chooses both.
    max_inflation : float, default=30
        Features are dropped where deconvolution inflates their variance by more than the square of this: noise hides
        them.
    standard_errors : float, default=2
        The k of the k-standard-error rule.
    n_folds : int, default=10
        Folds that are held out one at a time; row i is in fold i mod n_folds.
    random_state : int, RandomState, Generator or None
        Draws the frequencies and phases.

    Attributes
    ----------
    noise_ : the noise, given or estimated from the copies
    frequencies_, phases_ : arrays of shape (n_components, n_features) and (n_components,), those of the features
    coef_, intercept_ : weights of the clean features
    correction_ : 1 if the fit is deconvolved, 0 if the k-standard-error rule preferred the uncorrected one
    ridge_ : kernel ridge regression on the mean copies, if it predicts (from `fit`, not in pieces); else None
    strength_, n_kept_ : the ridge, and the number of features that were not dropped
    validation_loss_, validation_error_ : the unbiased held-out loss of the choice and its standard error
    n_samples_seen_, n_copies_ : rows, and replicates of each

    References
    ----------
    .. [1] Rahimi, A., Recht, B. (2007). Random features for large-scale kernel machines. NeurIPS 20.
    .. [2] Stefanski, L. A., Carroll, R. J. (1990). Deconvolving kernel density estimators. Statistics 21(2).
    .. [3] Carroll, R. J., Ruppert, D., Stefanski, L. A., Crainiceanu, C. M. (2006). Measurement Error in Nonlinear
       Models: A Modern Perspective. 2nd edition, Chapman and Hall/CRC.

    Examples
    --------
    >>> import numpy as np
    >>> from noisewise import GaussianNoise
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (2000, 1))
    >>> noise = GaussianNoise(0.3**2)
    >>> model = DeconvolvedFourierRegressor(noise, random_state=0).fit(noise.corrupt(X, rng), np.sin(2 * X[:, 0]))
    >>> bool(abs(model.predict([[np.pi / 4]])[0] - 1) < 0.1)
    True
    """

    def partial_fit(self, X: Any, y: Any, copies: ArrayLike | None = None) -> Self:
        """Learn from more rows; with a given kernel, pieces give what `fit` gives for all of them."""
        fresh = not hasattr(self, "n_samples_seen_")
        return self._take(*self._check_training(X, y, fresh), copies, fresh)


class DeconvolvedFourierClassifier(LabelTargets, _DeconvolvedFourier):
    """Nonlinear classification on noisy features: random Fourier features, deconvolved.

    Squared loss on targets of -1 and 1, with the parameters and attributes of `DeconvolvedFourierRegressor`.

    References
    ----------
    .. [1] Rahimi, A., Recht, B. (2007). Random features for large-scale kernel machines. NeurIPS 20.
    .. [2] Stefanski, L. A., Carroll, R. J. (1990). Deconvolving kernel density estimators. Statistics 21(2).

    Examples
    --------
    >>> from noisewise import GaussianNoise
    >>> from noisewise.datasets import make_noisy_moons
    >>> X, y, copies = make_noisy_moons(1000, noise=0.3, random_state=0)
    >>> model = DeconvolvedFourierClassifier(GaussianNoise(0.3**2), random_state=0).fit(copies[:, 0], y, copies=copies)
    >>> bool(model.score(X, y) > 0.99)
    True
    """

    def partial_fit(self, X: Any, y: Any, classes: Any = None, copies: ArrayLike | None = None) -> Self:
        """Learn from more rows; the first call takes all `classes`, or those of its labels."""
        fresh = not hasattr(self, "n_samples_seen_")
        return self._take(*self._check_training(X, y, fresh, classes), copies, fresh)
