"""A flip matrix for a discriminative fit: given, learned with the model, or taken from another estimator.

A discriminative model can hardly tell symmetric noise from classes that overlap, and a symmetric flip matrix imposed on
it does harm. What another estimator is worth asking for is which way labels flip more: the asymmetric part.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from noisewise._numerics.row_hash import row_hashes
from noisewise._typing import Codes, Floats
from noisewise.labels.ridge.classifier import RobustRidgeClassifier
from noisewise.labels.ridge.pooled_fit import fit_pooled_ridge
from noisewise.noise import FlipMatrix

MOST_COPIES = 1_000_000  # rows that weights may be turned into; heavier weights are scaled down


def find_noise(noise: Any, X: Any, codes: Codes, weights: Floats) -> FlipMatrix:
    """The flip matrix that a `noise` argument stands for.

    Parameters
    ----------
    noise : FlipMatrix, None, object with ``estimate(X, y)``, or function of (X, y)
        None: the robust ridge's estimate. An estimator gets rows and classes 0, 1, ... and returns a FlipMatrix.
    X : array or CSR of shape (n, d)
    codes : array of int
    weights : array
        A row of weight 2 counts as two rows, and one of weight 0 as none.
    """
    if noise is None:
        return read_rows(None, X, codes, weights)[0].noise_
    if isinstance(noise, FlipMatrix):
        return noise
    estimate = getattr(noise, "estimate", noise)
    if not callable(estimate):
        raise ValueError(
            f"noise is a {type(noise).__name__}; a FlipMatrix, None, a function of (X, y) that returns a FlipMatrix, "
            "or an object with such a method `estimate` would do"
        )
    copies = as_copies(X, codes, weights)
    found = estimate(X[copies], codes[copies])
    if not isinstance(found, FlipMatrix):
        raise ValueError(f"the noise estimator returned a {type(found).__name__}; it must return a FlipMatrix")
    return found


def read_rows(noise: FlipMatrix | None, X: Any, codes: Codes, weights: Floats) -> tuple[RobustRidgeClassifier, Codes]:
    """The robust ridge fitted on the rows, and the rows it has judged, by number and in its order.

    Of a class whose rows all weigh nothing one is judged, so that the class is known.

    >>> rng = np.random.default_rng(0)
    >>> X, codes = rng.normal(size=(50, 2)), np.arange(50) % 2
    >>> ridge, seen = read_rows(FlipMatrix.none(2), X, codes, np.ones(50))
    >>> ridge.scores_.shape, len(seen)
    ((50, 2), 50)
    """
    copies = as_copies(X, codes, weights)
    classes, first = np.unique(codes, return_index=True)
    lost = first[~np.isin(classes, codes[copies])]
    judged = np.concatenate([copies, lost])
    counted = np.repeat([1.0, 0.0], [len(copies), len(lost)])
    return RobustRidgeClassifier(noise=noise).fit(X[judged], codes[judged], counted), judged


def as_copies(X: Any, codes: Codes, weights: Floats) -> Codes:
    """Row numbers, each as often as its weight says, in an order that does not depend on that of the rows.

    Weights that are not whole numbers, or too heavy, are scaled to a mean of one first.

    >>> as_copies(np.zeros((3, 1)), np.array([0, 1, 2]), np.array([2.0, 0.0, 1.0]))
    array([0, 0, 2])
    """
    order = np.lexsort((codes, row_hashes(X)))
    weights = weights[order]
    whole = bool((weights == np.round(weights)).all()) and weights.sum() <= max(MOST_COPIES, len(weights))
    until = np.cumsum(weights if whole else weights * np.count_nonzero(weights) / weights.sum())
    counts = np.diff(np.floor(until + 0.5), prepend=0.0).astype(np.intp)
    return np.asarray(np.repeat(order, counts))


SOURCES = ("confident", "fisher")
LANDMARKS = 500
LEAST_RATE = 0.02


def resolve_noise(noise: Any, X: Any, codes: Codes, n_classes: int, weights: Floats | None = None) -> FlipMatrix | None:
    """The flip matrix to fit through, or None where the model is to learn it.

    Parameters
    ----------
    noise : FlipMatrix, None, "confident" or "fisher"
        None is left to the model. "confident": counts of confident disagreements between observed labels and scores
        that did not see them. "fisher": the noise found by RobustKernelFisherClassifier. Of both the asymmetric part.
    X : array or CSR of shape (n, d)
        Rows, not a kernel matrix.
    codes : array of int of shape (n,)
        Observed classes, 0 to n_classes - 1.
    n_classes : int
    weights : array of shape (n,), optional
        A row of weight 2 counts as two rows, and one of weight 0 as none.
    """
    if noise is None:
        return None
    if isinstance(noise, FlipMatrix):
        if noise.n_classes != n_classes:
            raise ValueError(f"the noise is for {noise.n_classes} classes, the labels have {n_classes}")
        return noise
    if not isinstance(noise, str) or noise not in SOURCES:
        raise ValueError(
            f"noise is {noise!r}; a FlipMatrix, None (learned with the model), 'confident' or 'fisher' would do"
        )
    copies = as_copies(X, codes, np.ones(len(codes)) if weights is None else weights)
    rows, labels = X[copies], codes[copies]
    if (labels == labels[0]).all():  # weights leave out all classes but one
        return FlipMatrix.symmetric(LEAST_RATE, n_classes)
    found = _by_confident_rows(rows, labels, n_classes) if noise == "confident" else _by_fisher(rows, labels, n_classes)
    return FlipMatrix.estimated(with_least_rate(asymmetric_part(found)))


def asymmetric_part(matrix: Floats) -> Floats:
    """The flip matrix without the flips that two classes exchange at the same rate.

    >>> asymmetric_part(np.array([[0.9, 0.1], [0.3, 0.7]]))
    array([[1. , 0. ],
           [0.2, 0.8]])
    """
    one_way = matrix - np.minimum(matrix, matrix.T)
    np.fill_diagonal(one_way, 0)
    np.fill_diagonal(one_way, 1 - one_way.sum(axis=1))
    return np.asarray(one_way)


def with_least_rate(matrix: Floats, rate: float = LEAST_RATE) -> Floats:
    """The flip matrix with no class flipping less than this: where no flip is possible, no label can be doubted.

    >>> with_least_rate(np.array([[1.0, 0.0], [0.2, 0.8]]))
    array([[0.98, 0.02],
           [0.2 , 0.8 ]])
    """
    raised = np.maximum(matrix, rate / (len(matrix) - 1))
    np.fill_diagonal(raised, 0)
    np.fill_diagonal(raised, 1 - raised.sum(axis=1))
    return np.asarray(raised)


def confident_flips(scores: Floats, codes: Codes) -> Floats:
    """P(observed | true) from rows whose score for a class is at least what is usual among rows of that label.

    Such a row counts as truly of that class (of the one with the highest score, if there are several); counts are
    scaled to the number of rows of each observed class, and a class without any confident row keeps its labels.

    Parameters
    ----------
    scores : array of shape (n, n_classes)
        Something like P(observed class | x), from fits that did not see the row's label.
    codes : array of int of shape (n,)

    Examples
    --------
    >>> scores = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8], [0.1, 0.9], [0.9, 0.1]])
    >>> confident_flips(scores, np.array([0, 0, 1, 1, 1, 1])).round(2)
    array([[0.67, 0.33],
           [0.  , 1.  ]])
    """
    n_classes = scores.shape[1]
    sizes = np.bincount(codes, minlength=n_classes)
    own = scores[np.arange(len(codes)), codes]
    usual = np.bincount(codes, own, minlength=n_classes) / np.maximum(sizes, 1)
    confident = np.where(scores >= usual, scores, -np.inf)
    sure = np.isfinite(confident).any(axis=1)
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (codes[sure], confident[sure].argmax(axis=1)), 1.0)
    seen = counts.sum(axis=1)
    joint = counts * (sizes / np.maximum(seen, 1))[:, None]
    true = joint.sum(axis=0)
    flips = np.eye(n_classes)
    flips[true > 0] = (joint / np.maximum(true, 1e-300)).T[true > 0]
    return flips


def _by_confident_rows(X: Any, codes: Codes, n_classes: int) -> Floats:
    ridge = fit_pooled_ridge(X, codes, n_classes, LANDMARKS, np.random.default_rng(0))
    return confident_flips(ridge.honest_scores(X, codes), codes)


def _by_fisher(X: Any, codes: Codes, n_classes: int) -> Floats:
    from noisewise.labels.fisher.classifier import RobustKernelFisherClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rough answer will do, and nobody asked for that classifier
        found = RobustKernelFisherClassifier().fit(X, codes)
    flips = np.eye(n_classes)  # a class that all weights leave out is not among those found
    flips[np.ix_(found.classes_, found.classes_)] = found.noise_.matrix
    return flips
