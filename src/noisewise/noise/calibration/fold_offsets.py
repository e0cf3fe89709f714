"""Out-of-fold probabilities come from one fit a fold: what the fits differ by, found and removed.

Folds are drawn at random, so the mean probability of a class is the same in all of them, but for sampling error and the
bias of the fit that predicts the fold. An offset for each class and fold, in the logits, makes the means equal; it is
shrunk by what sampling error explains (James-Stein).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from scipy.stats import chi2_contingency

from noisewise._typing import Codes, Floats

MOST_FOLDS = 10  # that are looked for
LEAST_EXCESS = 10.0  # standard deviations of chi-squared, from which fits differ
LEAST_LIKE_LABELS = 0.001  # probability below which the labels of folds differ: they were not drawn at random
MOST_TREND = 0.01  # chi-squared a row, above chance, of labels by half of a fold: above, rows are sorted
ITERATIONS, STEP = 30, 0.5  # half of the diagonal's Newton step: two classes that share all rows move twice as far
LONGEST_STEP = 1.0  # of a logit: the rows of a small fold may all be certain, and the diagonal nearly zero
TOLERANCE = 1e-5  # of the mean probabilities
LEAST_PROBABILITY = 1e-7  # before its logarithm is taken


def consecutive_folds(p: NDArray[np.floating], codes: Codes) -> Codes | None:
    """The fold of each row, where the probabilities of consecutive rows are visibly those of different fits.

    The fit that predicts the second half favours the first class; the labels of both halves are alike:

    >>> rng = np.random.default_rng(0)
    >>> p, codes = rng.dirichlet([2, 2, 2], 3000), np.arange(3000) % 3
    >>> consecutive_folds(p, codes) is None
    True
    >>> p[1500:] = 0.7 * p[1500:] + [0.3, 0, 0]
    >>> np.bincount(consecutive_folds(p, codes))
    array([1500, 1500])
    """
    n = len(codes)
    found, most, moments = None, LEAST_EXCESS, _moments(p)
    mixed = np.random.default_rng(0).permutation(n)
    for n_folds in range(2, min(MOST_FOLDS, n // 100) + 1):
        folds = np.repeat(np.arange(n_folds), [len(part) for part in np.array_split(np.arange(n), n_folds)])
        excess = _excess(p, folds, moments)
        if excess > most and excess > 2 * _excess(p, folds[mixed], moments) and _labels_are_alike(codes, folds):
            found, most = folds, excess
    return None if found is None or _are_sorted(codes, found) else found


def without_fold_offsets(p: NDArray[np.floating], codes: Codes, folds: Codes) -> NDArray[np.floating]:
    """Probabilities with the mean of each class made equal in all folds, as far as sampling error does not explain it.

    As they are where the labels of the folds differ: such folds were not drawn at random.

    >>> p = np.array([[0.8, 0.2], [0.6, 0.4]] * 500 + [[0.5, 0.5], [0.3, 0.7]] * 500)
    >>> equal = without_fold_offsets(p, np.arange(2000) // 2 % 2, np.arange(2000) // 1000)
    >>> np.array([equal[:1000].mean(axis=0), equal[1000:].mean(axis=0)]).round(2)
    array([[0.55, 0.45],
           [0.55, 0.45]])
    """
    if not _labels_are_alike(codes, folds):
        return p
    moments = overall, _ = _moments(p)
    means, statistic, _ = _differences(p, folds, moments)
    by_chance = (len(means) - 1) * int(np.sum(moments[1] > 0))
    kept = min(by_chance / statistic, 1.0) if statistic > 0 else 1.0
    equal = p.copy()
    for fold, mean in enumerate(means):
        rows = folds == fold
        if rows.any():
            equal[rows] = _with_mean(p[rows], overall + kept * (mean - overall))
    return equal


def _with_mean(p: NDArray[np.floating], wanted: Floats) -> NDArray[np.floating]:
    """Rows with offsets of the logits, such that their mean is the wanted one: Newton steps with the diagonal."""
    logits = np.log(np.maximum(p, LEAST_PROBABILITY))
    offsets = np.zeros(p.shape[1])
    for _ in range(ITERATIONS):
        moved = np.exp(log_softmax(logits + offsets.astype(p.dtype), axis=1))
        gap = wanted - moved.mean(axis=0, dtype=np.float64)
        if np.abs(gap).max() < TOLERANCE:
            break
        step = STEP * gap / np.maximum((moved * (1 - moved)).mean(axis=0, dtype=np.float64), TOLERANCE)
        offsets += np.clip(step, -LONGEST_STEP, LONGEST_STEP)
    return np.asarray(moved)


def _moments(p: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Mean and variance of the probability of each class."""
    return p.mean(axis=0, dtype=np.float64), p.var(axis=0, dtype=np.float64)


def _differences(p: NDArray[np.floating], folds: Codes, moments: tuple[Floats, Floats]) -> tuple[Floats, float, int]:
    """Mean probabilities by fold; chi-squared of their differences, and its degrees of freedom."""
    counts = np.bincount(folds)
    means = np.stack([p[folds == fold].mean(axis=0, dtype=np.float64) for fold in range(len(counts))])
    overall, variance = moments
    varies = variance > 0
    squares = counts[:, None] * (means - overall)[:, varies] ** 2 / variance[varies]
    return means, float(squares.sum()), (len(counts) - 1) * (p.shape[1] - 1)


def _excess(p: NDArray[np.floating], folds: Codes, moments: tuple[Floats, Floats]) -> float:
    """Chi-squared of the differences between folds, in standard deviations above its mean."""
    _, statistic, degrees = _differences(p, folds, moments)
    return float((statistic - degrees) / np.sqrt(2 * degrees))


def _labels_are_alike(codes: Codes, folds: Codes) -> bool:
    """Whether labels are as frequent in all folds, but for chance."""
    return bool(chi2_contingency(_table(codes, folds)).pvalue > LEAST_LIKE_LABELS)


def _are_sorted(codes: Codes, folds: Codes) -> bool:
    """Whether labels differ between the two halves of consecutive folds: then rows are no random draw of each fold."""
    starts = np.searchsorted(folds, folds)
    sizes = np.bincount(folds)[folds]
    halves = 2 * folds + (2 * (np.arange(len(folds)) - starts) >= sizes)
    test = chi2_contingency(_table(codes, halves))
    return bool((test.statistic - test.dof) / len(codes) > MOST_TREND)


def _table(codes: Codes, folds: Codes) -> Floats:
    """How often each label that occurs is in each fold that has rows."""
    table = np.zeros((folds.max() + 1, codes.max() + 1))
    np.add.at(table, (folds, codes), 1)
    return np.asarray(table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0])
