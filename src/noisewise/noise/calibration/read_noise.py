"""Which observed labels are wrong, from scores that did not see them: robust calibration, averaged over accounts.

Every row's posterior, the flip matrix and the number of wrong labels are means over the accounts of the noise
(`_amounts`), by their evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats
from noisewise.noise.calibration.error_count import interval_of
from noisewise.noise.calibration.noise_models import Calibration, calibrate
from noisewise.noise.flip_matrix import FlipMatrix

BLOCK = 4096
MOST_PICKED = 3  # rows to look at, in expected wrong ones


@dataclass(frozen=True)
class NoiseReading:
    """The calibration of a set of rows, and what it says about these rows.

    Attributes
    ----------
    calibration : Calibration
        To read scores of other rows with.
    posterior : array of shape (n_rows, n_classes)
        Probability of each true class, given the row's scores and its observed class.
    n_wrong : float
        Expected number of observed labels that are not the true ones.
    interval : tuple of two floats
        The number of wrong labels lies here with the wanted probability.
    """

    calibration: Calibration
    posterior: NDArray[np.float32]
    n_wrong: float
    interval: tuple[float, float]


def read_noise(
    scores: Floats,
    codes: Codes,
    noise: FlipMatrix | None = None,
    rng: np.random.Generator | None = None,
    coverage: float = 0.9,
    weights: Floats | None = None,
) -> NoiseReading:
    """Find the noise in labels and the true class of each row, from scores that did not see the row's label.

    Parameters
    ----------
    scores : array of shape (n_rows, n_classes)
        Something like P(observed class | x), from a fit without the row: leave-one-out or out-of-fold.
    codes : array of int of shape (n_rows,)
        Observed classes, 0 to n_classes - 1.
    noise : FlipMatrix, optional
        The noise where it is known.
    rng : numpy generator, optional
        Draws the rows to calibrate on where there are many.
    coverage : float
        Wanted probability of the interval for the number of wrong labels.
    weights : array of shape (n_rows,), optional
        How many rows each row stands for; one by default.
    """
    n_classes = scores.shape[1]
    counted = np.ones(len(codes)) if weights is None else weights
    chosen = np.flatnonzero(counted)
    few = max(6000, 40 * n_classes)
    if len(chosen) > few:
        chosen = np.sort((rng or np.random.default_rng(0)).choice(chosen, few, replace=False))
    merged, labels, part = merge_equal(scores[chosen], codes[chosen], counted[chosen])
    calibration, trials = calibrate(merged, labels, noise, part)
    posterior, wrong = _read_rows(calibration, scores, codes, counted)
    n, n_part = float(counted.sum()), float(part.sum())
    low, high = (end * n / n_part for end in interval_of(trials, n_part, noise is None, coverage))
    low = min(low, wrong) if calibration.proven else 0.0
    return NoiseReading(calibration, posterior, wrong, (low, max(high, wrong)))


def merge_equal(scores: Floats, codes: Codes, weights: Floats) -> tuple[Floats, Codes, Floats]:
    """Rows with equal scores (in single precision) and labels as one that is heavier, in an order of their own.

    Climbs end after so many steps as rounding says: only so does a row of weight two mean the same as two rows.

    >>> merge_equal(np.array([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]), np.array([1, 1, 1]), np.array([1.0, 1.0, 2.0]))
    (array([[0.5 , 0.5 ],
           [0.25, 0.75]]), array([1, 1]), array([3., 1.]))
    """
    table = np.column_stack([scores, codes]).astype(np.float32) + np.float32(0)  # no zero below zero
    whole = np.ascontiguousarray(table).view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, first, group = np.unique(whole, return_index=True, return_inverse=True)
    return table[first, :-1].astype(np.float64), codes[first], np.bincount(group.ravel(), weights).astype(np.float64)


def _read_rows(
    calibration: Calibration, scores: Floats, codes: Codes, counted: Floats
) -> tuple[NDArray[np.float32], float]:
    """What the accounts say about each row, and how many labels are wrong by them."""
    posterior = np.empty(scores.shape, dtype=np.float32)
    wrong = 0.0
    for start in range(0, len(codes), BLOCK):
        part = slice(start, start + BLOCK)
        block, observed = np.asarray(scores[part], dtype=np.float32), codes[part]
        posterior[part] = calibration.explain(block, observed)
        right = posterior[part][np.arange(len(observed)), observed].astype(np.float64)
        wrong += float(counted[part] @ (1 - right))
    return posterior, wrong


def likely_wrong(chance_wrong: Floats) -> NDArray[np.intp]:
    """Rows to look at first: as many of the worst as make the expected F1 score largest, worst first.

    Never more than three times as many as are expected to be wrong: where all chances are small and alike, the largest
    F1 score is that of all rows, and no help.

    >>> likely_wrong(np.array([0.1, 0.9, 0.05, 0.8]))
    array([1, 3])
    """
    order = np.argsort(-chance_wrong, kind="stable")
    gains = np.cumsum(chance_wrong[order], dtype=np.float64)
    expected = 2 * gains / (np.arange(1, len(order) + 1) + gains[-1])
    most = max(1, int(np.ceil(MOST_PICKED * gains[-1])))
    return np.asarray(order[: min(int(np.argmax(expected)) + 1, most)])
