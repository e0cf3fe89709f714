"""Metrics of predicted labels: accuracy, balanced accuracy and F1."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise._validation import check_weights
from noisewise.metrics.inputs import Rows, read_classes
from noisewise.metrics.score import Score, noise_covariance, score_of
from noisewise.noise import FlipMatrix


def corrected_accuracy(
    y_observed: Any,
    y_pred: Any,
    *,
    noise: FlipMatrix,
    classes: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.95,
    noise_uncertainty: Any = None,
    population: bool = False,
) -> Score:
    """Accuracy with respect to the true labels, from noisy test labels.

    With the noise transition matrix T (a `FlipMatrix`), the unbiased target ``inv(T)[observed]`` of a row replaces the
    one-hot vector of its true class. Confidence intervals are from the variance over the noise (delta method).

    Parameters
    ----------
    y_observed : array of shape (n,)
        Noisy test labels.
    y_pred : array of shape (n,)
        Predicted labels. They must not depend on these test labels.
    noise : FlipMatrix
        Noise transition matrix of the test labels.
    classes : array of shape (n_classes,), optional
        The labels in the order of the flip matrix. By default 0, 1, ... if all labels are such integers, else the
        labels found in `y_observed` and `y_pred`, in order.
    sample_weight : array of shape (n,), optional
        Weight of each row.
    confidence : float, default=0.95
        Coverage probability of the interval.
    noise_uncertainty : array, optional
        Uncertainty of an estimated flip matrix: an array of shape (n_classes,) with the number of checked
        rows of each true class, (n_classes, n_classes) with their counts by true and observed class, or the
        (n_classes^2, n_classes^2) covariance of its entries, row by row. The interval then includes it.
    population : bool, default=False
        False: the interval is for the score on the true labels of these rows, so without noise it is a point.
        True: for the score on new rows of the same distribution, so it includes the sampling error of the rows.

    Returns
    -------
    Score
        A named tuple of value and interval; ``float(score)`` is the value. The value is unbiased, so that values of
        several test sets or folds can be averaged: where the true score is near 1, random error takes it above 1 as
        often as below. The interval is clipped to [0, 1]; report ``min(value, 1)`` as a point estimate.

    References
    ----------
    .. [1] Natarajan, N., Dhillon, I. S., Ravikumar, P., Tewari, A. (2013). Learning with noisy labels. NeurIPS 26.
       (Lemma 1: unbiased losses from noisy labels.)

    Examples
    --------
    >>> noise = FlipMatrix.binary(false_positive=0.2, false_negative=0.2)
    >>> y_pred = np.repeat([0, 1], 100)
    >>> y_observed = np.concatenate([y_pred[:80], 1 - y_pred[80:120], y_pred[120:]])  # 80 % agree
    >>> value, interval = corrected_accuracy(y_observed, y_pred, noise=noise)
    >>> print(f"{value:.2f} ({interval[0]:.2f} to {interval[1]:.2f})")
    1.00 (0.91 to 1.00)
    >>> y_observed[80:84] = 0  # 82 % agree: fewer labels were flipped than expected
    >>> value, interval = corrected_accuracy(y_observed, y_pred, noise=noise)
    >>> print(f"{value:.2f} ({interval[0]:.2f} to {interval[1]:.2f})")
    1.03 (0.94 to 1.00)
    """
    classes, (observed, predicted) = read_classes(classes, noise, y_observed, y_pred)
    rows, guess = Rows.cells(observed, predicted, check_weights(sample_weight, observed), noise)
    right = (guess[:, None] == np.arange(noise.n_classes)).astype(np.float64)
    value = float(rows.weights @ (rows.targets * right).sum(axis=1)) / rows.total
    return score_of(value, (right - value) / rows.total, rows, (0.0, 1.0), confidence, noise_uncertainty, population)


def corrected_balanced_accuracy(
    y_observed: Any,
    y_pred: Any,
    *,
    noise: FlipMatrix,
    classes: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.95,
    noise_uncertainty: Any = None,
    population: bool = False,
) -> Score:
    """Balanced accuracy (mean recall of the true classes), from noisy test labels.

    Parameters are those of `corrected_accuracy`. A class whose corrected weight is not above zero is an error. The bias
    of the ratios is corrected to second order.

    References
    ----------
    .. [1] Natarajan, N., Dhillon, I. S., Ravikumar, P., Tewari, A. (2013). Learning with noisy labels. NeurIPS 26.
       (Lemma 1: unbiased losses from noisy labels.)

    Examples
    --------
    >>> noise = FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
    >>> y_observed = noise.corrupt(np.repeat([0, 1], [900, 100]), rng=0)
    >>> print(f"{corrected_balanced_accuracy(y_observed, np.zeros(1000, int), noise=noise).value:.2f}")
    0.50
    """
    classes, (observed, predicted) = read_classes(classes, noise, y_observed, y_pred)
    rows, guess = Rows.cells(observed, predicted, check_weights(sample_weight, observed), noise)
    rows.class_weights(classes)
    value, influence = _mean_of_ratios(rows, guess, np.arange(noise.n_classes), 0.0)
    return score_of(value, influence, rows, (0.0, 1.0), confidence, noise_uncertainty, population)


def corrected_f1(
    y_observed: Any,
    y_pred: Any,
    *,
    noise: FlipMatrix,
    classes: Any = None,
    pos_label: Any = None,
    average: str = "binary",
    sample_weight: Any = None,
    confidence: float = 0.95,
    noise_uncertainty: Any = None,
    population: bool = False,
) -> Score:
    """F1, the harmonic mean of precision and recall, with respect to the true labels, from noisy test labels.

    Parameters
    ----------
    pos_label : label, optional
        The class of the F1 with ``average="binary"``; by default the second of two classes.
    average : {"binary", "macro"}
        F1 of one class, or the mean over all classes.

    The other parameters are those of `corrected_accuracy`.

    References
    ----------
    .. [1] Natarajan, N., Dhillon, I. S., Ravikumar, P., Tewari, A. (2013). Learning with noisy labels. NeurIPS 26.
       (Lemma 1: unbiased losses from noisy labels.)

    Examples
    --------
    >>> noise = FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
    >>> y = np.repeat([0, 1], [700, 300])
    >>> value, interval = corrected_f1(noise.corrupt(y, rng=0), y, noise=noise)  # perfect predictions
    >>> interval[0] < 1 <= interval[1]
    True
    """
    known, (observed, predicted) = read_classes(classes, noise, y_observed, y_pred)
    rows, guess = Rows.cells(observed, predicted, check_weights(sample_weight, observed), noise)
    wanted = _wanted(known.tolist(), pos_label, average)
    corrected = rows.class_weights(known) if average == "macro" else rows.weights @ rows.targets
    guessed = np.bincount(guess, rows.weights, minlength=noise.n_classes)
    if (corrected + guessed)[wanted].min() <= 0:
        raise ValueError("the class is never predicted, and the noise explains all its labels; its F1 has no meaning")
    value, influence = _mean_of_ratios(rows, guess, wanted, 1.0)
    return score_of(value, influence, rows, (0.0, 1.0), confidence, noise_uncertainty, population)


def _wanted(classes: list[Any], pos_label: Any, average: str) -> Codes:
    if average == "macro":
        return np.arange(len(classes))
    if average != "binary":
        raise ValueError(f'average is {average!r}; "binary" (one class) or "macro" (mean over classes) would do')
    if pos_label is None and len(classes) > 2:
        raise ValueError(f'there are {len(classes)} classes; name one with pos_label=, or take average="macro"')
    if pos_label is not None and pos_label not in classes:
        raise ValueError(f"pos_label {pos_label!r} is not among the classes {', '.join(map(repr, classes[:8]))}")
    return np.array([classes.index(pos_label) if pos_label is not None else 1])


def _mean_of_ratios(rows: Rows, guess: Codes, wanted: Codes, guesses_count: float) -> tuple[float, Floats]:
    """Mean over the wanted classes c of recall (hits over true members), or with `guesses_count` of 1, of F1.

    F1 of c is 2 hits / (members + guesses). Returns the value, with the bias of the ratio corrected to second order,
    and the influence of a row on it for every true class.
    """
    value, influence = 0.0, np.zeros(rows.targets.shape)
    for c in wanted:
        is_c = np.zeros_like(influence)
        is_c[:, c] = 1
        guessed = (guess == c).astype(np.float64)
        above = is_c * (guessed * (1 + guesses_count))[:, None]
        below = is_c + (guessed * guesses_count)[:, None]
        top, bottom = (float(rows.weights @ (rows.targets * part).sum(axis=1)) for part in (above, below))
        excess = above - top / bottom * below
        value += top / bottom + noise_covariance(rows, excess, below) / bottom**2
        influence += excess / bottom
    return value / len(wanted), influence / len(wanted)
