"""A random forest on soft labels: trees fitted to class probabilities, with out-of-bag predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.tree import DecisionTreeRegressor

from noisewise._typing import Codes, Floats

MOST_LEAF_VALUES = 100_000_000  # leaves times classes of all trees: 400 MB; beyond, trees get fewer rows each
MOST_TRIED = 1_100_000  # rows times columns tried at the first split of a tree: a second; beyond, too, fewer rows each
LEAST_TREE_ROWS = 2000  # of each tree where there are many classes, as far as there are rows
MANY_ROWS, LEAF_ROWS = 50_000, 3  # from so many rows on a leaf has three or more: a quarter of the nodes, less noise
SPLITTERS = ("best", "random")  # by turns: a random forest and extremely randomised trees err on different rows
BLOCK_VALUES = 4_000_000  # rows times columns that are converted at a time


@dataclass(frozen=True)
class SoftForest:
    """Decision trees whose leaves hold mean class probabilities, as flat arrays.

    Attributes
    ----------
    roots : array of shape (n_trees,)
        The first node of each tree; the nodes of a tree follow one another.
    features : array of shape (n_nodes,)
        The column a node splits by; -1 for a leaf.
    thresholds : array of shape (n_nodes,)
        Rows whose value is at most this go left.
    children : array of shape (n_nodes, 2)
        Left and right node; of a leaf, the row of `values` and -1.
    values : array of shape (n_leaves, n_classes)
    """

    roots: NDArray[np.int64]
    features: NDArray[np.int32]
    thresholds: Floats
    children: NDArray[np.int32]
    values: NDArray[np.float32]

    def __post_init__(self) -> None:
        nodes, leaf = np.arange(len(self.features)), self.features < 0
        inner, leaves = self.children[~leaf], self.children[leaf, 0]
        if not (
            len(self.thresholds) == len(self.children) == len(nodes)
            and self.children.shape[1:] == (2,)
            and (inner > nodes[~leaf, None]).all()  # so that every walk ends
            and (inner < len(nodes)).all()
            and ((leaves >= 0) & (leaves < len(self.values))).all()
            and ((self.roots >= 0) & (self.roots < len(nodes))).all()
        ):
            raise ValueError("the nodes of a forest do not form trees")

    @classmethod
    def of(cls, tree: Any) -> Self:
        """From a fitted tree of scikit-learn, whose outputs are the classes (or the second of two)."""
        leaf = tree.children_left < 0
        children = np.column_stack([tree.children_left, tree.children_right]).astype(np.int32)
        children[leaf, 0] = np.arange(np.count_nonzero(leaf))
        values = tree.value[leaf, :, 0].astype(np.float32)
        values = np.hstack([1 - values, values]) if values.shape[1] == 1 else values
        return cls(
            np.zeros(1, np.int64), np.where(leaf, -1, tree.feature).astype(np.int32), tree.threshold, children, values
        )

    @classmethod
    def merged(cls, forests: Sequence[Self]) -> Self:
        """The trees of several forests as one."""
        first_nodes = np.cumsum([0, *(len(one.features) for one in forests)])
        first_leaves = np.cumsum([0, *(len(one.values) for one in forests)])
        children = [
            one.children + np.where(one.features[:, None] < 0, [[leaf, 0]], node).astype(np.int32)
            for one, node, leaf in zip(forests, first_nodes, first_leaves)
        ]
        return cls(
            np.concatenate([one.roots + node for one, node in zip(forests, first_nodes)]),
            np.concatenate([one.features for one in forests]),
            np.concatenate([one.thresholds for one in forests]),
            np.concatenate(children),
            np.concatenate([one.values for one in forests]),
        )

    def predict_proba(self, X: Any) -> Floats:
        """Mean class probabilities of the leaves that rows fall into."""
        from noisewise._loops.trees import add_leaf_values, add_leaf_values_sparse

        if X.shape[1] <= self.features.max(initial=-1):
            raise ValueError(f"the trees split by column {self.features.max()}, and rows have {X.shape[1]} columns")
        sums = np.zeros((X.shape[0], self.values.shape[1]))
        arrays = self.roots, self.features, self.thresholds, self.children, self.values
        if issparse(X):
            X, buffer = X.tocsr(), np.zeros(X.shape[1], np.float32)
            starts, columns = X.indptr.astype(np.int64), X.indices.astype(np.int64)
            add_leaf_values_sparse(X.data.astype(np.float32), columns, starts, buffer, *arrays, sums)
            return sums / len(self.roots)
        step = max(1, BLOCK_VALUES // X.shape[1])
        for start in range(0, X.shape[0], step):
            add_leaf_values(
                np.ascontiguousarray(X[start : start + step], np.float32), *arrays, sums[start : start + step]
            )
        return sums / len(self.roots)


def fit_soft_forest(
    X: Any,
    targets: Floats,
    n_trees: int,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    groups: Codes | None = None,
    weights: Floats | None = None,
) -> tuple[SoftForest, Floats]:
    """A forest fitted to class probabilities, and its out-of-bag predictions.

    Trees grow on bootstrap samples, by the squared error of the class probabilities: for one-hot targets that is the
    Gini impurity, so a forest on hard labels is a random forest. A row that is in every bag is predicted by the mean.
    Rows of a group (0, 1, ...) are drawn together; without groups each is one of its own. Rows with weights (above 0)
    are drawn in proportion to these: a tree ends in single rows, where the weight of a row changes nothing.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> forest, out_of_bag = fit_soft_forest(X, np.eye(2)[(X[:, 0] > 0).astype(int)], 20, rng)
    >>> bool((out_of_bag.argmax(axis=1) == (X[:, 0] > 0)).mean() > 0.95)
    True
    """
    n, n_classes = targets.shape
    groups = np.arange(n) if groups is None else groups
    size = rows_of_tree(n, X.shape[1], n_classes, n_trees)
    seeds = rng.integers(2**31, size=n_trees)
    grown = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
        delayed(_grow)(X, targets, groups, weights, size, seed, SPLITTERS[i % 2]) for i, seed in enumerate(seeds)
    )
    sums, counts = np.zeros((n, n_classes)), np.zeros((n, 1))
    trees = []
    for tree, bag in grown:
        out = np.flatnonzero(np.bincount(bag, minlength=n) == 0)
        sums[out] += tree.predict_proba(X[out])
        counts[out] += 1
        trees.append(tree)
    out_of_bag = np.where(counts > 0, sums / np.maximum(counts, 1), targets.mean(axis=0))
    return SoftForest.merged(trees), out_of_bag


def rows_of_tree(n_rows: int, n_columns: int, n_classes: int, n_trees: int) -> int:
    """Size of each tree's bootstrap sample: as many as there are rows, unless it takes too much memory or time.

    >>> rows_of_tree(10_000, 20, 2, 200), rows_of_tree(10_000_000, 16, 2, 200), rows_of_tree(100_000, 10_000, 2, 200)
    (10000, 250000, 11000)
    """
    by_memory, by_time = MOST_LEAF_VALUES // (n_trees * n_classes), MOST_TRIED / np.sqrt(n_columns)
    return min(n_rows, max(LEAST_TREE_ROWS, min(by_memory, int(by_time))))


def _grow(
    X: Any, targets: Floats, groups: Codes, weights: Floats | None, size: int, seed: int, splitter: str
) -> tuple[SoftForest, Codes]:
    """A tree on a bootstrap sample of groups, for `size` rows on average, and the rows that are in it."""
    n_groups = int(groups.max()) + 1
    rng, n_drawn = np.random.default_rng(seed), size * n_groups // len(groups)
    if weights is None:
        counts = np.bincount(rng.integers(n_groups, size=n_drawn), minlength=n_groups)[groups].astype(np.float64)
    else:
        of_groups = np.bincount(groups, weights)
        drawn = rng.choice(n_groups, n_drawn, p=of_groups / of_groups.sum())
        counts = (np.bincount(drawn, minlength=n_groups) / of_groups)[groups] * weights
    bag = np.flatnonzero(counts)
    outputs = targets[bag, 1:] if targets.shape[1] == 2 else targets[bag]  # of two classes one says all
    leaf = LEAF_ROWS if X.shape[0] >= MANY_ROWS else 1
    tree = DecisionTreeRegressor(splitter=splitter, max_features="sqrt", min_samples_leaf=leaf, random_state=int(seed))
    return SoftForest.of(tree.fit(X[bag], outputs, sample_weight=counts[bag]).tree_), bag
