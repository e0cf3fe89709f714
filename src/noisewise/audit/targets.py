"""`audit_targets`: rows whose number is probably wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import clone

from noisewise._progress import Report, reporting
from noisewise._typing import Floats, RandomState
from noisewise._validation import generator, one_column
from noisewise._words import counted, percent
from noisewise.audit.folds import Folds, in_columns, in_parallel, rows_of, takes_own_columns
from noisewise.audit.target_result import MOST_WRONG, TargetAudit
from noisewise.embeddings import default_text_encoder
from noisewise.labels import TargetRidge
from noisewise.noise import Estimate, ResidualReading, read_residuals
from noisewise.tables import TableEncoder

FEWEST_ROWS = 30
FEWEST_VALUES = 10  # distinct; fewer are classes
ITERATIONS = 3  # fits: to clipped targets, then without those that look wrong
CLIP = 3.0  # interquartile ranges beyond the quartiles, for the first fit
LEAST_RESIDUAL = 1e-3  # of the median one, in the logarithm whose mean is the local scale
SHRUNK = 0.5  # the log of the local scale is halved: it is estimated with an error
LEAST_RIGHT = 0.3  # fraction of targets that a model is fitted to
PROBABLY_RIGHT = 0.5  # a model is fitted to these targets
REPEATS = 2  # of the folds, in the last fit of a model
DIGITS = 2  # of a suggestion, finer than the interval of right numbers; more would be noise
EXACT = 12  # significant digits of a number in its usual unit: those of a quotient beyond are rounding errors
POINTS = (-1.0, *(10.0**power for power in (-3, -2, -1, 1, 2, 3)))  # factors that leave the digits as they are

Predict = Callable[[Floats, Floats, int], Floats]


def audit_targets(
    X: Any,
    y: Any,
    model: Any = None,
    *,
    groups: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    encoder: Any = None,
    missing: Literal["predict"] | None = None,
    random_state: RandomState = None,
    progress: bool | Report | None = None,
) -> TargetAudit:
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
    groups : array of shape (n,), optional
        Rows of one group (a patient, a user) never judge each other: they are held out together, in folds.
    cv : int, splitter or iterable, optional
        Folds, as scikit-learn takes them; rows of no test fold (the first ones in time) are not judged.
    n_jobs : int, optional
        Folds fitted at a time.
    encoder : optional
        Embeds columns of text, as in `audit_labels`.
    missing : "predict" or None
        What is done with rows whose number is missing (NaN): `suggested`, `low` and `high` predict it from the others.
        With None they are refused.
    random_state : int, RandomState, Generator or None
        For the landmarks of the ridge; None gives the same landmarks every time.
    progress : bool or callable, optional
        Whether to show progress on the screen; by default where a person looks on (a terminal, a notebook) and it takes
        more than two seconds. A function is called with the steps done, and of how many.

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
    if missing not in (None, "predict"):
        raise ValueError(f"missing is {missing!r}; 'predict' or None would do")
    targets = _numbers(y, may_miss=missing is not None)
    encoded, table = TableEncoder(default_text_encoder() if encoder is None else encoder), in_columns(X)
    with reporting(progress, f"auditing {len(targets):,} numbers"):
        rows = encoded.fit_transform(table)
        if rows.shape[0] != len(targets):
            raise ValueError(f"X has {rows.shape[0]} rows, y has {len(targets)} numbers; they must be as many")
        ridge = TargetRidge(rows, generator(0 if random_state is None else random_state))
        folds = Folds.of(np.arange(len(targets)), cv, groups, None, n_jobs)
        smooth = _ridge_predictions(ridge, folds)
        own = model is not None
        predict = _out_of_fold(model, X if takes_own_columns(model, X) else rows, folds) if own else smooth
        return _audited(table, targets, judge_targets(targets, predict, smooth), encoded.notes_)


@dataclass(frozen=True)
class JudgedTargets:
    """Predictions of every row without its number, local scale of the noise there, and what the residuals say.

    The reading is about the rows of the mask `known`; the others have no number, or no prediction (NaN).
    """

    known: NDArray[np.bool_]
    predictions: Floats
    scale: Floats
    reading: ResidualReading


def judge_targets(targets: Floats, predict: Predict, smooth: Predict) -> JudgedTargets:
    """Judge every target that is predicted.

    `predict` and `smooth` take targets, the probability that each is right, and how often to repeat folds; rows that
    are in no test fold get NaN. The first fit is to clipped targets, which one in another unit can't distort.
    """
    there = np.isfinite(targets)
    right = there.astype(np.float64)
    low, middle, high = np.quantile(targets[there], [0.25, 0.5, 0.75])
    whole = np.where(there, targets, middle)  # of weight zero where it is missing
    fitted = np.clip(whole, low - CLIP * (high - low), high + CLIP * (high - low)) if high > low else whole
    for step in range(ITERATIONS):
        last = step == ITERATIONS - 1
        predictions = predict(fitted, right, REPEATS if last else 1)
        known = there & np.isfinite(predictions)
        scale = _local_scale(whole - predictions, known, right, smooth)
        foresee = _among(known, smooth) if last else None
        reading = read_residuals(targets[known], predictions[known], scale[known], right[known], foresee, not last)
        if np.mean(reading.right > PROBABLY_RIGHT) >= LEAST_RIGHT:  # else there would be too little to fit to
            right[known] = reading.right
        fitted = whole
    return JudgedTargets(known, predictions, scale, reading)


def _audited(table: Any, targets: Floats, judged: JudgedTargets, notes: tuple[str, ...]) -> TargetAudit:
    """The result; numbers without a prediction are wrong at the error rate of the others, missing ones are not."""
    known, reading, there = judged.known, judged.reading, np.isfinite(targets)
    low, middle, high = (judged.predictions + judged.scale * quantile for quantile in reading.range)
    right = np.where(there, 1 - reading.n_wrong / known.sum(), 1.0)
    right[known] = reading.right
    reasons, factors = np.full(len(targets), "", dtype=object), np.full(len(targets), np.nan)
    doubtful = np.flatnonzero(known)[reading.right < PROBABLY_RIGHT]
    reason = reading.reason[reading.right < PROBABLY_RIGHT]
    reasons[doubtful], factors[doubtful] = np.array(reading.reasons, dtype=object)[reason], reading.factors[reason]
    in_unit = targets / np.where(np.isnan(factors), 1, factors)
    point = np.isin(factors, POINTS)  # a decimal point that moved back loses no digit
    in_unit = np.where(point, _significant(in_unit), _rounded(in_unit, (high - low) / 10))
    suggested = np.where(np.isnan(factors), _rounded(middle, high - low), in_unit)
    unjudged = there & ~known
    if not there.all():
        notes += (f"{counted(np.sum(~there), 'number', 'are')} missing: predicted from the others",)
    if unjudged.any():
        notes += (
            f"{counted(unjudged.sum(), 'row', 'are')} in no test fold: assumed to be wrong at the rate of the others",
        )
    scale = there.sum() / known.sum()
    misfit = _misfit_notes(targets[there], reading)
    low_count, high_count = reading.interval
    return TargetAudit(
        table,
        targets,
        np.where(unjudged, targets, suggested),
        low,
        high,
        right,
        reasons,
        Estimate(*(scale * count for count in (reading.n_wrong, 0.0 if misfit else low_count, high_count))),
        (*notes, *(misfit or _unit_notes(reading))),
    )


def _rounded(values: Floats, widths: Floats) -> Floats:
    """Numbers rounded to a power of ten that is at most a hundredth of these widths.

    >>> _rounded(np.array([151.28374, 0.0312345]), np.array([140.0, 0.002])).tolist()
    [151.0, 0.03123]
    """
    decimals = DIGITS - np.floor(np.log10(np.maximum(np.nan_to_num(widths), 1e-300)))
    return np.array([round(value, int(place)) for value, place in zip(values.tolist(), decimals, strict=True)])


def _significant(values: Floats) -> Floats:
    """Numbers without the rounding error of a quotient.

    >>> _significant(np.array([1163.34 / 10])).tolist()
    [116.334]
    """
    return np.array([float(f"{value:.{EXACT}g}") for value in values.tolist()])


def _local_scale(residuals: Floats, known: NDArray[np.bool_], right: Floats, smooth: Predict) -> Floats:
    """Scale of the noise around each row, relative to the median: the mean log of residuals there."""
    sizes = np.abs(residuals[known])
    typical = float(np.median(sizes)) or float(sizes.mean()) or 1.0
    everywhere = np.full(len(known), typical)
    everywhere[known] = sizes
    logs = smooth(np.log(everywhere + LEAST_RESIDUAL * typical), right, 1)
    return np.asarray(np.exp(SHRUNK * (logs - np.nanmedian(logs))))


def _among(known: NDArray[np.bool_], smooth: Predict) -> Callable[[Floats], Floats]:
    """Predictions of numbers of the known rows, each without its own; the other rows have their mean.

    Without these, the first of the folds in time would have nothing to learn from.
    """

    def predict(numbers: Floats) -> Floats:
        everywhere = np.full(len(known), numbers.mean())
        everywhere[known] = numbers
        return smooth(everywhere, np.ones(len(known)), 1)[known]

    return predict


def _ridge_predictions(ridge: TargetRidge, folds: Folds) -> Predict:
    """Predictions by the ridge: leave-one-out, or by the folds that were asked for."""
    if not folds.asked:
        return lambda targets, right, repeats: ridge.leave_one_out(targets, right)

    def fold(train: NDArray[np.intp], test: NDArray[np.intp], targets: Floats, right: Floats) -> Floats:
        weights = np.zeros(len(targets))
        weights[train] = right[train]
        return ridge.leave_one_out(targets, weights)[test]

    return _by_folds(folds, fold)


def _out_of_fold(model: Any, rows: Any, folds: Folds) -> Predict:
    """Predictions by folds of a regressor, each fitted to targets that are probably right."""
    if not hasattr(model, "predict"):
        raise ValueError(f"{type(model).__name__} has no predict; a regressor is needed")

    def fold(train: NDArray[np.intp], test: NDArray[np.intp], targets: Floats, right: Floats) -> Floats:
        kept = train[right[train] > PROBABLY_RIGHT]
        fitted = clone(model).fit(rows_of(rows, kept), targets[kept])
        return np.asarray(fitted.predict(rows_of(rows, test)), dtype=np.float64)

    return _by_folds(folds, fold)


def _by_folds(folds: Folds, fold: Callable[..., Floats]) -> Predict:
    """Mean of the predictions of every row over the folds that hold it out; NaN where none does."""

    def predict(targets: Floats, right: Floats, repeats: int) -> Floats:
        seeds = range(1 if folds.cv is not None else repeats)
        splits = [split for seed in seeds for split in folds.plain_splits(len(targets), seed)]
        found = in_parallel(folds.n_jobs, [delayed(fold)(*split, targets, right) for split in splits])
        total, times = np.zeros(len(targets)), np.zeros(len(targets))
        for (_, test), predictions in zip(splits, found, strict=True):
            total[test] += predictions
            times[test] += 1
        return np.asarray(np.divide(total, times, out=np.full(len(targets), np.nan), where=times > 0))

    return predict


def _numbers(y: Any, may_miss: bool) -> Floats:
    """The targets as numbers, or a sentence on what they are instead."""
    values = one_column(y)
    try:
        targets = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("y holds values that are not numbers; audit_labels audits classes") from None
    fine = np.isfinite(targets) | (may_miss & np.isnan(targets))
    if not fine.all():
        what = "infinity" if may_miss else "NaN or infinity"
        raise ValueError(f"y holds {what}, first in row {int(np.argmin(fine))}; drop or fill these rows")
    there = targets[np.isfinite(targets)]
    if len(there) < FEWEST_ROWS:
        raise ValueError(f"y has {len(there)} numbers; {FEWEST_ROWS} or more are needed to tell noise from errors")
    distinct = len(np.unique(there))
    if distinct < FEWEST_VALUES:
        raise ValueError(f"y has {distinct} distinct values; these are classes, which audit_labels audits")
    return targets


def _misfit_notes(targets: Floats, reading: ResidualReading) -> tuple[str, ...]:
    """Why the reading proves nothing, where it is the model that does not fit."""
    first, third = np.quantile(targets, [0.25, 0.75])
    if first == third:
        return (f"half of the numbers or more are {first:g}: others may look wrong because they are rare",)
    if reading.n_wrong <= MOST_WRONG * len(reading.right):
        return ()
    remedy = "; try their logarithm, which has one scale for small and large ones" if targets.min() > 0 else ""
    return (f"more than {percent(MOST_WRONG)} of the numbers look wrong: the model does not fit them{remedy}",)


def _unit_notes(reading: ResidualReading) -> tuple[str, ...]:
    """How many numbers are probably in another unit, and which."""
    wrong = 1 - reading.right
    notes = []
    for index in np.flatnonzero(~np.isnan(reading.factors)):
        count = wrong[reading.reason == index].sum()
        if count >= 1:
            notes.append(f"about {counted(count, 'number', 'look')} {reading.reasons[index]}")
    return tuple(notes)
