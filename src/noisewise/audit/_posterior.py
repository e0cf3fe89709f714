"""Judging every row by a model that has not seen its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from noisewise._inputs import Codes, Floats
from noisewise.labels import RobustRidgeClassifier
from noisewise.noise import FlipMatrix
from noisewise.noise._accounts import Calibration
from noisewise.noise._calibration import read_noise
from noisewise.noise._estimate import Estimate


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
    """Judge each row without its own label: by the robust ridge, or out of fold by any classifier."""
    if model is None:
        model = RobustRidgeClassifier(noise=noise)
    if isinstance(model, RobustRidgeClassifier):
        fitted = clone(model).fit(rows, observed)
        posterior, calibration = fitted.true_label_posterior_, fitted.calibration_
        expected = Estimate(fitted.n_wrong_, *fitted.n_wrong_interval_)
    else:
        reading = read_noise(out_of_fold(model, rows, observed, n_classes), observed, noise)
        posterior, calibration = reading.posterior, reading.calibration
        expected = Estimate(reading.n_wrong, *reading.interval)
    spread = flip_spread(calibration, posterior, noise)
    return Judged(posterior, calibration.noise, spread, expected, left_open(calibration))


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
