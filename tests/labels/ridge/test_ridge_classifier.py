import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, make_blobs
from sklearn.metrics import roc_auc_score

from noisewise._numerics.blocks import BLOCK
from noisewise.labels.ridge import landmarks, leave_one_out, pooled_fit
from noisewise.labels.ridge.classifier import RobustRidgeClassifier
from noisewise.labels.ridge.pooled_fit import stacking_weights
from noisewise.labels.standardizer import Standardizer
from noisewise.noise import FlipMatrix


@pytest.fixture
def blobs():
    X, y = make_blobs(60, 3, centers=3, cluster_std=3.0, random_state=1)
    return X, y


def test_a_weight_counts_rows(blobs):
    X, y = blobs
    observed = FlipMatrix.symmetric(0.2, 3).corrupt(y, 0)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    counted = RobustRidgeClassifier(n_landmarks=30).fit(X, observed, sample_weight=weights)
    repeated = RobustRidgeClassifier(n_landmarks=30).fit(X.repeat(weights, axis=0), observed.repeat(weights))
    np.testing.assert_allclose(counted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(counted.label_quality_.repeat(weights), repeated.label_quality_, rtol=1e-4)
    assert counted.n_wrong_ == pytest.approx(repeated.n_wrong_, rel=1e-5)


def test_rows_of_weight_zero_are_scored_only(blobs):
    X, y = blobs
    some = np.arange(len(y)) < 40
    model = RobustRidgeClassifier(n_landmarks=20).fit(X, y, sample_weight=some)
    alone = RobustRidgeClassifier(n_landmarks=20).fit(X[some], y[some])
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(model.label_quality_[~some], alone.label_quality(X[~some], y[~some]), rtol=1e-3)
    with pytest.raises(ValueError, match="1 class only"):
        RobustRidgeClassifier().fit(X, y, sample_weight=y == 1)


def test_the_order_of_rows_does_not_matter(blobs):
    X, y = blobs
    order = np.random.default_rng(1).permutation(len(y))
    model = RobustRidgeClassifier(n_landmarks=15)
    qualities = model.fit(X, y).label_quality_, model.fit(X[order], y[order]).label_quality_
    np.testing.assert_allclose(qualities[0][order], qualities[1], rtol=1e-4)


@pytest.mark.parametrize("rare", [1, 2, 4])
def test_rare_classes_are_not_flagged_for_being_rare(rare):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [150, 150, rare])
    X = rng.normal(size=(len(y), 2)) + np.array([[4.0, 0.0], [0.0, 4.0], [-6.0, -6.0]])[y]
    model = RobustRidgeClassifier().fit(X, y)
    assert np.isfinite(model.label_quality_).all()
    assert model.label_quality_[y == 2].min() > 0.5
    assert model.n_wrong_ < 2


@pytest.mark.parametrize("n", [4, 6, 10])
def test_tiny_tables_give_no_certainty(n):
    rng = np.random.default_rng(n)
    y = np.arange(n) % 2
    model = RobustRidgeClassifier().fit(rng.normal(size=(n, 2)), y)
    assert model.label_quality_.max() < 0.995
    assert model.n_wrong_interval_[0] == 0
    assert model.n_wrong_interval_[1] > 1


def test_a_hundred_classes_are_told_apart():
    X, y = make_blobs(2000, 12, centers=100, cluster_std=1.0, random_state=0)
    observed = FlipMatrix.symmetric(0.15, 100).corrupt(y, 0)
    model = RobustRidgeClassifier(n_landmarks=300).fit(X, observed)
    wrong = observed != y
    assert roc_auc_score(wrong, -model.label_quality_) > 0.95
    assert model.n_wrong_interval_[0] < wrong.sum() < model.n_wrong_interval_[1]


def test_a_table_of_two_cells_can_be_learnt():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (400, 1)).astype(float)
    truth = X[:, 0].astype(int)
    observed = FlipMatrix.symmetric(0.1, 2).corrupt(truth, rng)
    model = RobustRidgeClassifier().fit(X, observed)
    assert (model.predict(X) == truth).all()
    assert roc_auc_score(observed != truth, -model.label_quality_) > 0.95


def test_doubling_the_rows_hides_no_wrong_label(monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, y = X[:500], y[:500]
    observed = FlipMatrix.symmetric(0.2, 10).corrupt(y, 0)
    twice, labels = np.vstack([X, X]), np.concatenate([observed, observed])
    wrong = labels != np.concatenate([y, y])
    assert roc_auc_score(wrong, -RobustRidgeClassifier().fit(twice, labels).label_quality_) > 0.97
    monkeypatch.setattr(leave_one_out, "MOST_COPIES", 0)  # every row alone: its copy tells its label
    assert roc_auc_score(wrong, -RobustRidgeClassifier().fit(twice, labels).label_quality_) < 0.9


@pytest.mark.parametrize("columns", [64, 10])
def test_sparse_equals_dense(columns, monkeypatch):
    monkeypatch.setattr(landmarks, "WIDE", 20)  # 64 columns: products with landmarks; 10: the columns
    X, y = load_digits(return_X_y=True)
    X, y = X[:300, -columns:], y[:300] % 3
    dense, sparse = RobustRidgeClassifier().fit(X, y), RobustRidgeClassifier().fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(dense.scores_, sparse.scores_, atol=2e-3)
    np.testing.assert_allclose(dense.predict_proba(X), sparse.predict_proba(sp.csr_array(X)), atol=2e-2)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_standardised_columns_have_mean_zero_and_unit_variance(kind):
    X = np.random.default_rng(0).poisson(1.0, (500, 4)).astype(float) * [1, 10, 0, 1] + [0, 0, 0, 1e6]
    found = Standardizer.of(kind(X))
    np.testing.assert_allclose(found.center, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.factor[[0, 1, 3]], 1 / X.std(axis=0)[[0, 1, 3]], rtol=1e-9)
    assert found.factor[2] == 0


@pytest.mark.parametrize(("columns", "expected"), [(1000, 500), (1001, 520)])
def test_many_columns_get_more_landmarks(columns, expected):
    X = sp.random_array((520, columns), density=0.02, format="csr", rng=np.random.default_rng(0))
    model = RobustRidgeClassifier().fit(X, np.arange(520) % 2)
    assert model.ridge_.landmarks.rows.shape[0] == expected
    fewer = RobustRidgeClassifier(n_landmarks=40).fit(X, np.arange(520) % 2)
    assert fewer.ridge_.landmarks.rows.shape[0] == 40


def test_each_further_row_is_visited_once(monkeypatch):
    """Linear in the rows: beyond those the ridge learns from, one visit a row, in blocks of bounded size."""
    monkeypatch.setattr(pooled_fit, "FIT_ROWS", 600)
    visits, features = [], landmarks.Landmarks.features

    def counted(self, rows):
        visits.append(rows.shape[0])
        return features(self, rows)

    monkeypatch.setattr(landmarks.Landmarks, "features", counted)
    X, y = make_blobs(20_000, 4, centers=3, random_state=0)
    totals = []
    for n in (10_000, 20_000):
        visits.clear()
        RobustRidgeClassifier(n_landmarks=50).fit(X[:n], y[:n])
        totals.append(sum(visits))
        assert max(visits) <= BLOCK
    assert totals[1] - totals[0] == 10_000


def test_symmetric_noise_is_found_on_digits():
    X, y = load_digits(return_X_y=True)
    noise = FlipMatrix.symmetric(0.2, 10)
    observed = noise.corrupt(y, 0)
    model = RobustRidgeClassifier().fit(X, observed)
    assert roc_auc_score(observed != y, 1 - model.label_quality_) > 0.985
    assert np.abs(model.noise_.matrix - noise.matrix).sum(axis=1).mean() < 0.1
    low, high = model.n_wrong_interval_
    assert low < (observed != y).sum() < high
    wrong = observed != y
    assert (model.true_label_posterior_.argmax(axis=1) == y)[wrong].mean() > 0.9


def test_one_sided_noise_is_found_on_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    noise = FlipMatrix.binary(0.3, 0.0)
    observed = noise.corrupt(y, 0)
    model = RobustRidgeClassifier().fit(X, observed)
    assert roc_auc_score(observed != y, 1 - model.label_quality_) > 0.97
    assert model.noise_.matrix[0, 1] > 0.2
    assert model.noise_.matrix[1, 0] < 0.05


def test_new_rows_get_their_true_label():
    X, y = load_digits(return_X_y=True)
    observed = FlipMatrix.symmetric(0.3, 10).corrupt(y[:1200], 1)
    model = RobustRidgeClassifier().fit(X[:1200], observed)
    assert (model.predict(X[1200:]) == y[1200:]).mean() > 0.92
    assert (
        model.predict_proba(X[1200:]).max(axis=1).mean() > 0.75
    )  # the posterior of the true label is higher than of the observed


def test_quality_of_fitted_rows_is_leave_one_out():
    X, y = load_breast_cancer(return_X_y=True)
    observed = FlipMatrix.symmetric(0.2, 2).corrupt(y, 2)
    model = RobustRidgeClassifier().fit(X, observed)
    np.testing.assert_allclose(model.label_quality(X, observed), model.label_quality_, atol=2e-3)
    np.testing.assert_allclose(model.label_quality(X[::-1], observed[::-1])[::-1], model.label_quality_, atol=2e-3)


def test_given_noise_is_used():
    X, y = load_breast_cancer(return_X_y=True)
    noise = FlipMatrix.binary(0.25, 0.05)
    model = RobustRidgeClassifier(noise=noise).fit(X, noise.corrupt(y, 0))
    assert model.noise_ == noise
    certain = RobustRidgeClassifier(noise=FlipMatrix.none(2)).fit(X, y)
    np.testing.assert_allclose(certain.label_quality_, 1, atol=1e-6)
    assert certain.n_wrong_ < 1e-3
    assert certain.n_wrong_interval_[1] < 0.01


def test_labels_may_be_words_and_no_global_random_state_is_used():
    X, y = load_breast_cancer(return_X_y=True)
    words = np.array(["bad", "good"])[y]
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one, two = (RobustRidgeClassifier(n_landmarks=60).fit(X, words) for _ in range(2))
    other = RobustRidgeClassifier(n_landmarks=60, random_state=5).fit(X, words)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    assert set(one.predict(X)) == {"bad", "good"}
    np.testing.assert_array_equal(one.label_quality_, two.label_quality_)
    assert np.abs(one.label_quality_ - other.label_quality_).max() > 0


def test_a_class_of_one_row_and_constant_columns_are_no_hindrance():
    X, y = make_blobs(30, 2, centers=2, random_state=0)
    y[0] = 2
    assert np.isfinite(RobustRidgeClassifier().fit(X, y).label_quality_).all()
    constant = RobustRidgeClassifier().fit(np.ones((30, 2)), y)
    assert np.isfinite(constant.predict_proba(np.zeros((3, 2)))).all()


def test_many_classes():
    X, y = make_blobs(1500, 8, centers=60, cluster_std=1.5, random_state=0)
    observed = FlipMatrix.symmetric(0.15, 60).corrupt(y, 0)
    model = RobustRidgeClassifier(n_landmarks=300).fit(X, observed)
    assert roc_auc_score(observed != y, 1 - model.label_quality_) > 0.9


def test_bad_settings_get_one_sentence(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="1 class only"):
        RobustRidgeClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="n_landmarks is 0"):
        RobustRidgeClassifier(n_landmarks=0).fit(X, y)
    with pytest.raises(ValueError, match="2 classes"):
        RobustRidgeClassifier(noise=FlipMatrix.none(2)).fit(X, y)
    with pytest.raises(ValueError, match="not seen in fit"):
        RobustRidgeClassifier().fit(X, y).label_quality(X, y + 1)


def test_stacking_beats_every_member_whatever_its_scale():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(100, 2))
    predictions = [
        (truth + rng.normal(size=(100, 2)) * deviation) * scale
        for deviation, scale in ((0.5, 1e-3), (0.7, 1.0), (3.0, 1.0))
    ]
    weights = stacking_weights(predictions, truth)

    def error(tried):
        return np.square(truth - sum(w * each for w, each in zip(tried, predictions))).sum()

    assert weights[0] > 100
    assert (weights >= 0).all()
    alone = [error(np.eye(3)[i] * np.vdot(each, truth) / np.vdot(each, each)) for i, each in enumerate(predictions)]
    assert error(weights) < min(alone)
    for step in (*np.diag(weights), *-np.diag(weights)):  # more or less of any is no better
        assert error(weights + 1e-3 * step) >= error(weights) * (1 - 1e-9)


def test_stacking_prefers_none_of_predictions_that_go_astray():
    np.testing.assert_allclose(
        stacking_weights([np.array([-1.0, 0.1]), np.array([-2.0, 0.0])], np.array([1.0, 0.0])), 0.5
    )
    np.testing.assert_allclose(stacking_weights([np.zeros(2), np.array([2.0, 0.0])], np.array([1.0, 0.0])), [0, 0.5])
