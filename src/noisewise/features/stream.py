"""Online linear regression with errors in the features (Cesa-Bianchi et al., Algorithms 1 and 2)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from noisewise._typing import Floats
from noisewise.features.calibration import add_copies, begin_moments, calibrate
from noisewise.features.checks import check_noise
from noisewise.features.noise_argument import (
    Correction,
    FeatureNoise,
    correction_of_mean,
    gather_copies,
    noise_or_estimate,
)
from noisewise.features.targets import NumberTargets
from noisewise.features.theory import known_covariance_guarantee, two_copies_guarantee

STEP_RULES = ("auto", "root", "scaled", "adagrad", "constant", "theory")
RATES = {"root": 1.0, "scaled": 1.0, "adagrad": 0.2}  # defaults
STANDARD_ERRORS = 2.0  # by which the loss of "scaled" must be lower than that of "root"


class OnlineNoisyRegressor(NumberTargets):
    """Online linear regression on noisy rows: gradient descent on the squared loss of the clean rows.

    Each step uses an unbiased estimate of the gradient ``2 (w.x - y) x`` at the clean row x: from two or more
    independent copies (replicates) of it, whatever the noise (Algorithm 1 of [1]_, symmetrised), or from one copy x~
    and the noise covariance C, ``2 (w.x~ - y) x~ - 2 C w`` (Algorithm 2), where C may differ from row to row. For a
    fixed set of rows `NoisyFeatureRegressor` is more accurate.

    Parameters
    ----------
    noise : GaussianNoise, LaplaceNoise, MaskingNoise, SymmetricNoise or None
        The noise, where it is known. None with copies: estimated from them. None without copies: no noise.
    step : {"auto", "root", "scaled", "adagrad", "constant", "theory"}, default="auto"
        The step size: rate / sqrt(t), the same for columns in units of their standard deviations, AdaGrad, `rate`, or
        the one of the regret bound, which is for checking the bound and in practice far too small. "auto" does the
        first two and takes "root", unless the unbiased losses of "scaled" before each of the later rounds were lower by
        two standard errors: columns of different units.
    rate : float, optional
        For "adagrad" in units of the target's and the column's standard deviations (0.2 by default), for "root" and
        "scaled" in units of the rows' mean squared length (1 by default), for "constant" as it is.
    radius : float, optional
        Weights are projected on a ball of this radius [B_w]. By default the ball adapts to the data: weights of
        standardised columns have a norm of at most twice the target's standard deviation.
    averaging : {"suffix", "last"}, default="suffix"
        Predict with the mean of the weights of the later half to three quarters of all rounds, or with the last ones.
    symmetrised : bool, default=True
        Whether the gradient is averaged over both orders of two copies; False is Algorithm 1 as printed, with about
        twice the variance.
    fit_intercept : bool, default=True
        Whether rows and targets are centred by their means so far.
    horizon : int, optional
        Number of rounds in all [T], for "theory"; by default the rows of the first call.

    Attributes
    ----------
    coef_, intercept_ : the linear predictor for clean features
    noise_ : the noise, given, or Gaussian with the covariance estimated from the copies
    step_, rate_ : the rule that the coefficients come from, and its rate
    n_samples_seen_ : rounds so far

    References
    ----------
    .. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
       Information Theory 57(12). (Algorithms 1 and 2.)
    .. [2] Duchi, J., Hazan, E., Singer, Y. (2011). Adaptive subgradient methods for online learning and stochastic
       optimization. Journal of Machine Learning Research 12. (AdaGrad.)
    .. [3] Rakhlin, A., Shamir, O., Sridharan, K. (2012). Making gradient descent optimal for strongly convex stochastic
       optimization. ICML. (Suffix averaging.)

    Examples
    --------
    >>> from noisewise import GaussianNoise
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2))
    >>> copies = GaussianNoise(0.5).copies(X, 2, rng)
    >>> OnlineNoisyRegressor().fit(copies[:, 0], X @ [1.0, -2.0], copies=copies).coef_.round(1)
    array([ 1., -2.])
    """

    def __init__(
        self,
        noise: FeatureNoise = None,
        step: str = "auto",
        rate: float | None = None,
        radius: float | None = None,
        averaging: str = "suffix",
        symmetrised: bool = True,
        fit_intercept: bool = True,
        horizon: int | None = None,
    ) -> None:
        self.noise = noise
        self.step = step
        self.rate = rate
        self.radius = radius
        self.averaging = averaging
        self.symmetrised = symmetrised
        self.fit_intercept = fit_intercept
        self.horizon = horizon

    def fit(self, X: Any, y: Any, copies: ArrayLike | None = None, row_covariances: ArrayLike | None = None) -> Self:
        """Start anew, and learn from the rows in order.

        Parameters
        ----------
        X : array of shape (n, d)
            Noisy rows; the first copy.
        y : array of shape (n,)
            Targets.
        copies : array of shape (n, m, d), optional
            Further independent noisy copies. X is not counted twice where it is one of them, or their mean.
        row_covariances : array of shape (n, d) or (n, d, d), optional
            Noise variances or covariance of each row, instead of `noise`.
        """
        rows, targets = self._check_training(X, y, fresh=True)
        self._learn(rows, targets[:, 0], copies, row_covariances, True, rows[:0])
        return self

    def partial_fit(
        self, X: Any, y: Any, copies: ArrayLike | None = None, row_covariances: ArrayLike | None = None
    ) -> Self:
        """Go on learning; pieces one after the other give what `fit` gives for all of them, bit for bit."""
        fresh = not hasattr(self, "n_samples_seen_")
        rows, targets = self._check_training(X, y, fresh)
        self._learn(rows, targets[:, 0], copies, row_covariances, fresh, rows[:0])
        return self

    def play(
        self, X: Any, y: Any, clean: Any, copies: ArrayLike | None = None, row_covariances: ArrayLike | None = None
    ) -> Floats:
        """Start anew, learn from the rows in order, and return the prediction for each clean row made before its round.

        `noisewise.features.theory.regret` takes the predictions: regret is measured on clean rows.
        """
        rows, targets = self._check_training(X, y, fresh=True)
        truth = np.asarray(clean, dtype=np.float64)
        if truth.shape != rows.shape:
            raise ValueError(f"the clean rows have shape {truth.shape}, X has {rows.shape}; they should agree")
        return self._learn(rows, targets[:, 0], copies, row_covariances, True, truth)

    def _learn(
        self, rows: Floats, targets: Floats, copies: Any, row_covariances: Any, fresh: bool, clean: Floats
    ) -> Floats:
        from noisewise._loops import descent  # compiled: loaded when first needed

        self._check_settings()
        every = gather_copies(rows, copies)
        check_noise(self, every, copies, row_covariances, refuse=fresh)
        n, m, d = every.shape
        correction = correction_of_mean(every, self.noise, row_covariances)
        if fresh:
            self.rate_ = self._choose_rate(every, targets, correction)
            self._state, self._rival = tuple(descent.begin(d)), tuple(descent.begin(d))
            self._comparison, self._noise_sum = np.zeros(7), np.zeros((d, d))
            self._moments = begin_moments(rows)
        self._noise_sum += m * correction.total(n)
        if hasattr(self, "_moments"):  # models of earlier versions have none
            add_copies(self._moments, every)
        left = right = np.ascontiguousarray(every.mean(axis=1))
        if not self.symmetrised and m == 2 and correction.deviations.shape[1]:
            left, right = np.ascontiguousarray(every[:, 0]), np.ascontiguousarray(every[:, 1])
            correction = correction._replace(deviations=np.zeros((n, 0, d)))
        return self._descend(left, right, targets, correction, clean)

    def _descend(self, left: Floats, right: Floats, targets: Floats, correction: Correction, clean: Floats) -> Floats:
        """All rounds by one rule, or by two of which the losses decide; returns the predictions for clean rows."""
        from noisewise._loops import descent

        codes = {"root": descent.ROOT, "scaled": descent.SCALED, "adagrad": descent.ADAGRAD}
        rules, states = [self.step], [descent.Descent(*self._state)]
        if self.step == "auto":
            rules, states = ["root", "scaled"], [*states, descent.Descent(*self._rival)]
        n, several = len(targets), len(rules) > 1
        predictions, losses = np.zeros((len(rules), len(clean))), np.zeros((len(rules), n if several else 0))
        parts = tuple(np.ascontiguousarray(part) for part in correction)
        ball = 0.0 if self.radius is None else float(self.radius)
        suffix, centred = self.averaging == "suffix", self.fit_intercept
        for rule, state, before, loss in zip(rules, states, predictions, losses):
            code, rate = codes.get(rule, descent.CONSTANT), RATES[rule] if several else self.rate_
            descent.descend(state, left, right, targets, parts, code, rate, ball, centred, clean, before, suffix, loss)
        chosen = np.zeros(n + 1, dtype=np.bool_)
        if several:
            descent.compare(self._comparison, losses[0], losses[1], STANDARD_ERRORS, chosen)
            self.rate_ = RATES[rules[int(chosen[-1])]]
        self.step_ = rules[int(chosen[-1])]
        self._keep(states[int(chosen[-1])])
        return np.asarray(np.where(chosen[: len(clean)], predictions[-1], predictions[0]))

    def _keep(self, state: Any) -> None:
        d = len(state.weights)
        self.n_samples_seen_ = int(state.rounds[0])
        self.coef_ = state.weights.copy() if self.averaging == "last" else state.older / state.rounds[1]
        self.intercept_ = float(state.means[d] - state.means[:d] @ self.coef_) if self.fit_intercept else 0.0
        self.noise_ = noise_or_estimate(self.noise, self._noise_sum, self.n_samples_seen_)

    def _choose_rate(self, every: Floats, targets: Floats, correction: Correction) -> float:
        if self.rate is not None:
            return float(self.rate)
        if self.step != "theory":
            return RATES["root" if self.step == "auto" else self.step]
        rounds = len(targets) if self.horizon is None else self.horizon
        squares = (every**2).sum(axis=2)
        target_bound = float(np.sqrt(np.mean(targets**2)))
        assert self.radius is not None
        if self.noise is None and every.shape[1] > 1:
            row_bound = float(np.sqrt(squares.mean()))
            return two_copies_guarantee(rounds, self.radius, row_bound, target_bound).step
        row_bound = float(np.mean(squares**2) ** 0.25)
        noise = float(np.linalg.eigvalsh(correction.total(len(targets)) / len(targets))[-1])
        return known_covariance_guarantee(rounds, self.radius, row_bound, target_bound, noise).step

    def _check_settings(self) -> None:
        if self.step not in STEP_RULES:
            raise ValueError(f"step is {self.step!r}; one of {', '.join(STEP_RULES)} will do")
        if self.step == "constant" and self.rate is None:
            raise ValueError("a constant step needs its rate")
        if self.step == "theory" and self.radius is None:
            raise ValueError("the step of theory is for a ball of known radius: give the radius")
        if self.step == "auto" and self.rate is not None:
            raise ValueError("a rate is for one step rule: give step='root' or step='scaled' too")
        if self.rate is not None and not self.rate > 0:
            raise ValueError(f"rate is {self.rate}; a number above 0 will do")
        if self.radius is not None and not self.radius > 0:
            raise ValueError(f"radius is {self.radius}; a number above 0 will do, or None for a ball from the data")
        if self.averaging not in ("suffix", "last"):
            raise ValueError(f"averaging is {self.averaging!r}; 'suffix' or 'last' will do")

    def _scores(self, X: Floats) -> Floats:
        return np.asarray(X @ self.coef_[:, None] + self.intercept_)

    def _noisy_scores(self, X: Floats) -> Floats:
        noise = self._noise_sum / self.n_samples_seen_
        return self._scores(calibrate(X, getattr(self, "_moments", None), noise))
