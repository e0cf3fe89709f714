import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits, load_iris, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from noisewise import FlipMatrix
from noisewise.kernels import Gaussian, squared_distances
from noisewise.labels import RobustGaussianProcessClassifier, RobustKernelFisherClassifier
from noisewise.labels.gaussian_process.laplace import find_mode
from noisewise.labels.gaussian_process.rows import LabelledRows, process_features
from noisewise.labels.gaussian_process.search import (
    NOISE_RATIOS,
    Candidate,
    as_problem,
    distances_and_widths,
    grid_search,
    likeliest_widths,
    maximise_evidence,
)


def test_features_of_full_rank_are_the_kernel_and_lower_ones_the_best_there_is():
    X = np.random.default_rng(0).normal(size=(25, 3))
    gram = Gaussian(2.0).gram(X) + 1
    full = process_features(X, np.ones(25), squared_distances(X), 2.0, 25)(X)
    np.testing.assert_allclose(full @ full.T, gram, atol=1e-8)
    low = process_features(X, np.ones(25), squared_distances(X), 2.0, 8)(X)
    left = np.linalg.eigvalsh(gram - 1)[:-8]
    assert abs(np.linalg.norm(gram - low @ low.T) - np.linalg.norm(left)) < 1e-8


def test_a_low_rank_above_the_number_of_rows_changes_nothing():
    X, y = make_moons(50, noise=0.2, random_state=0)
    full = RobustGaussianProcessClassifier(low_rank=50).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(RobustGaussianProcessClassifier(low_rank=500).fit(X, y).predict_proba(X), full)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_copies(n_classes):
    X, y = make_blobs(60, centers=n_classes, cluster_std=4.0, random_state=1)
    weights = np.arange(60) % 4
    by_weights = RobustGaussianProcessClassifier().fit(X, y, sample_weight=weights)
    by_copies = RobustGaussianProcessClassifier().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(by_weights.predict_proba(X), by_copies.predict_proba(X))


def test_sparse_rows_are_dense_rows():
    X, y = make_moons(80, noise=0.2, random_state=0)
    X[np.abs(X) < 0.3] = 0
    dense = RobustGaussianProcessClassifier().fit(X, y)
    sparse = RobustGaussianProcessClassifier().fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(X)), dense.predict_proba(X), atol=1e-4)


def one_sided(seed=0, n=300):
    X, y = make_moons(n, noise=0.2, random_state=seed)
    return X, y, FlipMatrix.binary(0.0, 0.4).corrupt(y, seed)


def test_one_sided_noise_is_found_and_undone():
    X, y, observed = one_sided()
    robust = RobustGaussianProcessClassifier().fit(X, observed)
    plain = RobustGaussianProcessClassifier(noise=FlipMatrix.none(2)).fit(X, observed)
    assert robust.score(X, y) > plain.score(X, y) + 0.04
    assert robust.noise_.matrix[0, 1] < 0.1
    assert 0.25 < robust.noise_.matrix[1, 0] < 0.5
    assert roc_auc_score(observed != y, 1 - robust.label_quality(X, observed)) > 0.95
    assert (robust.suggest(X, observed) == y).mean() > (observed == y).mean() + 0.1
    assert robust.log_evidence_ > plain.log_evidence_


@pytest.mark.parametrize("start", [(0.6, 0.3), (0.05, 0.9), (0.49, 0.49)])
def test_labels_are_not_swapped_wherever_the_climb_starts(start):
    X, y, observed = one_sided(n=150)
    rows = LabelledRows.of(X, observed, np.ones(len(y)), 2).standardized()[1]
    width = grid_search(rows, 40, None)[0].features
    flips = np.array([[1 - start[0], start[0]], [start[1], 1 - start[1]]])
    mode = find_mode(as_problem(width, rows), flips, 0.1)
    ended = maximise_evidence(Candidate(width, mode, flips, -np.inf), None, 200, 1e-9)
    assert ended.flips[0, 1] + ended.flips[1, 0] < 1
    guessed = expit(width(rows.rows) @ ended.mode.coefficients)[rows.indices, 0] > 0.5
    assert (guessed == rows.codes).mean() > 0.6


def test_the_climb_never_descends_and_ends_above_the_scan():
    X, _, observed = one_sided(n=120)
    rows = LabelledRows.of(X, observed, np.ones(120), 2).standardized()[1]
    found = grid_search(rows, 40, None)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    ended = maximise_evidence(found[0], None, 100, 1e-9)
    assert np.all(np.diff(ended.history) >= 0)
    assert ended.history[-1] == ended.score > found[0].score


def test_the_widths_are_those_of_highest_evidence_with_rows_and_weights_alike():
    X, y = make_blobs(90, centers=3, cluster_std=3.0, random_state=0)
    weights = 1.0 + np.arange(90) % 3
    rows = LabelledRows.of(X, y, weights, 3).standardized()[1]
    copies = np.repeat(rows.indices, rows.weights.astype(int))
    targets = np.eye(3)[rows.codes[np.repeat(np.arange(90), rows.weights.astype(int))]]
    targets = targets - targets.mean(axis=0)
    squared, widths = distances_and_widths(rows)
    scores = []
    for width in widths:  # the density of all labels, copies as rows of their own
        gram = (Gaussian(width).of_squared_distance(squared) + 1)[np.ix_(copies, copies)]
        tried = []
        for ratio in NOISE_RATIOS:
            covariance = gram + ratio * np.eye(len(copies))
            amplitude = np.sum(targets * np.linalg.solve(covariance, targets)) / targets.size
            tried.append(multivariate_normal(cov=amplitude * covariance).logpdf(targets.T).sum())
        scores.append(max(tried))
    np.testing.assert_array_equal(np.sort(likeliest_widths(rows)), np.sort(widths[np.argsort(scores)[-2:]]))


def test_several_classes_share_the_flip_matrix_of_the_fisher_classifier():
    X, y = load_iris(return_X_y=True)
    observed = FlipMatrix.symmetric(0.3, 3).corrupt(y, 0)
    fisher = RobustKernelFisherClassifier().fit(X, observed)
    np.testing.assert_allclose(
        RobustGaussianProcessClassifier().fit(X, observed).noise_.matrix, fisher.noise_.matrix, atol=1e-6
    )


def test_the_amplitude_of_several_classes_is_near_that_of_highest_evidence():
    X, y = make_blobs(150, centers=3, cluster_std=3.0, random_state=0)
    model = RobustGaussianProcessClassifier(noise=FlipMatrix.symmetric(0.1, 3)).fit(X, y)
    rows = LabelledRows.of(X, y, np.ones(150), 3).standardized()[1]
    features = process_features(rows.rows, np.ones(150), squared_distances(rows.rows), model.width_, model.low_rank_)
    others = [
        find_mode(as_problem(features, rows), model.noise_.matrix, precision).evidence
        for precision in 1 / model.amplitude_ * 2.0 ** np.arange(-6, 7)
    ]
    assert model.log_evidence_ > max(others) - 2
    assert min(others) < model.log_evidence_ - 5


def test_multi_class_pair_flips_on_iris_are_undone():
    X, y = load_iris(return_X_y=True)
    observed = FlipMatrix([[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.0, 0.4, 0.6]]).corrupt(y, 0)
    robust = RobustGaussianProcessClassifier().fit(X, observed)
    plain = RobustGaussianProcessClassifier(noise=FlipMatrix.none(3)).fit(X, observed)
    assert robust.score(X, y) >= plain.score(X, y) + 0.03
    assert robust.score(X, y) > 0.93


def test_multi_class_pair_flips_on_digits_are_undone():
    X, y = load_digits(n_class=5, return_X_y=True)
    X, y, X_test, y_test = X[:250], y[:250], X[250:], y[250:]
    pairs = FlipMatrix(0.7 * np.eye(5) + 0.3 * np.roll(np.eye(5), 1, axis=1))
    observed = pairs.corrupt(y, 0)
    robust = RobustGaussianProcessClassifier().fit(X, observed)
    plain = RobustGaussianProcessClassifier(noise=FlipMatrix.none(5)).fit(X, observed)
    assert robust.score(X_test, y_test) > plain.score(X_test, y_test) + 0.2
    assert np.abs(robust.noise_.matrix - pairs.matrix).max() < 0.2


def test_many_rows_take_landmarks_and_report_them():
    X, y = make_moons(3100, noise=0.2, random_state=0)
    observed = FlipMatrix.binary(0.0, 0.3).corrupt(y, 0)
    model = RobustGaussianProcessClassifier(low_rank=20).fit(X, observed)
    assert model.low_rank_ == 20
    assert len(model.features_.rows) == 40
    assert model.score(X, y) > 0.95
    assert abs(model.noise_.matrix[1, 0] - 0.3) < 0.05


@pytest.mark.parametrize("source", ["confident", "fisher"])
def test_noise_may_come_from_another_estimator(source):
    X, y, observed = one_sided(n=200)
    model = RobustGaussianProcessClassifier(noise=source).fit(X, observed)
    assert model.noise_.matrix[1, 0] > model.noise_.matrix[0, 1]
    assert model.score(X, y) > (observed == y).mean()


def test_constant_columns_and_rows_all_equal_give_sound_answers():
    y = np.array([0, 1, 1, 1] * 5)
    posterior = RobustGaussianProcessClassifier().fit(np.ones((20, 3)), y).predict_proba(np.ones((2, 3)))
    assert np.isfinite(posterior).all()
    assert (posterior[:, 1] > posterior[:, 0]).all()


def test_a_class_of_one_row_and_labels_all_different_give_numbers():
    X = np.random.default_rng(0).normal(size=(12, 2))
    for y in (np.r_[np.zeros(11), 1], np.arange(12)):
        with np.errstate(all="raise", under="ignore"):
            posterior = RobustGaussianProcessClassifier().fit(X, y.astype(int)).predict_proba(X)
        np.testing.assert_allclose(posterior.sum(axis=1), 1)


def test_bad_input_is_refused_with_a_sentence():
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    for model, labels, options, words in [
        (RobustGaussianProcessClassifier(), np.zeros(10), {}, "1 class only"),
        (RobustGaussianProcessClassifier(low_rank=0), y, {}, "low_rank is 0"),
        (RobustGaussianProcessClassifier(max_iter=0), y, {}, "max_iter is 0"),
        (RobustGaussianProcessClassifier(), y, {"sample_weight": -np.ones(10)}, "negative"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit(X, labels, **options)


def test_too_few_steps_are_said():
    X, _, observed = one_sided(n=100)
    with pytest.warns(ConvergenceWarning, match="still rising"):
        RobustGaussianProcessClassifier(max_iter=1).fit(X, observed)


@pytest.mark.parametrize(
    "move", [lambda X: X * 1e-50, lambda X: X + 1e9, lambda X: X * 1e50], ids=["tiny", "far", "huge"]
)
def test_sparse_rows_in_any_units_are_told_apart(move):
    X, y = make_blobs(80, centers=[[-2, -2], [2, 2]], random_state=0)
    moved = move(np.round(X, 3))
    model = RobustGaussianProcessClassifier().fit(sp.csr_array(moved), y)
    assert model.score(sp.csr_array(moved), y) > 0.95
