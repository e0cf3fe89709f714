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
from noisewise.labels.gaussian_process.classifier import RobustGaussianProcessClassifier
from noisewise.labels.ridge.classifier import RobustRidgeClassifier
from noisewise.labels.stacking.pool import Reading, likelihood_weights
from noisewise.labels.stacking.rows import CountedRows
from noisewise.labels.trees.soft_forest import fit_soft_forest
from noisewise.noise import Calibration, read_noise

FOLDS = 5
LEAST_IMPORTANCE = 1e-6  # of a row, so that it can be drawn


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


def read_by_ridge(model: RobustRidgeClassifier, rows: CountedRows) -> Reading:
    """The robust ridge, leave-one-out."""
    fitted = clone(model).set_params(**({} if rows.noise is None else {"noise": rows.noise})).fit(rows.X, rows.codes)
    clean = fitted.calibration_.clean_posterior(fitted.scores_)
    return Reading.of(fitted, clean, fitted.noise_.matrix, rows.codes)


def read_by_forest(
    rows: CountedRows, n_trees: int, rng: np.random.Generator, n_jobs: int | None, weights: Floats | None = None
) -> Reading:
    """A forest on the observed labels, out-of-bag; its trees draw rows by weight."""
    targets = np.eye(len(rows.present))[rows.codes]
    forest, out_of_bag = fit_soft_forest(rows.X, targets, n_trees, rng, n_jobs, rows.groups, weights)
    return _calibrated(forest, out_of_bag, rows)


def importance_of_rows(by_ridge: Reading, rows: CountedRows) -> Floats:
    """Importance weights P(true = k | x) / P(observed = k | x) at the observed class k, by the ridge, leave-one-out.

    By Bayes' rule that is P(true = k | x, observed = k) / T[k, k].
    """
    kept = np.diag(by_ridge.model.noise_.matrix)[rows.codes]
    right = by_ridge.posterior[np.arange(len(rows.codes)), rows.codes]
    return np.asarray(np.maximum(right / np.maximum(kept, LEAST_IMPORTANCE), LEAST_IMPORTANCE))


def read_out_of_bag(model: Any, rows: CountedRows, n_jobs: int | None) -> Reading:
    """A forest of scikit-learn, out-of-bag; a row that is in every bag has the mean of the others."""
    names = {"oob_score", "n_jobs"} & set(model.get_params(deep=False))
    forest = clone(model).set_params(**{name: {"oob_score": True, "n_jobs": n_jobs}[name] for name in names})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        forest.fit(rows.X, rows.codes)
    scores = np.asarray(forest.oob_decision_function_)
    return _calibrated(forest, np.where(np.isfinite(scores), scores, np.nanmean(scores, axis=0)), rows)


def read_out_of_fold(model: Any, rows: CountedRows, n_jobs: int | None) -> Reading:
    """Any classifier, out of fold: one for noisy labels by its own flip matrix, others calibrated through noise.

    So is the Gaussian process, too: of some hundred rows its flip rates are too low by a half.
    """
    model, n_classes = _with_noise(model, rows), len(rows.present)
    folds = rows.folds(FOLDS)
    scores, fitted = _out_of_fold(model, rows, folds, n_jobs)
    whole = _fit(model, rows.X, rows.codes, n_classes)
    if isinstance(model, RobustGaussianProcessClassifier) or not isinstance(model, NoisyLabelClassifier):
        return _calibrated(whole, scores, rows)
    flips = np.stack([_flips(one, n_classes) for one in fitted])
    return Reading.of(whole, scores, flips[folds], rows.codes)


def trial_weight(model: Any, rows: CountedRows, readings: Sequence[Reading]) -> float:
    """Stacking weight of a classifier beside the readings there are, from fits to each half of the rows alone."""
    others = np.column_stack([one.likelihood for one in readings])
    mixture = others @ likelihood_weights(others)
    scores, _ = _out_of_fold(_with_noise(model, rows), rows, rows.folds(2), None)
    trial = _calibrated(None, scores, rows)
    return float(likelihood_weights(np.column_stack([mixture, trial.likelihood]))[1])


def _out_of_fold(model: Any, rows: CountedRows, folds: Codes, n_jobs: int | None) -> tuple[Floats, list[AmongAll]]:
    """Probabilities of the classes for rows of each fold, by a fit to the others, and the fits."""
    X, codes, n_classes = rows.X, rows.codes, len(rows.present)
    parts = [folds != fold for fold in range(int(folds.max()) + 1)]
    fitted = Parallel(n_jobs=n_jobs)(delayed(_fit)(model, X[part], codes[part], n_classes) for part in parts)
    scores = np.empty((len(codes), n_classes))
    for part, one in zip(parts, fitted):
        scores[~part] = one.predict_proba(X[~part])
    return scores, fitted


def _with_noise(model: Any, rows: CountedRows) -> Any:
    """The classifier with the noise, where that is known and the classifier takes it."""
    if rows.noise is not None and "noise" in model.get_params(deep=False):
        return clone(model).set_params(noise=rows.noise)
    return model


def _calibrated(model: Any, scores: Floats, rows: CountedRows) -> Reading:
    calibration = read_noise(scores, rows.codes, rows.noise).calibration
    clean = calibration.clean_posterior(scores)
    return Reading.of(Calibrated(model, calibration), clean, calibration.noise.matrix, rows.codes)


def _fit(model: Any, X: Any, codes: Codes, n_classes: int) -> AmongAll:
    return AmongAll(clone(model).fit(X, codes), n_classes)


def _flips(fitted: AmongAll, n_classes: int) -> Floats:
    flips = np.eye(n_classes)
    flips[np.ix_(fitted.model.classes_, fitted.model.classes_)] = fitted.model.noise_.matrix
    return flips
