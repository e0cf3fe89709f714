"""The audit of any model's probabilities: out-of-fold predictions and observed labels in, wrong labels out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from noisewise._progress import Report, reporting, step
from noisewise._typing import Codes
from noisewise._validation import listed, one_column
from noisewise._words import percent
from noisewise.audit.given_probabilities import excess_agreement, read_probabilities
from noisewise.audit.posterior import LabelsAre, both_readings, chosen_reading, fitted_to_labels, mean_of
from noisewise.audit.result import LabelAudit
from noisewise.audit.summaries import alike_classes, small_classes
from noisewise.noise import (
    FlipMatrix,
    consecutive_folds,
    fitted_temperature,
    graded,
    read_judgements,
    read_noise,
    without_fold_offsets,
)

IN_SAMPLE = 0.998  # agreement with the labels from which a model has probably seen them
# Lower agreement, if it is far above what the probabilities expect: to be as sure as they agree, forests that saw noisy
# labels need exponents of 2 to 12, out of fold 0.3 to 2, and up to 4 where labels are clean.
NEARLY_ALL, UNSURE = 0.9, 4.0
FEWEST_ROWS = 100  # with fewer, such an agreement is nothing unusual
# By how much another order of the columns has to agree better with the labels: in rows, and in standard errors.
CLEARLY_BETTER, STANDARD_ERRORS = 0.1, 4.0
MOST_ORDERED = 2000  # classes; finding the best order of more takes longer than the audit


def audit_probabilities(
    probabilities: Any,
    y: Any,
    *,
    classes: Any = None,
    labels_are: LabelsAre | None = None,
    X: Any = None,
    noise: FlipMatrix | None = None,
    annotators: Any = None,
    folds: Any = None,
    progress: bool | Report | None = None,
) -> LabelAudit:
    """Find the rows whose labels are probably wrong, from the probabilities of any model.

    Two readings of "wrong" are computed; which one holds cannot be told from the data. If the labels are *judgements*
    that a careful annotator could make from the row (pictures, texts), truth is what most of them would say, and noise
    may depend on the row. If they are *outcomes* that the row only hints at (illness, churn), classes overlap and only
    flips beyond that are errors.

    Parameters
    ----------
    probabilities : array of shape (n, n_classes), or a list of such arrays
        Out-of-fold: of models that did not see the row's label. Several arrays (models, or repeated folds) show how
        far the models themselves err, and make the result sharper. Logits are recognised and normalised.
    y : array of shape (n,)
        Observed labels: the indices of the columns, or labels of any kind.
    classes : sequence, optional
        The labels in the order of the columns. By default the names of a frame's columns where these are the labels
        (also within what all names begin and end with, as p_cat, p_dog); else the categories of a pandas Categorical
        or a polars Enum, if they are as many as the columns and the sorted labels agree no better with the
        probabilities; else 0, 1, ... or the sorted labels.
    labels_are : "judgements", "outcomes" or None
        None: rows are ranked and picked as judgements, and the interval of the number of errors spans both readings;
        as outcomes where `noise` is given.
    X : array or frame, optional
        The rows, to be shown in the report.
    noise : FlipMatrix, optional
        The flip matrix of the outcome reading, if known.
    annotators : array of shape (n,), optional
        Who gave each label.
    folds : array of shape (n,), optional
        The fold of each row: the fit that predicted it. Fits differ, and what they differ by in the mean probability of
        a class is removed, unless their labels differ too (folds by group or time). By default folds of consecutive
        rows are found where they differ visibly.
    progress : bool or callable, optional
        Whether to show progress on the screen; by default where a person looks on (a terminal, a notebook) and it takes
        more than two seconds. A function is called with the steps done, and of how many.

    Returns
    -------
    LabelAudit

    References
    ----------
    .. [1] Northcutt, C., Jiang, L., Chuang, I. (2021). Confident learning: estimating uncertainty in dataset labels.
       Journal of Artificial Intelligence Research 70.
    .. [2] Guo, C., Pleiss, G., Sun, Y., Weinberger, K. Q. (2017). On calibration of modern neural networks. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_predict
    >>> X, y = load_digits(return_X_y=True)
    >>> y[:100] = (y[:100] + 1) % 10
    >>> p = cross_val_predict(LogisticRegression(max_iter=200), X / 16, y, cv=3, method="predict_proba")
    >>> audit = audit_probabilities(p, y)
    >>> bool((audit.order[:100] < 100).mean() > 0.9)
    True
    """
    reading = chosen_reading(labels_are, noise)
    if noise is not None and not isinstance(noise, FlipMatrix):
        raise ValueError(f"noise is {noise!r:.60}; a FlipMatrix or None would do")
    arrays, names, codes, notes = read_probabilities(probabilities, y, classes)
    if len(codes) != len(arrays[0]):
        raise ValueError(
            f"there are {len(arrays[0])} rows of probabilities and {len(codes)} labels; they must be as many"
        )
    rows = _rows(X, len(codes))
    who = None if annotators is None else one_column(annotators)
    if who is not None and len(who) != len(codes):
        raise ValueError(f"annotators has length {len(who)}, y has {len(codes)} labels; one for each label is needed")
    if noise is not None and noise.n_classes != len(names):
        raise ValueError(f"noise has {noise.n_classes} classes, probabilities have {len(names)}")
    given = mean_of(arrays)
    _warn_if_in_sample(given, codes)
    _warn_if_out_of_order(given, codes, names)
    del given
    arrays, fitted_notes = fitted_to_labels(arrays, codes)
    arrays, fold_notes = _without_fold_offsets(arrays, codes, folds)
    notes += fitted_notes + fold_notes
    mean = mean_of(arrays)
    with reporting(progress, f"auditing {len(codes):,} rows"):
        outcome = graded(read_noise(mean, codes, noise), mean, codes, overwrite=True)
        step(1, 2)
        judged = read_judgements(arrays, codes, outcome, overwrite=True)  # they are copies
    readings = both_readings(outcome, judged, codes, noise)
    notes += (*alike_classes(names), *small_classes(names, codes), *readings["outcomes"].notes)
    return LabelAudit.of(rows, names, codes, readings, reading, notes, who)


def _rows(X: Any, n: int) -> Any:
    """The rows to be shown: as many as labels, in columns; without any, none."""
    if X is None:
        return np.empty((n, 0))
    rows = X if hasattr(X, "shape") or hasattr(X, "lazy") else np.asarray(X)
    if getattr(rows, "ndim", 2) == 1:
        rows = np.asarray(rows)[:, None]
    if hasattr(rows, "shape") and rows.shape[0] != n:
        raise ValueError(f"X has {rows.shape[0]} rows, y has {n} labels; they must be as many")
    return rows


def _without_fold_offsets(
    arrays: list[NDArray[Any]], codes: Codes, folds: Any
) -> tuple[list[NDArray[Any]], tuple[str, ...]]:
    """The arrays without what the fits of different folds differ by; a note where consecutive folds were found."""
    if folds is not None:
        given = np.unique(one_column(folds), return_inverse=True)[1]
        if len(given) != len(codes):
            raise ValueError(f"folds has length {len(given)}, y has {len(codes)} labels; one for each label is needed")
        return [without_fold_offsets(one, codes, given) for one in arrays], ()
    found = [consecutive_folds(one, codes) for one in arrays]
    notes = dict.fromkeys(
        f"the probabilities are those of {n} fits to consecutive rows, which differ in the mean of a class: made equal"
        for n in (int(one.max()) + 1 for one in found if one is not None)
    )
    equal = [
        one if of_fits is None else without_fold_offsets(one, codes, of_fits)
        for one, of_fits in zip(arrays, found, strict=True)
    ]
    return equal, tuple(notes)


def _warn_if_in_sample(mean: NDArray[Any], codes: Codes) -> None:
    """Warn where the model has probably seen the labels: it agrees with all, or with far more than it is sure of."""
    if len(codes) < FEWEST_ROWS:
        return
    agreement = float(np.mean(mean.argmax(axis=1) == codes))
    cure = "a model fitted to these labels can't find errors in them; out-of-fold probabilities (cross_val_predict) can"
    if agreement > IN_SAMPLE:
        warnings.warn(f"the probabilities agree with {percent(agreement, 2)} of the labels: {cure}", stacklevel=3)
    elif agreement >= NEARLY_ALL and fitted_temperature(mean, codes) > UNSURE:
        warnings.warn(
            f"the probabilities agree with {percent(agreement, 1)} of the labels and expect to agree with "
            f"{percent(float(mean.max(axis=1).mean()), 1)}: either the model is far less sure than it is right, "
            f"or it has seen the labels; {cure}",
            stacklevel=3,
        )


def _warn_if_out_of_order(mean: NDArray[Any], codes: Codes, names: NDArray[Any]) -> None:
    """Warn where the columns are probably not these classes.

    The model then agrees with fewer labels than it would by chance, or with far more in another order of its columns.
    """
    if len(codes) < FEWEST_ROWS:
        return
    modes, n = mean.argmax(axis=1), len(codes)
    agreement = float(np.mean(modes == codes))
    by_chance = agreement - excess_agreement(modes, codes, len(names))
    if agreement < by_chance - STANDARD_ERRORS * np.sqrt(by_chance * (1 - by_chance) / n):
        warnings.warn(
            f"the probabilities agree with {percent(agreement, 1)} of the labels, fewer than by chance "
            f"({percent(by_chance, 1)}): are their columns in the order of the classes, {listed(names.tolist())}?",
            stacklevel=3,
        )
    elif (order := better_order(modes, codes, len(names))) is not None:
        better = float(np.mean(order[modes] == codes))
        warnings.warn(
            f"the probabilities agree with {percent(agreement, 1)} of the labels, and with {percent(better, 1)} if "
            f"their columns are {listed(names[order].tolist())}: are they in the order of the classes, "
            f"{listed(names.tolist())}?",
            stacklevel=3,
        )


def better_order(modes: Codes, codes: Codes, n_classes: int) -> Codes | None:
    """The class of each column, if the predicted columns agree far better with the labels in that order; else None.

    The order is found by half of the rows (linear assignment of columns to classes, by how often they coincide beyond
    chance) and has to agree better with the labels of the others.

    >>> labels = np.arange(300) % 3
    >>> better_order(np.array([0, 2, 1])[labels], labels, 3), better_order(labels, labels, 3)
    (array([0, 2, 1]), None)
    """
    if n_classes > MOST_ORDERED:
        return None
    half = np.random.default_rng(0).random(len(codes)) < 0.5
    n = int(half.sum())
    counts = np.bincount(codes[half] * n_classes + modes[half], minlength=n_classes**2)
    excess = counts.reshape(n_classes, n_classes).astype(np.float64)
    excess -= np.outer(excess.sum(axis=1), excess.sum(axis=0) / max(n, 1))
    order = np.empty(n_classes, dtype=np.intp)
    classes, columns = linear_sum_assignment(excess, maximize=True)
    order[columns] = classes
    given, labels = modes[~half], codes[~half]
    moved = order[given]
    gains = (moved == labels).astype(np.float64) - (given == labels)
    gain = excess_agreement(moved, labels, n_classes) - excess_agreement(given, labels, n_classes)
    least = max(CLEARLY_BETTER, STANDARD_ERRORS * float(gains.std()) / np.sqrt(len(labels)))
    return order if gain > least else None
