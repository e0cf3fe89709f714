"""Rows of the robust k-NN paper's cells: one fold of one set with flipped training labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.experiments.harness.data import load_once
from noisewise.experiments.harness.spec import Cell
from noisewise.noise import FlipMatrix

FOLDS = 4
GROUPS = {"vehicle": (0,)}  # buses against all others: of all groupings the only one near print
PAIRS = {"optdigits": (1, 3)}  # the only two digits that have the 1,143 rows of Table 1 together


class Split(NamedTuple):
    """Training rows with observed and true labels, and clean test rows."""

    train: Floats
    observed: Codes
    true: Codes
    test: Floats
    targets: Codes
    noise: FlipMatrix


def split(cell: Cell) -> Split:
    """One fold of four, columns in [-1, 1]; classes of a larger set in two groups at random; noise on training labels.

    Repeats 0 to 3 are the folds of the first repetition, 4 to 7 those of the second; all methods see the same flips.
    """
    from sklearn.model_selection import StratifiedKFold
    from sklearn.preprocessing import MinMaxScaler

    name = cell["dataset"]
    X, labels = rows_of(name)
    repetition, fold = divmod(cell["repeat"], FOLDS)
    rng = np.random.default_rng([repetition, *name.encode()])
    y = np.isin(labels, GROUPS[name]).astype(np.intp) if name in GROUPS else in_two(labels, rng)
    X = MinMaxScaler((-1, 1)).fit_transform(X)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    train, test = list(folds.split(X, y))[fold]
    draws = np.random.default_rng(cell.seed("dataset", "noise", "repeat"))
    train = draws.permutation(train)[: cell["rows"]]
    test = draws.permutation(test)[: cell["rows"]]
    noise = noise_of(cell["noise"])
    return Split(X[train], noise.corrupt(y[train], draws), y[train], X[test], y[test], noise)


def rows_of(name: str) -> tuple[Floats, Codes]:
    """The set by name, or those of its classes that the paper has."""
    X, labels = load_once(name)
    if name not in PAIRS:
        return X, labels
    kept = np.isin(labels, PAIRS[name])
    return X[kept], labels[kept]


def in_two(labels: Codes, rng: np.random.Generator) -> Codes:
    """Classes 0 and 1; more than two are put into two groups of equally many classes at random."""
    codes = np.unique(labels, return_inverse=True)[1]
    n_classes = int(codes.max()) + 1
    if n_classes == 2:
        return np.asarray(codes)
    return np.isin(codes, rng.permutation(n_classes)[: n_classes // 2]).astype(np.intp)


def noise_of(pair: Any) -> FlipMatrix:
    """From (tau_plus, tau_minus), the order of the tables' headers."""
    plus, minus = pair
    return FlipMatrix.binary(false_positive=minus, false_negative=plus)
