"""Checks of the stated noise against the rows: more noise than variance, copies given twice, repeated or other rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise._numerics.row_hash import row_hashes
from noisewise._typing import Floats
from noisewise.features.noise_argument import CONTRADICTION, correction_of_mean
from noisewise.noise import MaskingNoise, SymmetricNoise

FEW_ROWS = 5  # of fewer, copies of rounded values may be equal by chance
NEGLIGIBLE_NOISE = 1e-9  # of a column's variance: a column without noise has no contradiction to find


def check_noise(
    learner: Any,
    every: Floats,
    copies: ArrayLike | None,
    row_covariances: ArrayLike | None = None,
    depth: int = 2,
    refuse: bool = True,
) -> None:
    """Refuse copies given twice and noise that the rows contradict, or warn of it; `every` are X and its copies.

    With `refuse` False (pieces of a stream) a contradiction gets a warning. Warnings point at the user's line: `depth`
    methods of the learner lie in between, such as fit and one it calls.
    """
    names = getattr(learner, "feature_names_in_", np.arange(every.shape[2]))
    known = learner.noise is not None or row_covariances is not None
    if copies is not None:
        if every.shape[1] == 1 and not known:
            raise ValueError("copies hold X alone, which can't show its noise; give a second copy, or noise=")
        if every.shape[1] == 1 + np.shape(copies)[1]:
            _warn_of_other_rows(every[:, 0], every[:, 1:], names, depth + 3)
    if isinstance(learner.noise, MaskingNoise):  # discrete, and its variance depends on the rows
        return
    correction = correction_of_mean(every, learner.noise if _stated(learner.noise) else None, row_covariances)
    noise = correction.total(len(every)) / len(every)
    if not known or noise.any():
        refuse_equal_copies(every)
    if noise.any():
        _warn_of_repeated_rows(every, depth + 3)
        if known and _stated(learner.noise):
            _check_excess_noise(every.mean(axis=1), noise, names, depth + 3, refuse)


def refuse_equal_copies(every: Floats) -> None:
    """Refuse replicates of which two are the same, row for row."""
    if len(every) < FEW_ROWS:
        return
    for second in range(1, every.shape[1]):
        for first in range(second):
            if np.array_equal(every[:, first], every[:, second]):
                raise ValueError(
                    f"copies {first} and {second} are the same, row for row, as if a copy was given twice: that shows "
                    "no noise; give independent measurements, or one copy and noise="
                )


def _stated(noise: Any) -> bool:
    """Whether the variance is stated: that of symmetric noise is optional."""
    return not (isinstance(noise, SymmetricNoise) and noise.covariance is None)


def _check_excess_noise(rows: Floats, noise: Floats, names: Any, stacklevel: int, refuse: bool) -> None:
    """The rows vary along every direction by their clean values plus the noise: no less than by the noise alone.

    The smallest variance of n rows of noise in d columns, relative to the noise, is above (1 - sqrt(d/n) - t/sqrt(n))^2
    but for a probability of exp(-t^2/2). Constant columns are left out: they have no weight.
    """
    n, some = len(rows), np.flatnonzero((rows != rows[0]).any(axis=0))
    centred = rows[:, some] - rows[:, some].mean(axis=0)
    observed = centred.T @ centred / n
    variances, stated = np.diag(observed), noise[np.ix_(some, some)]
    least = max(0.0, 1 - np.sqrt(len(some) / n) - CONTRADICTION / np.sqrt(n)) ** 2
    if not least or not (np.diag(stated) > NEGLIGIBLE_NOISE * variances).any():
        return
    scale = np.sqrt(variances)
    values, vectors = np.linalg.eigh((observed - least * stated) / np.outer(scale, scale))
    if values[0] >= -NEGLIGIBLE_NOISE:
        return
    worst = int(np.argmax(np.abs(vectors[:, 0])))
    over = np.flatnonzero(np.diag(stated) > variances)
    if worst in over:
        others = f" (and {len(over) - 1} more)" if len(over) > 1 else ""
        what = f"{others}, which has a variance of {variances[worst]:.3g} in all"
    else:
        what = ", of which other columns predict more than so much noise allows"
    sentence = (
        f"noise of variance {stated[worst, worst]:.3g} is stated for column {names[some[worst]]}{what}: is a standard "
        "deviation given for a variance? State less noise, or none for columns without"
    )
    if refuse:
        raise ValueError(sentence)
    warnings.warn(f"{sentence}; the fit can't be trusted", RuntimeWarning, stacklevel=stacklevel)


def _warn_of_repeated_rows(every: Floats, stacklevel: int) -> None:
    """Noise that is drawn anew makes all rows different: most of them repeated are measurements given many times."""
    n, m, d = every.shape
    if n < FEW_ROWS or m * d == 1:  # rounded values of a single column may well be equal
        return
    n_distinct = len(np.unique(row_hashes(every.reshape(n, m * d), exact=True)))
    if n_distinct < n / 2:
        warnings.warn(
            f"of {n} noisy rows only {n_distinct} are distinct: a row that is repeated repeats its noise, which does "
            "not average out; give each measured row once",
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
