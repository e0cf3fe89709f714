"""Cells of the robust k-NN paper: one method on one split of one set under one noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.experiments.harness.spec import Cell, named
from noisewise.experiments.papers.gao.folds import Split, noise_of, rows_of, split
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
    """Accuracies at (0.1, 0.2) of 15-NN and of logistic regression with one grouping of the classes, one split.

    `group` has a bit for each class of the first group; the last class is in the second.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import MinMaxScaler

    X, labels = rows_of(cell["dataset"])
    codes = np.unique(labels, return_inverse=True)[1]
    rng = np.random.default_rng(cell.seed("dataset"))
    chosen = rng.permutation(len(codes))[:GROUPED_ROWS]
    X = MinMaxScaler((-1, 1)).fit_transform(X)[chosen]
    y = (cell["group"] >> codes[chosen]) & 1
    observed = noise_of((0.1, 0.2)).corrupt(y, rng)
    n = 3 * len(y) // 4
    models = {"knn": KNeighborsClassifier(15), "llog": LogisticRegression()}
    return {name: float(model.fit(X[:n], observed[:n]).score(X[n:], y[n:])) for name, model in models.items()}


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
