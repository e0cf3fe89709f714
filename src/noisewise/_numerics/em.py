"""The two steps of expectation maximisation for labels observed through a noise transition matrix, on plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats


def responsibilities(
    prior: NDArray[Any], likelihood: NDArray[Any], least: float = 0.0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """E-step, Bayes' rule over the last axis: ``prior * likelihood``, normalised, and the evidence it is divided by.

    For observed classes y behind the transition matrix T, the likelihood is ``T[:, y].T``. The evidence counts as
    `least` where it is less.

    >>> responsibilities(np.array([[0.5, 0.5]]), np.array([[0.9, 0.3]]))
    (array([[0.75, 0.25]]), array([0.6]))
    """
    joint = prior * likelihood
    evidence = np.maximum(joint.sum(axis=-1), least)
    joint /= evidence[..., None]
    return np.asarray(joint), np.asarray(evidence)


def joint_counts(posterior: NDArray[Any], codes: Codes) -> Floats:
    """Expected number of rows by true and observed class, from the posterior of each row's true class.

    >>> joint_counts(np.array([[0.75, 0.25], [1.0, 0.0], [0.5, 0.5]]), np.array([0, 1, 0]))
    array([[1.25, 1.  ],
           [0.75, 0.  ]])
    """
    n_classes = posterior.shape[1]
    return np.stack([np.bincount(codes, column, minlength=n_classes) for column in posterior.T])


def normalised_rows(counts: Floats) -> Floats:
    """M-step: counts along the last axis divided by their sum; a row of the identity where all of them are zero.

    >>> normalised_rows(np.array([[3.0, 1.0], [0.0, 0.0]]))
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    totals = counts.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(totals > 0, counts / np.where(totals > 0, totals, 1), np.eye(counts.shape[-1])))


def symmetric_matrix(n_classes: int, flipped: float, kept: float | None = None) -> Floats:
    """A square matrix with `kept` on the diagonal (1 - flipped by default), `flipped` over the rest of each row.

    Noise of one rate, or the pseudo-counts of a Dirichlet prior around it.

    >>> symmetric_matrix(3, 1.0, 4.0)
    array([[4. , 0.5, 0.5],
           [0.5, 4. , 0.5],
           [0.5, 0.5, 4. ]])
    """
    matrix = np.full((n_classes, n_classes), flipped / (n_classes - 1))
    np.fill_diagonal(matrix, 1 - flipped if kept is None else kept)
    return matrix
