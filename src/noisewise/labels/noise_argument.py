"""The argument `noise` of every label estimator, resolved to a noise transition matrix T[true, observed].

A discriminative model can hardly tell symmetric noise from classes that overlap, and a symmetric flip matrix imposed on
it does harm. What "confident" and "fisher" contribute is therefore the asymmetric part of what they estimate.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import numpy as np

from noisewise._numerics.row_hash import row_hashes
from noisewise._typing import Codes, Floats
from noisewise.labels.ridge.pooled_fit import fit_pooled_ridge
from noisewise.noise import FlipMatrix

if TYPE_CHECKING:
    from noisewise.labels.ridge.classifier import RobustRidgeClassifier

METHODS = ("confident", "fisher", "ridge")
MOST_REPLICATES = 1_000_000  # rows that weights are expanded into; heavier weights are scaled down
CONFIDENT_LANDMARKS = 500  # of the pooled ridge behind "confident": as many as RobustRidgeClassifier takes
LEAST_RATE = 0.02  # flip rate of a class: with none at all, no label of it could be doubted


class NoiseEstimator(Protocol):
    """An object that estimates label noise."""

    def estimate(self, X: Any, y: Codes) -> FlipMatrix:
        """The flip matrix of rows and their observed classes 0, 1, ..."""


NoiseArgument = (
    FlipMatrix | Literal["confident", "fisher", "ridge"] | NoiseEstimator | Callable[[Any, Codes], FlipMatrix] | None
)


@overload
def resolve_noise(
    noise: Any, X: Any, codes: Codes, n_classes: int, weights: Floats | None = ..., *, default: str
) -> FlipMatrix: ...
@overload
def resolve_noise(
    noise: Any,
    X: Any,
    codes: Codes,
    n_classes: int,
    weights: Floats | None = ...,
    *,
    default: str | None = ...,
    standardized: Any = ...,
    pairwise: bool = ...,
) -> FlipMatrix | None: ...
def resolve_noise(
    noise: Any,
    X: Any,
    codes: Codes,
    n_classes: int,
    weights: Floats | None = None,
    *,
    default: str | None = None,
    standardized: Any = None,
    pairwise: bool = False,
) -> FlipMatrix | None:
    """The flip matrix that an argument `noise` stands for, or None where the model estimates it.

    Parameters
    ----------
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        - None: estimated, by `default` or, without one, with the model.
        - FlipMatrix: used as given.
        - "confident": the asymmetric part of the counts of confident disagreements between observed labels and
          leave-one-out scores (confident learning [1]_).
        - "fisher": the asymmetric part of what RobustKernelFisherClassifier estimates.
        - "ridge": what RobustRidgeClassifier estimates.
        - function or object: called with the rows and their classes 0, 1, ...; returns a FlipMatrix.
    X : array or CSR of shape (n, d)
        Rows as given to `fit`.
    codes : array of int of shape (n,)
        Observed classes, 0 to n_classes - 1.
    n_classes : int
    weights : array of shape (n,), optional
        A row of weight 2 counts as two rows, and one of weight 0 as none.
    default : {"confident", "fisher", "ridge"}, optional
        What None stands for in an estimator whose model does not learn the noise.
    standardized : array or CSR of shape (n, d), optional
        The rows as the model sees them, for "confident" and "fisher"; X by default.
    pairwise : bool, default=False
        X is a Gram matrix: there are no rows for the named methods, and the model estimates the noise.

    References
    ----------
    .. [1] Northcutt, C., Jiang, L., Chuang, I. (2021). Confident learning: estimating uncertainty in dataset labels.
       Journal of Artificial Intelligence Research 70. Section 3.1, eqs. 1 to 3.
    """
    method = default if noise is None else noise
    if method is None or (pairwise and isinstance(method, str) and method in METHODS):
        return None
    weights = np.ones(len(codes)) if weights is None else weights
    if isinstance(method, FlipMatrix):
        found = method
    elif isinstance(method, str) and method in METHODS:
        if method == "ridge":
            found = _by_ridge(X, codes, weights, n_classes)
        else:
            found = _one_way(method, X if standardized is None else standardized, codes, weights, n_classes)
    else:
        found = _by_estimator(method, X, codes, weights, pairwise)
    if found.n_classes != n_classes:
        raise ValueError(f"the noise is for {found.n_classes} classes, the labels have {n_classes}")
    return found


def fit_robust_ridge(
    noise: FlipMatrix | None, X: Any, codes: Codes, weights: Floats
) -> tuple[RobustRidgeClassifier, Codes]:
    """The robust ridge fitted on the rows, and the indices of the rows in the order of its leave-one-out scores.

    Of a class whose rows all have weight 0 one row takes part, with that weight, so that the class is known.

    >>> rng = np.random.default_rng(0)
    >>> X, codes = rng.normal(size=(50, 2)), np.arange(50) % 2
    >>> ridge, indices = fit_robust_ridge(FlipMatrix.none(2), X, codes, np.ones(50))
    >>> ridge.scores_.shape, len(indices)
    ((50, 2), 50)
    """
    from noisewise.labels.ridge.classifier import RobustRidgeClassifier

    replicates = replicate_rows(X, codes, weights)
    classes, first = np.unique(codes, return_index=True)
    absent = first[~np.isin(classes, codes[replicates])]
    indices = np.concatenate([replicates, absent])
    counts = np.repeat([1.0, 0.0], [len(replicates), len(absent)])
    return RobustRidgeClassifier(noise=noise).fit(X[indices], codes[indices], counts), indices


def replicate_rows(X: Any, codes: Codes, weights: Floats) -> Codes:
    """Row indices, each as often as its weight says, in an order that does not depend on that of the rows.

    Weights that are not whole numbers, or too heavy, are scaled to a mean of one first.

    >>> replicate_rows(np.zeros((3, 1)), np.array([0, 1, 2]), np.array([2.0, 0.0, 1.0]))
    array([0, 0, 2])
    """
    order = np.lexsort((codes, row_hashes(X)))
    weights = weights[order]
    whole = bool((weights == np.round(weights)).all()) and weights.sum() <= max(MOST_REPLICATES, len(weights))
    cumulative = np.cumsum(weights if whole else weights * np.count_nonzero(weights) / weights.sum())
    counts = np.diff(np.floor(cumulative + 0.5), prepend=0.0).astype(np.intp)
    return np.asarray(np.repeat(order, counts))


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


def with_least_rate(matrix: Floats) -> Floats:
    """The flip matrix with the flip rate of every class at least `LEAST_RATE`.

    >>> with_least_rate(np.array([[1.0, 0.0], [0.2, 0.8]]))
    array([[0.98, 0.02],
           [0.2 , 0.8 ]])
    """
    raised = np.maximum(matrix, LEAST_RATE / (len(matrix) - 1))
    np.fill_diagonal(raised, 0)
    np.fill_diagonal(raised, 1 - raised.sum(axis=1))
    return np.asarray(raised)


def confident_flips(scores: Floats, codes: Codes) -> Floats:
    """P(observed | true) by confident learning: the normalised confident joint (Northcutt et al. 2021, eqs. 1 to 3).

    A row whose score for a class is at least the mean score of the rows with that label counts as truly of that class
    (of the one with the highest score, if there are several). Counts are calibrated to the number of rows of each
    observed class; a class without any confident row keeps its labels.

    Parameters
    ----------
    scores : array of shape (n, n_classes)
        Estimates of P(observed class | x), out-of-fold or leave-one-out.
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
    thresholds = np.bincount(codes, own, minlength=n_classes) / np.maximum(sizes, 1)
    above = np.where(scores >= thresholds, scores, -np.inf)
    confident = np.isfinite(above).any(axis=1)
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (codes[confident], above[confident].argmax(axis=1)), 1.0)
    joint = counts * (sizes / np.maximum(counts.sum(axis=1), 1))[:, None]
    true = joint.sum(axis=0)
    flips = np.eye(n_classes)
    flips[true > 0] = (joint / np.maximum(true, 1e-300)).T[true > 0]
    return flips


def _one_way(method: str, X: Any, codes: Codes, weights: Floats, n_classes: int) -> FlipMatrix:
    """The asymmetric part of what "confident" or "fisher" estimates."""
    replicates = replicate_rows(X, codes, weights)
    rows, labels = X[replicates], codes[replicates]
    if (labels == labels[0]).all():  # all other classes have weight 0
        return FlipMatrix.symmetric(LEAST_RATE, n_classes)
    if method == "confident":
        ridge = fit_pooled_ridge(rows, labels, n_classes, CONFIDENT_LANDMARKS, np.random.default_rng(0))
        estimate = confident_flips(ridge.leave_one_out_scores(rows, labels), labels)
    else:
        estimate = _by_fisher(rows, labels, n_classes)
    return FlipMatrix.estimated(with_least_rate(asymmetric_part(estimate)))


def fisher_noise(X: Any, codes: Codes, weights: Floats, n_classes: int) -> FlipMatrix:
    """The whole flip matrix that RobustKernelFisherClassifier estimates."""
    replicates = replicate_rows(X, codes, weights)
    return FlipMatrix.estimated(_by_fisher(X[replicates], codes[replicates], n_classes))


def _by_fisher(X: Any, codes: Codes, n_classes: int) -> Floats:
    from noisewise.labels.fisher.classifier import RobustKernelFisherClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rough estimate is enough, and the user did not ask for that classifier
        model = RobustKernelFisherClassifier().fit(X, codes)
    return _among(n_classes, model.classes_, model.noise_.matrix)


def _by_ridge(X: Any, codes: Codes, weights: Floats, n_classes: int) -> FlipMatrix:
    model = fit_robust_ridge(None, X, codes, weights)[0]
    if len(model.classes_) == n_classes:
        return model.noise_
    return FlipMatrix(_among(n_classes, model.classes_, model.noise_.matrix))


def _among(n_classes: int, classes: Codes, matrix: Floats) -> Floats:
    """The flip matrix of all classes from that of some; the others keep their labels."""
    flips = np.eye(n_classes)
    flips[np.ix_(classes, classes)] = matrix
    return flips


def _by_estimator(noise: Any, X: Any, codes: Codes, weights: Floats, pairwise: bool) -> FlipMatrix:
    estimate = getattr(noise, "estimate", noise)
    if not callable(estimate):
        shown = repr(noise) if isinstance(noise, str) else f"a {type(noise).__name__}"
        raise ValueError(
            f"noise is {shown}; None, a FlipMatrix, {', '.join(map(repr, METHODS))}, a function of (X, y) that returns "
            "a FlipMatrix, or an object with such a method `estimate` would do"
        )
    replicates = replicate_rows(X, codes, weights)
    found = estimate(X[np.ix_(replicates, replicates)] if pairwise else X[replicates], codes[replicates])
    if not isinstance(found, FlipMatrix):
        raise ValueError(f"the noise estimator returned a {type(found).__name__}; it must return a FlipMatrix")
    return found
