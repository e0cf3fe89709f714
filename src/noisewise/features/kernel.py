"""Kernel regression on features with Gaussian noise of known covariance: surrogate kernels, ridge and descent."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.blocks import blocks
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import generator, naming_columns
from noisewise.features.checks import check_noise
from noisewise.features.noise_argument import gather_copies, noise_matrix
from noisewise.features.solvers.cross_validation import fold_numbers, standard_error_rule
from noisewise.features.solvers.kernel_ridge import LANDMARKS, KernelRidge, fit_kernel_ridge
from noisewise.features.solvers.plain_ridge import fit_plain_ridge
from noisewise.features.solvers.surrogate_descent import Replicates, Stream, descend, two_replicates
from noisewise.features.theory import surrogate_descent_guarantee
from noisewise.kernels import ADVISED_RATE, Gaussian, Radial, Surrogate, largest_variance, median_width, surrogate
from noisewise.noise import GaussianNoise

WIDTHS = (0.35, 0.7, 1.4)  # candidates, in median distances between clean rows
STEPS = (1.0, 0.3, 0.1, 0.03, 0.01)  # candidates, as fractions of the step that fits a single row exactly
PREDICTED_ROWS = 1024  # rows at once: the Gram matrix of all may not fit in memory

Pair = tuple[Surrogate, Surrogate]


class NoisyKernelRegressor(RegressorMixin, BaseEstimator):
    """Kernel regression on features with Gaussian noise of known covariance.

    A surrogate kernel s satisfies E s(a, x + noise) = k(a, x), so that inner products with noisy rows are unbiased for
    those with clean rows. The reference model is kernel ridge regression on the mean of the copies (replicates); ridge
    regression in the surrogate space, or online gradient descent there in one pass over the rows (Algorithm 3 of [1]_),
    replaces it if the unbiased loss is lower by two standard errors (k-standard-error rule). With a `step` or a `ball`
    it is Algorithm 3 alone. Time is quadratic in the rows; that of `DeconvolvedFourierRegressor` is linear.

    Parameters
    ----------
    kernel : Gaussian, Laplacian, RationalQuadratic or None
        None tries Gaussian kernels of three widths around the median distance, none below what is advised. A Gaussian
        kernel needs a width above the limit of `noisewise.kernels.surrogate`; the mixtures of other kernels are
        truncated at the rates that have a surrogate.
    noise : GaussianNoise or None
        Noise of one replicate. None estimates it from the differences of `copies`; without copies, no noise.
    step : float, "theory" or None
        Constant step [eta]; "theory" is the one of the regret bound, too small to be of use on finite data; None tries
        several and selects one by the unbiased loss of the stream with the k-standard-error rule.
    ball : float, optional
        Bound of the predictor's norm in the surrogate space [W]; None is what interpolates targets of distant rows.
    averaging : float or None, default=3
        Predictors of all rounds are averaged with weights round^averaging; None takes the last alone.
    budget : int, optional
        Rows to keep at most.
    random_state : int, generator or None
        Splits a single replicate of each row into two by adding noise.

    Attributes
    ----------
    kernel_ : the kernel used
    noise_ : GaussianNoise of one replicate
    support_rows_ : stored noisy rows
    dual_coef_ : their coefficients [alpha]
    intercept_ : float
    correction_ : 1 if the noise was corrected for, 0 if the k-standard-error rule preferred the mean of the copies
    step_ : float, NaN for kernel ridge
    loss_ : float, mean of the unbiased loss over the second half of the rows

    References
    ----------
    .. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
       Information Theory 57(12). (Algorithm 3.)

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
        """Learn from noisy rows and further noisy copies (replicates) of them, of shape (n, m, d).

        A row without further copies is split into two replicates, each with twice the noise.
        """
        with naming_columns(X):
            rows, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._check_parameters()
        every = gather_copies(rows, copies)
        self.noise_ = self._noise_of(every)
        check_noise(self, every, copies, depth=1)
        covariance = noise_matrix(self.noise_, rows.shape[1])
        pair = two_replicates(every, covariance, generator(self.random_state))
        kernels = self._candidates(pair, covariance)
        hats = [self._surrogates(kernel, pair, covariance) for kernel in kernels]
        centre = float(targets.mean())
        y_centred = targets - centre
        ridge = None
        if self.step is None and self.ball is None and len(targets) > 1:
            ridge = fit_kernel_ridge(every.mean(axis=1), pair, y_centred, hats, self.budget or LANDMARKS)
            kernels, hats = [kernels[ridge.kernel]], [hats[ridge.kernel]]
        streams = [self._play(pair, y_centred, hat) for hat in hats]
        chosen = self._choose(streams, ridge, fold_numbers(every.mean(axis=1), len(every)))
        self.kernel_, self.highest_rate_ = kernels[chosen], hats[chosen][0].highest_rate
        self.intercept_ += centre
        self.noisy_ridge_ = fit_plain_ridge(every, targets[:, None], self.kernel, generator(0))
        return self

    def predict(self, X: Any, noisy: bool = False) -> Floats:
        """The predicted target of each clean row; with ``noisy=True``, of rows with the noise of one training copy.

        For a noisy row that is the mean target of rows that look like it, E[y | noisy x]: kernel ridge regression on
        the copies, as they are.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        if noisy and hasattr(self, "noisy_ridge_"):
            return np.asarray(self.noisy_ridge_(rows)[:, 0])
        n_kept = self.support_rows_.shape[0]
        noise = GaussianNoise(noise_matrix(self.noise_, rows.shape[1]))
        corrected = surrogate(self.kernel_, noise, self.highest_rate_)
        kernel = corrected if noisy else corrected.clean  # noisy rows of models that earlier versions fitted
        values = np.empty(len(rows))
        for part in blocks(len(rows), PREDICTED_ROWS):
            values[part] = kernel.gram(rows[part], self.support_rows_) @ self.dual_coef_ if n_kept else 0.0
        return values + self.intercept_

    def _play(self, pair: Replicates, y: Floats, hats: Pair) -> Stream:
        """The stream with one kernel, once for each step."""
        height = hats[0].height(pair.stored.shape[1])
        ball = float(np.sqrt(len(y) * np.mean(y**2) / height)) if self.ball is None else float(self.ball)
        steps = self._steps(height, max(ball, 1e-300), y)
        balls = np.full(len(steps), max(ball, 1e-300))
        return descend(pair, y, hats, steps, balls, self.averaging, self.budget)

    def _choose(self, streams: list[Stream], ridge: KernelRidge | None, distinct: Codes) -> int:
        """Keep the fit that the k-standard-error rule selects; the index of its kernel.

        Rounds of a row that the stream met before tell nothing: a repeated row repeats its noise.
        """
        losses = np.concatenate([stream.losses for stream in streams])
        if ridge is not None:
            losses = np.concatenate([losses, ridge.losses[None]])
        half = losses.shape[1] // 2  # after a burn-in of the streams
        met_first = np.sort(np.unique(distinct, return_index=True)[1])
        if ridge is not None and (met_first >= half).sum() < 2:
            losses = losses[-1:]
        else:
            losses = losses[:, met_first[met_first >= half]]
        start = None if ridge is None else len(losses) - 1
        choice = standard_error_rule(losses, np.ones(losses.shape[1]), start=start)
        self.loss_ = float(choice.means[choice.best])
        if ridge is not None and choice.best == start:
            self.correction_, self.step_, self.intercept_ = float(ridge.corrected), np.nan, ridge.intercept
            self.support_rows_, self.dual_coef_ = ridge.rows, ridge.coefs
            return 0
        kernel, run = divmod(choice.best, len(streams[0].coefs))
        stream = streams[kernel]
        self.correction_, self.step_, self.intercept_ = 1.0, float(stream.steps[run]), 0.0
        self.support_rows_, self.dual_coef_ = stream.rows, stream.coefs[run]
        return kernel

    def _surrogates(self, kernel: Radial, pair: Replicates, covariance: Floats) -> Pair:
        """Surrogates of the kernel for the stored replicates and for the others, with one limit of the rates.

        With two limits they would be surrogates of different kernels.
        """
        largest = max(1.0, pair.noise_stored, pair.noise_other) * largest_variance(GaussianNoise(covariance))
        rate = None if isinstance(kernel, Gaussian) or largest == 0 else ADVISED_RATE / largest
        stored, other = (GaussianNoise(times * covariance) for times in (pair.noise_stored, pair.noise_other))
        return surrogate(kernel, stored, rate), surrogate(kernel, other, rate)

    def _candidates(self, pair: Replicates, covariance: Floats) -> list[Radial]:
        if self.kernel is not None:
            if not isinstance(self.kernel, Radial):
                raise TypeError(f"{self.kernel!r} is not a radial kernel; Gaussian(width) would do")
            return [self.kernel]
        try:
            noisy = median_width(pair.stored, random_state=0) ** 2
        except ValueError:  # all rows are equal: any width will do
            noisy = 1.0
        clean = max(noisy - 2 * pair.noise_stored * np.trace(covariance), 0.1 * noisy)
        largest = largest_variance(GaussianNoise(max(pair.noise_stored, pair.noise_other) * covariance))
        narrowest = 2 * np.sqrt(largest)
        widths = {float(max(relative * np.sqrt(clean), narrowest)) for relative in WIDTHS}
        return [Gaussian(width) for width in sorted(widths)]

    def _steps(self, height: float, ball: float, y: Floats) -> Floats:
        if self.step is None:
            return np.array(STEPS) * 0.5 / height
        if self.step == "theory":
            guarantee = surrogate_descent_guarantee(len(y), ball, height, float(np.sqrt(np.mean(y**2))))
            return np.array([guarantee.step])
        return np.array([float(self.step)])

    def _noise_of(self, copies: Floats) -> GaussianNoise:
        """The given noise, or the covariance within the replicates of each row."""
        if self.noise is not None:
            if not isinstance(self.noise, GaussianNoise):
                raise TypeError(f"noise is {self.noise!r}; a surrogate kernel needs a GaussianNoise")
            return self.noise
        n, m, _ = copies.shape
        if m == 1:
            return GaussianNoise(np.zeros(()))
        apart = (copies - copies.mean(axis=1, keepdims=True)).reshape(n * m, -1)
        return GaussianNoise(apart.T @ apart / (n * (m - 1)))

    def _check_parameters(self) -> None:
        for name in ("step", "ball", "budget"):
            value = getattr(self, name)
            if value is None or (name == "step" and value == "theory"):
                continue
            if isinstance(value, str) or not value > 0:
                raise ValueError(f"{name} is {value!r}; it must be a number above 0, or None")
