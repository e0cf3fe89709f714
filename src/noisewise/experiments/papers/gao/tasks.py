"""Cells of the robust k-NN paper: one method on one split of one set under one noise."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.experiments.harness.spec import Cell, named
from noisewise.experiments.papers.gao.folds import (
    FOLDS,
    NOISES,
    Split,
    in_sparse_rows,
    noise_of,
    rows_of,
    scaled,
    split,
)
from noisewise.experiments.papers.gao.methods import METHODS, VOTERS


@named("_neighbor_tasks.accuracy")
def accuracy(cell: Cell) -> dict[str, Any]:
    """Test accuracy of one method, and the noise that it found."""
    data = split(cell)
    if cell["method"] == "rnn-oracle":
        return oracle(data)
    if "ksvm" in cell["method"]:
        data = in_sparse_rows(data)
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
    """Accuracies of every grouping of the classes, four folds: 15-NN, a linear method, and AROW at two noises.

    Votes and scores of a group are the sums of those of its classes, so that one search and one least squares serve all
    groupings. 15-NN and the linear method have clean labels. AROW is the ridge regression without an intercept to which
    it converges, on the mean of the observed labels; at (0.4, 0.4) the scatter of the labels would count.
    """
    from sklearn.neighbors import NearestNeighbors

    name = cell["dataset"]
    X, labels = rows_of(name)
    order = np.random.default_rng(cell.seed()).permutation(len(labels))[:GROUPED_ROWS]
    X, parts = scaled(X, name)[order], parts_of(labels)[order]
    groups = groupings_of(int(labels.max()) + 1)
    ones = np.eye(groups.shape[1])[parts]
    fold = np.arange(len(order)) % FOLDS
    right = np.zeros((4, len(groups)))
    for test in (fold == k for k in range(FOLDS)):
        train = ~test
        near = NearestNeighbors(n_neighbors=15).fit(X[train]).kneighbors(X[test], return_distance=False)
        votes = ones[train][near].sum(axis=1)
        means = [np.where(groups == 1, 1 - 2 * plus, 2 * minus - 1) for plus, minus in NOISES[:2]]
        scores = [votes @ (2 * groups - 1).T, least_squares(X, ones, train, intercept=True)[test] @ (2 * groups - 1).T]
        scores += [least_squares(X, ones, train)[test] @ mean.T for mean in means]
        true = groups.T[parts[test]] == 1
        right += [((score > 0) == true).sum(axis=0) for score in scores]
    return {"accuracies": [[round(float(one), 4) for one in group] for group in right.T / len(order)]}


def parts_of(labels: Codes) -> Codes:
    """Codes of the classes; of an odd number of classes, codes of the halves of their rows.

    >>> parts_of(np.array([0, 0, 1, 1, 2, 2])), parts_of(np.array([1, 0, 0]))
    (array([0, 1, 2, 3, 4, 5]), array([1, 0, 0]))
    """
    codes = np.unique(labels, return_inverse=True)[1]
    if codes.max() % 2:
        return np.asarray(codes)
    counts = np.bincount(codes)
    rank = np.empty(len(codes), dtype=np.intp)
    rank[np.argsort(codes, kind="stable")] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(2 * codes + (rank >= counts[codes] // 2))


def groupings_of(n_classes: int) -> Codes:
    """Equal groups, one line of zeros and ones each, both sides as the positive one: all, or of 26 classes random ones.

    Of an odd number of classes one is halved, either half with the group, or one group has a class more; the columns
    are halves of classes.

    >>> groupings_of(2)
    array([[1, 0],
           [0, 1]])
    >>> groupings_of(3).shape
    (18, 6)
    """
    chosen: list[Any]
    if n_classes > 10:
        rng = np.random.default_rng(1)
        chosen = [rng.permutation(n_classes)[: n_classes // 2] for _ in range(DRAWN)]
    else:
        chosen = [list(one) for one in combinations(range(n_classes), n_classes // 2)]
    groups = np.array([np.isin(np.arange(n_classes), one) for one in chosen], dtype=np.intp)
    if n_classes % 2 == 0:
        return groups
    whole = np.repeat(np.concatenate([groups, 1 - groups]), 2, axis=1)
    halved = [(group, 2 * k + half) for group in groups for k in np.flatnonzero(group == 0) for half in (0, 1)]
    mixed = np.repeat([group for group, _ in halved], 2, axis=1)
    mixed[np.arange(len(halved)), [part for _, part in halved]] = 1
    return np.concatenate([whole, mixed])


def least_squares(X: Floats, ones: Floats, train: Any, intercept: bool = False) -> Floats:
    """Scores of all rows for each class, by ridge regression on the training rows."""
    X = np.column_stack([X, np.ones(len(X))]) if intercept else X
    rows = X[train]
    return np.asarray(X @ np.linalg.solve(rows.T @ rows + np.eye(X.shape[1]), rows.T @ ones[train]))


DRAWN = 20_000  # groupings of the 26 letters, of ten million
GROUPED_ROWS = 20_000  # at most
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
