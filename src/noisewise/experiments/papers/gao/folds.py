"""Rows of the robust k-NN paper's cells: one fold of one set with flipped training labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.experiments.harness.data import load_once
from noisewise.experiments.harness.spec import Cell
from noisewise.noise import FlipMatrix

FOLDS = 4
NOISES = [(0.1, 0.2), (0.3, 0.1), (0.4, 0.4)]  # (tau_plus, tau_minus)
# positive classes of sets with more than two; print draws the groups at random and does not say which
GROUPS = {
    "pendigits": (5, 6, 7, 8, 9),
    "segment": (0, 1, 2),  # brickface, cement and foliage, and half of the fourth of its seven classes, grass
    "shuttle": (1, 2, 4, 6),  # those with odd numbers in the file: Rad Flow, Fpv Open, Bypass, Bpv Open
    "landsat": (2, 4, 5),
    "usps": (0, 2, 4, 5, 8),
    "letter": (0, 3, 4, 6, 7, 9, 12, 14, 15, 17, 18, 21, 23),
}
HALVED = {"segment": 3}  # a class whose last rows are positive: an odd number of classes in two equal groups
PAIRS = {  # two of the classes alone
    "optdigits": (1, 3),  # the only two digits that have the 1,143 rows of Table 1 together
    "vehicle": (0, 2),  # bus and saab: the only two with test quarters of the size that Table 2's numbers show
}
ZERO_ONE = ("magic04", "mushroom", "optdigits", "usps", "w8a")  # in [0, 1], as zeros and ones of LIBSVM files are
STANDARDISED = ("german_numeric", "housing", "landsat", "pendigits", "segment")  # AROW's errors do not depend on tau
COMPONENTS = ("vehicle",)  # principal components, each in [-1, 1]
NUMBERED = {"breast_cancer_wisconsin": -0.85}  # mean of print's tenth column, the sample's number, which is not here
CUTS = {"housing": 20.5}  # price above which a house is of the positive class; print does not say (the part on cuts)
MOST_FILLED = 0.1  # fraction of numbers that are not zero, of rows that are kept sparse: w8a
FIRST_ROWS = {"letter": 15_000}  # Table 1's number: the training file of the LIBSVM page


class Split(NamedTuple):
    """Training rows with observed and true labels, and clean test rows."""

    train: Floats
    observed: Codes
    true: Codes
    test: Floats
    targets: Codes
    noise: FlipMatrix


def split(cell: Cell) -> Split:
    """One fold of four, columns scaled; of more than two classes two groups; noise on training labels.

    Repeats 0 to 3 are the folds of the first repetition, 4 to 7 those of the second; all methods see the same flips.
    """
    from sklearn.model_selection import StratifiedKFold

    name = cell["dataset"]
    X, labels = rows_of(name)
    repetition, fold = divmod(cell["repeat"], FOLDS)
    rng = np.random.default_rng([repetition, *name.encode()])
    y = in_two(labels, rng, GROUPS.get(name), HALVED.get(name))
    X = scaled(X, name)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    train, test = list(folds.split(X, y))[fold]
    draws = np.random.default_rng(cell.seed("dataset", "noise", "repeat"))
    train = draws.permutation(train)[: cell["rows"]]
    test = draws.permutation(test)[: cell["rows"]]
    noise = noise_of(cell["noise"])
    return Split(X[train], noise.corrupt(y[train], draws), y[train], X[test], y[test], noise)


def in_sparse_rows(data: Split) -> Split:
    """The split with sparse rows where hardly a number is not zero: their kernels take a fraction of the time."""
    from scipy.sparse import csr_matrix

    if np.count_nonzero(data.train) > MOST_FILLED * data.train.size:
        return data
    return data._replace(train=csr_matrix(data.train), test=csr_matrix(data.test))


def rows_of(name: str) -> tuple[Floats, Codes]:
    """The set by name, or those of its classes that the paper has."""
    X, labels = load_once(name)
    if name in PAIRS:
        kept = np.isin(labels, PAIRS[name])
        X, labels = X[kept], labels[kept]
    if name in CUTS:
        labels = (prices(name) > CUTS[name]).astype(np.intp)
    return X[: FIRST_ROWS.get(name)], labels[: FIRST_ROWS.get(name)]


def prices(name: str) -> Floats:
    """The numbers behind the two classes of housing, which the data folder's file has beside them."""
    from noisewise.datasets import load

    with np.load(load(name).source) as file:
        return np.asarray(file["medv"], dtype=np.float64).round(1)  # as in the source; the file has single precision


def scaled(X: Floats, name: str) -> Floats:
    """Columns in [-1, 1], or as the set has them in print; without constant ones, which would be an intercept.

    The number of a sample, a tenth column of print's cancer, hardly varies in [-1, 1]: a constant stands for it.
    """
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    X = X[:, np.ptp(X, axis=0) > 0]
    if name in STANDARDISED:
        return np.asarray(StandardScaler().fit_transform(X))
    X = np.asarray(MinMaxScaler((0 if name in ZERO_ONE else -1, 1)).fit_transform(X))
    if name in NUMBERED:
        X = np.column_stack([X, np.full(len(X), NUMBERED[name])])
    return np.asarray(MinMaxScaler((-1, 1)).fit_transform(PCA().fit_transform(X))) if name in COMPONENTS else X


def in_two(
    labels: Codes, rng: np.random.Generator, first: tuple[int, ...] | None = None, halved: int | None = None
) -> Codes:
    """Classes 0 and 1; more than two are put into two groups: those named, or equally many at random.

    Of the class `halved` the second half of the rows is in class 1.
    """
    codes = np.unique(labels, return_inverse=True)[1]
    n_classes = int(codes.max()) + 1
    if n_classes == 2:
        return np.asarray(codes)
    chosen = rng.permutation(n_classes)[: n_classes // 2] if first is None else first
    y = np.isin(codes, chosen).astype(np.intp)
    rows = np.flatnonzero(codes == halved)
    y[rows[len(rows) // 2 :]] = 1
    return y


def noise_of(pair: Any) -> FlipMatrix:
    """From (tau_plus, tau_minus), the order of the tables' headers."""
    plus, minus = pair
    return FlipMatrix.binary(false_positive=minus, false_negative=plus)
