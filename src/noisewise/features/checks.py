"""What is said about the noise, held against the rows: more noise than there is variance, copies of other rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise._typing import Floats
from noisewise.features.noise_argument import correction_of_mean
from noisewise.noise.feature_noise import MaskingNoise, SymmetricNoise

CHANCE = 5.0  # standard errors


def check_noise(
    learner: Any, every: Floats, copies: ArrayLike | None, row_covariances: ArrayLike | None = None, depth: int = 2
) -> None:
    """Warn if rows and what is said about their noise can't both be right; `every` are X and its copies together.

    Warnings point at the user's line: `depth` methods of the learner lie in between, such as fit and one it calls.
    """
    names = getattr(learner, "feature_names_in_", np.arange(every.shape[2]))
    known = learner.noise is not None or row_covariances is not None
    if copies is not None:
        if every.shape[1] == 1 and not known:
            raise ValueError("copies hold X alone, which can't show its noise; give a second copy, or noise=")
        if every.shape[1] == 1 + np.shape(copies)[1]:
            _warn_of_other_rows(every[:, 0], every[:, 1:], names, depth + 3)
    if known and not _unstated(learner.noise):
        stated = correction_of_mean(every, learner.noise, row_covariances).sums(len(every), 1, 0)[0].diagonal()
        _warn_of_too_much(every.mean(axis=1), stated / len(every), names, depth + 3)


def _unstated(noise: Any) -> bool:
    """Whether a law does not state its variance: that of masks depends on the rows, that of a function may be open."""
    return isinstance(noise, MaskingNoise) or (isinstance(noise, SymmetricNoise) and noise.covariance is None)


def _warn_of_too_much(rows: Floats, stated: Floats, names: Any, stacklevel: int) -> None:
    """Noise alone makes a column vary as much as itself, and clean values can only add to that."""
    n = len(rows)
    squares = (rows - rows.mean(axis=0)) ** 2
    seen = squares.mean(axis=0)
    error = np.maximum(squares.std(axis=0), np.sqrt(2) * stated) / np.sqrt(n)  # Gaussian noise errs as much
    over = np.flatnonzero(stated > seen + CHANCE * error)
    if len(over):
        worst = over[np.argmax(stated[over] - seen[over])]
        others = f" (and {len(over) - 1} more)" if len(over) > 1 else ""
        warnings.warn(
            f"noise of variance {stated[worst]:.3g} is stated for column {names[worst]}{others}, which varies by "
            f"{seen[worst]:.3g} in all: what is learnt can't be trusted; is a standard deviation given for a variance?",
            RuntimeWarning,
            stacklevel=stacklevel,
        )


def _warn_of_other_rows(X: Floats, copies: Floats, names: Any, stacklevel: int) -> None:
    """From the mean of m copies X differs by 1 + 1/m of the noise's variance, which the copies show."""
    n, m, _ = copies.shape
    if m < 2 or n < 2:
        return
    excess = (X - copies.mean(axis=1)) ** 2 - (1 + 1 / m) * copies.var(axis=1, ddof=1)
    apart, error = excess.mean(axis=0), excess.std(axis=0) / np.sqrt(n)
    far = np.flatnonzero(apart > np.maximum(CHANCE * error, 1e-9 * X.var(axis=0)))
    if len(far):
        warnings.warn(
            f"column {names[far[0]]} of X lies further from its copies than they from each other; are they copies of "
            "the same rows, in the same order and units?",
            RuntimeWarning,
            stacklevel=stacklevel,
        )
