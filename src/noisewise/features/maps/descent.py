"""Online gradient descent with random feature maps (Algorithm 4), its state as plain arrays that can be saved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Floats
from noisewise.features.maps.random_map import Estimator, RandomMap, RandomTerms, loss_terms
from noisewise.kernels import Kernel
from noisewise.losses import Loss

State = dict[str, NDArray[Any]]
SMALL_TENSOR, LARGE_TENSOR = 4096, 65536  # largest dense tensors: of any degree, and of degree 3 at most
RELATIVE_STEP = 0.125  # times 1 / |map|^2; with a half, a step on the squared loss would interpolate the last example


@dataclass(frozen=True)
class MapDescent:
    """Settings of the descent: kernel and loss, their estimator, the step, the norm bound and the averaging.

    `step` None adapts to the norms of the maps; `ball` bounds the norm, None adapts to targets and norms.
    """

    kernel: Kernel
    loss: Loss
    estimator: Estimator = "auto"
    p: float = 2.0
    step: float | None = None
    ball: float | None = None
    averaging: float | None = 3.0

    def __post_init__(self) -> None:
        for name, value in (("step", self.step), ("ball", self.ball)):
            if value is not None and not value > 0:
                raise ValueError(f"the {name} is {value}; it must be above 0, or None to adapt to the data")
        if self.averaging is not None and not self.averaging >= 0:
            raise ValueError(
                f"averaging is {self.averaging}; it is a power of 0 or more, or None for the last predictor"
            )

    @cached_property
    def map(self) -> RandomMap:
        """Estimates of the kernel's feature map."""
        return RandomMap(self.kernel, self.estimator, self.p)

    @cached_property
    def loss_derivative(self) -> RandomTerms:
        """Estimates of the derivative of the loss, the scalar factor of the gradient."""
        return loss_terms(self.loss, self.estimator, self.p)

    def start(self, n_features: int, n_outputs: int) -> State:
        """The state of zero predictors."""
        top = 0
        while top < self.map.terms.top and n_features ** (top + 1) <= (LARGE_TENSOR if top < 3 else SMALL_TENSOR):
            top += 1
        offsets = np.concatenate([[0], np.cumsum([n_features**n for n in range(top + 1)])])
        settings = [
            -1.0 if self.step is None else self.step,
            RELATIVE_STEP,
            -1.0 if self.ball is None else self.ball**2,
        ]
        return {
            "dense": np.zeros((n_outputs, offsets[-1])),
            "drift": np.zeros((n_outputs, offsets[-1])),
            "coefs": np.zeros((64, n_outputs)),
            "marks": np.zeros((64, n_outputs)),
            "scale": np.ones(n_outputs),
            "norm": np.zeros(n_outputs),
            "total": np.zeros(n_outputs),
            "rounds": np.zeros(16, dtype=np.int64),
            "starts": np.zeros(16, dtype=np.int64),
            "degrees": np.zeros(16, dtype=np.int64),
            "sizes": np.zeros(16),
            "vectors": np.zeros((64, n_features)),
            "counts": np.zeros(3, dtype=np.int64),
            "sums": np.zeros(7),
            "offsets": offsets.astype(np.int64),
            "table": self.map.terms.weighted(),
            "settings": np.array([*settings, self.averaging or 0.0]),
        }

    def draw(self, rng: np.random.Generator) -> tuple[NDArray[np.int64], int]:
        """A plan for one round (a map to store, maps for the derivative of the loss), and the degree of its series."""
        kept = self.map.draw(1, rng)
        degree = int(self.loss_derivative.degrees(1, rng)[0])
        return np.concatenate([kept, self.map.draw(max(degree, 0), rng)]), degree

    def learner(self, state: State) -> Any:
        """A function ``learn(copies, plan, degree, targets)`` that does one round and changes the state."""
        from noisewise._loops import random_maps

        series = (self.map.terms.compiled(), self.map.compiled_size(), self.loss_derivative.compiled())
        margin = self.loss.argument == "margin"
        packed = random_maps.Descent(**state)

        def learn(copies: Floats, plan: NDArray[np.int64], degree: int, targets: Floats) -> None:
            nonlocal packed
            if _grow(state, int(plan[0, 1])):
                packed = random_maps.Descent(**state)
            random_maps.learn(packed, series, margin, copies, plan, degree, targets)

        return learn

    def coefficients(self, state: State) -> Floats:
        """The weight of each round's map in the last predictor, of shape (rounds, outputs) [alpha]."""
        return np.asarray(state["coefs"][: state["counts"][0]] * state["scale"])

    def predict(self, state: State, X: Floats) -> Floats:
        """Values of the (averaged) predictors at clean rows, of shape (rows, outputs)."""
        from noisewise._loops import random_maps

        rounds, n_deep, _ = state["counts"]
        whole = state["sums"][random_maps.WEIGHTS]
        deep = state["rounds"][:n_deep]
        if self.averaging is None or not rounds:
            dense, coefs = state["dense"] * state["scale"][:, None], state["coefs"][deep] * state["scale"]
        else:
            dense = (state["total"][:, None] * state["dense"] - state["drift"]) / whole
            coefs = (state["coefs"][deep] * state["total"] - state["marks"][deep]) / whole
        maps = (state["starts"][:n_deep], state["degrees"][:n_deep], state["sizes"][:n_deep], state["vectors"])
        out = np.empty((len(X), dense.shape[0]))
        random_maps.predict(
            self.map.terms.compiled(),
            self.map.roots,
            np.ascontiguousarray(X),
            dense,
            state["offsets"],
            coefs,
            maps,
            out,
        )
        return np.asarray(out * self.map.size_at(X)[:, None])

    def check_variance(self, state: State) -> None:
        """Refuse arguments of a series beyond its radius: the estimates would have no finite variance."""
        from noisewise._loops import random_maps as loop

        sums = state["sums"]
        longest = self.p * sums[loop.ROWS] / max(sums[loop.N_ROWS], 1)
        if longest >= self.map.radius:
            raise ValueError(
                f"p times the mean squared length of the copies is {longest:.3g}, and {self.kernel!r} has a finite "
                f"variance below {self.map.radius:.3g} only; scale the features down, or take another kernel"
            )
        largest = self.p * sums[loop.FACTORS] / max(sums[loop.N_FACTORS], 1)
        if largest >= self.loss.radius**2:
            raise ValueError(
                f"p times the mean square of the margins is {largest:.3g}, and the series of {self.loss!r} has a "
                f"finite variance below {self.loss.radius**2:.3g} only; take a smaller ball or p, or another loss"
            )


def _grow(state: State, degree: int) -> bool:
    """Double the arrays that one more round, with a map of this degree, would overflow."""
    rounds, n_deep, n_vectors = state["counts"]
    needs = dict.fromkeys(("coefs", "marks"), rounds + 1) | dict.fromkeys(
        ("rounds", "starts", "degrees", "sizes"), n_deep + 1
    )
    needs["vectors"] = n_vectors + max(degree, 0)
    grown = False
    for name, need in needs.items():
        array = state[name]
        if need > len(array):
            state[name] = np.concatenate(
                [array, np.zeros((max(need, 2 * len(array)) - len(array), *array.shape[1:]), array.dtype)]
            )
            grown = True
    return grown
