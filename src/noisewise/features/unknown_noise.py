"""Kernel regression and classification on features with noise of unknown distribution (Algorithm 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from noisewise._typing import Floats, RandomState
from noisewise._validation import check_binary_or_more, encode_labels, find_labels, generator
from noisewise.datasets import CopyOracle
from noisewise.features.calibration import add_copies, begin_moments, calibrate
from noisewise.features.checks import refuse_equal_copies
from noisewise.features.maps.descent import MapDescent, State
from noisewise.features.maps.random_map import Estimator
from noisewise.features.noise_argument import gather_copies
from noisewise.features.targets import LabelTargets, NumberTargets, Scored, signs
from noisewise.kernels import Kernel, Polynomial
from noisewise.losses import Loss, Squared

CHECK_EVERY = 256  # rounds between two checks of the series' variance


class _MapLearner(Scored):
    """Parameters, state and the loop over the rounds of an oracle."""

    state_: State

    def __init__(
        self,
        kernel: Kernel | None = None,
        loss: Loss | None = None,
        estimator: Estimator = "auto",
        p: float = 2.0,
        step: float | None = None,
        ball: float | None = None,
        averaging: float | None = 3.0,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.estimator = estimator
        self.p = p
        self.step = step
        self.ball = ball
        self.averaging = averaging
        self.random_state = random_state

    def fit(self, X: Any, y: Any, copies: ArrayLike | None = None) -> Self:
        """Learn from rows and further noisy copies of them, of shape (n, m, d); without copies, X counts as clean."""
        self._reset()
        self._learn_rows(*self._check_training(X, y, fresh=True), copies, fresh=True)
        return self

    @property
    def dual_coef_(self) -> Floats:
        """The weight of each round's map in the last predictor, of shape (rounds, outputs) [alpha]."""
        check_is_fitted(self)
        return self._descent().coefficients(self.state_)

    @property
    def lost_probability_(self) -> float:
        """Probability that an estimate would have had a degree above 60; such terms are truncated."""
        descent = self._descent()
        return float(descent.map.lost_probability + descent.loss_derivative.lost_probability)

    def _descent(self) -> MapDescent:
        return MapDescent(
            Polynomial(2) if self.kernel is None else self.kernel,
            Squared() if self.loss is None else self.loss,
            self.estimator,
            self.p,
            self.step,
            self.ball,
            self.averaging,
        )

    def _reset(self) -> None:
        for name in ("state_", "centre_", "scale_", "_moments"):
            self.__dict__.pop(name, None)
        self.n_queries_ = 0
        self._rng = generator(self.random_state)

    def _standardise(self, first: Floats) -> None:
        """Fix centre and scale of the features by the first rows: with a fixed map all estimates stay unbiased."""
        self.centre_ = first.mean(axis=0)
        deviations = first.std(axis=0)
        self.scale_ = np.where(deviations > 0, deviations, 1.0) * np.sqrt(first.shape[1])  # rows of length about 1

    def _scores(self, X: Floats) -> Floats:
        return self._descent().predict(self.state_, (X - self.centre_) / self.scale_)

    def _noisy_scores(self, X: Floats) -> Floats:
        return self._scores(calibrate(X, getattr(self, "_moments", None)))

    def _learn_rows(self, rows: Floats, targets: Floats, copies: ArrayLike | None, fresh: bool) -> None:
        if fresh:
            self._standardise(rows)
        if copies is not None:
            refuse_equal_copies(gather_copies(rows, copies))
        oracle = Repeats(rows, targets) if copies is None else CopyOracle(None, targets, gather_copies(rows, copies))
        self._learn(oracle, lambda labels: labels, targets.shape[1])

    def _learn(self, oracle: Any, encode: Callable[[NDArray[Any]], Floats], n_outputs: int) -> None:
        """All rounds of an oracle; `encode` makes its targets or labels the rows of an array (maps, outputs)."""
        descent = self._descent()
        learn, targets_of, pairs = None, getattr(oracle, "targets", None), []
        for row, target in enumerate(oracle):
            plan, degree = descent.draw(self._rng)
            wanted = int(descent.map.queries(plan).sum())
            copies = self._query(oracle, wanted, row)
            if learn is None:
                if not hasattr(self, "state_"):
                    self._begin(descent, copies.shape[1], n_outputs)
                learn = descent.learner(self.state_)
            targets = [target] * len(plan) if targets_of is None else targets_of(len(plan))
            learn((copies[:wanted] - self.centre_) / self.scale_, plan, degree, encode(np.asarray(targets)))
            pairs.append(copies[:2])
            if row % CHECK_EVERY == CHECK_EVERY - 1:
                descent.check_variance(self.state_)
                self._add_pairs(pairs)
                pairs = []
        if learn is None:
            raise ValueError("the oracle showed no row; there is nothing to learn from")
        descent.check_variance(self.state_)
        self._add_pairs(pairs)

    def _add_pairs(self, pairs: list[Floats]) -> None:
        """Keep the moments of a copy of some rounds, and the noise of two, for predictions of noisy rows."""
        for n_copies in (1, 2):
            shown = [copies for copies in pairs if len(copies) == n_copies]
            if shown and hasattr(self, "_moments"):  # models of earlier versions have none
                add_copies(self._moments, np.stack(shown))

    def _begin(self, descent: MapDescent, n_features: int, n_outputs: int) -> None:
        self.state_ = descent.start(n_features, n_outputs)
        self._moments = begin_moments(np.zeros((1, n_features)))
        if not hasattr(self, "centre_"):
            self.centre_, self.scale_ = np.zeros(n_features), np.ones(n_features)
            self.n_features_in_ = n_features

    def _query(self, oracle: Any, n: int, row: int) -> Floats:
        known = getattr(self, "n_features_in_", None)
        asked = n if known is not None else max(n, 1)  # one copy at least, once, to see how many columns there are
        copies = np.asarray(oracle.copies(asked), dtype=np.float64)
        columns = copies.shape[-1] if known is None else known
        if copies.shape != (asked, columns):
            raise ValueError(
                f"{asked} copies of row {row} have shape {(asked, columns)}, but the oracle gave {copies.shape}"
            )
        if not np.isfinite(copies).all():
            raise ValueError(f"the oracle gave NaN or infinity for row {row}")
        self.n_queries_ += asked
        return copies


class UnknownNoiseKernelRegressor(NumberTargets, _MapLearner):
    """Kernel regression on features with noise of unknown distribution, from several noisy copies of each row.

    Online gradient descent on the loss of the clean rows. Each step is unbiased, whatever the noise, because every
    factor of its gradient estimate uses copies (replicates) of its own (Algorithm 4 of [1]_). It needs many rows: with
    a polynomial kernel and squared loss, thousands; with other kernels or losses, tens of thousands. On fewer, average
    the copies.

    Parameters
    ----------
    kernel : Linear, Polynomial, Exponential, Binomial, sums of these, or Gaussian
        None means ``Polynomial(2)``.
    loss : Loss of `noisewise.losses`
        None means `Squared`. A loss of the residual; losses other than the squared one take a random number of factors.
    estimator : {"auto", "roulette", "geometric"}
        How power series are estimated. "geometric" is the paper's, one term of random degree; "roulette" (Russian
        roulette) sums all terms up to a random degree, which has the same mean from the same copies and less variance,
        and takes the single factor of a squared loss exactly. "auto" is exact wherever a series is finite, so for
        polynomial kernels too.
    p : float, default=2
        One more copy has a probability of 1/p each time: above 1, larger means fewer copies and more variance.
    step : float, optional
        Constant step, such as the theory's [eta / sqrt(T)]; None adapts to the norms of the maps.
    ball : float, optional
        Bound of the predictor's norm [root of B_w]; None adapts to targets and maps.
    averaging : float or None, default=3
        Predictors of all rounds are averaged with weights round^averaging; None takes the last alone.
    random_state : int, generator or None

    Attributes
    ----------
    dual_coef_ : array of shape (rounds, 1)
    n_queries_ : int, copies asked for
    lost_probability_ : float, probability of a term that was truncated

    References
    ----------
    .. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
       Information Theory 57(12). (Algorithm 4, Subroutines 1 to 7.)

    Examples
    --------
    >>> from noisewise import GaussianNoise
    >>> from noisewise.datasets import CopyOracle
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (8000, 2))
    >>> oracle = CopyOracle(X, X[:, 0] * X[:, 1], GaussianNoise(0.2), rng=0)
    >>> model = UnknownNoiseKernelRegressor(random_state=0).partial_fit(oracle)
    >>> model.n_queries_
    32000
    >>> model.score(X, X[:, 0] * X[:, 1]) > 0.9
    True
    """

    def partial_fit(self, X: Any, y: Any = None, copies: ArrayLike | None = None) -> Self:
        """Learn from more rows, or from an oracle: iterating it gives targets, its ``copies(n)`` noisy copies.

        An oracle whose targets are noisy too may have ``targets(n)``, and each factor gets a target of its own.
        """
        fresh = not hasattr(self, "state_")
        if fresh:
            self._reset()
        if hasattr(X, "copies"):
            self._learn(X, _column, 1)
        else:
            self._learn_rows(*self._check_training(X, y, fresh), copies, fresh)
        return self


class UnknownNoiseKernelClassifier(LabelTargets, _MapLearner):
    """Kernel classification on features with noise of unknown distribution, from several noisy copies of each row.

    As `UnknownNoiseKernelRegressor`, for labels: two classes, or one predictor for each class against the rest.

    Parameters
    ----------
    kernel, estimator, p, step, ball, averaging, random_state
        As for `UnknownNoiseKernelRegressor`.
    loss : Loss of `noisewise.losses`
        Any. None means `Squared`, of targets -1 and 1: exact with few copies. Losses of the margin (`Exponential`,
        `SmoothedHinge`, `Logistic`) are estimated by a random number of factors; the logistic one is refused where its
        series has no finite variance.

    Attributes
    ----------
    classes_ : array of labels
    dual_coef_ : array of shape (rounds, predictors)
    n_queries_ : int, copies asked for

    References
    ----------
    .. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
       Information Theory 57(12). (Algorithm 4.)

    Examples
    --------
    >>> from noisewise import GaussianNoise
    >>> from noisewise.datasets import CopyOracle
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> oracle = CopyOracle(X, y, GaussianNoise(0.2), rng=0)
    >>> model = UnknownNoiseKernelClassifier(random_state=0).partial_fit(oracle, classes=["other", "same"])
    >>> model.score(X, y) > 0.9
    True
    """

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, copies: ArrayLike | None = None) -> Self:
        """Learn from more rows, or from an oracle: iterating it gives labels, its ``copies(n)`` noisy copies.

        The first call needs all `classes`, unless the oracle has its labels as `y` or they are -1 and 1.
        """
        fresh = not hasattr(self, "state_")
        if fresh:
            self._reset()
        if not hasattr(X, "copies"):
            rows, targets = self._check_training(X, y, fresh, classes if fresh else None)
            self._learn_rows(rows, targets, copies, fresh)
            return self
        if fresh:
            self.classes_, _ = encode_labels(getattr(X, "y", [-1, 1]) if classes is None else classes)
            check_binary_or_more(self.classes_)
        known = self.classes_
        n_outputs = 1 if len(known) == 2 else len(known)
        self._learn(X, lambda labels: signs(find_labels(labels, known), len(known)), n_outputs)
        return self


class Repeats:
    """An oracle of rows without noise: all copies are the row itself."""

    def __init__(self, X: Floats, y: Iterable[Any]) -> None:
        self.X, self.y = X, y

    def __iter__(self) -> Iterator[Any]:
        for row, target in zip(self.X, self.y):
            self._row = row
            yield target

    def copies(self, n: int) -> Floats:
        """The current row, n times."""
        return np.repeat(self._row[None], n, axis=0)


def _column(targets: NDArray[Any]) -> Floats:
    return np.asarray(targets, dtype=np.float64)[:, None]
