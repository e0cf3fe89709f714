"""Cells of the noisy-features paper that go on from its protocols: other noises in P1, losses of labels in P5."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise.experiments.harness.spec import Cell, named
from noisewise.experiments.papers.cesa_bianchi.tasks import STREAM_NOISE, blur, quadratic

KEPT = 0.8  # probability that a masked value is observed
MARGIN_STEPS = [1e-4, 3e-4, 1e-3, 3e-3]
MARGIN_NOISE = 0.09  # variance of the feature noise before classes


@named("cesa_bianchi.regret_by_noise")
def regret_by_noise(cell: Cell) -> dict[str, Any]:
    """P1 with other noise: regret after so many rounds with theory's step for Gaussian noise of the same variance."""
    from noisewise.datasets import make_linear_stream
    from noisewise.features import OnlineNoisyRegressor, theory

    rounds, how, seed = cell["rounds"], cell["method"], cell.seed("noise", "rounds", "repeat")
    step = theory.two_copies_guarantee(rounds, 1.0, np.sqrt(1 + 10 * STREAM_NOISE), np.sqrt(0.11)).step
    X, y = make_linear_stream(rounds, random_state=seed)
    copies, known = noisy_copies(cell["noise"], X, np.random.default_rng([1, seed]))
    told = known if how == "one copy" else {}
    model = OnlineNoisyRegressor(told.get("noise"), step="constant", rate=step, radius=1.0, fit_intercept=False)
    predictions = model.play(
        X if how == "clean" else copies[:, 0],
        y,
        clean=X,
        copies=copies if how == "two copies" else None,
        row_covariances=told.get("row_covariances"),
    )
    best = X @ theory.best_in_ball(X, y, 1.0)
    return {"regret": float(theory.regret(predictions, best, y)[-1])}


def noisy_copies(kind: str, X: Floats, rng: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
    """Two copies of every row, and what is known of their noise where one copy is all there is."""
    from noisewise.noise import LaplaceNoise, MaskingNoise

    if kind == "heteroscedastic":  # variances of their own for every value, Exp(1) times the common one
        variances = STREAM_NOISE * rng.exponential(size=X.shape)
        deviations = np.sqrt(variances)[:, None] * rng.normal(size=(len(X), 2, X.shape[1]))
        return X[:, None] + deviations, {"row_covariances": variances}
    laplace = LaplaceNoise(np.asarray(np.sqrt(STREAM_NOISE / 2)))
    noise: Any = {"laplace": laplace, "masking": MaskingNoise(np.asarray(KEPT))}[kind]
    return noise.copies(X, 2, rng), {"noise": noise}


@named("cesa_bianchi.unknown_noise_labels")
def unknown_noise_labels(cell: Cell) -> dict[str, Any]:
    """P5 with classes: error on clean rows against the sign of a quadratic target, for each step of a grid."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    from noisewise import losses
    from noisewise.datasets import CopyOracle
    from noisewise.features import UnknownNoiseKernelClassifier
    from noisewise.kernels import Polynomial

    seed, method, noise = cell.seed("repeat"), cell["method"], blur(MARGIN_NOISE)
    rng = np.random.default_rng(seed)
    (X, y), (test, truth) = (with_classes(n, rng) for n in (cell["rounds"], 4000))
    if method in MEANS:
        rows = noise.copies(X, MEANS[method], rng).mean(axis=1)
        models = [make_pipeline(PolynomialFeatures(2), LogisticRegression(C=100)).fit(rows, y)]
    else:
        loss = {"exponential": losses.Exponential(), "hinge": losses.SmoothedHinge(1.0)}.get(method, losses.Logistic())
        with np.errstate(all="ignore"):  # a step that is too long runs away; the grid has shorter ones
            models = [
                UnknownNoiseKernelClassifier(
                    Polynomial(2), loss, "roulette", 2.0, step=step, ball=2.0, random_state=seed
                ).partial_fit(CopyOracle(X, y, noise, rng=seed), classes=[-1, 1])
                for step in MARGIN_STEPS
            ]
    return {"errors": [float(np.mean(model.predict(test) != truth)) for model in models]}


MEANS = {"naive": 1, "mean of 2": 2, "mean of 4": 4}


def with_classes(n: int, rng: np.random.Generator) -> tuple[Floats, Any]:
    """Rows of P5, and on which side of its mean the target is."""
    X, target = quadratic(n, rng)
    return X, np.where(target > 0.294, 1, -1)  # 0.882 / 3
