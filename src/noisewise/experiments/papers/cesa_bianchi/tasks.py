"""Cells of the noisy-features paper: the six protocols under which its algorithms were checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise.experiments.harness.spec import Cell, named
from noisewise.noise import GaussianNoise
from noisewise.noise.unbiased import by_copies, by_second_moment

STREAM_NOISE = 0.09  # variance of the feature noise in P1 and P2
STREAM_VARIANCES = 0.7 ** np.arange(10) / (0.7 ** np.arange(10)).sum()
STEPS = {"literal": [3e-5, 1e-4, 3e-4], "roulette": [1e-4, 3e-4, 1e-3], "full map": [1e-3, 3e-3, 1e-2]}
STEPS["roulette, absolute loss"] = [1e-3, 3e-3, 1e-2]
CHUNK = 50  # rounds whose predictions are made before any of them is learnt: steps of theory are tiny


def blur(variance: float) -> GaussianNoise:
    """Gaussian noise of the same variance in every column."""
    return GaussianNoise(np.asarray(variance))


@named("_feature_tasks.gradient_bias")
def gradient_bias(cell: Cell) -> dict[str, Any]:
    """Greatest distance, in standard errors over the coordinates, of a mean gradient from the clean one."""
    rng = np.random.default_rng(cell.seed())
    d, n = 4, cell["draws"]
    w, x, y = np.array([1.0, -2.0, 0.5, 3.0]), np.array([1.0, 0.5, -1.0, 0.3]), 0.5
    covariance = 0.3 * np.eye(d)
    deviation = np.sqrt(0.3)
    draw: Callable[[], Floats] = {
        "gauss": lambda: rng.normal(scale=deviation, size=(n, d)),
        "laplace": lambda: rng.laplace(scale=deviation / np.sqrt(2), size=(n, d)),
    }[cell["noise"]]
    first, second = x + draw(), x + draw()
    estimates = {
        "two copies": lambda: by_copies(w, first, second, y),
        "same copy twice": lambda: by_copies(w, first, first, y),
        "one copy, 2 Sigma w": lambda: by_second_moment(w, first, y, covariance),
        "one copy, Sigma w as printed": lambda: by_second_moment(w, first, y, covariance / 2),
    }[cell["method"]]()
    clean = 2 * (w @ x - y) * x
    z = (estimates.mean(axis=0) - clean) / (estimates.std(axis=0) / np.sqrt(n))
    return {"greatest_z": float(np.abs(z).max())}


@named("_feature_tasks.regret_on_clean_rows")
def regret_on_clean_rows(cell: Cell) -> dict[str, Any]:
    """P1: regret after so many rounds with theory's step, and its bound."""
    from noisewise.datasets import make_linear_stream
    from noisewise.features import OnlineNoisyRegressor, theory

    rounds, how, seed = cell["rounds"], cell["method"], cell.seed("rounds", "repeat")
    lengths = np.sqrt(1 + 10 * STREAM_NOISE), np.sqrt(0.11)  # of noisy rows and of targets, in the mean
    guarantee = theory.two_copies_guarantee(rounds, 1.0, *lengths)
    bound = theory.known_covariance_guarantee(rounds, 1.0, *lengths, STREAM_NOISE) if how == "one copy" else guarantee
    X, y = make_linear_stream(rounds, random_state=seed)
    copies = blur(STREAM_NOISE).copies(X, 2, np.random.default_rng([1, seed]))
    told = {"one copy": STREAM_NOISE, "one copy as printed": STREAM_NOISE / 2}.get(how)
    model = OnlineNoisyRegressor(
        None if told is None else blur(told),
        step="constant",
        rate=guarantee.step,
        radius=1.0,
        fit_intercept=False,
    )
    rows = X if how == "clean" else copies[:, 0]
    predictions = model.play(rows, y, clean=X, copies=copies if how == "two copies" else None)
    found = theory.regret(predictions, X @ theory.best_in_ball(X, y, 1.0), y)
    return {"regret": float(found[-1]), "bound": float(bound.regret)}


@named("cesa_bianchi.kernel_regret")
def kernel_regret(cell: Cell) -> dict[str, Any]:
    """Regret of Algorithms 3 and 4 with theory's step on clean rows of a sine, and the theorem's bound.

    The competitor is the best function of norm one in the kernel's own space.
    """
    from noisewise.features import theory

    rng = np.random.default_rng(cell.seed())
    n, noise = cell["rounds"], blur(KERNEL_NOISE)
    X = rng.uniform(-1, 1, (n, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)
    learner = known_noise if cell["theorem"] in ("3", "5") else any_noise
    predictions, bound, kernel = learner(cell["theorem"], X, y, noise, cell.seed())
    values, vectors = np.linalg.eigh(kernel.gram(X))
    features = vectors * np.sqrt(np.clip(values, 0, None))
    best = features @ theory.best_in_ball(features, y, 1.0)
    return {"regret": float(theory.regret(predictions, best, y)[-1]), "bound": float(bound)}


def known_noise(theorem: str, X: Floats, y: Floats, noise: GaussianNoise, seed: int) -> tuple[Floats, float, Any]:
    """Predictions of Algorithm 3 before each chunk, the bound, and the kernel: Gaussian (3), rational quadratic (5)."""
    from noisewise.features import NoisyKernelRegressor, theory
    from noisewise.kernels import Gaussian, RationalQuadratic, surrogate

    kernel = Gaussian(1.5) if theorem == "3" else RationalQuadratic(1.0, 1.0)
    hat = surrogate(kernel, noise)
    height = hat.height(1)
    ball = theory.surrogate_ball(1.0, height)
    promise = theory.surrogate_descent_guarantee(len(y), ball, height, float(np.sqrt(np.mean(y**2))))
    copies = noise.copies(X, 2, np.random.default_rng([1, seed]))
    predictions = np.zeros(len(y))
    for start in range(CHUNK, len(y), CHUNK):
        model = NoisyKernelRegressor(kernel, noise, step=promise.step, ball=ball, averaging=None)
        model.fit(copies[:start, 0], y[:start], copies=copies[:start, 1:])
        predictions[start : start + CHUNK] = model.predict(X[start : start + CHUNK])
    return predictions, promise.regret, hat.clean


def any_noise(theorem: str, X: Floats, y: Floats, noise: GaussianNoise, seed: int) -> tuple[Floats, float, Any]:
    """Predictions of Algorithm 4 before each chunk, the bound, and the kernel: polynomial (6) or Gaussian (7)."""
    from noisewise.datasets import CopyOracle
    from noisewise.features import UnknownNoiseKernelRegressor, theory
    from noisewise.kernels import Gaussian, Polynomial
    from noisewise.losses import Squared

    kernel: Any = Polynomial(2) if theorem == "6" else Gaussian(3.0)
    length = float(np.sqrt(np.mean(X**2) + KERNEL_NOISE))
    promise = theory.unknown_noise_guarantee(len(y), 1.0, Squared(), kernel, length, float(np.abs(y).max()))
    model = UnknownNoiseKernelRegressor(
        kernel, None, "geometric", 2.0, step=promise.step, ball=1.0, averaging=None, random_state=seed
    )
    predictions = np.zeros(len(y))
    for start in range(0, len(y), CHUNK):
        part = slice(start, start + CHUNK)
        if start:
            predictions[part] = model.predict(X[part])
        model.partial_fit(CopyOracle(X[part], y[part], noise, rng=seed + start))
    return predictions, promise.regret, kernel


KERNEL_NOISE = 0.09  # variance of the feature noise


@named("_feature_tasks.excess_risk")
def excess_risk(cell: Cell) -> dict[str, Any]:
    """P2: excess clean risk of the averaged weights, times 1000, after 16,000 rounds."""
    from noisewise.datasets import make_linear_stream
    from noisewise.features import NoisyFeatureRegressor, OnlineNoisyRegressor

    seed, noise = cell.seed("repeat"), blur(STREAM_NOISE)
    X, y = make_linear_stream(cell["rounds"], random_state=seed)
    copies = noise.copies(X, 2, np.random.default_rng([2, seed]))
    model, extra = {
        "naive": (OnlineNoisyRegressor(step="adagrad"), None),
        "mean of 2": (OnlineNoisyRegressor(step="adagrad"), None),
        "two copies": (OnlineNoisyRegressor(step="adagrad"), copies),
        "one copy": (OnlineNoisyRegressor(noise, step="adagrad"), None),
        "two copies, theory's step": (OnlineNoisyRegressor(step="theory", radius=1.0), copies),
        "batch, two copies": (NoisyFeatureRegressor(), copies),
        "batch, one copy": (NoisyFeatureRegressor(noise), None),
    }[cell["method"]]
    rows = copies.mean(axis=1) if cell["method"] == "mean of 2" else copies[:, 0]
    weights = model.fit(rows, y, copies=extra).coef_
    return {"excess": float(1000 * STREAM_VARIANCES @ (weights - 10**-0.5) ** 2)}


@named("_feature_tasks.clean_score")
def clean_score(cell: Cell) -> dict[str, Any]:
    """P3: R2 on clean test rows of linear rules learnt from noisy ones; noise in units of the columns' deviations."""
    from sklearn.linear_model import LinearRegression

    from noisewise.features import NoisyFeatureRegressor

    X, y, test, targets = real_rows(cell["dataset"], cell.seed("dataset", "repeat"))
    noise = blur(cell["noise"] ** 2)
    copies = noise.copies(X, 2, np.random.default_rng(cell.seed("dataset", "noise", "repeat")))
    fits: dict[str, Callable[[], Any]] = {
        "clean": lambda: LinearRegression().fit(X, y),
        "noisy": lambda: LinearRegression().fit(copies[:, 0], y),
        "mean of 2": lambda: LinearRegression().fit(copies.mean(axis=1), y),
        "one copy": lambda: NoisyFeatureRegressor(noise).fit(copies[:, 0], y),
        "two copies": lambda: NoisyFeatureRegressor().fit(copies[:, 0], y, copies=copies),
    }
    return {"r2": float(fits[cell["method"]]().score(test, targets))}


def real_rows(name: str, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Rows of unit deviation to train on, and to test on."""
    from sklearn.model_selection import train_test_split

    from noisewise.datasets import load, make_california_like

    if name == "make_california_like":
        X, y = make_california_like(10_000, random_state=seed)
        return X[:5000], y[:5000], X[5000:], y[5000:]
    X, y = load(name)
    X, test, y, targets = train_test_split(X / X.std(axis=0), y, test_size=0.25, random_state=seed)
    return X, y, test, targets


@named("_feature_tasks.smooth")
def smooth(cell: Cell) -> dict[str, Any]:
    """P4: error on clean rows of smooth functions from 1,000 noisy rows; methods are tuned on clean validation rows."""
    make, seed = smooth_problem(cell["dataset"]), cell.seed("dataset", "repeat")
    (X, y), validation, test = make(1000, seed), make(3000, seed + 1), make(3000, seed + 2)
    noise = blur(cell["noise"] ** 2)
    copies = noise.copies(X, 2, np.random.default_rng([1, seed]))
    labels = cell["dataset"] == "make_noisy_moons"

    def error(model: Any, rows: Floats, targets: Floats) -> float:
        predicted = model.predict(rows)
        return float(np.mean(np.sign(predicted) != targets) if labels else np.mean((predicted - targets) ** 2))

    fits = candidates(cell["method"], X, y, copies, noise)
    best = min(fits, key=lambda model: error(model, *validation))
    return {"error": error(best, *test)}


def smooth_problem(name: str) -> Callable[[int, int], tuple[Floats, Floats]]:
    """A generator of clean rows and targets."""
    from noisewise import datasets

    if name == "make_noisy_moons":

        def moons(n: int, seed: int) -> tuple[Floats, Floats]:
            X, y, _ = datasets.make_noisy_moons(n, random_state=seed)
            return X, y.astype(np.float64)

        return moons
    made: Callable[[int, int], tuple[Floats, Floats]] = getattr(datasets, name)
    return made


def candidates(method: str, X: Floats, y: Floats, copies: Floats, noise: GaussianNoise) -> list[Any]:
    """The fits of one method over its grid of widths, ridges or steps."""
    from sklearn.kernel_ridge import KernelRidge

    from noisewise.features import DeconvolvedFourierRegressor, NoisyKernelRegressor
    from noisewise.kernels import Gaussian, Laplacian, RationalQuadratic

    widths = (0.75, 1.0, 1.5, 2.0)
    if method.startswith("kernel ridge"):
        rows = {"clean": X, "noisy": copies[:, 0], "mean of 2": copies.mean(axis=1)}[method.partition(", ")[2]]
        ridges = (0.003, 0.03, 0.3, 3.0)
        return [KernelRidge(alpha=a, kernel="rbf", gamma=w**-2).fit(rows, y) for w in widths for a in ridges]
    if method.startswith("algorithm 3"):
        usable = [width for width in widths if width**2 > 2.2 * float(np.max(noise.covariance))]
        kernels: dict[str, Callable[[float], Any]] = {
            "": Gaussian,
            "laplacian": Laplacian,
            "rational quadratic": lambda width: RationalQuadratic(1.0, width**2),
        }
        make = kernels[method.partition(", ")[2]]
        return [
            NoisyKernelRegressor(make(width), noise, step=step).fit(copies[:, 0], y, copies=copies[:, 1:])
            for width in usable
            for step in (0.03, 0.1, 0.3)
        ]
    return [
        DeconvolvedFourierRegressor(noise, kernel=Gaussian(width), strength=strength, random_state=0).fit(
            copies[:, 0], y, copies=copies
        )
        for width in widths
        for strength in 10.0 ** np.arange(-4, -1.4, 0.5)
    ]


@named("_feature_tasks.unknown_noise")
def unknown_noise(cell: Cell) -> dict[str, Any]:
    """P5: excess risk on clean rows of a quadratic target, for each step of a grid (one number without steps)."""
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    from noisewise.datasets import CopyOracle
    from noisewise.features import UnknownNoiseKernelRegressor
    from noisewise.kernels import Polynomial
    from noisewise.losses import SmoothedAbsolute

    rng = np.random.default_rng(cell.seed("repeat"))
    X, y = quadratic(cell["rounds"], rng)
    test, truth = quadratic(4000, rng)
    noise, method = blur(0.25), cell["method"]
    if method not in STEPS:
        n_copies = {"naive": 1, "mean of 2": 2, "mean of 4": 4}[method]
        plain = make_pipeline(PolynomialFeatures(2), LinearRegression())
        models = [plain.fit(noise.copies(X, n_copies, rng).mean(axis=1), y)]
    else:
        estimator: Any = {"literal": "geometric", "full map": "auto"}.get(method, "roulette")
        loss = SmoothedAbsolute(1.0) if "absolute" in method else None
        seed = cell.seed("repeat")
        with np.errstate(all="ignore"):  # a step that is too long runs away; the grid has shorter ones
            models = [
                UnknownNoiseKernelRegressor(
                    Polynomial(2), loss, estimator, 2.0, step=step, ball=2.0, random_state=seed
                ).partial_fit(CopyOracle(X, y, noise, rng=seed))
                for step in STEPS[method]
            ]
    return {"risks": [float(np.mean((model.predict(test) - truth) ** 2)) for model in models]}


def quadratic(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Three columns, a quadratic target of variance 0.47."""
    X = rng.uniform(-1, 1, (n, 3))
    return X, 0.882 * (1.5 * X[:, 0] * X[:, 1] + X[:, 2] ** 2 + 0.8 * X[:, 0] - 0.4 * X[:, 1])


@named("_feature_tasks.two_worlds")
def two_worlds(cell: Cell) -> dict[str, Any]:
    """P6: rows 3 and -1 without noise (world A), or rows 1 with noise (world B); excess risk of the learnt slope."""
    from noisewise.datasets import CopyOracle
    from noisewise.features import UnknownNoiseKernelRegressor
    from noisewise.kernels import Linear

    rng = np.random.default_rng(cell.seed())
    n = cell["rounds"]

    def two_values(count: int, rng: np.random.Generator) -> Floats:
        return np.where(rng.random(count) < 0.5, 3.0, -1.0)

    one_copy = cell["method"] == "one copy"
    seen = two_values(n, rng) if one_copy or cell["world"] == "A" else np.ones(n)

    def draw(row: Floats, count: int, rng: np.random.Generator) -> Floats:
        if one_copy or cell["world"] == "A":  # a single copy is all there is: it serves in both parts
            return np.repeat(row[None], count, axis=0)
        return two_values(count, rng)[:, None] + row - 1

    oracle = CopyOracle(seen[:, None], np.ones(n), draw, rng=cell.seed())
    slope = float(UnknownNoiseKernelRegressor(Linear(), random_state=0).partial_fit(oracle).predict([[1.0]])[0])
    return {"excess": 5 * (slope - 0.2) ** 2 if cell["world"] == "A" else (slope - 1) ** 2}
