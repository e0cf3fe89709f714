"""`audit_targets`: rows whose number is probably wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from noisewise._typing import Floats, RandomState
from noisewise._validation import generator, one_column
from noisewise.audit.folds import FOLDS, in_columns, rows_of, takes_own_columns
from noisewise.audit.target_result import TargetAudit
from noisewise.labels import TargetRidge
from noisewise.noise import Estimate, ResidualReading, read_residuals
from noisewise.tables import TableEncoder

FEWEST_ROWS = 30
FEWEST_VALUES = 10  # distinct; fewer are classes
ITERATIONS = 3  # fits: to clipped targets, then without those that look wrong
CLIP = 3.0  # interquartile ranges beyond the quartiles, for the first fit
LEAST_RESIDUAL = 1e-3  # of the median one, in the logarithm whose mean is the local scale
SHRUNK = 0.5  # the log of the local scale is halved: it is estimated with an error
PROBABLY_RIGHT = 0.5  # a model is fitted to these targets


def audit_targets(X: Any, y: Any, model: Any = None, *, random_state: RandomState = None) -> TargetAudit:
    """Find the rows whose number is probably wrong: the audit of a continuous target.

    Every number is compared with a prediction by a model that was fitted without it, in units of the noise that is
    usual for such rows. The residuals are a mixture: right numbers with noise, values of other rows, shifted numbers,
    and numbers in another unit (ten or a thousand times as large, inches for centimetres, ...). Rows that look wrong
    are left out of the next fit, so that they don't distort the predictions of others.

    Parameters
    ----------
    X : array, SciPy sparse, pandas or polars frame of shape (n, d)
        Mixed frames too: categories, dates and text are encoded, missing values filled in; `notes` says how.
    y : array of shape (n,)
        The observed numbers.
    model : scikit-learn regressor, optional
        Gives out-of-fold predictions; a pipeline gets the columns of a frame, or the texts, as they are. By default a
        pooled kernel ridge predicts rows leave-one-out.
    random_state : int, RandomState, Generator or None
        For the landmarks of the ridge; None gives the same landmarks every time.

    Returns
    -------
    TargetAudit

    References
    ----------
    .. [1] Peel, D., McLachlan, G. J. (2000). Robust mixture modelling using the t distribution. Statistics and
       Computing 10.
    .. [2] Zhou, H., Mueller, J., Kumar, M., Wang, J.-L., Lei, J. (2023). Detecting errors in numerical data via any
       regression model. arXiv:2305.16583.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(300, noise=0.5, random_state=0)
    >>> y[:10] *= 10  # a decimal point is lost
    >>> audit = audit_targets(X, y)
    >>> sorted(audit.picked[:10].tolist()) == list(range(10))
    True
    >>> audit.reasons[0]
    '10 times'
    """
    targets = _numbers(y)
    encoder, table = TableEncoder(), in_columns(X)
    rows = encoder.fit_transform(table)
    if rows.shape[0] != len(targets):
        raise ValueError(f"X has {rows.shape[0]} rows, y has {len(targets)} numbers; they must be as many")
    ridge = TargetRidge(rows, generator(0 if random_state is None else random_state))
    predict = (
        ridge.leave_one_out
        if model is None
        else _out_of_fold(model, X if takes_own_columns(model, X) else rows, len(targets))
    )
    predictions, scale, reading = judge_targets(targets, predict, ridge)
    low, middle, high = (predictions + scale * quantile for quantile in reading.range)
    doubtful = reading.right < PROBABLY_RIGHT
    factor = np.where(doubtful, reading.factors[reading.reason], np.nan)
    suggested = np.where(np.isnan(factor), middle, targets / np.where(np.isnan(factor), 1, factor))
    return TargetAudit(
        table,
        targets,
        suggested,
        low,
        high,
        reading.right,
        np.where(doubtful, np.array(reading.reasons, dtype=object)[reading.reason], ""),
        Estimate(reading.n_wrong, *reading.interval),
        (*encoder.notes_, *_unit_notes(reading)),
    )


def judge_targets(
    targets: Floats, predict: Callable[[Floats, Floats], Floats], ridge: TargetRidge
) -> tuple[Floats, Floats, ResidualReading]:
    """Predictions without the row, the local scale of the noise, and what the residuals say.

    `predict` takes targets and the probability that each is right. The first fit is to clipped targets, which one in
    another unit can't distort.
    """
    right = np.ones(len(targets))
    low, high = np.quantile(targets, [0.25, 0.75])
    fitted = np.clip(targets, low - CLIP * (high - low), high + CLIP * (high - low)) if high > low else targets
    for step in range(ITERATIONS):
        predictions = predict(fitted, right)
        scale = _local_scale(targets - predictions, right, ridge)
        reading = read_residuals(targets, predictions, scale, right, quick=step < ITERATIONS - 1)
        right, fitted = reading.right, targets
    return predictions, scale, reading


def _local_scale(residuals: Floats, right: Floats, ridge: TargetRidge) -> Floats:
    """Scale of the noise around each row, relative to the median: the mean log of residuals there."""
    sizes = np.abs(residuals)
    typical = float(np.median(sizes)) or float(sizes.mean()) or 1.0
    logs = ridge.leave_one_out(np.log(sizes + LEAST_RESIDUAL * typical), right)
    return np.asarray(np.exp(SHRUNK * (logs - np.median(logs))))


def _out_of_fold(model: Any, rows: Any, n_rows: int) -> Callable[[Floats, Floats], Floats]:
    """Predictions by folds of a regressor, each fitted to targets that are probably right."""
    if not hasattr(model, "predict"):
        raise ValueError(f"{type(model).__name__} has no predict; a regressor is needed")
    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(np.empty(n_rows)))

    def predict(targets: Floats, right: Floats) -> Floats:
        found = np.empty(len(targets))
        for others, fold in folds:
            kept = others[right[others] > PROBABLY_RIGHT]
            found[fold] = clone(model).fit(rows_of(rows, kept), targets[kept]).predict(rows_of(rows, fold))
        return found

    return predict


def _numbers(y: Any) -> Floats:
    """The targets as numbers, or a sentence on what they are instead."""
    values = one_column(y)
    try:
        targets = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("y holds values that are not numbers; audit_labels audits classes") from None
    if not np.isfinite(targets).all():
        row = int(np.argmin(np.isfinite(targets)))
        raise ValueError(f"y holds NaN or infinity, first in row {row}; drop or fill these rows")
    if len(targets) < FEWEST_ROWS:
        raise ValueError(f"y has {len(targets)} numbers; {FEWEST_ROWS} or more are needed to tell noise from errors")
    distinct = len(np.unique(targets))
    if distinct < FEWEST_VALUES:
        raise ValueError(f"y has {distinct} distinct values; these are classes, which audit_labels audits")
    return targets


def _unit_notes(reading: ResidualReading) -> tuple[str, ...]:
    """How many numbers are probably in another unit, and which."""
    wrong = 1 - reading.right
    notes = []
    for index in np.flatnonzero(~np.isnan(reading.factors)):
        count = wrong[reading.reason == index].sum()
        if count >= 1:
            notes.append(f"about {count:.0f} numbers look {reading.reasons[index]}")
    return tuple(notes)
