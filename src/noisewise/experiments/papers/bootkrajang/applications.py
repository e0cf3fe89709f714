"""Cells of the robust kernel paper's applications: a crowd of annotators, and images in three representations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.experiments.harness.spec import Cell, named
from noisewise.experiments.papers.bootkrajang.tasks import CLASSIFIERS, gaussians
from noisewise.noise import FlipMatrix

IMAGES_A_CLASS = 515  # as in the paper
SEARCH_NOISE = (100 / 515, 83 / 515)  # not bike shown as bike, bike shown as not bike


@named("_view_tasks.crowd")
def crowd(cell: Cell) -> dict[str, Any]:
    """Fraction of items whose label is found from the votes of a few random annotators; without votes, a coin."""
    from noisewise import labels
    from noisewise.datasets import load_crowd

    items, annotators, votes, gold = load_crowd(cell["dataset"].removeprefix("crowd_"))
    rng = np.random.default_rng(cell.seed("dataset", "annotators", "repeat"))
    chosen = rng.choice(np.unique(annotators), cell["annotators"], replace=False)
    kept = np.isin(annotators, chosen)
    methods: dict[str, Callable[..., Any]] = {
        "majority": labels.majority_vote,
        "per annotator": partial(labels.dawid_skene, pooled=False),
        "per annotator, pooled": labels.dawid_skene,
        "one matrix": labels.shared_flips,
    }
    result = methods[cell["method"]](items[kept], annotators[kept], votes[kept])
    seen = np.unique(items[kept])
    right = float(np.sum(result.labels == gold[seen])) + (len(gold) - len(seen)) / 2
    return {"accuracy": right / len(gold), "items": len(seen)}


@named("_view_tasks.three_views")
def three_views(cell: Cell) -> dict[str, Any]:
    """Error in per cent of a classifier on even against odd digits, flipped as often as the search engine's images."""
    from noisewise import labels

    rng = np.random.default_rng(cell.seed("dataset", "repeat"))
    views, y = digit_views(rng)
    X = np.column_stack(views)
    order = rng.permutation(len(y))
    train, test = order[: round(0.8 * len(y))], order[round(0.8 * len(y)) :]
    observed = FlipMatrix.binary(*SEARCH_NOISE).corrupt(y[train], rng)
    ends = np.cumsum([view.shape[1] for view in views])
    columns = [range(end - view.shape[1], end) for view, end in zip(views, ends, strict=True)]
    kernels = {"kernels": grouped(columns, cell["widths"])}
    methods: dict[str, tuple[str, dict[str, Any]]] = {
        "rLR": ("RobustLogisticRegression", {}),
        "KLR": ("RobustKernelLogisticRegression", {"noise": FlipMatrix.none(2)}),
        "rMKLR": (CLASSIFIERS["rmklr-printed"][0], {**CLASSIFIERS["rmklr-printed"][1], **kernels}),
        "rMKLR, ours": ("RobustMultiKernelLogisticRegression", kernels),
        "robust GP": ("RobustGaussianProcessClassifier", {}),
    }
    name, options = methods[cell["method"]]
    model = getattr(labels, name)(**options).fit(X[train], observed)
    return {"error": float(100 * np.mean(model.predict(X[test]) != y[test]))}


def digit_views(rng: np.random.Generator) -> tuple[list[Floats], Codes]:
    """As many 8x8 digits as the paper has images: standardised pixels, sums of lines and columns, Fourier magnitudes.

    A stand-in for SIFT, LBP and PHOG features of photographs: three kinds of features of the same images.
    """
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    y = (digit % 2 == 0).astype(np.intp)
    kept = np.concatenate([rng.permutation(np.flatnonzero(y == side))[:IMAGES_A_CLASS] for side in (0, 1)])
    images = X[kept].reshape(-1, 8, 8)
    fourier = np.abs(np.fft.rfft2(images)).reshape(len(kept), -1)
    views = [X[kept], np.column_stack([images.sum(axis=1), images.sum(axis=2)]), fourier]
    return [(view - view.mean(axis=0)) / np.maximum(view.std(axis=0), 1e-9) for view in views], y[kept]


def grouped(columns: list[range], n_widths: int) -> list[Any]:
    """A kernel for each width and each view."""
    from noisewise.kernels import Grouped

    return [Grouped(kernel, list(group)) for group in columns for kernel in gaussians(n_widths)]
