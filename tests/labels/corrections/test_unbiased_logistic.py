"""Unbiased logistic regression: its loss by enumeration, its gradient by differences, its minimum by scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad
from scipy.special import log_softmax
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from noisewise import FlipMatrix
from noisewise.labels.corrections.unbiased import UnbiasedLogisticRegression, bounded_targets, corrected_loss
from noisewise.labels.logistic.linear import RobustLogisticRegression
from noisewise.metrics import make_corrected_scorer

TWO = FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
THREE = FlipMatrix([[0.7, 0.3, 0.0], [0.05, 0.85, 0.1], [0.2, 0.0, 0.8]])
NOISES = pytest.mark.parametrize("noise", [TWO, THREE, FlipMatrix.symmetric(0.45, 2)], ids=["two", "three", "strong"])


def random_problem(noise, rng, n=7):
    X, weights = rng.normal(size=(n, 3)), rng.uniform(0.5, 2, n)
    columns = rng.normal(size=(4, 1 if noise.n_classes == 2 else noise.n_classes))
    return X, weights, columns, rng.integers(noise.n_classes, size=n)


def targets_of(noise, codes):
    targets = noise.unbiased_targets(codes)
    return targets[:, 1:] if noise.n_classes == 2 else targets


@NOISES
def test_the_mean_over_the_noise_is_the_clean_loss(noise, rng):
    """Exact enumeration: every observed label of every row, with its probability."""
    X, _, columns, truth = random_problem(noise, rng)
    one = np.ones(1)
    mean = sum(
        noise.matrix[true, observed]
        * corrected_loss(columns, x[None], targets_of(noise, np.array([observed])), one, 0.0)[0]
        for x, true in zip(X, truth)
        for observed in range(noise.n_classes)
    )
    scores = X @ columns[:-1] + columns[-1]
    full = np.hstack([np.zeros_like(scores), scores]) if noise.n_classes == 2 else scores
    assert mean == pytest.approx(-log_softmax(full, axis=1)[np.arange(len(X)), truth].sum(), abs=1e-12)


@NOISES
def test_the_gradient_is_that_of_the_loss(noise, rng):
    X, weights, columns, codes = random_problem(noise, rng)
    targets = targets_of(noise, codes)

    def loss(flat):
        return corrected_loss(flat.reshape(columns.shape), X, targets, weights, 0.7)[0]

    def gradient(flat):
        return corrected_loss(flat.reshape(columns.shape), X, targets, weights, 0.7)[1].ravel()

    assert check_grad(loss, gradient, columns.ravel()) < 1e-5


@NOISES
def test_the_loss_is_convex_however_strong_the_noise(noise, rng):
    X, weights, columns, codes = random_problem(noise, rng, n=40)
    targets = targets_of(noise, codes)
    for _ in range(200):
        ends = [rng.normal(scale=5, size=columns.shape) for _ in range(2)]
        values = [corrected_loss(at, X, targets, weights, 0.0)[0] for at in (*ends, (ends[0] + ends[1]) / 2)]
        assert values[2] <= (values[0] + values[1]) / 2 + 1e-9


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_without_noise_it_is_logistic_regression(C, fit_intercept, load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    weights = np.random.default_rng(0).uniform(0.2, 2, len(y))
    none = FlipMatrix.none(len(np.unique(y)))
    found = UnbiasedLogisticRegression(none, C=C, fit_intercept=fit_intercept, tol=1e-9).fit(X, y, weights)
    plain = LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-12, solver="newton-cholesky").fit(X, y, weights)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-5)
    np.testing.assert_allclose(found.intercept_, plain.intercept_, atol=1e-5)
    np.testing.assert_allclose(found.predict_proba(X), plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
def test_sparse_rows_equal_dense_rows(container):
    X, y = load_iris(return_X_y=True)
    X = np.where(X > 2, X, 0)
    observed = THREE.corrupt(y, 0)
    dense = UnbiasedLogisticRegression(THREE, tol=1e-9).fit(X, observed)
    thin = UnbiasedLogisticRegression(THREE, tol=1e-9).fit(container(X), observed)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_allclose(thin.predict_proba(container(X)), dense.predict_proba(X), atol=1e-7)


def test_columns_of_any_scale_need_no_scaling():
    X, y = load_breast_cancer(return_X_y=True)  # columns from 1e-3 to 4e3
    assert UnbiasedLogisticRegression(TWO).fit(X, TWO.corrupt(y, 0)).n_iter_ < 400


def test_many_columns_get_a_diagonal_preconditioner(monkeypatch):
    X, y = load_iris(return_X_y=True)
    observed = THREE.corrupt(y, 0)
    few = UnbiasedLogisticRegression(THREE, tol=1e-8).fit(X, observed)
    monkeypatch.setattr("noisewise._numerics.cholesky.MANY_COLUMNS", 1)
    for rows in (X, sparse.csr_array(X)):
        many = UnbiasedLogisticRegression(THREE, tol=1e-8).fit(rows, observed)
        np.testing.assert_allclose(many.coef_, few.coef_, atol=1e-4)


def test_one_sided_noise_and_pair_flips_are_undone():
    X, y = make_blobs(3000, centers=[[0, 0], [2, 0], [0, 2]], random_state=0)
    noise = FlipMatrix(0.55 * np.eye(3) + 0.45 * np.roll(np.eye(3), 1, axis=1))
    for n_classes, channel in ((2, FlipMatrix.binary(0.0, 0.45)), (3, noise)):
        rows = y < n_classes
        observed = channel.corrupt(y[rows], 1)
        clean, plain = (LogisticRegression().fit(X[rows], z).score(X[rows], y[rows]) for z in (y[rows], observed))
        found = UnbiasedLogisticRegression(channel).fit(X[rows], observed)
        assert found.score(X[rows], y[rows]) > clean - 0.02
        assert plain < clean - 0.08
        assert found.predict_proba(X[rows]).mean(axis=0) == pytest.approx(np.full(n_classes, 1 / n_classes), abs=0.05)


def test_a_class_proportion_below_zero_is_raised_with_a_warning():
    X, y = np.random.default_rng(0).normal(size=(200, 2)), np.repeat([0, 1], [190, 10])
    noise = FlipMatrix.binary(false_positive=0.2, false_negative=0.0)  # expected 20 %, observed 5 %
    with pytest.warns(RuntimeWarning, match="class number 1 is -0.188"):
        model = UnbiasedLogisticRegression(noise).fit(X, y)
    assert np.isfinite(model.intercept_).all()
    assert 0 < model.predict_proba(X)[:, 1].mean() < 0.01


def test_raised_proportions_keep_the_sum():
    with pytest.warns(RuntimeWarning, match="corrected proportion"):
        targets = bounded_targets(np.array([[1.2, -0.2], [1.2, -0.2]]), np.ones(2))
    np.testing.assert_allclose(targets.sum(axis=1), 1)
    assert targets.mean(axis=0).min() > 0


def test_an_early_stop_is_warned_of():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
        UnbiasedLogisticRegression(TWO, max_iter=2).fit(X, TWO.corrupt(y, 0))


def test_the_noise_is_estimated_unless_given():
    X, y = load_digits(return_X_y=True)
    noise = FlipMatrix.symmetric(0.3, 10)
    observed = noise.corrupt(y, 0)
    found = UnbiasedLogisticRegression(C=1e-4).fit(X, observed).noise_.matrix
    np.testing.assert_allclose(found, noise.matrix, atol=0.05)


def test_penalties_are_chosen_by_the_corrected_loss():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    noise = FlipMatrix.binary(0.3, 0.3)
    scorer = make_corrected_scorer(noise, "log_loss")
    search = GridSearchCV(UnbiasedLogisticRegression(noise), {"C": [1e-3, 1e-2, 1.0, 100.0]}, scoring=scorer)
    assert search.fit(X, noise.corrupt(y, 0)).best_params_["C"] <= 1e-2
    assert search.score(X, noise.corrupt(y, 0)) > -0.5


@pytest.mark.parametrize(
    ("change", "sentence"),
    [({"C": 0}, "C is 0"), ({"C": np.inf}, "without a penalty"), ({"max_iter": 0}, "max_iter is 0")],
)
def test_impossible_parameters_get_a_sentence(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        UnbiasedLogisticRegression(TWO, **change).fit(*load_breast_cancer(return_X_y=True))


@pytest.mark.parametrize(
    "model", [UnbiasedLogisticRegression(noise=FlipMatrix.binary(0.1, 0.1)), RobustLogisticRegression()]
)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_columns_far_from_zero_are_learnt_as_near_it(model, kind):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(400, 3)), 3)
    y = FlipMatrix.binary(0.1, 0.1).corrupt((X[:, 0] + X[:, 1] / 2 > 0).astype(int), rng)
    near = model.fit(X, y).predict_proba(X)
    far = model.fit(kind(X + 1e9), y).predict_proba(kind(X + 1e9))
    np.testing.assert_allclose(far, near, atol=1e-3)
