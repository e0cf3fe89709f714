"""Cells of the robust k-NN paper: one method on one split of one set under one noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noisewise._inputs import Codes, Floats
from noisewise.experiments._data import load_once
from noisewise.experiments._spec import Cell
from noisewise.noise import FlipMatrix

VOTERS = list(range(5, 101, 5))
FOLDS = 4


class Split(NamedTuple):
    """Training rows with observed and true labels, and clean test rows."""

    train: Floats
    observed: Codes
    true: Codes
    test: Floats
    answers: Codes
    noise: FlipMatrix


def split(cell: Cell) -> Split:
    """One fold of four, columns in [-1, 1]; classes of a larger set in two groups by chance; noise on training labels.

    Repeats 0 to 3 are the folds of the first trial, 4 to 7 those of the second; methods see the same rows and flips.
    """
    from sklearn.model_selection import StratifiedKFold
    from sklearn.preprocessing import MinMaxScaler

    X, labels = load_once(cell["dataset"])
    trial, fold = divmod(cell["repeat"], FOLDS)
    rng = np.random.default_rng([trial, *cell["dataset"].encode()])
    y = in_two(labels, rng)
    X = MinMaxScaler((-1, 1)).fit_transform(X)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    train, test = list(folds.split(X, y))[fold]
    chance = np.random.default_rng(cell.seed("dataset", "noise", "repeat"))
    train = chance.permutation(train)[: cell["rows"]]
    test = chance.permutation(test)[: cell["rows"]]
    noise = noise_of(cell["noise"])
    return Split(X[train], noise.corrupt(y[train], chance), y[train], X[test], y[test], noise)


def in_two(labels: Codes, rng: np.random.Generator) -> Codes:
    """Classes 0 and 1; more than two are put into two groups of equally many classes by chance."""
    codes = np.unique(labels, return_inverse=True)[1]
    n_classes = int(codes.max()) + 1
    if n_classes == 2:
        return np.asarray(codes)
    return np.isin(codes, rng.permutation(n_classes)[: n_classes // 2]).astype(np.intp)


def noise_of(pair: Any) -> FlipMatrix:
    """From (tau_plus, tau_minus), the order of the tables' headers."""
    plus, minus = pair
    return FlipMatrix.binary(false_positive=minus, false_negative=plus)


def accuracy(cell: Cell) -> dict[str, Any]:
    """Test accuracy of one method, and the noise that it found."""
    data = split(cell)
    if cell["method"] == "rnn-oracle":
        return oracle(data)
    model = METHODS[cell["method"]](data).fit(data.train, data.observed)
    found: dict[str, Any] = {"accuracy": float(model.score(data.test, data.answers))}
    if cell["method"] == "rnn":
        matrix = model.noise_.matrix
        found |= {"tau_plus": float(matrix[1, 0]), "tau_minus": float(matrix[0, 1])}
    return found


def oracle(data: Split) -> dict[str, Any]:
    """The best accuracy over all k and k' *on the clean test labels*: what nobody has, and what print seems to show."""
    shares = vote_shares(data.train, data.observed, data.test, VOTERS)
    around = vote_shares(data.train, data.observed, data.train, VOTERS, data.observed)
    thresholds = 0.5 + (around.min(axis=1) - (1 - around).min(axis=1)) / 2
    right = (shares[:, None] > thresholds[None, :, None]) == data.answers
    return {"accuracy": float(right.mean(axis=2).max())}


def vote_shares(train: Floats, observed: Codes, rows: Floats, sizes: Any, own: Codes | None = None) -> Floats:
    """Share of observed ones among the nearest training rows, one line a number of voters.

    With `own` the rows are the training rows themselves, whose own labels count too (eq. 5).
    """
    from sklearn.neighbors import NearestNeighbors

    sizes = np.minimum(np.asarray(sizes), len(train) - 1)
    index = NearestNeighbors(n_neighbors=int(sizes.max())).fit(train)
    neighbors = index.kneighbors(None if own is not None else rows, return_distance=False)
    counts = np.cumsum(observed[neighbors], axis=1)[:, sizes - 1].T
    return np.asarray(counts / sizes[:, None] if own is None else (counts + own) / (sizes[:, None] + 1))


def influence(cell: Cell) -> dict[str, Any]:
    """Accuracy against k at k' = 50, against k' at k = 50, and against the number of training rows (both 50)."""
    from noisewise.labels import RobustKNeighborsClassifier

    data = split(cell)

    def score(k: int, anchors: int, rows: int | None = None) -> float:
        model = RobustKNeighborsClassifier(k, anchors).fit(data.train[:rows], data.observed[:rows])
        return float(model.score(data.test, data.answers))

    n = len(data.train)
    return {
        "by_k": [score(k, 50) for k in INFLUENCE],
        "by_anchors": [score(50, anchors) for anchors in INFLUENCE],
        "by_rows": [score(50, 50, int(share * n)) for share in SHARES],
    }


INFLUENCE = [1, 5, 10, 20, 40, 60, 80, 100]
SHARES = [0.1, 0.2, 0.4, 0.6, 0.8, 1.0]


def soft_chessboard(cell: Cell) -> dict[str, Any]:
    """Error on 3,000 clean rows after 4,000 noisy ones, against k: plain k-NN, robust, and robust as printed."""
    from noisewise.datasets import make_sine_2d

    rng = np.random.default_rng(cell.seed())
    noise = noise_of(cell["noise"])
    X, y = make_sine_2d(cell["rows"], rng)
    test, answers = make_sine_2d(3000, rng)
    observed = noise.corrupt(y, rng)
    sizes = np.array(CHESSBOARD_VOTERS)
    shares = vote_shares(X, observed, test, sizes)
    around = vote_shares(X, observed, X, np.array([100]), observed)[0]
    shift = (around.min() - (1 - around).min()) / 2
    rules = {"knn": 0.0, "rnn": shift, "rnn-printed": -shift}
    return {
        name: [float(one) for one in ((shares > 0.5 + moved) != answers).mean(axis=1)] for name, moved in rules.items()
    }


CHESSBOARD_VOTERS = [1, 5, 10, 20, 40, 60, 80, 100, 150, 200]


def _rnn(data: Split) -> Any:
    from noisewise.labels import RobustKNeighborsClassifierCV

    return RobustKNeighborsClassifierCV(VOTERS, VOTERS, criterion="noisy", cv=FOLDS)


def _rnn_ours(data: Split) -> Any:
    from noisewise.labels import RobustKNeighborsClassifierCV

    return RobustKNeighborsClassifierCV()


def _knn(data: Split) -> Any:
    from noisewise.labels import RobustKNeighborsClassifierCV

    return RobustKNeighborsClassifierCV(VOTERS, noise=FlipMatrix.none(2), criterion="noisy", cv=FOLDS)


def kernel_machine(X: Floats, y: Codes) -> Any:
    """A kernel machine with width and C from clean labels, as the paper allows its rivals."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    widths = [2.0**power / X.shape[1] for power in (-3, -1, 1, 3, 5)]
    search = GridSearchCV(SVC(), {"C": [0.25, 1, 4, 16], "gamma": widths}, cv=3)
    return SVC(**search.fit(X[:500], y[:500]).best_params_)


def _ir_ksvm(data: Split) -> Any:
    from noisewise.labels import ImportanceReweightedClassifier

    return ImportanceReweightedClassifier(kernel_machine(data.train, data.true), data.noise)


def _ld_ksvm(data: Split) -> Any:
    from noisewise.labels import LabelDependentClassifier

    return LabelDependentClassifier(kernel_machine(data.train, data.true), data.noise)


def _ir_llog(data: Split) -> Any:
    from sklearn.linear_model import LogisticRegression

    from noisewise.labels import ImportanceReweightedClassifier

    return ImportanceReweightedClassifier(LogisticRegression(max_iter=1000), data.noise)


def _ue_llog(data: Split) -> Any:
    from noisewise.labels import UnbiasedLogisticRegression

    return _chosen(data, [UnbiasedLogisticRegression(data.noise, C=C) for C in (0.01, 0.1, 1.0)])


def _arow(data: Split) -> Any:
    from sklearn.pipeline import make_pipeline

    from noisewise.online.recipes import arow

    return _chosen(data, [make_pipeline(_constant(), arow(r)) for r in (0.1, 1.0, 10.0, 100.0)])


def _nherd(data: Split) -> Any:
    from sklearn.pipeline import make_pipeline

    from noisewise.online.recipes import nherd

    return _chosen(data, [make_pipeline(_constant(), nherd(C)) for C in (0.001, 0.01, 0.1, 1.0)])


def _constant() -> Any:
    """A constant column: the online learners have no intercept."""
    from sklearn.preprocessing import PolynomialFeatures

    return PolynomialFeatures(degree=1)


def _chosen(data: Split, candidates: list[Any]) -> Any:
    """The candidate with the best accuracy on held-out observed labels."""
    from sklearn.model_selection import cross_val_score

    scores = [cross_val_score(one, data.train, data.observed, cv=FOLDS).mean() for one in candidates]
    return candidates[int(np.argmax(scores))]


METHODS: dict[str, Callable[[Split], Any]] = {
    "rnn": _rnn,
    "rnn-ours": _rnn_ours,
    "knn": _knn,
    "ir-ksvm": _ir_ksvm,
    "ir-llog": _ir_llog,
    "ld-ksvm": _ld_ksvm,
    "ue-llog": _ue_llog,
    "arow": _arow,
    "nherd": _nherd,
}
