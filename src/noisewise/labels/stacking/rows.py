"""Rows of a fit as they are counted: each as often as its weight says, in an order that is not the user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._numerics.em import normalised_rows
from noisewise._numerics.row_hash import row_hashes
from noisewise._typing import Codes, Floats
from noisewise._validation import check_binary_or_more
from noisewise.labels.noise_argument import replicate_rows
from noisewise.labels.ridge.leave_one_out import copy_groups
from noisewise.noise import FlipMatrix


@dataclass(frozen=True)
class CountedRows:
    """Replicated rows with classes 0, 1, ... that all have rows; random draws on them do not depend on the order given.

    Attributes
    ----------
    X : array or CSR of shape (n_counted, d)
    codes : array of int of shape (n_counted,)
        Classes among those present.
    noise : FlipMatrix, optional
        The noise of the classes present, where it is known.
    present : array of int
        The classes that have rows, among all.
    indices : array of int of shape (n_counted,)
        The user's row behind each.
    groups : array of int of shape (n_counted,)
        Copies of a row are of one group, and left out together: each would tell the label of the others.
    """

    X: Any
    codes: Codes
    noise: FlipMatrix | None
    present: Codes
    indices: Codes
    n_classes: int
    groups: Codes

    @classmethod
    def of(cls, X: Any, codes: Codes, weights: Floats, classes: NDArray[Any], noise: FlipMatrix | None) -> CountedRows:
        """Replicate rows by weight, and leave out classes whose rows all have weight 0."""
        indices = replicate_rows(X, codes, weights)
        present, counted = np.unique(codes[indices], return_inverse=True)
        check_binary_or_more(classes[present])
        if noise is not None and len(present) < len(classes):
            noise = FlipMatrix(normalised_rows(noise.matrix[np.ix_(present, present)]))
        groups = copy_groups(row_hashes(X, exact=True)[indices])
        return cls(X[indices], counted, noise, present, indices, len(classes), groups)

    def folds(self, n_folds: int) -> Codes:
        """The fold of each row: groups by turns, class by class, so that folds are stratified."""
        labels = self.codes[np.unique(self.groups, return_index=True)[1]]
        order = np.argsort(labels, kind="stable")
        folds = np.empty(len(labels), dtype=np.intp)
        folds[order] = (np.arange(len(labels)) - np.searchsorted(labels[order], labels[order])) % n_folds
        return np.asarray(folds[self.groups])

    def has_all_classes_without(self, n_folds: int) -> bool:
        """Whether every class has rows in two folds or more, so that a fit without one fold knows all of them."""
        counts = np.bincount(n_folds * self.codes + self.folds(n_folds), minlength=n_folds * len(self.present))
        return bool(np.count_nonzero(counts.reshape(-1, n_folds), axis=1).min() > 1)

    def noise_among_all(self, noise: FlipMatrix) -> FlipMatrix:
        """The flip matrix of all classes; those without rows keep their labels."""
        flips = np.eye(self.n_classes)
        flips[np.ix_(self.present, self.present)] = noise.matrix
        return FlipMatrix(flips)

    def posterior_of_rows(
        self, posterior: Floats, X: Any, codes: Codes, noise: FlipMatrix, predict: Callable[[Any], Floats]
    ) -> Floats:
        """Posterior of the true class of the user's rows, all classes; rows of weight 0 by the model that is fitted."""
        found = np.zeros((len(codes), self.n_classes))
        np.add.at(found, (self.indices[:, None], self.present), posterior)
        counts = np.bincount(self.indices, minlength=len(codes))
        if (rest := np.flatnonzero(counts == 0)).size:
            found[rest] = noise.explain(predict(X[rest]), codes[rest])
        return np.asarray(found / np.maximum(counts, 1)[:, None])
