"""Labels, scores and weights of the corrected metrics as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats
from noisewise._validation import encode_labels
from noisewise.noise import FlipMatrix


@dataclass(frozen=True)
class Rows:
    """Unbiased targets of the observed classes, with weights; equal rows may be aggregated.

    Attributes
    ----------
    targets : array of shape (n, n_classes)
        ``inv(T)[observed]``: their mean over the noise is the one-hot vector of the true class.
    weights, squares : arrays of shape (n,)
        Sums of the weights and of their squares over the aggregated rows.
    noise : FlipMatrix
    """

    targets: Floats
    weights: Floats
    squares: Floats
    noise: FlipMatrix

    @classmethod
    def of(cls, observed: Codes, weights: Floats, noise: FlipMatrix) -> Rows:
        """One row each."""
        return cls(noise.unbiased_targets(observed), weights, weights**2, noise)

    @classmethod
    def cells(cls, observed: Codes, predicted: Codes, weights: Floats, noise: FlipMatrix) -> tuple[Rows, Codes]:
        """Rows aggregated by observed and predicted class; and the predicted class of each cell."""
        n = noise.n_classes
        cells, cell = np.unique(observed * n + predicted, return_inverse=True)
        sums, squares = (np.bincount(cell, mass).astype(np.float64) for mass in (weights, weights**2))
        return cls(noise.unbiased_targets(cells // n), sums, squares, noise), cells % n

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weights.sum())

    def class_weights(self, classes: NDArray[Any]) -> Floats:
        """Corrected weight of each true class, which must be above zero."""
        found = self.weights @ self.targets
        if found.min() <= 0:
            worst = int(np.argmin(found))
            raise ValueError(
                f"after correction class {classes.tolist()[worst]!r} has {found[worst]:.3g} rows: its label is "
                "observed no more often than the noise alone explains; more rows or a better flip matrix are needed"
            )
        return np.asarray(found)


def read_classes(classes: Any, noise: FlipMatrix, *labels: Any) -> tuple[NDArray[Any], list[Codes]]:
    """The classes in the order of the flip matrix, and each list of labels as indices of them.

    Without `classes` these are 0, 1, ... if all labels are such integers, else all labels, in order.

    >>> read_classes(None, FlipMatrix.none(2), ["yes", "no"], ["no", "no"])
    (array(['no', 'yes'], dtype='<U3'), [array([1, 0]), array([0, 0])])
    """
    if not isinstance(noise, FlipMatrix):
        raise ValueError(f"noise must be a FlipMatrix, not {type(noise).__name__}")
    coded = [encode_labels(part) for part in labels]
    if len({len(codes) for _, codes in coded}) > 1:
        raise ValueError(f"there are {' and '.join(str(len(codes)) for _, codes in coded)} labels; one a row is needed")
    if not len(coded[0][1]):
        raise ValueError("there are no labels; a score needs at least one row")
    present = list(dict.fromkeys(label for found, _ in coded for label in found.tolist()))
    known = _in_order(present, noise.n_classes) if classes is None else _as_given(classes)
    if len(known) != noise.n_classes:
        where = "`classes` names" if classes is not None else "the labels have"
        raise ValueError(
            f"the noise is for {noise.n_classes} classes, {where} {len(known)}"
            + ("" if classes is not None else "; name all with `classes=`, in the order of the flip matrix")
        )
    indices = {label: index for index, label in enumerate(known.tolist())}
    for label in present:
        if label not in indices:
            raise ValueError(f"label {label!r} is not among the classes {', '.join(map(repr, known.tolist()[:8]))}")
    return known, [
        np.array([indices[label] for label in found.tolist()], dtype=np.intp)[codes] for found, codes in coded
    ]


def read_scores(y_score: Any, n: int, n_classes: int) -> Floats:
    """Scores of shape (n, n_classes), or (n, 1) for the second of two classes."""
    scores = np.asarray(y_score.to_numpy() if hasattr(y_score, "to_numpy") else y_score, dtype=np.float64)
    if scores.shape == (n,) and n_classes == 2:
        scores = scores[:, None]
    elif scores.shape != (n, n_classes):
        wanted = f"({n},) or ({n}, 2)" if n_classes == 2 else f"({n}, {n_classes})"
        raise ValueError(f"the scores have shape {scores.shape}; for these labels and classes it must be {wanted}")
    if not np.isfinite(scores).all():
        raise ValueError("the scores hold missing or infinite values")
    return scores


def _in_order(present: list[Any], n_classes: int) -> NDArray[Any]:
    if all(isinstance(label, int) and 0 <= label < n_classes for label in present):
        return np.arange(n_classes)
    return encode_labels(present)[0]


def _as_given(classes: Any) -> NDArray[Any]:
    labels = classes.tolist() if hasattr(classes, "tolist") else list(classes)
    if len(set(labels)) < len(labels):
        raise ValueError("`classes` names a class twice")
    known = np.empty(len(labels), dtype=object)
    known[:] = labels
    return known
