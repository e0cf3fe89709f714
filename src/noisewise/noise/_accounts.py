"""Ways to read scores, and their mean: what scores say about the truth once the noise in the labels is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._inputs import Codes, Floats
from noisewise.noise._curve import Curve
from noisewise.noise._flip import FlipMatrix


@dataclass(frozen=True)
class Account:
    """One way to read the scores: its weight, link, curve and flip matrix."""

    weight: float
    logarithmic: bool
    curve: Curve
    matrix: Floats

    def clean_posterior(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class."""
        return self.curve.posterior(link(scores, self.logarithmic))

    def explain(self, scores: NDArray[Any], codes: Codes) -> NDArray[Any]:
        """Probability of each true class, given the observed one too."""
        truth = self.clean_posterior(scores) * self.matrix.T.astype(scores.dtype)[codes]
        truth /= np.maximum(truth.sum(axis=1, keepdims=True), np.finfo(scores.dtype).tiny)
        return np.asarray(truth)


@dataclass(frozen=True)
class Calibration:
    """What scores say about the truth once the noise in the labels is accounted for.

    Attributes
    ----------
    accounts : tuple of Account
        Ways to read the scores, with weights that sum to one.
    noise : FlipMatrix
        Their mean flip matrix.
    proven : bool
        Whether the labels are clearly likelier with noise than without any; overlapping classes look alike.
    """

    accounts: tuple[Account, ...]
    noise: FlipMatrix
    proven: bool = True

    def clean_posterior(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class for scores of any rows."""
        return sum_over(account.weight * account.clean_posterior(scores) for account in self.accounts)

    def explain(self, scores: NDArray[Any], codes: Codes) -> NDArray[Any]:
        """Probability of each true class, given the scores and the observed class."""
        return sum_over(account.weight * account.explain(scores, codes) for account in self.accounts)


def sum_over(parts: Iterator[NDArray[Any]]) -> NDArray[Any]:
    """Sum of arrays, one at a time."""
    total = next(parts)
    for part in parts:
        total += part
    return total


def link(scores: NDArray[Any], logarithmic: bool) -> NDArray[Any]:
    """Scores as they enter the logits: themselves, or their logarithm (of a tenth of chance at least)."""
    return np.log(np.maximum(scores, scores.dtype.type(0.1 / scores.shape[1]))) if logarithmic else scores
