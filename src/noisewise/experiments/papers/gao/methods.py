"""The robust k-NN paper's methods, each with its parameters chosen from training rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise.experiments.papers.gao.folds import FOLDS, Split
from noisewise.noise import FlipMatrix

VOTERS = list(range(5, 101, 5))
REGULARISATIONS = tuple(2.0**power for power in range(-4, 5))  # r of AROW, 1 / C of NHERD: the grid of LIBOL
DIAGONAL = (1.0, 10.0, 100.0, 1e3, 1e4)  # r of AROW with a diagonal: of the order of a row's squared length, and beyond
CAPACITIES = (0.001, 0.01, 0.1, 1.0)  # C of NHERD with a diagonal
HERDING = 4.0  # 1 / C of NHERD: one for all sets is nearer to print than one chosen by cross-validation
CHOSEN_BY = 5000  # rows at most by which they are chosen
CAPACITY = 10.0  # C of kernel machines and of logistic regression with density ratios


def _rnn(data: Split) -> Any:
    from noisewise.labels import RobustKNeighborsClassifierCV

    return RobustKNeighborsClassifierCV(VOTERS, VOTERS, criterion="noisy", cv=FOLDS)


def _rnn_ours(data: Split) -> Any:
    from noisewise.labels import RobustKNeighborsClassifierCV

    return RobustKNeighborsClassifierCV()


def _knn(data: Split) -> Any:
    from noisewise.labels import RobustKNeighborsClassifierCV

    return RobustKNeighborsClassifierCV(VOTERS, noise=FlipMatrix.none(2), criterion="noisy", cv=FOLDS)


def machine(data: Split, C: float = CAPACITY) -> Any:
    """The kernel machine with LIBSVM's default width, to which print is near: fourclass .81, others have .98.

    The paper has "default parameters" (IR) and the width that is best on clean labels (LD), and does not say which C.
    """
    from sklearn.svm import SVC

    return SVC(C=C, gamma=1 / data.train.shape[1], cache_size=CACHE)


def best_machine(data: Split, weights: Floats) -> Any:
    """The kernel machine that is best on clean labels of left-out folds, after weighted observed labels of the others.

    The C of an SVM on clean labels is too large under much noise.
    """
    from sklearn.model_selection import ParameterGrid, StratifiedKFold
    from sklearn.svm import SVC

    X, observed, true, weights = data.train[:CHECKED], data.observed[:CHECKED], data.true[:CHECKED], weights[:CHECKED]
    folds = list(StratifiedKFold(3).split(X, true))
    grid = {"C": [0.25, 1, 4, 16], "gamma": [2.0**power / X.shape[1] for power in (-3, -1, 1, 3, 5)]}

    def score(machine: Any) -> float:
        fits = (machine.fit(X[a], observed[a], sample_weight=weights[a]).score(X[b], true[b]) for a, b in folds)
        return float(np.mean(list(fits)))

    return max((SVC(**candidate) for candidate in ParameterGrid(grid)), key=score)


CHECKED = 1000  # rows by which width and C are chosen
CACHE = 6000  # megabytes at most: the whole Gram matrix of w8a; by parts of it a fit would take hours


def _ir_ksvm(data: Split, C: float = CAPACITY) -> Any:
    from noisewise.experiments.papers.gao.density_ratio import RatioReweightedClassifier

    return RatioReweightedClassifier(machine(data, C), data.noise)


def _ir_ksvm_default(data: Split) -> Any:
    return _ir_ksvm(data, C=1.0)


def _ir_ksvm_ridge(data: Split) -> Any:
    from noisewise.labels import ImportanceReweightedClassifier

    return ImportanceReweightedClassifier(machine(data), data.noise)


def _ld_ksvm(data: Split, C: float = CAPACITY / 2) -> Any:
    """Half of C: the weights here are twice those of print, which are alpha and 1 - alpha."""
    from noisewise.labels import LabelDependentClassifier

    return LabelDependentClassifier(machine(data, C), data.noise)


def _ld_ksvm_default(data: Split) -> Any:
    return _ld_ksvm(data, C=1.0)


def _ir_ksvm_tuned(data: Split) -> Any:
    from noisewise.labels import ImportanceReweightedClassifier

    weights = ImportanceReweightedClassifier(noise=data.noise).fit(data.train, data.observed).weights_
    return ImportanceReweightedClassifier(best_machine(data, weights), data.noise)


def _ld_ksvm_tuned(data: Split) -> Any:
    from noisewise.labels import LabelDependentClassifier

    weights = LabelDependentClassifier(noise=data.noise).fit(data.train, data.observed).label_weights_
    return LabelDependentClassifier(best_machine(data, weights[data.observed]), data.noise)


def _ir_llog(data: Split) -> Any:
    from sklearn.linear_model import LogisticRegression

    from noisewise.experiments.papers.gao.density_ratio import RatioReweightedClassifier

    return RatioReweightedClassifier(LogisticRegression(C=CAPACITY, solver="newton-cholesky"), data.noise)


def _ir_llog_ridge(data: Split) -> Any:
    from sklearn.linear_model import LogisticRegression

    from noisewise.labels import ImportanceReweightedClassifier

    return ImportanceReweightedClassifier(LogisticRegression(solver="newton-cholesky"), data.noise)


def _ue_llog(data: Split) -> Any:
    from noisewise.labels import UnbiasedLogisticRegression

    return _chosen(data, [UnbiasedLogisticRegression(data.noise, C=C) for C in (0.1, 1.0, 10.0)])


def _arow(data: Split) -> Any:
    from noisewise.experiments.papers.gao.second_order import FullCovariance

    return _chosen(data, [FullCovariance(r) for r in REGULARISATIONS])


def _nherd(data: Split) -> Any:
    from noisewise.experiments.papers.gao.second_order import FullCovariance

    return FullCovariance(HERDING, herding=True)


def _nherd_chosen(data: Split) -> Any:
    from noisewise.experiments.papers.gao.second_order import FullCovariance

    return _chosen(data, [FullCovariance(r, herding=True) for r in REGULARISATIONS])


def _arow_diagonal(data: Split) -> Any:
    from noisewise.online.recipes import arow

    return _chosen(data, [arow(r) for r in DIAGONAL])


def _nherd_diagonal(data: Split) -> Any:
    from noisewise.online.recipes import nherd

    return _chosen(data, [nherd(C) for C in CAPACITIES])


def _with_constant(method: Callable[[Split], Any]) -> Callable[[Split], Any]:
    """An online learner with a constant column for an intercept, which those of print seem to lack."""

    def build(data: Split) -> Any:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import PolynomialFeatures

        constant = PolynomialFeatures(degree=1)
        return make_pipeline(constant, method(data._replace(train=constant.fit_transform(data.train))))

    return build


def _chosen(data: Split, candidates: list[Any]) -> Any:
    """The candidate with the best accuracy on held-out observed labels, of the first rows of a large set."""
    from sklearn.model_selection import cross_val_score

    X, observed = data.train[:CHOSEN_BY], data.observed[:CHOSEN_BY]
    scores = [cross_val_score(one, X, observed, cv=FOLDS).mean() for one in candidates]
    return candidates[int(np.argmax(scores))]


METHODS: dict[str, Callable[[Split], Any]] = {
    "rnn": _rnn,
    "rnn-ours": _rnn_ours,
    "knn": _knn,
    "ir-ksvm": _ir_ksvm,
    "ir-ksvm-default": _ir_ksvm_default,
    "ir-ksvm-ridge": _ir_ksvm_ridge,
    "ir-ksvm-tuned": _ir_ksvm_tuned,
    "ir-llog": _ir_llog,
    "ir-llog-ridge": _ir_llog_ridge,
    "ld-ksvm": _ld_ksvm,
    "ld-ksvm-default": _ld_ksvm_default,
    "ld-ksvm-tuned": _ld_ksvm_tuned,
    "ue-llog": _ue_llog,
    "arow": _arow,
    "arow-intercept": _with_constant(_arow),
    "arow-diagonal": _arow_diagonal,
    "nherd": _nherd,
    "nherd-chosen": _nherd_chosen,
    "nherd-intercept": _with_constant(_nherd),
    "nherd-diagonal": _nherd_diagonal,
}
