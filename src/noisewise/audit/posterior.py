"""Posterior of the true label of every row, from leave-one-out or out-of-fold scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from noisewise._typing import Codes, Floats
from noisewise._words import counted, percent
from noisewise.audit.folds import Folds, out_of_fold
from noisewise.audit.summaries import is_small
from noisewise.audit.trees import pooled_with_trees
from noisewise.labels import RobustRidgeClassifier, disagreement_of_halves
from noisewise.noise import (
    Calibration,
    Estimate,
    FlipMatrix,
    Judgements,
    LabelCalibration,
    ModelError,
    NoiseReading,
    fit_label_calibration,
    flips_of,
    graded,
    read_judgements,
    read_noise,
    read_row_judgements,
)

LabelsAre = Literal["judgements", "outcomes"]

WITH_TREES = "trees predict these labels better than a smooth model alone: both judge the rows together"
_NO_BETTER = (
    "predict these labels no better than the frequencies of the classes do: single labels can't be judged by them"
)
UNEXPLAINED, UNEXPLAINED_BY_PROBABILITIES = f"the rows {_NO_BETTER}", f"the probabilities {_NO_BETTER}"
LEAST_GAIN, GAIN_ROWS = 2.0, 8000  # in log-likelihood over the frequencies, in standard errors, of so many rows
LEAST_EVIDENCE = 2.0  # standard errors of the score test; of models fitted to random labels 3 in 100 exceed them
LEAST_PROBABILITY, ROUNDING = 1e-3, 1e-9  # over the number of classes, before a logarithm; of a mean of logarithms
MOST_EXCLUDED = 0.05  # of the rows; a table with more rows in small classes is about small classes


@dataclass(frozen=True)
class Reading:
    """One reading of what a wrong label is: posteriors of the true labels, the noise, and the number of errors."""

    posterior: NDArray[np.floating[Any]]
    noise: FlipMatrix
    noise_std: Floats
    expected_errors: Estimate
    notes: tuple[str, ...] = ()


def chosen_reading(labels_are: Any, noise: FlipMatrix | None) -> LabelsAre | None:
    """The reading that is asked for; outcomes where the noise is given, because its flips depend on the class alone."""
    if labels_are not in (None, "judgements", "outcomes"):
        raise ValueError(f"labels_are is {labels_are!r}; 'judgements', 'outcomes' or None would do")
    return "outcomes" if labels_are is None and noise is not None else labels_are


def judge_rows(
    rows: Any,
    observed: Codes,
    n_classes: int,
    model: Any,
    noise: FlipMatrix | None = None,
    labels_are: LabelsAre | None = None,
    folds: Folds | None = None,
    trees: bool = False,
) -> dict[str, Reading]:
    """Both readings of the labels, or the outcome reading alone: leave-one-out by the robust ridge, or out of fold.

    With `trees`, a forest judges together with the ridge where it predicts the observed labels better.
    A few rows of classes too small to judge are excluded from the fit: one such row can hide the noise in all others.
    """
    small = is_small(observed, n_classes)
    excluded = small[observed]
    given = noise if noise is not None else getattr(model, "noise", None)
    if given is None and 0 < excluded.mean() <= MOST_EXCLUDED and np.sum(~small) >= 2:
        large = np.flatnonzero(~small)
        codes = np.searchsorted(large, np.where(excluded, large[0], observed))  # the excluded have weight 0
        judged = _judge_included(rows, codes, len(large), model, None, ~excluded, labels_are, folds or Folds(), trees)
        return {name: _with_small(reading, observed, large, n_classes) for name, reading in judged.items()}
    everywhere = np.ones(len(observed), dtype=bool)
    return _judge_included(rows, observed, n_classes, model, noise, everywhere, labels_are, folds or Folds(), trees)


def _judge_included(
    rows: Any,
    codes: Codes,
    n_classes: int,
    model: Any,
    noise: FlipMatrix | None,
    included: NDArray[np.bool_],
    labels_are: LabelsAre | None,
    folds: Folds,
    trees: bool,
) -> dict[str, Reading]:
    """Fit to the rows of the mask `included`; the others get their clean posterior, P(true | x)."""
    known: Any = slice(None) if included.all() else included
    note: tuple[str, ...] = ()
    judged = pooled = None
    if isinstance(model, RobustRidgeClassifier) and not folds.asked:
        observed = codes[known]
        weights = included.astype(np.float64)
        fitted = clone(model).fit(rows, codes, sample_weight=None if included.all() else weights)
        scores = fitted.scores_
        outcome = NoiseReading(
            fitted.calibration_, fitted.true_label_posterior_[known], fitted.n_wrong_, fitted.n_wrong_interval_
        )
        if trees:
            pooled = pooled_with_trees(rows, codes, n_classes, included, outcome, scores, model.random_state)
        if pooled is not None:
            scores, outcome = pooled.log_posterior, read_noise(pooled.log_posterior[known], observed, noise)
        outcome = graded(outcome, scores[known], observed)
        if labels_are != "outcomes":
            modes = None if pooled is None else pooled.modes
            halves = disagreement_of_halves(
                rows, codes, n_classes, weights, model.n_landmarks, model.random_state, modes
            )
            judged = read_row_judgements(scores[known], observed, outcome, ModelError.of_halves(*halves))
    else:
        arrays = out_of_fold(model, rows, codes, n_classes, folds, included)
        known = included & np.isfinite(arrays[0][:, 0])
        observed = codes[known]
        arrays, note = _fitted(arrays, codes, known)
        scores = mean_of(arrays)
        outcome = graded(read_noise(scores[known], observed, noise), scores[known], observed)
        if labels_are != "outcomes":
            judged = read_judgements([array[known] for array in arrays], observed, outcome)
    readings = both_readings(outcome, judged, observed, noise)
    if pooled is not None:
        note = (WITH_TREES,)
    note = note if _explained(outcome.calibration, scores[known], observed) else (UNEXPLAINED,)
    readings = {name: replace(reading, notes=(*note, *reading.notes)) for name, reading in readings.items()}
    if len(observed) < len(codes):
        clean = outcome.calibration.clean_posterior(scores[~known])
        readings = {name: _with_excluded(reading, known, clean) for name, reading in readings.items()}
        readings = {name: _with_unjudged(reading, codes, included & ~known) for name, reading in readings.items()}
    return readings


def fitted_to_labels(arrays: list[NDArray[Any]], codes: Codes) -> tuple[list[NDArray[Any]], tuple[str, ...]]:
    """The probabilities of models that are far too sure, or favour classes, fitted to the observed labels; notes.

    Where they tell nothing about the labels, that alone is noted.
    """
    fitted, notes = _fitted(arrays, codes)
    return fitted, notes if tells_labels(mean_of(fitted), codes) else (UNEXPLAINED_BY_PROBABILITIES,)


def _fitted(
    arrays: list[NDArray[Any]], codes: Codes, known: Any = slice(None)
) -> tuple[list[NDArray[Any]], tuple[str, ...]]:
    """The probabilities, fitted to the observed labels where they are far from them, and what was done."""
    found = [fit_label_calibration(one[known], codes[known]) for one in arrays]
    fitted = [one if how is None else how(one) for one, how in zip(arrays, found, strict=True)]
    return fitted, tuple(dict.fromkeys(_fit_note(how) for how in found if how is not None))


def tells_labels(p: NDArray[np.floating], codes: Codes) -> bool:
    """Whether labels are likelier where their probability is higher: a score test, which needs no calibration.

    In P(y | x) proportional to f_y p_y(x)^a, with f the frequencies of the classes and log p centred by class, the
    derivative of the log-likelihood at a = 0 is the sum over rows of log p_y - sum_k f_k log p_k.

    >>> codes = np.arange(300) % 3
    >>> tells_labels(np.tile([0.7, 0.2, 0.1], (300, 1)), codes), tells_labels(0.1 + 0.7 * np.eye(3)[codes], codes)
    (False, True)

    References
    ----------
    .. [1] Rao, C. R. (1948). Large sample tests of statistical hypotheses concerning several parameters with
       applications to problems of estimation. Mathematical Proceedings of the Cambridge Philosophical Society 44.
    """
    some = np.random.default_rng(0).permutation(len(codes))[:GAIN_ROWS]
    n_classes, labels = p.shape[1], codes[some]
    logs = np.log(np.maximum(p[some].astype(np.float64), LEAST_PROBABILITY / n_classes))
    logs -= logs.mean(axis=0)
    frequencies = np.bincount(labels, minlength=n_classes) / len(labels)
    score = logs[np.arange(len(labels)), labels] - logs @ frequencies
    return bool(score.mean() > LEAST_EVIDENCE * score.std() / np.sqrt(len(labels)) + ROUNDING)


def mean_of(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """The mean of the probabilities of several models, in their precision."""
    return arrays[0] if len(arrays) == 1 else np.asarray(np.mean(arrays, axis=0, dtype=arrays[0].dtype))


def _fit_note(how: LabelCalibration) -> str:
    """What was done to probabilities that are far from the observed labels."""
    if how.offsets is None:
        extent = "surer" if how.exponent < 1 else "less sure"
        return (
            f"the model is far {extent} than the labels agree with it: its probabilities are fitted to the labels "
            f"(taken to the power {how.exponent:.2g})"
        )
    most = int(np.argmax(how.mean / how.frequencies))
    return (
        f"the model favours some classes (one has {percent(how.mean[most], 1)} of its probability and "
        f"{percent(how.frequencies[most], 1)} of the labels): its probabilities are fitted to the labels"
    )


def _explained(calibration: Calibration, scores: NDArray[np.floating], observed: Codes) -> bool:
    """Whether observed labels are likelier by their rows than by the frequencies of the classes."""
    some = np.random.default_rng(0).permutation(len(observed))[:GAIN_ROWS]
    likelihood = calibration.clean_posterior(scores[some]) @ calibration.noise.matrix
    frequency = np.bincount(observed) / len(observed)
    gain = np.log(likelihood[np.arange(len(some)), observed[some]] / frequency[observed[some]])
    return bool(gain.mean() > LEAST_GAIN * gain.std() / np.sqrt(len(some)))


def both_readings(
    outcome: NoiseReading, judged: Judgements | None, codes: Codes, noise: FlipMatrix | None
) -> dict[str, Reading]:
    """The judgement reading, where there is one, and the outcome reading."""
    readings = {}
    if judged is not None:
        flips, flips_std = flips_of(judged.posterior, codes)
        readings["judgements"] = Reading(judged.posterior, flips, flips_std, Estimate(judged.n_wrong, *judged.interval))
    std = flip_rate_std(outcome.calibration, outcome.posterior, noise)
    expected = Estimate(outcome.n_wrong, *outcome.interval)
    notes = identifiability_note(outcome.calibration)
    readings["outcomes"] = Reading(outcome.posterior, outcome.calibration.noise, std, expected, notes)
    return readings


def _with_excluded(judged: Reading, included: NDArray[np.bool_], clean: NDArray[Any]) -> Reading:
    """The result with the clean posteriors of the excluded rows."""
    posterior = np.empty((len(included), clean.shape[1]), dtype=judged.posterior.dtype)
    posterior[included], posterior[~included] = judged.posterior, clean
    return replace(judged, posterior=posterior)


def _with_unjudged(judged: Reading, codes: Codes, unjudged: NDArray[np.bool_]) -> Reading:
    """The result with rows that no fold has scored, whose labels are assumed to be wrong at the overall error rate."""
    if not unjudged.any():
        return judged
    scale = 1 / (1 - unjudged.mean())
    error_rate = scale * float(judged.expected_errors) / len(codes)
    n_classes = judged.posterior.shape[1]
    judged.posterior[unjudged] = error_rate / (n_classes - 1)
    judged.posterior[unjudged, codes[unjudged]] = 1 - error_rate
    expected = Estimate(*(scale * end for end in (float(judged.expected_errors), *judged.expected_errors.interval)))
    note = (
        f"{counted(unjudged.sum(), 'row', 'are')} in no test fold: assumed to be wrong at the error rate of the others"
    )
    return replace(judged, expected_errors=expected, notes=(note, *judged.notes))


def _with_small(judged: Reading, observed: Codes, large: Codes, n_classes: int) -> Reading:
    """The result with the small classes put back, their labels assumed to be wrong at the overall error rate."""
    n = len(observed)
    excluded = ~np.isin(observed, large)
    error_rate = float(judged.expected_errors) / (n - excluded.sum())
    posterior = np.zeros((n, n_classes), dtype=judged.posterior.dtype)
    posterior[:, large] = np.where(excluded[:, None], error_rate, 1.0) * judged.posterior
    posterior[excluded, observed[excluded]] = 1 - error_rate
    matrix, std = np.eye(n_classes), np.zeros((n_classes, n_classes))
    matrix[np.ix_(large, large)], std[np.ix_(large, large)] = judged.noise.matrix, judged.noise_std
    low, high = judged.expected_errors.interval
    scale = n / (n - excluded.sum())
    expected = Estimate(scale * float(judged.expected_errors), scale * low, scale * high)
    note = f"rows of such classes ({excluded.sum():,}) are assumed to be wrong at the error rate of the others"
    return Reading(posterior, FlipMatrix(matrix), std, expected, (note, *judged.notes))


def identifiability_note(calibration: Calibration) -> tuple[str, ...]:
    """A note on two classes, where symmetric noise and class overlap can't be told apart (not identifiable)."""
    if calibration.proven or calibration.noise.n_classes > 2:
        return ()
    return (
        "with two classes, symmetric noise can't be told from classes that overlap: "
        "how many labels are wrong is known no better than the interval says",
    )


def flip_rate_std(calibration: Calibration, posterior: NDArray[Any], given: FlipMatrix | None) -> Floats:
    """Standard deviation of each flip rate.

    Its variance is that between the candidate noise models of the average, plus the sampling variance
    T (1 - T) / (n + 1) of a rate estimated from n rows of a true class.
    """
    mean = calibration.noise.matrix
    if given is not None:
        return np.zeros_like(mean)
    between = sum(model.weight * (model.matrix - mean) ** 2 for model in calibration.candidates)
    return np.asarray(np.sqrt(between + mean * (1 - mean) / (posterior.sum(axis=0)[:, None] + 1)))
