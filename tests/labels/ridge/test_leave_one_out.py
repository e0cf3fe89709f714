import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from noisewise._numerics.nystroem import whitening
from noisewise._numerics.ridge import leave_copies_out
from noisewise._numerics.row_hash import row_hashes
from noisewise.labels import (
    ImportanceReweightedClassifier,
    LabelDependentClassifier,
    RobustRidgeClassifier,
    UnbiasedLogisticRegression,
)
from noisewise.labels.ridge import landmarks, pooled_fit
from noisewise.labels.ridge.leave_one_out import DuplicateRows
from noisewise.labels.ridge.pooled_fit import Sample, _fit_view, fit_pooled_ridge

SMALLEST, LARGE = 10**-2.5, 30.0


@pytest.fixture
def blobs():
    X, y = make_blobs(60, 3, centers=3, cluster_std=3.0, random_state=1)
    return X, y


def refit(features, targets, weights, penalty, kind, row, left):
    """Prediction of scikit-learn's ridge on the rows `left` at a row; the linear view has an intercept.

    The intercept belongs to the class proportions: compared is by how much a row is above the mean of the others.
    """
    linear = kind == "linear"
    model = Ridge(alpha=penalty, fit_intercept=linear, solver="svd").fit(features[left], targets[left], weights[left])
    mean = np.average(targets[left], axis=0, weights=weights[left]) if linear else 0.0
    return model.predict(features[row : row + 1])[0] - mean


def refit_without_equals(ridge, X, codes, alone=(), weights=None):
    """Scores of each row by fitting again without it and its copies (or without it only)."""
    weights = np.ones(len(X)) if weights is None else weights
    rows = ridge.standardizer(X, np.float32).astype(np.float64)
    targets = np.eye(len(ridge.class_proportions))[codes] - ridge.class_proportions
    scores = np.tile(ridge.class_proportions, (len(X), 1))
    kinds = ridge.landmarks.views
    for weight, view, features, kind in zip(ridge.weights, ridge.views, ridge.landmarks.features(rows), kinds):
        whitened = features @ whitening(ridge.landmarks.gram(kind))
        for i in range(len(X)):
            left = np.arange(len(X)) != i if i in alone else (X[i] != X).any(axis=1)
            scores[i] += weight * refit(whitened, targets, weights, view.penalty, kind, i, left)
    return scores


def wide(n, p, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, p))
    X[:, :20] += 1.5 * (truth[:, None] == np.arange(min(p, 20)) % n_classes)
    return X, truth, rng


@pytest.mark.parametrize("penalty", [SMALLEST, LARGE])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("columns", [10, 30, 31, 60])
@pytest.mark.parametrize("kind", [*landmarks.VIEWS, "products"])
def test_every_view_scores_a_row_as_a_refit_without_it(kind, columns, weighted, penalty, monkeypatch):
    if kind == "products":  # the linear view of many columns
        monkeypatch.setattr(landmarks, "WIDE", 5)
    monkeypatch.setattr(pooled_fit, "VIEWS", ("linear" if kind == "products" else kind,))
    monkeypatch.setattr(pooled_fit, "PENALTIES", np.array([penalty]))
    X, y, rng = wide(30, columns, 3)
    weights = rng.uniform(0.2, 3.0, len(y)) if weighted else None
    ridge = fit_pooled_ridge(X, y, 3, 50, np.random.default_rng(0), dtype=np.float64, weights=weights)
    expected = refit_without_equals(ridge, X, y, weights=weights)
    # the square root of a distance of zero is the square root of its rounding error, which depends on the BLAS
    tol = 1e-5 if kind == "pointed" else 1e-8
    np.testing.assert_allclose(ridge.leave_one_out_scores(X, y), expected, rtol=tol, atol=tol * np.abs(expected).max())
    assert np.abs(ridge.scores(X) - expected).max() > 0.01


@pytest.mark.parametrize("kind", landmarks.VIEWS)
def test_views_and_penalties_are_chosen_by_the_same_scores(kind, monkeypatch):
    """Also where they are chosen on a part of the rows, around the mean of that part."""
    monkeypatch.setattr(pooled_fit, "PENALTIES", np.array([SMALLEST]))
    X, y, rng = wide(60, 40)
    proportions = np.array([0.5, 0.5])
    duplicates = DuplicateRows.of(row_hashes(X), y, np.ones(60), 2)
    sample = Sample.of(X, y, np.ones(60), proportions, duplicates, rng)
    chosen = landmarks.Landmarks.among(sample.rows, sample.weights, 60).keep((kind,))
    basis, few = whitening(chosen.gram(kind)), sample.first(35)
    view, predictions = _fit_view(chosen, basis, few)
    features = chosen.features(few.rows)[0] @ basis
    for i in range(35):
        expected = refit(features, few.targets, few.weights, view.penalty, kind, i, np.arange(35) != i)
        np.testing.assert_allclose(predictions[i], expected, rtol=1e-7, atol=1e-8)


def test_pooled_scores_equal_refits_in_either_precision(blobs):
    X, y = blobs
    ridge = fit_pooled_ridge(X, y, 3, 20, np.random.default_rng(0), dtype=np.float64)
    assert len(ridge.views) > 1
    assert "linear" in ridge.landmarks.views
    expected = refit_without_equals(ridge, X, y)
    np.testing.assert_allclose(ridge.leave_one_out_scores(X, y), expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(ridge.leave_one_out_scores(X, y, dtype=np.float32), expected, rtol=0, atol=2e-3)


def test_duplicates_are_left_out_together(blobs):
    X, y = blobs
    X, y = np.vstack([X, X[:25], X[:5]]), np.concatenate([y, y[:25], (y[:5] + 1) % 3])
    ridge = fit_pooled_ridge(X, y, 3, 20, np.random.default_rng(0), dtype=np.float64)
    expected = refit_without_equals(ridge, X, y)
    np.testing.assert_allclose(ridge.leave_one_out_scores(X, y), expected, rtol=0, atol=1e-8)
    assert np.abs(expected - refit_without_equals(ridge, X, y, alone=range(len(X)))).max() > 0.01


def test_rows_of_a_coarse_table_are_left_out_alone(blobs):
    X, y = blobs
    X = X.copy()
    X[:30] = X[0]
    ridge = fit_pooled_ridge(X, y, 3, 20, np.random.default_rng(0), dtype=np.float64)
    expected = refit_without_equals(ridge, X, y, alone=range(30))
    np.testing.assert_allclose(ridge.leave_one_out_scores(X, y), expected, rtol=0, atol=1e-8)


def test_scores_of_weighted_rows_do_not_depend_on_their_own_label(blobs):
    X, y = blobs
    weights = np.where(np.arange(len(y)) < 10, 1000.0, 1.0)
    ridge = fit_pooled_ridge(X, y, 3, 20, np.random.default_rng(0), dtype=np.float64, weights=weights)
    expected = refit_without_equals(ridge, X, y, weights=weights)
    np.testing.assert_allclose(ridge.leave_one_out_scores(X, y), expected, rtol=0, atol=1e-6)


def test_only_rows_of_the_fit_are_left_out(blobs):
    X, y = blobs
    ridge = fit_pooled_ridge(X, y, 3, 20, np.random.default_rng(0), dtype=np.float64)
    new = X + 0.5
    np.testing.assert_allclose(ridge.leave_one_out_scores(new, y), ridge.scores(new), atol=1e-12)
    assert np.abs(ridge.leave_one_out_scores(X, y) - ridge.scores(X)).max() > 0.01


def test_without_other_rows_scores_are_zero():
    scores = leave_copies_out(np.ones((1, 2)), np.zeros(1), np.array([7.0]), np.zeros((1, 2)), 1e-6, total=7.0)
    np.testing.assert_array_equal(scores, 0)


@pytest.mark.parametrize("shape", [(200, 400), (200, 200), (120, 3000)])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_labels_by_coin_toss_are_not_confirmed_by_many_columns(shape, kind):
    y = np.arange(shape[0]) % 2
    model = RobustRidgeClassifier().fit(kind(np.random.default_rng(0).normal(size=shape)), y)
    assert not model.calibration_.proven
    assert model.n_wrong_interval_[0] == 0
    assert model.n_wrong_interval_[1] > 0.3 * len(y)
    assert model.label_quality_.mean() < 0.8
    assert model.label_quality_.max() < 0.9 or shape == (120, 3000)


@pytest.mark.parametrize("penalty", [SMALLEST, LARGE])
@pytest.mark.parametrize("columns", [39, 100, 1200])
def test_scores_are_independent_of_labels_that_are_random(columns, penalty, monkeypatch):
    """Of 25 tables of 40 labels by coin toss, as many are guessed as not: neither more, nor fewer."""
    monkeypatch.setattr(pooled_fit, "VIEWS", ("linear",))
    monkeypatch.setattr(pooled_fit, "PENALTIES", np.array([penalty]))
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    guessed = []
    for _ in range(25):
        X = rng.normal(size=(40, columns))
        scores = fit_pooled_ridge(X, y, 2, 40, rng).leave_one_out_scores(X, y)
        guessed.append((scores.argmax(axis=1) == y).mean())
    assert abs(np.mean(guessed) - 0.5) < 5 * np.std(guessed) / np.sqrt(25)
    assert np.mean(guessed) < 0.6


@pytest.mark.parametrize("columns", [299, 310, 600, 1100])
def test_wrong_labels_are_found_among_more_columns_than_rows(columns):
    X, truth, rng = wide(300, columns)
    observed = np.where(rng.random(300) < 0.2, 1 - truth, truth)
    model = RobustRidgeClassifier().fit(X, observed)
    wrong = observed != truth
    assert model.n_wrong_interval_[0] <= wrong.sum() <= model.n_wrong_interval_[1]
    assert roc_auc_score(wrong, -model.label_quality_) > 0.9


def test_uninformative_columns_are_averaged_away():
    """A few columns of thousands know the label: a heavy penalty finds them, though it makes all scores small."""
    X, truth, rng = wide(300, 4000)
    observed = np.where(rng.random(300) < 0.2, 1 - truth, truth)
    model = RobustRidgeClassifier().fit(X, observed)
    penalty = model.ridge_.views[model.ridge_.landmarks.views.index("linear")].penalty
    assert penalty > 4000  # more than the squared length of a row
    wanted = np.eye(2)[observed] - model.ridge_.class_proportions
    found = model.scores_ - model.ridge_.class_proportions
    assert np.vdot(found, wanted) / np.vdot(found, found) == pytest.approx(1, abs=0.02)  # and yet they are no smaller
    assert roc_auc_score(observed != truth, -model.label_quality_) > 0.92


def test_penalties_are_compared_after_the_best_factor():
    sample = Sample(
        np.zeros((4, 1)), np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.ones(4), np.ones(4), np.zeros((4, 1))
    )
    np.testing.assert_allclose(sample.errors(1e-3 * sample.targets), 0, atol=1e-12)
    np.testing.assert_allclose(sample.errors(-sample.targets), 1)  # against the labels: nothing is said
    np.testing.assert_allclose(sample.errors(0 * sample.targets), 1)


def test_copies_of_few_rows_are_as_wide_as_the_rows():
    X, truth, rng = wide(150, 250)
    observed = np.where(rng.random(150) < 0.2, 1 - truth, truth)
    X, observed, wrong = np.repeat(X, 2, axis=0), np.repeat(observed, 2), np.repeat(observed != truth, 2)
    model = RobustRidgeClassifier().fit(X, observed)
    assert model.scores_.dtype == np.float64
    assert model.n_wrong_interval_[0] <= wrong.sum() <= model.n_wrong_interval_[1]
    assert roc_auc_score(wrong, -model.label_quality_) > 0.9


@pytest.mark.parametrize(
    "classifier", [ImportanceReweightedClassifier, LabelDependentClassifier, UnbiasedLogisticRegression]
)
def test_noise_estimated_by_the_ridge_is_found_among_more_columns_than_rows(classifier):
    X, truth, rng = wide(300, 600)
    observed = np.where(rng.random(300) < 0.2, 1 - truth, truth)
    flips = 1 - np.diag(classifier().fit(X, observed).noise_.matrix)
    assert 0.1 < flips.mean() < 0.35
