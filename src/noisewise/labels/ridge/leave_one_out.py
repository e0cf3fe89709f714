"""Class scores of every row by a pooled ridge regression fitted without the row and its duplicates.

The fit is never repeated: `leave_copies_out` takes a row's part out of its own score by its leverage. Rows of the fit,
and their duplicates, are recognised by their hashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from noisewise._numerics.blocks import map_blocks
from noisewise._numerics.ridge import leave_copies_out
from noisewise._numerics.row_hash import row_hashes
from noisewise._typing import Codes, Floats
from noisewise.labels.ridge.landmarks import CENTRED, Landmarks
from noisewise.labels.standardizer import Standardizer

MOST_COPIES = 20  # more equal rows are a cell of a coarse table, each with a label of its own, and no copies
MOST_CELLS, LEAST_CELL = 30, 5  # so few distinct rows, each so often, are such a table too
LEAST_REST = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}  # of 1 - leverage: less is rounding


@dataclass(frozen=True)
class View:
    """A ridge regression in one view: scores are features @ coefficients, leverages |features @ root|^2."""

    coefficients: NDArray[Any]
    root: NDArray[Any]
    penalty: float


@dataclass(frozen=True)
class DuplicateRows:
    """Rows of the fit by hash: number of rows with this hash, their weight, and that of each label.

    Attributes
    ----------
    hashes : array of uint64, sorted
    copies : array of int
    weights : array
    label_weights : CSR of shape (n_hashes, n_classes)
    """

    hashes: NDArray[np.uint64]
    copies: NDArray[np.intp]
    weights: Floats
    label_weights: sp.csr_array

    @classmethod
    def of(cls, hashes: NDArray[np.uint64], codes: Codes, weights: Floats, n_classes: int) -> DuplicateRows:
        """Sum weights by hash."""
        distinct, group, copies = np.unique(hashes, return_inverse=True, return_counts=True)
        by_label = sp.csr_array((weights, (group.ravel(), codes)), shape=(len(distinct), n_classes), dtype=np.float64)
        return cls(distinct, copies, np.bincount(group.ravel(), weights).astype(np.float64), by_label)

    def look_up(self, hashes: NDArray[np.uint64], codes: Codes) -> tuple[Floats, Floats]:
        """Weight of the rows to leave out for each row's score, in all and by label."""
        group = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        in_fit = self.hashes[group] == hashes
        weights = np.where(in_fit, self.weights[group], 0)
        by_label = self.label_weights[group].toarray() * in_fit[:, None]
        alone = np.flatnonzero(in_fit & are_cells(self.copies)[group])
        weights[alone] /= self.copies[group[alone]]
        by_label[alone] = np.eye(by_label.shape[1])[codes[alone]] * weights[alone, None]
        return weights, by_label


def are_cells(copies: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether equal rows, given how many there are of each, are cells of a coarse table instead of copies."""
    coarse = len(copies) <= MOST_CELLS and copies.sum() >= LEAST_CELL * len(copies)
    return np.asarray(coarse | (copies > MOST_COPIES))


def copy_groups(hashes: NDArray[np.uint64]) -> Codes:
    """Group of each row: copies have the same one, numbered as they come; rows of a coarse table have their own.

    >>> copy_groups(np.array([7, 3, 7, 5], dtype=np.uint64))
    array([0, 1, 0, 2])
    """
    _, first, group, copies = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    representative = np.where(are_cells(copies)[group], np.arange(len(hashes)), first[group])
    return np.asarray(np.unique(representative, return_inverse=True)[1])


class Duplicates(Protocol):
    """Rows of the fit by hash, and what is left out with each of them: labels, or numbers."""

    @property
    def weights(self) -> Floats:
        """Weight of the rows with each hash."""

    def look_up(self, hashes: NDArray[np.uint64], observed: Any) -> tuple[Floats, Floats]:
        """Weight of the rows to leave out for each row's score, and the sum of their targets."""


@dataclass(frozen=True)
class PooledRidge:
    """A weighted sum of ridge regressions in several views, with leave-one-out scores of the rows of the fit."""

    standardizer: Standardizer
    landmarks: Landmarks
    views: tuple[View, ...]
    weights: Floats
    class_proportions: Floats
    duplicates: Duplicates

    def scores(self, X: Any) -> Floats:
        """Score of each class for each row; a row's scores sum to one."""
        return np.concatenate(list(map_blocks(X, partial(self._block, np.float64))))

    def leave_one_out_scores(self, X: Any, codes: NDArray[Any], dtype: DTypeLike | None = None) -> Floats:
        """The same by a fit without the row and its duplicates; in the precision of the fit by default."""
        wanted = self.landmarks.rows.dtype if dtype is None else dtype
        return np.concatenate(list(map_blocks(X, partial(self._block, wanted), codes)))

    def _block(self, dtype: DTypeLike, X: Any, codes: NDArray[Any] | None = None) -> Floats:
        rows = self.standardizer(X, np.float32).astype(dtype, copy=False)  # rounded as in `fit`
        if codes is not None:
            weights, by_label = self.duplicates.look_up(row_hashes(rows), codes)
            targets = by_label - weights[:, None] * self.class_proportions
            in_fit = np.flatnonzero(weights)
        pooled = np.tile(self.class_proportions, (X.shape[0], 1))
        kinds = self.landmarks.views
        for weight, view, kind, features in zip(self.weights, self.views, kinds, self.landmarks.features(rows)):
            scores = np.asarray(features @ view.coefficients.astype(dtype), dtype=np.float64)
            if codes is not None and len(in_fit):
                leverage = np.square(features[in_fit] @ view.root.astype(dtype)).sum(axis=1, dtype=np.float64)
                total = self.duplicates.weights.sum() if kind in CENTRED else np.inf
                least = LEAST_REST[np.dtype(dtype)]
                scores[in_fit] = leave_copies_out(
                    scores[in_fit], leverage, weights[in_fit], targets[in_fit], least, total
                )
            pooled += weight * scores
        return pooled
