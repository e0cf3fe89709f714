"""Smooth functions of noisy features: random Fourier features, deconvolved."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from noisewise.features.solvers.fourier_ridge import WaveLearner
from noisewise.features.targets import LabelTargets, NumberTargets


class DeconvolvedFourierRegressor(NumberTargets, WaveLearner):
    """A smooth function of clean features, learnt from noisy ones: Fourier features with the noise divided out.

    Noise blurs a function: each of its waves is damped by the noise's characteristic function. Ridge regression on
    random waves (the Fourier features of a radial kernel) learns the damped waves, divides the damping out, and takes
    away what noise adds to their products. Width, ridge, and whether to deconvolve at all are chosen by the unbiased
    loss on held-out folds plus two standard errors. Time is linear in the rows; memory does not grow with them.

    Columns should have comparable units, as for any radial kernel.

    Parameters
    ----------
    noise : GaussianNoise, LaplaceNoise, SymmetricNoise or None
        The law of the noise. None with copies: Gaussian, of the covariance they show. None without copies: no noise.
    kernel : Gaussian, Laplacian, RationalQuadratic or None
        None tries Gaussian kernels of a quarter, half, once and twice the median distance (in `partial_fit`, between
        the rows of the first piece).
    n_components : int, default=300
        How many waves.
    strength : float, optional
        The ridge, as a share of the features' variance; then the function is deconvolved. None chooses both.
    max_inflation : float, default=30
        Waves are dropped where dividing the noise out inflates their square by more than the square of this: nothing
        but noise is left of them.
    standard_errors : float, default=2
        How many standard errors of its loss a candidate has to bear.
    n_folds : int, default=10
        Folds that are held out in turn; rows go to them round and round.
    random_state : int, RandomState, Generator or None
        Draws the waves.

    Attributes
    ----------
    noise_ : the noise, given or found in the copies
    frequencies_, phases_ : arrays of shape (n_components, n_features) and (n_components,), the waves
    coef_, intercept_ : their weights, for clean rows
    correction_ : 1 if the noise was divided out, 0 if the guard preferred not to
    strength_, n_kept_ : the ridge, and the number of waves that were not dropped
    validation_loss_, validation_error_ : the unbiased held-out loss of the choice and its standard error
    n_samples_seen_, n_copies_ : rows, and copies of each

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

    def fit(self, X: Any, y: Any, copies: ArrayLike | None = None) -> Self:
        """Learn from noisy rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Noisy rows; the first copy.
        y : array of shape (n,)
            Targets.
        copies : array of shape (n, m, d), optional
            Further independent noisy copies. X is not counted twice where it is one of them, or their mean.
        """
        return self._take(*self._check_training(X, y, fresh=True), copies, fresh=True)

    def partial_fit(self, X: Any, y: Any, copies: ArrayLike | None = None) -> Self:
        """Learn from more rows; with a given kernel, pieces give what `fit` gives for all of them."""
        fresh = not hasattr(self, "n_samples_seen_")
        return self._take(*self._check_training(X, y, fresh), copies, fresh)


class DeconvolvedFourierClassifier(LabelTargets, WaveLearner):
    """Classification with smooth boundaries between clean features, learnt from noisy ones.

    Squared loss on targets of -1 and 1, with the parameters and attributes of `DeconvolvedFourierRegressor`.

    Examples
    --------
    >>> from noisewise import GaussianNoise
    >>> from noisewise.datasets import make_noisy_moons
    >>> X, y, copies = make_noisy_moons(1000, noise=0.3, random_state=0)
    >>> model = DeconvolvedFourierClassifier(GaussianNoise(0.3**2), random_state=0).fit(copies[:, 0], y, copies=copies)
    >>> bool(model.score(X, y) > 0.99)
    True
    """

    def fit(self, X: Any, y: Any, copies: ArrayLike | None = None) -> Self:
        """Learn from noisy rows; `copies` as in `DeconvolvedFourierRegressor.fit`."""
        return self._take(*self._check_training(X, y, fresh=True), copies, fresh=True)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, copies: ArrayLike | None = None) -> Self:
        """Learn from more rows; the first call takes all `classes` that will ever come, or those of its labels."""
        fresh = not hasattr(self, "n_samples_seen_")
        return self._take(*self._check_training(X, y, fresh, classes), copies, fresh)
