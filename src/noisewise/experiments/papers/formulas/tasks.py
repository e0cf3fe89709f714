"""Cells that hold single formulas against what they should be: by enumeration, or by the mean of many draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from noisewise import losses
from noisewise._typing import Floats
from noisewise.experiments.harness.spec import Cell, named
from noisewise.noise import FlipMatrix, GaussianNoise

SIDE_BY_SIDE = np.array([0.3, -0.2, 0.5, 0.1]), np.array([0.0, 0.4, 0.1, -0.1])
FULL = np.array([[0.30, 0.10, 0.0, 0.05], [0.10, 0.2, 0.05, 0.0], [0.0, 0.05, 0.25, 0.08], [0.05, 0.0, 0.08, 0.15]])
MAPPED = np.array([0.9, 0.2, -0.3]), np.array([0.8, 0.4, -0.1])
FACTOR_MEAN, FACTOR_DEVIATION = 0.6, 0.5


@named("_formula_tasks.feedback_lemmas")
def feedback_lemmas(cell: Cell) -> dict[str, Any]:
    """Noisy feedback, enumerated: bias of h and of H, right and as printed, and the second moments of H."""
    from noisewise.online import importance_signal, label_signal, theory

    K, gamma, noise = 5, cell["gamma"], FlipMatrix.binary(*cell["noise"])
    beta = 1 - sum(cell["noise"])
    h = noise.inverse[:, 1]
    lost = np.array([((1 - rate) * f - rate * f) / beta for f, rate in enumerate(cell["noise"])])  # primes lost
    found = {"bias_h": _bias(noise, h), "bias_h_printed": _bias(noise, lost)}
    biases, printed, moments = [], [], []
    for true in (0, 1):  # the greedy label is 0
        P = np.full(K, gamma / K) + (1 - gamma) * (np.arange(K) == 0)
        mean, wrong_label, square = np.zeros(K), np.zeros(K), 0.0
        for action in range(K):
            for f, probability in enumerate(noise.matrix[int(action == true)]):
                signal = importance_signal(K, action, 0, P[action], f, noise)
                mean += P[action] * probability * signal
                square += P[action] * probability * signal @ signal
                wrong_label += P[action] * probability * (h[f] / P[0] - 1) * (np.arange(K) == 0)
        step = label_signal(K, true, 0)
        biases.append(np.abs(mean - step).max())
        printed.append(np.abs(wrong_label - step).max())
        moments.append(square)
    exact = theory.second_moments(K, gamma, noise)
    off = abs(moments[0] - exact.when_right), abs(moments[1] - exact.when_wrong)
    found |= {"bias_H": max(biases), "bias_H_printed": max(printed), "off_moments": max(off)}
    found["looseness"] = theory.second_moments(K, gamma, noise, "printed").when_wrong / exact.when_wrong
    return {name: float(value) for name, value in found.items()}


def _bias(noise: FlipMatrix, values: Floats) -> float:
    return float(np.abs(noise.matrix @ values - [0, 1]).max())


@named("_formula_tasks.feature_formula")
def feature_formula(cell: Cell) -> dict[str, Any]:
    """Noisy features: one number that a formula must keep small, near or, as printed, far."""
    return {"value": float(FORMULAS[cell["formula"]](np.random.default_rng(cell.seed("formula"))))}


def _z(draws: Floats, truth: Any) -> float:
    return float(abs(draws.mean() - truth) / (draws.std() / np.sqrt(len(draws))))


def _surrogate(rng: np.random.Generator) -> float:
    from noisewise.kernels import Gaussian, surrogate

    (a, x), noise, kernel = SIDE_BY_SIDE, GaussianNoise(FULL), Gaussian(1.6)
    return _z(surrogate(kernel, noise).gram(a[None], noise.copies(x[None], 400_000, rng)[0])[0], kernel(a, x))


def _equation_8(rng: np.random.Generator, printed: bool = False) -> float:
    """The kernel 1 / (1 + r^2 / d), d = 5, cut at c = 4; print has the deviation instead of the variance."""
    from noisewise.kernels import RationalQuadratic, surrogate

    variance = np.array(0.3)
    told = GaussianNoise(np.sqrt(variance) if printed else variance)
    kernel = surrogate(RationalQuadratic(1.0, 5.0), told, highest_rate=0.8)
    clean = np.array([1.2, -0.5, 0.8, 0.0, 1.0])
    noisy = GaussianNoise(variance).copies(clean[None], 400_000, rng)[0]
    return _z(kernel.gram(np.zeros((1, 5)), noisy)[0], kernel.clean(np.zeros(5), clean))


def _lemma_1(rng: np.random.Generator, estimator: Any = "geometric", moment: str = "z") -> float:
    """Estimates of an exponential loss's derivative from noisy factors, p = 2."""
    from noisewise.features import loss_terms

    loss = losses.Exponential()
    terms = loss_terms(loss, estimator, 2.0)
    degrees = terms.degrees(400_000, rng)
    factors = rng.normal(FACTOR_MEAN, FACTOR_DEVIATION, (len(degrees), int(degrees.max())))
    products = np.concatenate([np.ones((len(degrees), 1)), np.cumprod(factors, axis=1)], axis=1)[:, : terms.top + 1]
    order = np.arange(products.shape[1])
    used = order == degrees[:, None] if terms.single else order <= degrees[:, None]
    draws = np.sum(products * terms.weighted()[: products.shape[1]] * used, axis=1)
    square = FACTOR_MEAN**2 + FACTOR_DEVIATION**2
    exact = 2 * np.sum(terms.coefficients**2 * (2 * square) ** np.arange(len(terms.coefficients)))
    return {
        "z": _z(draws, loss.derivative(FACTOR_MEAN)),
        "degrees": float(degrees.mean()),
        "second": float(np.mean(draws**2) / exact),
        "variance": float(draws.var()),
    }[moment]


def _series(rng: np.random.Generator) -> float:
    smoothed = losses.SmoothedAbsolute(), losses.SmoothedHinge()
    every = losses.Squared(), losses.Exponential(), *smoothed, losses.Logistic()
    a = np.linspace(-2, 2, 41)
    return max(float(np.abs(np.vander(a, 60, True) @ one.taylor(60) - one.derivative(a)).max()) for one in every)


def _map(rng: np.random.Generator, kernel: str = "gaussian", printed: bool = False) -> float:
    from noisewise.features import RandomMap, RandomTerms
    from noisewise.kernels import Exponential, Gaussian, Kernel, Polynomial

    x, z = MAPPED
    kernels: dict[str, Kernel] = {"gaussian": Gaussian(1.0), "cubic": Polynomial(3), "exponential": Exponential()}
    maps, n = RandomMap(kernels[kernel], "geometric", p=2.0), 1_000_000
    if printed:  # the root is missing in print
        maps.roots = maps.roots**2
        maps.terms = RandomTerms(maps.roots, "geometric", 2.0)
    plan = maps.draw(n, rng)
    drawn = maps.estimate(plan, x + 0.3 * rng.normal(size=(int(maps.queries(plan).sum()), 3)))
    return _z(maps.mult(drawn, z), kernels[kernel](x, z))


def _queries(rng: np.random.Generator) -> float:
    """Copies in a round at p = 2 with the Gaussian kernel and the exponential loss."""
    from noisewise.features import RandomMap, loss_terms
    from noisewise.kernels import Gaussian

    maps, n = RandomMap(Gaussian(1.0), "geometric", 2.0), 60_000
    n_maps = n + int(loss_terms(losses.Exponential(), "geometric", 2.0).degrees(n, rng).sum())
    return float(maps.queries(maps.draw(n_maps, rng)).sum() / n)


def _norm(rng: np.random.Generator) -> float:
    """E |map|^2 over p / (p - 1) Q(p E |x|^2), for exp at p = 2."""
    from noisewise.features import RandomMap
    from noisewise.kernels import Exponential

    x, maps = np.array([0.3, 0.1, -0.2]), RandomMap(Exponential(), "geometric", p=2.0)
    plan = maps.draw(400_000, rng)
    drawn = maps.estimate(plan, x + 0.2 * rng.normal(size=(int(maps.queries(plan).sum()), 3)))
    return float(np.mean(maps.prod(drawn, drawn)) / (2 * np.exp(2 * (x @ x + 0.12))))


FORMULAS: dict[str, Callable[[np.random.Generator], float]] = {
    "T3 surrogate kernel, full covariance: z": _surrogate,
    "T4 eq. (8) with the variance: z": _equation_8,
    "T4 eq. (8) with the deviation, as printed: z": lambda rng: _equation_8(rng, printed=True),
    "T5 Lemma 1, mean: z": _lemma_1,
    "T5 Lemma 1, mean of N at p = 2": lambda rng: _lemma_1(rng, moment="degrees"),
    "T5 Lemma 1, second moment over its formula": lambda rng: _lemma_1(rng, moment="second"),
    "T6 five series, 60 terms: greatest error": _series,
    "T7 map of (1 + t)^3: z": lambda rng: _map(rng, "cubic"),
    "T7 map of exp(t): z": lambda rng: _map(rng, "exponential"),
    "T7 map of the Gaussian kernel: z": _map,
    "T7 map of the Gaussian kernel, as printed: z": lambda rng: _map(rng, printed=True),
    "T8 copies in a round, Gaussian kernel, p = 2": _queries,
    "T9 squared length of a map over its formula": _norm,
    "T21 variance of one random term": lambda rng: _lemma_1(rng, moment="variance"),
    "T21 variance by roulette": lambda rng: _lemma_1(rng, "roulette", "variance"),
}
