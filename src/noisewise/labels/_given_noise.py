"""A noise argument made into a flip matrix: none, a given one, or whoever estimates it."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._inputs import Codes, Floats
from noisewise.labels._nystroem import fingerprints
from noisewise.labels._ridge import RobustRidgeClassifier
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
    order = np.lexsort((codes, fingerprints(X)))
    weights = weights[order]
    whole = bool((weights == np.round(weights)).all()) and weights.sum() <= max(MOST_COPIES, len(weights))
    until = np.cumsum(weights if whole else weights * np.count_nonzero(weights) / weights.sum())
    counts = np.diff(np.floor(until + 0.5), prepend=0.0).astype(np.intp)
    return np.asarray(np.repeat(order, counts))
