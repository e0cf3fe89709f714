"""Noise rates and true classes from out-of-fold scores: calibration averaged over candidate noise models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.optimize import brentq, isotonic_regression
from scipy.special import expit, logit

from noisewise._numerics.blocks import blocks
from noisewise._numerics.row_hash import row_bytes
from noisewise._numerics.threads import threads_for
from noisewise._typing import Codes, Floats
from noisewise.noise.calibration.error_count import count_interval
from noisewise.noise.calibration.noise_models import Calibration, calibrate
from noisewise.noise.flip_matrix import FlipMatrix

FIT_ROWS, FIT_ROWS_PER_CLASS = 6000, 40  # the calibration is fitted to so many rows, drawn at random
MOST_FIT_SCORES = 4_000_000  # rows times classes of these: the fits hold a dozen such arrays
TIE = 1e-3  # in log-odds, between the first and the last of rows that would have one probability: order is kept
TIE_OF_WRONG = 1.0  # the same of labels that look wrong: with many classes hundreds would, and their order tells much
TINY = float(np.finfo(np.float32).tiny)
SMALL = 0.1  # probabilities that are graded: larger ones have no floor
STEEPEST = 4.0  # power of the grades
MOST_PICKED = 3  # rows to look at, as a multiple of the expected number of wrong ones


@dataclass(frozen=True)
class NoiseReading:
    """The calibration of a set of rows, and what follows for these rows.

    Attributes
    ----------
    calibration : Calibration
        To read scores of other rows with.
    posterior : array of shape (n_rows, n_classes)
        Posterior of the true class, given the row's scores and its observed class.
    n_wrong : float
        Expected number of observed labels that are not the true ones.
    interval : tuple of two floats
        Interval of this number with the wanted coverage.
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
    """Estimate the flip matrix and the posterior of each row's true class from out-of-fold scores.

    The model of an observed label y for scores g is robust softmax calibration behind a flip matrix T,
    ``P(y | g) = sum_j [(1 - w) softmax(scale * link(g) + offset)_j + w / K] T[j, y]``, with the link the identity or
    the logarithm, a common scale or one for each class, and T symmetric or with Dirichlet rows. Each of these candidate
    noise models is fitted by variational Bayes; posteriors, the flip matrix and the number of wrong labels are averages
    over them and over a grid of noise rates, weighted by the evidence (Bayesian model averaging).

    Parameters
    ----------
    scores : array of shape (n_rows, n_classes)
        Something like P(observed class | x), from a fit without the row: leave-one-out or out-of-fold. They are
        calibrated, and need not sum to one.
    codes : array of int of shape (n_rows,)
        Observed classes, 0 to n_classes - 1. `audit_probabilities` takes labels by name.
    noise : FlipMatrix, optional
        The noise where it is known.
    rng : numpy generator, optional
        Draws the rows to calibrate on where there are many.
    coverage : float
        Wanted coverage of the interval for the number of wrong labels.
    weights : array of shape (n_rows,), optional
        How many rows each row stands for; one by default.

    References
    ----------
    .. [1] Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to regularized
       likelihood methods. Advances in Large Margin Classifiers, MIT Press.
    .. [2] Hoeting, J. A., Madigan, D., Raftery, A. E., Volinsky, C. T. (1999). Bayesian model averaging: a tutorial.
       Statistical Science 14.
    .. [3] Jordan, M. I., Ghahramani, Z., Jaakkola, T. S., Saul, L. K. (1999). An introduction to variational methods
       for graphical models. Machine Learning 37.
    .. [4] MacKay, D. J. C. (1992). Bayesian interpolation. Neural Computation 4(3).
    """
    scores, codes = _checked(scores, codes)
    n_classes = scores.shape[1]
    counted = np.ones(len(codes)) if weights is None else weights
    chosen = np.flatnonzero(counted)
    few = min(max(FIT_ROWS, FIT_ROWS_PER_CLASS * n_classes), MOST_FIT_SCORES // n_classes)
    if len(chosen) > few:
        chosen = np.sort((rng or np.random.default_rng(0)).choice(chosen, few, replace=False))
    merged, labels, part = merge_equal(scores[chosen], codes[chosen], counted[chosen])
    with threads_for(len(labels)):
        calibration, fitted = calibrate(merged, labels, noise, part)
    n, n_part = float(counted.sum()), float(part.sum())
    low, high = (bound * n / n_part for bound in count_interval(fitted, n_part, noise is None, coverage))
    del fitted, merged  # with many classes their flip matrices are large
    posterior, wrong = _read_rows(calibration, scores, codes, counted)
    low = min(low, wrong) if calibration.proven else 0.0
    return NoiseReading(calibration, posterior, wrong, (low, max(high, wrong)))


def _checked(scores: Any, codes: Any) -> tuple[Floats, Codes]:
    """Scores and codes as arrays, or a sentence on what is wrong with them."""
    scores, codes = np.asarray(scores), np.asarray(codes)
    if scores.ndim != 2 or not np.issubdtype(scores.dtype, np.number) or not np.isfinite(scores).all():
        raise ValueError("scores must be finite numbers, a row for each label and a column for each class")
    n_classes = scores.shape[1]
    numeric = np.issubdtype(codes.dtype, np.number) or codes.dtype == bool
    if not numeric or codes.ndim != 1 or np.any((codes != np.floor(codes)) | (codes < 0) | (codes >= n_classes)):
        raise ValueError(
            f"codes must be whole numbers from 0 to {n_classes - 1}, the columns of the scores; "
            "audit_probabilities takes labels by name"
        )
    if len(scores) != len(codes):
        raise ValueError(f"there are {len(scores)} rows of scores and {len(codes)} codes; they must be as many")
    return scores if np.issubdtype(scores.dtype, np.floating) else scores.astype(np.float64), codes.astype(np.intp)


def merge_equal(scores: Floats, codes: Codes, weights: Floats) -> tuple[Floats, Codes, Floats]:
    """Rows with equal scores (in single precision) and labels as one row of their summed weight, in canonical order.

    When an iteration ends depends on rounding: only so does a row of weight two give the same fit as two rows.

    >>> merge_equal(np.array([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]), np.array([1, 1, 1]), np.array([1.0, 1.0, 2.0]))
    (array([[0.5 , 0.5 ],
           [0.25, 0.75]]), array([1, 1]), array([3., 1.]))
    """
    table = np.column_stack([scores, codes]).astype(np.float32) + np.float32(0)  # -0 becomes 0
    _, first, group = np.unique(row_bytes(table), return_index=True, return_inverse=True)
    return table[first, :-1].astype(np.float64), codes[first], np.bincount(group.ravel(), weights).astype(np.float64)


def _read_rows(
    calibration: Calibration, scores: Floats, codes: Codes, counted: Floats
) -> tuple[NDArray[np.float32], float]:
    """Posterior of each row's true class, and the expected number of wrong labels."""
    posterior = np.empty(scores.shape, dtype=np.float32)
    wrong = 0.0
    for part in blocks(len(codes)):
        block, observed = np.asarray(scores[part], dtype=np.float32), codes[part]
        posterior[part] = calibration.explain(block, observed)
        right = posterior[part][np.arange(len(observed)), observed].astype(np.float64)
        wrong += float(counted[part] @ (1 - right))
    return posterior, wrong


def graded(reading: NoiseReading, scores: NDArray[np.floating], codes: Codes, overwrite: bool = False) -> NoiseReading:
    """The reading of these rows with small probabilities told apart, in the order of the model that was fitted.

    See `CalibrationMap.posterior`. Probabilities that labels are right, or wrong, change where they are small, and
    their mean does not: the expected number of wrong labels stays, and so does its interval. With `overwrite` the
    posterior of the reading itself is changed, to save memory.
    """
    rows, posterior = np.arange(len(codes)), reading.posterior if overwrite else reading.posterior.copy()
    right = posterior[rows, codes].astype(np.float64)
    clear = _right(reading.calibration, scores, codes, rows, np.float32, graded=True)
    found, low, high = right.copy(), right < SMALL, 1 - right < SMALL
    exact = _right(reading.calibration, scores, codes, rows[low], np.float64)  # in single precision many are equal
    found[low] = _small(clear[low], exact, TIE_OF_WRONG)
    found[high] = 1 - _small(1 - clear[high], 1 - right[high], TIE)
    for part in blocks(len(codes)):
        block, label = posterior[part], (np.arange(len(codes[part])), codes[part])
        block[label] = 0
        others = block.sum(axis=1, dtype=np.float64)  # not 1 - right, which rounds to 0 where labels are nearly certain
        block *= ((1 - found[part]) / np.maximum(others, TINY))[:, None]
        block[label] = np.where(others > 0, found[part], 1)
    return replace(reading, posterior=posterior)


def _right(
    calibration: Calibration,
    scores: NDArray[np.floating],
    codes: Codes,
    rows: Codes,
    precision: DTypeLike,
    graded: bool = False,
) -> Floats:
    """Probability that the label of each of these rows is right."""
    found = np.empty(len(rows))
    for part in blocks(len(rows)):
        block: NDArray[np.floating] = np.asarray(scores[rows[part]], dtype=precision)
        observed = codes[rows[part]]
        found[part] = calibration.explain(block, observed, graded)[np.arange(len(observed)), observed]
    return found


def _small(values: Floats, ranks: Floats, tie: float) -> Floats:
    """Small probabilities in the order of the ranks, with their mean, as far apart as the values are."""
    if not len(ranks) or ranks.min() == ranks.max() == 0:
        return ranks
    below = np.log(np.clip(in_order(values, ranks, tie), TINY, SMALL) / SMALL)  # SMALL itself is at 0

    def surplus(power: float) -> float:
        return SMALL * float(np.exp(power * below).mean()) - float(ranks.mean())

    power = brentq(surplus, 0.0, STEEPEST) if surplus(STEEPEST) < 0 else STEEPEST
    return np.asarray(SMALL * np.exp(power * below))


def in_order(values: Floats, ranks: Floats, tie: float = TIE) -> Floats:
    """Probabilities nearest to these that rise with the ranks (isotonic regression), with ties told apart.

    >>> in_order(np.array([0.2, 0.1, 0.6]), np.array([1.0, 2.0, 3.0])).round(2)
    array([0.15, 0.15, 0.6 ])
    """
    _, group, counts = np.unique(ranks, return_inverse=True, return_counts=True)
    rising = isotonic_regression(np.bincount(group, values) / counts, weights=counts).x
    above = (np.cumsum(counts) - counts / 2) / counts.sum() - 0.5
    return np.asarray(expit(logit(rising) + tie * above)[group])


def likely_wrong(probability_wrong: Floats) -> NDArray[np.intp]:
    """Indices of the rows to look at first, worst first: as many as maximise the expected F1 score.

    At most three times the expected number of wrong ones: where all probabilities are small and alike, the largest F1
    score is that of all rows.

    >>> likely_wrong(np.array([0.1, 0.9, 0.05, 0.8]))
    array([1, 3])
    """
    order = np.argsort(-probability_wrong, kind="stable")
    found = np.cumsum(probability_wrong[order], dtype=np.float64)
    expected_f1 = 2 * found / (np.arange(1, len(order) + 1) + found[-1])
    most = max(1, int(np.ceil(MOST_PICKED * found[-1])))
    return np.asarray(order[: min(int(np.argmax(expected_f1)) + 1, most)])
