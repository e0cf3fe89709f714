"""Rows of a fit as they are counted: each as often as its weight says, in an order that is not the user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._numerics.em import normalised_rows
from noisewise._typing import Codes, Floats
from noisewise._validation import check_binary_or_more
from noisewise.labels.noise_argument import replicate_rows
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
    """

    X: Any
    codes: Codes
    noise: FlipMatrix | None
    present: Codes
    indices: Codes
    n_classes: int

    @classmethod
    def of(cls, X: Any, codes: Codes, weights: Floats, classes: NDArray[Any], noise: FlipMatrix | None) -> CountedRows:
        """Replicate rows by weight, and leave out classes whose rows all have weight 0."""
        indices = replicate_rows(X, codes, weights)
        present, counted = np.unique(codes[indices], return_inverse=True)
        check_binary_or_more(classes[present])
        if noise is not None and len(present) < len(classes):
            noise = FlipMatrix(normalised_rows(noise.matrix[np.ix_(present, present)]))
        return cls(X[indices], counted, noise, present, indices, len(classes))

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
