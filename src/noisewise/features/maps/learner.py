"""Learning round by round from an oracle that hands out as many noisy copies as chance asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._typing import Floats, RandomState
from noisewise._validation import generator
from noisewise.datasets import CopyOracle
from noisewise.features.maps.descent import MapDescent, State
from noisewise.features.maps.random_map import Estimator
from noisewise.features.noise_argument import gather_copies
from noisewise.kernels import Kernel, Polynomial
from noisewise.losses import Loss, Squared

CHECK_EVERY = 256


class MapLearner(BaseEstimator):
    """What learners from oracles share: parameters, state, and the loop over rounds."""

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

    @property
    def dual_coef_(self) -> Floats:
        """The weight of each round's map in the last predictor, of shape (rounds, outputs) [alpha]."""
        check_is_fitted(self)
        return self._descent().coefficients(self.state_)

    @property
    def lost_probability_(self) -> float:
        """RandomState that an estimate would have had a degree above 60; such terms are given up."""
        descent = self._descent()
        return float(descent.map.lost_probability + descent.length.lost_probability)

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

    def _forget(self) -> None:
        for name in ("state_", "centre_", "scale_"):
            self.__dict__.pop(name, None)
        self.n_queries_ = 0
        self._rng = generator(self.random_state)

    def _place(self, first: Floats) -> None:
        """Centre and scale features by what is seen of them: a map that is fixed keeps all estimates unbiased."""
        self.centre_ = first.mean(axis=0)
        spread = first.std(axis=0)
        self.scale_ = np.where(spread > 0, spread, 1.0) * np.sqrt(first.shape[1])  # rows of length about 1

    def _values(self, X: Any) -> Floats:
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        return self._descent().predict(self.state_, (rows - self.centre_) / self.scale_)

    def _learn(self, oracle: Any, encode: Callable[[NDArray[Any]], Floats], n_outputs: int) -> None:
        """Play all rounds of an oracle."""
        descent = self._descent()
        learn, targets_of = None, getattr(oracle, "targets", None)
        for row, target in enumerate(oracle):
            plan, degree = descent.draw(self._rng)
            wanted = int(descent.map.queries(plan).sum())
            copies = self._ask(oracle, wanted, row)
            if learn is None:
                if not hasattr(self, "state_"):
                    self._begin(descent, copies.shape[1], n_outputs)
                learn = descent.learner(self.state_)
            seen = [target] * len(plan) if targets_of is None else targets_of(len(plan))
            learn((copies[:wanted] - self.centre_) / self.scale_, plan, degree, encode(np.asarray(seen)))
            if row % CHECK_EVERY == CHECK_EVERY - 1:
                descent.check_variance(self.state_)
        if learn is None:
            raise ValueError("the oracle showed no row; there is nothing to learn from")
        descent.check_variance(self.state_)

    def _begin(self, descent: MapDescent, n_features: int, n_outputs: int) -> None:
        self.state_ = descent.start(n_features, n_outputs)
        if not hasattr(self, "centre_"):
            self.centre_, self.scale_ = np.zeros(n_features), np.ones(n_features)
            self.n_features_in_ = n_features

    def _ask(self, oracle: Any, n: int, row: int) -> Floats:
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

    def _oracle_of(self, rows: Floats, y: NDArray[Any], copies: ArrayLike | None) -> Any:
        if copies is None:
            return Repeats(rows, y)
        return CopyOracle(None, y, gather_copies(rows, copies))


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
