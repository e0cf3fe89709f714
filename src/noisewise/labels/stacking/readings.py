"""Readings of the rows of fit by each kind of learner: leave-one-out, out-of-bag or out-of-fold."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from noisewise._typing import Codes, Floats
from noisewise.labels.base import NoisyLabelClassifier
from noisewise.labels.ridge.classifier import RobustRidgeClassifier
from noisewise.labels.stacking.pool import Reading, likelihood_weights
from noisewise.labels.trees.soft_forest import fit_soft_forest
from noisewise.noise import Calibration, FlipMatrix, read_noise

FOLDS = 5


@dataclass(frozen=True)
class Calibrated:
    """A classifier of observed labels whose probabilities are read through noise: its posterior is of true labels."""

    model: Any
    calibration: Calibration

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the true class."""
        return self.calibration.clean_posterior(self.model.predict_proba(X))


@dataclass(frozen=True)
class AmongAll:
    """A classifier that knows some of the classes, with a column for each of all."""

    model: Any
    n_classes: int

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities; zero for classes that the classifier does not know."""
        known = np.zeros((X.shape[0], self.n_classes))
        known[:, np.asarray(self.model.classes_, dtype=np.intp)] = self.model.predict_proba(X)
        return known


def read_by_ridge(model: RobustRidgeClassifier, X: Any, codes: Codes, noise: FlipMatrix | None) -> Reading:
    """The robust ridge, leave-one-out."""
    fitted = clone(model).set_params(**({} if noise is None else {"noise": noise})).fit(X, codes)
    clean = fitted.calibration_.clean_posterior(fitted.scores_)
    return Reading.of(fitted, clean, fitted.noise_.matrix, codes)


def read_by_forest(
    X: Any, codes: Codes, noise: FlipMatrix | None, n_trees: int, rng: np.random.Generator, n_jobs: int | None
) -> Reading:
    """A forest on the observed labels, out-of-bag."""
    n_classes = int(codes.max()) + 1
    forest, out_of_bag = fit_soft_forest(X, np.eye(n_classes)[codes], n_trees, rng, n_jobs)
    return _calibrated(forest, out_of_bag, codes, noise)


def read_out_of_bag(model: Any, X: Any, codes: Codes, noise: FlipMatrix | None, n_jobs: int | None) -> Reading:
    """A forest of scikit-learn, out-of-bag; a row that is in every bag has the mean of the others."""
    names = {"oob_score", "n_jobs"} & set(model.get_params(deep=False))
    forest = clone(model).set_params(**{name: {"oob_score": True, "n_jobs": n_jobs}[name] for name in names})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        forest.fit(X, codes)
    scores = np.asarray(forest.oob_decision_function_)
    return _calibrated(forest, np.where(np.isfinite(scores), scores, np.nanmean(scores, axis=0)), codes, noise)


def read_out_of_fold(model: Any, X: Any, codes: Codes, noise: FlipMatrix | None, n_jobs: int | None) -> Reading:
    """Any classifier, out of fold: one for noisy labels by its own flip matrix, others calibrated through noise."""
    n_classes = int(codes.max()) + 1
    if noise is not None and "noise" in model.get_params(deep=False):
        model = clone(model).set_params(noise=noise)
    folds = fold_of_rows(codes)
    scores, fitted = _out_of_fold(model, X, codes, folds, n_jobs)
    whole = _fit(model, X, codes, n_classes)
    if not isinstance(model, NoisyLabelClassifier):
        return _calibrated(whole, scores, codes, noise)
    flips = np.stack([_flips(one, n_classes) for one in fitted])
    return Reading.of(whole, scores, flips[folds], codes)


def trial_weight(model: Any, X: Any, codes: Codes, noise: FlipMatrix | None, readings: Sequence[Reading]) -> float:
    """Stacking weight of a classifier beside the readings there are, from fits to each half of the rows alone."""
    others = np.column_stack([one.likelihood for one in readings])
    mixture = others @ likelihood_weights(others)
    scores, _ = _out_of_fold(model, X, codes, fold_of_rows(codes, 2), None)
    trial = _calibrated(None, scores, codes, noise)
    return float(likelihood_weights(np.column_stack([mixture, trial.likelihood]))[1])


def fold_of_rows(codes: Codes, n_folds: int = FOLDS) -> Codes:
    """The fold of each row: rows of a class by turns, so that folds are stratified.

    >>> fold_of_rows(np.array([0, 0, 1, 0, 1]))
    array([0, 1, 0, 2, 1])
    """
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], codes[order])
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order] = (np.arange(len(codes)) - starts) % n_folds
    return folds


def _out_of_fold(model: Any, X: Any, codes: Codes, folds: Codes, n_jobs: int | None) -> tuple[Floats, list[AmongAll]]:
    """Probabilities of the classes for rows of each fold, by a fit to the others, and the fits."""
    n_classes = int(codes.max()) + 1
    parts = [folds != fold for fold in range(int(folds.max()) + 1)]
    fitted = Parallel(n_jobs=n_jobs)(delayed(_fit)(model, X[part], codes[part], n_classes) for part in parts)
    scores = np.empty((len(codes), n_classes))
    for part, one in zip(parts, fitted):
        scores[~part] = one.predict_proba(X[~part])
    return scores, fitted


def _calibrated(model: Any, scores: Floats, codes: Codes, noise: FlipMatrix | None) -> Reading:
    calibration = read_noise(scores, codes, noise).calibration
    clean = calibration.clean_posterior(scores)
    return Reading.of(Calibrated(model, calibration), clean, calibration.noise.matrix, codes)


def _fit(model: Any, X: Any, codes: Codes, n_classes: int) -> AmongAll:
    return AmongAll(clone(model).fit(X, codes), n_classes)


def _flips(fitted: AmongAll, n_classes: int) -> Floats:
    flips = np.eye(n_classes)
    flips[np.ix_(fitted.model.classes_, fitted.model.classes_)] = fitted.model.noise_.matrix
    return flips
