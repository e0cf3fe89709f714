"""Judging every row by a model that has not seen its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from noisewise._typing import Codes, Floats
from noisewise.audit.summaries import is_small
from noisewise.labels import RobustRidgeClassifier
from noisewise.noise import FlipMatrix
from noisewise.noise.calibration.noise_models import Calibration
from noisewise.noise.calibration.read_noise import read_noise
from noisewise.noise.estimate import Estimate

MOST_ASIDE = 0.05  # of the rows; where more are in small classes, they are what the table is about


@dataclass(frozen=True)
class Judged:
    """Posterior of the true label given the row and its observed label, the noise, and how many labels are wrong."""

    posterior: NDArray[np.floating[Any]]
    noise: FlipMatrix
    noise_spread: Floats
    expected_errors: Estimate
    notes: tuple[str, ...] = ()


def judge_rows(
    rows: Any, observed: Codes, n_classes: int, model: Any = None, noise: FlipMatrix | None = None
) -> Judged:
    """Judge each row without its own label: by the robust ridge, or out of fold by any classifier.

    A few rows of classes too small to judge take no part: one such row can hide the noise in all others.
    """
    if model is None:
        model = RobustRidgeClassifier(noise=noise)
    small = is_small(observed, n_classes)
    aside = small[observed]
    given = noise if noise is not None else getattr(model, "noise", None)
    if given is None and 0 < aside.mean() <= MOST_ASIDE and np.sum(~small) >= 2:
        large = np.flatnonzero(~small)
        codes = np.searchsorted(large, np.where(aside, large[0], observed))  # those aside count nothing
        return _with_small(_judge(rows, codes, len(large), model, None, ~aside), observed, large, n_classes)
    return _judge(rows, observed, n_classes, model, noise, np.ones(len(observed), dtype=bool))


def _judge(
    rows: Any, codes: Codes, n_classes: int, model: Any, noise: FlipMatrix | None, counted: NDArray[np.bool_]
) -> Judged:
    """Judge the rows that are counted; of the others, the posterior is what their features alone say."""
    if isinstance(model, RobustRidgeClassifier):
        fitted = clone(model).fit(rows, codes, sample_weight=None if counted.all() else counted.astype(np.float64))
        posterior, calibration, scores = fitted.true_label_posterior_, fitted.calibration_, fitted.scores_[~counted]
        expected = Estimate(fitted.n_wrong_, *fitted.n_wrong_interval_)
    else:
        known = rows if counted.all() else rows[counted]
        reading = read_noise(out_of_fold(model, known, codes[counted], n_classes), codes[counted], noise)
        posterior = np.empty((len(codes), n_classes), dtype=reading.posterior.dtype)
        posterior[counted], calibration = reading.posterior, reading.calibration
        scores = np.empty((0, n_classes))
        if not counted.all():
            scores = clone(model).fit(known, codes[counted]).predict_proba(rows[~counted])
        expected = Estimate(reading.n_wrong, *reading.interval)
    if len(scores):
        posterior[~counted] = calibration.clean_posterior(scores)
    spread = flip_spread(calibration, posterior[counted], noise)
    return Judged(posterior, calibration.noise, spread, expected, left_open(calibration))


def _with_small(judged: Judged, observed: Codes, large: Codes, n_classes: int) -> Judged:
    """The judgement with the small classes put back: their labels are taken to be wrong as often as the others."""
    n = len(observed)
    aside = ~np.isin(observed, large)
    share = float(judged.expected_errors) / (n - aside.sum())
    posterior = np.zeros((n, n_classes), dtype=judged.posterior.dtype)
    posterior[:, large] = np.where(aside[:, None], share, 1.0) * judged.posterior
    posterior[aside, observed[aside]] = 1 - share
    matrix, spread = np.eye(n_classes), np.zeros((n_classes, n_classes))
    matrix[np.ix_(large, large)], spread[np.ix_(large, large)] = judged.noise.matrix, judged.noise_spread
    low, high = judged.expected_errors.interval
    scale = n / (n - aside.sum())
    expected = Estimate(scale * float(judged.expected_errors), scale * low, scale * high)
    told = f"{aside.sum()} rows of such classes are taken to be wrong as often as the others"
    return Judged(posterior, FlipMatrix(matrix), spread, expected, (told, *judged.notes))


def left_open(calibration: Calibration) -> tuple[str, ...]:
    """A plain word about what no method can tell from two classes alone."""
    if calibration.proven or calibration.noise.n_classes > 2:
        return ()
    return (
        "with two classes, labels flipped as often both ways look like classes that overlap: "
        "how many are wrong is known no better than the interval says",
    )


def flip_spread(calibration: Calibration, posterior: NDArray[Any], given: FlipMatrix | None) -> Floats:
    """Standard deviation of each flip rate: between the accounts of the noise, and within each by chance."""
    mean = calibration.noise.matrix
    if given is not None:
        return np.zeros_like(mean)
    between = sum(account.weight * (account.matrix - mean) ** 2 for account in calibration.accounts)
    return np.asarray(np.sqrt(between + mean * (1 - mean) / (posterior.sum(axis=0)[:, None] + 1)))


def out_of_fold(model: Any, rows: Any, observed: Codes, n_classes: int, folds: int = 5) -> Floats:
    """Probabilities of the observed label from models that were fitted without the row."""
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{type(model).__name__} has no predict_proba; the audit needs probabilities")
    smallest = int(np.bincount(observed, minlength=n_classes).min())
    if smallest < 2:
        raise ValueError("a class has one row only; out-of-fold probabilities need two or more rows of every class")
    splits = StratifiedKFold(min(folds, smallest), shuffle=True, random_state=0)
    return np.asarray(cross_val_predict(clone(model), rows, observed, cv=splits, method="predict_proba"))
