"""Cells of the robust kernel paper: one classifier on one split of one set with flipped training labels."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.experiments.harness.data import load_once
from noisewise.experiments.harness.spec import Cell, named
from noisewise.experiments.papers.bootkrajang.baselines import (
    KernelFisherEM,
    RandomProjectionPerceptron,
    by_observed_folds,
    by_trusted_tenth,
)
from noisewise.noise import FlipMatrix

TRAIN_ROWS = {
    "banana": 400,
    "raetsch_breast_cancer": 200,
    "raetsch_diabetis": 468,
    "german": 700,
    "raetsch_heart": 170,
    "image": 1300,
    "ringnorm": 400,
    "flare_solar": 666,
    "splice": 1000,
    "thyroid": 140,
    "titanic": 150,
    "twonorm": 400,
    "waveform": 400,
    "make_ringnorm": 400,
    "make_twonorm": 400,
    "make_waveform": 400,
}
MOST_TEST_ROWS = 2000  # of a split; further rows are not used


class Split(NamedTuple):
    """Standardised rows with observed training labels and clean test labels."""

    train: Floats
    observed: Codes
    true: Codes
    test: Floats
    targets: Codes
    noise: FlipMatrix


def split(cell: Cell) -> Split:
    """A random split of the original sizes (four fifths where there are none); methods see the same rows and flips.

    Symmetric noise flips both classes alike, asymmetric noise one class only, the other one in the next repeat.
    """
    name, rng = cell["dataset"], np.random.default_rng(cell.seed("dataset", "noise", "kind", "repeat"))
    X, labels = rows_of(name, rng)
    y = (labels == labels.max()).astype(np.intp)
    n_train = TRAIN_ROWS.get(name, round(0.8 * len(y)))
    order = rng.permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + MOST_TEST_ROWS]
    centre, scale = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - centre) / np.where(scale > 0, scale, 1.0)
    noise = flips(cell["noise"], cell["kind"], cell["repeat"])
    return Split(X[train], noise.corrupt(y[train], rng), y[train], X[test], y[test], noise)


def rows_of(name: str, rng: np.random.Generator) -> tuple[Floats, Codes]:
    """A set by name, or rows drawn from its distribution."""
    from noisewise import datasets

    if not name.startswith("make_"):
        return load_once(name)
    options = {"binary": True} if name == "make_waveform" else {}
    X, y = getattr(datasets, name)(TRAIN_ROWS[name] + MOST_TEST_ROWS, rng, **options)
    return X, y


def flips(rate: float, kind: str, repeat: int) -> FlipMatrix:
    """The noise of a run."""
    if kind == "symmetric":
        return FlipMatrix.binary(rate, rate)
    return FlipMatrix.binary(rate, 0.0) if repeat % 2 else FlipMatrix.binary(0.0, rate)


@named("_kernel_tasks.error_on_clean")
def error_on_clean(cell: Cell) -> dict[str, Any]:
    """Error in per cent on clean test labels, rates and wrong labels found, and processor seconds of the fit."""
    from sklearn.metrics import roc_auc_score

    data = split(cell)
    start = time.process_time()
    model = fitted(cell["method"], data, cell.settings.get("kernels"))
    spent = time.process_time() - start
    found = {"error": float(100 * np.mean(model.predict(data.test) != data.targets)), "seconds_fit": spent}
    width = getattr(getattr(model, "kernel_", None), "width", None)
    if width is not None:
        found["log2_gamma"] = float(2 * np.log2(width))
    noise = getattr(model, "noise_", None)
    if noise is not None:
        found |= {"false_positive": float(noise.matrix[0, 1]), "false_negative": float(noise.matrix[1, 0])}
    wrong = data.observed != data.true
    if wrong.any() and cell["method"] in JUDGES:
        found["area"] = float(roc_auc_score(wrong, -label_quality(model, data)))
    return found


def label_quality(model: Any, data: Split) -> Floats:
    """How probably each observed label is true; for an SVM what those of other folds think, as in cleanlab."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import cross_val_predict

    if hasattr(model, "label_quality"):
        return np.asarray(model.label_quality(data.train, data.observed))
    machine = CalibratedClassifierCV(model.best_estimator_, ensemble=False)
    posterior = cross_val_predict(machine, data.train, data.observed, cv=5, method="predict_proba")
    return np.asarray(posterior[np.arange(len(data.observed)), data.observed])


def fitted(method: str, data: Split, n_kernels: int | None = None) -> Any:
    """A classifier by the name it has in tables, fitted; after a comma, what it has otherwise than in print."""
    observed = data.train, data.observed
    match method.split(", "):
        case ["rp-perceptron"]:  # the only one that is told the true rates
            return RandomProjectionPerceptron(data.noise).fit(*observed)
        case ["rkfd-printed"]:
            return KernelFisherEM().fit(*observed)
        case ["rkfd-printed", ridge]:
            return KernelFisherEM([number(ridge)]).fit(*observed)
        case ["rklr-noisy", *zeta]:
            return by_observed_folds(*observed, gaussians(), *map(number, zeta))
        case ["klr-trusted" | "rklr-trusted" as name, *zeta]:
            return by_trusted_tenth(*observed, data.true, gaussians(), name == "rklr-trusted", *map(number, zeta))
    return classifier(method, n_kernels).fit(*observed)


def number(words: str) -> float:
    """The number at the end of some words.

    >>> number("zeta 0.01")
    0.01
    """
    return float(words.rpartition(" ")[2])


JUDGES = ("rklr", "rmklr", "rmklr-printed", "rgp", "voting", "rkfd", "svm")
PASSES = 5  # of Algorithm 2; the paper does not say how many


def classifier(method: str, n_kernels: int | None = None) -> Any:
    """A classifier by the name it has in tables; the library's choose their own parameters."""
    from noisewise import labels

    if method in MACHINES:  # width and C by folds of observed labels
        from sklearn.model_selection import GridSearchCV
        from sklearn.svm import SVC

        grid, n_folds = MACHINES[method]
        return GridSearchCV(SVC(), grid, cv=n_folds)
    name, options = CLASSIFIERS[method]
    if n_kernels is not None:
        options = {**options, "kernels": gaussians(n_kernels)}
    return getattr(labels, name)(**options)


POWERS = [2.0**power for power in range(-10, 11, 2)]  # every second of the paper's 21
MACHINES: dict[str, tuple[dict[str, list[float]], int]] = {
    "svm": ({"C": [0.25, 2, 16], "gamma": [1, 1 / 4, 1 / 16, 1 / 64]}, 3),
    "svm, 11 x 11 in 5 folds": ({"C": POWERS, "gamma": POWERS}, 5),
}


def gaussians(n_kernels: int = 21) -> list[Any]:
    """Gaussian kernels exp(-r^2 / g) with g from 2^-10 to 2^10; the paper has 21."""
    from noisewise.kernels import Gaussian

    return [Gaussian(float(2.0 ** (power / 2))) for power in np.linspace(-10, 10, n_kernels)]


def algorithm_2(passes: int) -> tuple[str, dict[str, Any]]:
    """The paper's rMKLR after so many passes."""
    return "RobustMultiKernelLogisticRegression", {"algorithm": "printed", "noise": None, "max_iter": passes}


CLASSIFIERS: dict[str, tuple[str, dict[str, Any]]] = {
    "klr": ("RobustKernelLogisticRegression", {"noise": FlipMatrix.none(2)}),
    "rmklr-printed": algorithm_2(PASSES),
    "rklr": ("RobustKernelLogisticRegression", {}),
    "rmklr": ("RobustMultiKernelLogisticRegression", {}),
    **{f"Algorithm 2, {passes} passes": algorithm_2(passes) for passes in (10, 50, 200)},
    "rgp": ("RobustGaussianProcessClassifier", {}),
    "voting": ("RobustVotingClassifier", {}),
    "rkfd": ("RobustKernelFisherClassifier", {}),
}
