"""Judging every row by a model that has not seen its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from noisewise._inputs import Codes, Floats
from noisewise.labels import RobustKNeighborsClassifier
from noisewise.noise import FlipMatrix, flip_from_anchors
from noisewise.noise._estimate import Estimate

MODEL_ERROR = 0.02  # share of the rows by which the expected number may be off because no model is perfect
NINETY_PERCENT = 1.645


@dataclass(frozen=True)
class Judged:
    """Posterior of the true label given the row and its observed label, the noise, and how many labels are wrong."""

    posterior: Floats
    noise: FlipMatrix
    expected_errors: Estimate


def judge_rows(
    rows: Any, observed: Codes, n_classes: int, model: Any = None, noise: FlipMatrix | None = None
) -> Judged:
    """Judge each row without its own label: by neighbours, or out of fold by any classifier with `predict_proba`."""
    if model is None or hasattr(model, "leave_one_out_proba"):
        fitted = clone(model or RobustKNeighborsClassifier())
        if noise is not None:
            fitted.set_params(noise=noise)
        fitted.fit(rows, observed)
        return _explained(fitted.leave_one_out_proba(), fitted.noise_, observed)
    noisy = out_of_fold(model, rows, observed, n_classes)
    if noise is None:
        noise = flip_from_anchors(noisy, 1 - 0.3 / n_classes)
    return _explained(noise.pull(noisy), noise, observed)


def out_of_fold(model: Any, rows: Any, observed: Codes, n_classes: int, folds: int = 5) -> Floats:
    """Probabilities of the observed label from models that were fitted without the row."""
    smallest = int(np.bincount(observed, minlength=n_classes).min())
    if smallest < 2:
        raise ValueError("a class has one row only; out-of-fold probabilities need two or more rows of every class")
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{type(model).__name__} has no predict_proba; the audit needs probabilities")
    splits = StratifiedKFold(min(folds, smallest), shuffle=True, random_state=0)
    return np.asarray(cross_val_predict(clone(model), rows, observed, cv=splits, method="predict_proba"))


def _explained(clean: Floats, noise: FlipMatrix, observed: Codes) -> Judged:
    posterior = noise.explain(clean, observed)
    wrong = 1 - posterior[np.arange(len(observed)), observed]
    spread = NINETY_PERCENT * np.sqrt(np.sum(wrong * (1 - wrong)) + (MODEL_ERROR * len(wrong)) ** 2)
    count = float(wrong.sum())
    return Judged(posterior, noise, Estimate(count, max(0.0, count - spread), min(len(wrong), count + spread)))
