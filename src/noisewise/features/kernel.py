"""Kernel regression on features with Gaussian noise of a known covariance: Algorithm 3, guarded by kernel ridge."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._typing import Floats, RandomState
from noisewise._validation import generator
from noisewise.features.checks import check_noise
from noisewise.features.noise_argument import gather_copies, noise_matrix
from noisewise.features.solvers.cross_validation import guarded_choice
from noisewise.features.solvers.kernel_ridge import LANDMARKS, KernelRidge, fit_kernel_ridge
from noisewise.features.solvers.surrogate_descent import Copies, Stream, descend, two_copies
from noisewise.features.theory import surrogate_descent_guarantee
from noisewise.kernels import Gaussian, Radial, median_width
from noisewise.kernels.surrogates import Surrogate, largest_variance, surrogate
from noisewise.noise import GaussianNoise

WIDTHS = (0.35, 0.7, 1.4)  # candidates, in median distances between clean rows
STEPS = (1.0, 0.3, 0.1, 0.03, 0.01)  # candidates, as shares of the step that makes a predictor right at one row

Pair = tuple[Surrogate, Surrogate]


class NoisyKernelRegressor(RegressorMixin, BaseEstimator):
    """Kernel regression on features blurred by Gaussian noise of known covariance.

    Learns in a surrogate space whose noisy inner products are the clean ones on average (Cesa-Bianchi et al.). By
    default it starts from kernel ridge on the averaged copies, and leaves it for ridge in the surrogate space or for
    descent in one pass over the rows (Algorithm 3) only where that is better on clean rows beyond chance: by two
    standard errors of the unbiased loss. With a `step` or a `ball` it is Algorithm 3 alone.
    Quadratic in rows; `DeconvolvedFourierRegressor` is linear and does the same job.

    Parameters
    ----------
    kernel : Gaussian, Laplacian, RationalQuadratic or None
        None tries Gaussian kernels of three widths around the median distance, none below what is advised. A Gaussian
        kernel needs a width above the limit of `noisewise.kernels.surrogate`; others are cut at the rates that the
        noise allows.
    noise : GaussianNoise or None
        Noise of one copy. None takes it from the differences of `copies`, or is no noise if there are none.
    step : float, "theory" or None
        Constant step [eta]; "theory" is the one of the regret bound, too small to be of use on finite data; None tries
        several and takes the best by the unbiased loss of the stream plus two standard errors.
    ball : float, optional
        Bound of the predictor's norm in the surrogate space [W]; None is what fits all targets of far-apart rows.
    averaging : float or None, default=3
        Predictors of all rounds are averaged with weights round^averaging; None takes the last alone.
    budget : int, optional
        Rows to keep at most.
    random_state : int, generator or None
        A single copy of each row is split into two with more noise by chance.

    Attributes
    ----------
    kernel_ : the kernel used
    noise_ : GaussianNoise of one copy
    support_rows_ : stored noisy rows
    dual_coef_ : their coefficients [alpha]
    intercept_ : float
    correction_ : 1 if the noise was corrected for, 0 if the guard preferred to average the copies
    step_ : float, NaN for kernel ridge
    loss_ : float, mean of the unbiased loss over the second half of the rows

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (500, 1))
    >>> y = np.sin(2 * X[:, 0])
    >>> noise = GaussianNoise(0.09)
    >>> noisy = noise.copies(X, 2, rng)
    >>> model = NoisyKernelRegressor(noise=noise).fit(noisy[:, 0], y, copies=noisy[:, 1:])
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        kernel: Radial | None = None,
        noise: GaussianNoise | None = None,
        step: float | Literal["theory"] | None = None,
        ball: float | None = None,
        averaging: float | None = 3.0,
        budget: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.step = step
        self.ball = ball
        self.averaging = averaging
        self.budget = budget
        self.random_state = random_state

    def fit(self, X: Any, y: Any, copies: ArrayLike | None = None) -> NoisyKernelRegressor:
        """Learn from noisy rows and further noisy copies of them, of shape (n, m, d).

        With Gaussian noise, a row without further copies is split into two, each with twice the noise.
        """
        rows, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._check_parameters()
        every = gather_copies(rows, copies)
        self.noise_ = self._noise_of(every)
        check_noise(self, every, copies, depth=1)
        covariance = noise_matrix(self.noise_, rows.shape[1])
        pair = two_copies(every, covariance, generator(self.random_state))
        kernels = self._candidates(pair, covariance)
        hats = [self._surrogates(kernel, pair, covariance) for kernel in kernels]
        centre = float(targets.mean())
        y_centred = targets - centre
        ridge = None
        if self.step is None and self.ball is None and len(targets) > 1:
            ridge = fit_kernel_ridge(every.mean(axis=1), pair, y_centred, hats, self.budget or LANDMARKS)
            kernels, hats = [kernels[ridge.kernel]], [hats[ridge.kernel]]
        streams = [self._play(pair, y_centred, hat) for hat in hats]
        place = self._choose(streams, ridge)
        self.kernel_, self.highest_rate_ = kernels[place], hats[place][0].highest_rate
        self.intercept_ += centre
        return self

    def predict(self, X: Any, noisy: bool = False) -> Floats:
        """Predictions for clean rows; with ``noisy=True``, for rows that are single noisy copies.

        The mean over the noise of a noisy row's prediction is that of the clean row. It spreads around it: where a
        guess of y is wanted and not its mean, clean rows or means of many copies serve better.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        n_kept = self.support_rows_.shape[0]
        kernel = self._surrogate(noise_matrix(self.noise_, rows.shape[1])) if noisy else self._clean()
        values = np.empty(len(rows))
        for start in range(0, len(rows), 1024):  # a Gram matrix of all rows may not fit
            part = slice(start, start + 1024)
            values[part] = kernel.gram(rows[part], self.support_rows_) @ self.dual_coef_ if n_kept else 0.0
        return values + self.intercept_

    def _play(self, pair: Copies, y: Floats, hats: Pair) -> Stream:
        """The stream with one kernel, once for each step."""
        height = hats[0].height(pair.stored.shape[1])
        ball = float(np.sqrt(len(y) * np.mean(y**2) / height)) if self.ball is None else float(self.ball)
        steps = self._steps(height, max(ball, 1e-300), y)
        balls = np.full(len(steps), max(ball, 1e-300))
        return descend(pair, y, hats, steps, balls, self.averaging, self.budget)

    def _choose(self, streams: list[Stream], ridge: KernelRidge | None) -> int:
        """Keep the run of the lowest guarded loss, or kernel ridge if none is better beyond doubt; give its kernel."""
        losses = np.concatenate([stream.losses for stream in streams])
        if ridge is not None:
            losses = np.concatenate([losses, ridge.losses[None]])
        later = losses[:, losses.shape[1] // 2 :]  # where streams have learnt
        start = None if ridge is None else len(later) - 1
        choice = guarded_choice(later, np.ones(later.shape[1]), start=start)
        self.loss_ = float(choice.means[choice.best])
        if ridge is not None and choice.best == start:
            self.correction_, self.step_, self.intercept_ = float(ridge.corrected), np.nan, ridge.intercept
            self.support_rows_, self.dual_coef_ = ridge.rows, ridge.coefs
            return 0
        place, run = divmod(choice.best, len(streams[0].coefs))
        stream = streams[place]
        self.correction_, self.step_, self.intercept_ = 1.0, float(stream.steps[run]), 0.0
        self.support_rows_, self.dual_coef_ = stream.rows, stream.coefs[run]
        return place

    def _surrogates(self, kernel: Radial, pair: Copies, covariance: Floats) -> Pair:
        """What stands for the kernel at the stored copies, and at the others."""
        rate = self._rate(kernel, pair, covariance)
        first, second = (
            surrogate(kernel, GaussianNoise(times * covariance), rate)
            for times in (pair.noise_stored, pair.noise_other)
        )
        return first, second

    def _candidates(self, pair: Copies, covariance: Floats) -> list[Radial]:
        if self.kernel is not None:
            if not isinstance(self.kernel, Radial):
                raise TypeError(f"{self.kernel!r} is not a radial kernel; Gaussian(width) would do")
            return [self.kernel]
        try:
            seen = median_width(pair.stored, random_state=0) ** 2
        except ValueError:  # all rows are equal: any width will do
            seen = 1.0
        clean = max(seen - 2 * pair.noise_stored * np.trace(covariance), 0.1 * seen)
        largest = largest_variance(GaussianNoise(max(pair.noise_stored, pair.noise_other) * covariance))
        narrowest = 2 * np.sqrt(largest)
        widths = {float(max(share * np.sqrt(clean), narrowest)) for share in WIDTHS}
        return [Gaussian(width) for width in sorted(widths)]

    def _steps(self, height: float, ball: float, y: Floats) -> Floats:
        if self.step is None:
            return np.array(STEPS) * 0.5 / height
        if self.step == "theory":
            guarantee = surrogate_descent_guarantee(len(y), ball, height, float(np.sqrt(np.mean(y**2))))
            return np.array([guarantee.step])
        return np.array([float(self.step)])

    def _noise_of(self, copies: Floats) -> GaussianNoise:
        """The given noise, or what the copies differ by."""
        if self.noise is not None:
            if not isinstance(self.noise, GaussianNoise):
                raise TypeError(f"noise is {self.noise!r}; a surrogate kernel needs a GaussianNoise")
            return self.noise
        n, m, _ = copies.shape
        if m == 1:
            return GaussianNoise(np.zeros(()))
        apart = (copies - copies.mean(axis=1, keepdims=True)).reshape(n * m, -1)
        return GaussianNoise(apart.T @ apart / (n * (m - 1)))

    def _rate(self, kernel: Radial, pair: Copies, covariance: Floats) -> float | None:
        """One limit of rates for both copies, so that their surrogates stand for the same kernel."""
        largest = max(1.0, pair.noise_stored, pair.noise_other) * largest_variance(GaussianNoise(covariance))
        return None if isinstance(kernel, Gaussian) or largest == 0 else 0.25 / largest

    def _surrogate(self, covariance: Floats) -> Any:
        return surrogate(self.kernel_, GaussianNoise(covariance), self.highest_rate_)

    def _clean(self) -> Any:
        d = self.n_features_in_
        return self._surrogate(noise_matrix(self.noise_, d)).clean

    def _check_parameters(self) -> None:
        for name in ("step", "ball", "budget"):
            value = getattr(self, name)
            if value is None or (name == "step" and value == "theory"):
                continue
            if isinstance(value, str) or not value > 0:
                raise ValueError(f"{name} is {value!r}; it must be a number above 0, or None")
