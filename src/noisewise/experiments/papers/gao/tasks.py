"""Cells of the robust k-NN paper: one method on one split of one set under one noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.experiments.harness.spec import Cell, named
from noisewise.experiments.papers.gao.folds import NOISES, Split, noise_of, rows_of, scaled, split
from noisewise.experiments.papers.gao.methods import METHODS, VOTERS


@named("_neighbor_tasks.accuracy")
def accuracy(cell: Cell) -> dict[str, Any]:
    """Test accuracy of one method, and the noise that it found."""
    data = split(cell)
    if cell["method"] == "rnn-oracle":
        return oracle(data)
    model = METHODS[cell["method"]](data).fit(data.train, data.observed)
    found: dict[str, Any] = {"accuracy": float(model.score(data.test, data.targets))}
    if cell["method"] == "rnn":
        matrix = model.noise_.matrix
        found |= {"tau_plus": float(matrix[1, 0]), "tau_minus": float(matrix[0, 1])}
    return found


@named("_neighbor_tasks.rates_by_voters")
def rates_by_voters(cell: Cell) -> dict[str, Any]:
    """The noise that is found with each number of voters."""
    data = split(cell)
    found = rates_by(data.train, data.observed, VOTERS)
    return {name: [float(rate) for rate in rates] for name, rates in found.items()}


def oracle(data: Split) -> dict[str, Any]:
    """The best accuracy over all k and k' *on the clean test labels*: what nobody has, and what print seems to show."""
    fractions = vote_fractions(data.train, data.observed, data.test, VOTERS)
    rates = rates_by(data.train, data.observed, VOTERS)
    right = (fractions[:, None] >= threshold(**rates)[None, :, None]) == data.targets
    accuracies = right.mean(axis=2)
    best = np.argmax(accuracies.max(axis=0))  # of the numbers of voters that find the noise
    return {"accuracy": float(accuracies.max()), **{name: float(values[best]) for name, values in rates.items()}}


def rates_by(train: Floats, observed: Codes, anchors: Any) -> dict[str, Floats]:
    """The noise that eq. 6, put right, finds with each number of voters (k')."""
    around = vote_fractions(train, observed, train, anchors, observed)
    return {"tau_plus": (1 - around).min(axis=1), "tau_minus": around.min(axis=1)}


def threshold(tau_plus: Floats, tau_minus: Floats) -> Floats:
    """Fraction of votes from which a row is of class 1."""
    return 0.5 + (tau_minus - tau_plus) / 2


def vote_fractions(train: Floats, observed: Codes, rows: Floats, sizes: Any, own: Codes | None = None) -> Floats:
    """Fraction of observed ones among the nearest training rows, one line a number of voters.

    With `own` the rows are the training rows themselves, whose own labels count too (eq. 5).
    """
    from sklearn.neighbors import NearestNeighbors

    sizes = np.minimum(np.asarray(sizes), len(train) - 1)
    index = NearestNeighbors(n_neighbors=int(sizes.max())).fit(train)
    neighbors = index.kneighbors(None if own is not None else rows, return_distance=False)
    counts = np.cumsum(observed[neighbors], axis=1)[:, sizes - 1].T
    return np.asarray(counts / sizes[:, None] if own is None else (counts + own) / (sizes[:, None] + 1))


@named("_neighbor_tasks.influence")
def influence(cell: Cell) -> dict[str, Any]:
    """Accuracy against k at k' = 50, against k' at k = 50, and against the number of training rows (both 50).

    One search for neighbours serves every k, one every k'.
    """
    data = split(cell)

    def scores(voters: list[int], anchors: list[int], n_rows: int) -> Floats:
        train, observed = data.train[:n_rows], data.observed[:n_rows]
        fractions = vote_fractions(train, observed, data.test, voters)
        limits = threshold(**rates_by(train, observed, anchors))
        return np.asarray(((fractions >= limits[:, None]) == data.targets).mean(axis=1))

    n = len(data.train)
    found = {
        "by_k": scores(INFLUENCE, [50], n),
        "by_anchors": scores([50], INFLUENCE, n),
        "by_rows": np.concatenate([scores([50], [50], int(fraction * n)) for fraction in FRACTIONS]),
    }
    return {name: [float(one) for one in values] for name, values in found.items()}


@named("gao.grouping")
def grouping(cell: Cell) -> dict[str, Any]:
    """Accuracies of one grouping of the classes, one split: 15-NN and logistic regression at (0.1, 0.2), and AROW.

    `group` has a bit for each class of the first group, the positive one; the last class is in the second. AROW is the
    ridge regression to which it converges, on the mean of the observed labels, at the first two noises, on all rows;
    "mirrored" with the second group as the positive one. At (0.4, 0.4) the scatter of the labels would count.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier

    X, labels = rows_of(cell["dataset"])
    codes = np.unique(labels, return_inverse=True)[1]
    rng = np.random.default_rng(cell.seed("dataset"))
    order = rng.permutation(len(codes))
    X, y = scaled(X, cell["dataset"])[order], (cell["group"] >> codes[order]) & 1
    few, n = len(y[:GROUPED_ROWS]), 3 * len(y[:GROUPED_ROWS]) // 4
    observed = noise_of((0.1, 0.2)).corrupt(y[:n], rng)
    models = {"knn": KNeighborsClassifier(15), "llog": LogisticRegression()}
    found: dict[str, Any] = {
        name: float(model.fit(X[:n], observed).score(X[n:few], y[n:few])) for name, model in models.items()
    }
    return found | {"arow": expected_arow(X, y), "mirrored": expected_arow(X, 1 - y)}


def expected_arow(X: Floats, y: Codes) -> list[float]:
    """Test accuracies of ridge regression on the mean of the observed labels, +1 and -1, at the first two noises."""
    n = 3 * len(y) // 4
    train, positive = X[:n], y[:n] == 1
    means = np.stack([np.where(positive, 1 - 2 * plus, 2 * minus - 1) for plus, minus in NOISES[:2]], axis=1)
    weights = np.linalg.solve(train.T @ train + np.eye(X.shape[1]), train.T @ means)
    return [float(one) for one in ((X[n:] @ weights >= 0) == (y[n:] == 1)[:, None]).mean(axis=0)]


GROUPED_ROWS = 2500  # of a larger set: enough to tell groupings apart by their accuracy
INFLUENCE = [1, 5, 10, 20, 40, 60, 80, 100]
FRACTIONS = [0.1, 0.2, 0.4, 0.6, 0.8, 1.0]


@named("_neighbor_tasks.soft_chessboard")
def soft_chessboard(cell: Cell) -> dict[str, Any]:
    """Error on 3,000 clean rows after 4,000 noisy ones, against k: plain k-NN, robust, and robust as printed."""
    from noisewise.datasets import make_sine_2d

    rng = np.random.default_rng(cell.seed())
    noise = noise_of(cell["noise"])
    X, y = make_sine_2d(cell["rows"], rng)
    test, targets = make_sine_2d(3000, rng)
    observed = noise.corrupt(y, rng)
    sizes = np.array(CHESSBOARD_VOTERS)
    fractions = vote_fractions(X, observed, test, sizes)
    around = vote_fractions(X, observed, X, np.array([100]), observed)[0]
    shift = (around.min() - (1 - around).min()) / 2
    rules = {"knn": 0.0, "rnn": shift, "rnn-printed": -shift}
    return {
        name: [float(one) for one in ((fractions >= 0.5 + moved) != targets).mean(axis=1)]
        for name, moved in rules.items()
    }


CHESSBOARD_VOTERS = [1, 5, 10, 20, 40, 60, 80, 100, 150, 200]
