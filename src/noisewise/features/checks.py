"""Checks of the stated noise against the rows: more noise than variance, and replicates of other rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise._typing import Floats
from noisewise.features.noise_argument import CONTRADICTION, correction_of_mean
from noisewise.noise import MaskingNoise, SymmetricNoise


def check_noise(
    learner: Any, every: Floats, copies: ArrayLike | None, row_covariances: ArrayLike | None = None, depth: int = 2
) -> None:
    """Warn if the rows contradict the stated noise; `every` are X and its copies together.

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
        _warn_of_excess_noise(every.mean(axis=1), stated / len(every), names, depth + 3)


def _unstated(noise: Any) -> bool:
    """Whether the variance is unknown: that of masking depends on the rows, that of symmetric noise is optional."""
    return isinstance(noise, MaskingNoise) or (isinstance(noise, SymmetricNoise) and noise.covariance is None)


def _warn_of_excess_noise(rows: Floats, stated: Floats, names: Any, stacklevel: int) -> None:
    """The variance of a noisy column is that of its clean values plus the noise: no less than the noise alone."""
    n = len(rows)
    squares = (rows - rows.mean(axis=0)) ** 2
    observed = squares.mean(axis=0)
    error = np.maximum(squares.std(axis=0), np.sqrt(2) * stated) / np.sqrt(n)  # the latter for Gaussian noise
    over = np.flatnonzero(stated > observed + CONTRADICTION * error)
    if len(over):
        worst = over[np.argmax(stated[over] - observed[over])]
        others = f" (and {len(over) - 1} more)" if len(over) > 1 else ""
        warnings.warn(
            f"noise of variance {stated[worst]:.3g} is stated for column {names[worst]}{others}, which has a "
            f"variance of {observed[worst]:.3g} in all: the fit can't be trusted; is a standard deviation given for a "
            "variance?",
            RuntimeWarning,
            stacklevel=stacklevel,
        )


def _warn_of_other_rows(X: Floats, copies: Floats, names: Any, stacklevel: int) -> None:
    """The squared difference of X and the mean of m replicates is (1 + 1/m) times the noise variance on average."""
    n, m, _ = copies.shape
    if m < 2 or n < 2:
        return
    excess = (X - copies.mean(axis=1)) ** 2 - (1 + 1 / m) * copies.var(axis=1, ddof=1)
    apart, error = excess.mean(axis=0), excess.std(axis=0) / np.sqrt(n)
    far = np.flatnonzero(apart > np.maximum(CONTRADICTION * error, 1e-9 * X.var(axis=0)))
    if len(far):
        warnings.warn(
            f"column {names[far[0]]} of X lies further from its copies than they from each other; are they copies of "
            "the same rows, in the same order and units?",
            RuntimeWarning,
            stacklevel=stacklevel,
        )
