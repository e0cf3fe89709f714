"""Learners that must agree: special cases, forms of the same data, and grains of the same stream."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import LogisticRegression

from noisewise import FlipMatrix
from noisewise.kernels import Gaussian, Linear
from noisewise.labels import (
    RobustKernelLogisticRegression,
    RobustLogisticRegression,
    RobustMultiKernelLogisticRegression,
)
from noisewise.online import recipes

K, D = 5, 30
NOISE = FlipMatrix.binary(false_positive=0.2, false_negative=0.1)
FEEDBACK = {
    "banditron": lambda **o: recipes.banditron(K, gamma=0.2, **o),
    "rcnbf": lambda **o: recipes.rcnbf(K, gamma=0.2, noise=NOISE, **o),
    "bandit_pa": lambda **o: recipes.bandit_pa(K, gamma=0.2, C=0.1, **o),
    "soba": lambda **o: recipes.soba(K, gamma=0.2, **o),
    "soba_full": lambda **o: recipes.soba(K, gamma=0.2, covariance="full", **o),
    "soba_recursive": lambda **o: recipes.soba(K, gamma=0.2, variant="recursive", **o),
    "confidit": lambda **o: recipes.confidit(K, **o),
    "linucb": lambda **o: recipes.linucb(K, noise=[NOISE] * K, **o),
    "linucb_diagonal": lambda **o: recipes.linucb(K, covariance="diagonal", **o),
    "linucb_origin": lambda **o: recipes.linucb(K, intercept=False, **o),
    "ucwl": lambda **o: recipes.ucwl(K, **o),
    "ucwl_full": lambda **o: recipes.ucwl(K, covariance="full", **o),
    "corrected_ucwl": lambda **o: recipes.corrected_ucwl(K, noise=NOISE, **o),
}
LABELS = {
    "perceptron": recipes.perceptron,
    "mpa": recipes.mpa,
    "mscw": recipes.mscw,
    "arow": recipes.arow,
    "nherd": recipes.nherd,
}


@pytest.fixture(scope="module")
def stream():
    rng = np.random.default_rng(8)
    y = rng.integers(K, size=600)
    X = np.eye(K, D)[y] + rng.normal(scale=0.5, size=(600, D))
    X[rng.random(X.shape) < 0.6] = 0
    X[11] = 0
    return X, y


def test_rcnbf_without_noise_is_banditron_round_by_round(stream):
    one = recipes.rcnbf(K, gamma=0.2, noise=FlipMatrix.none(2), random_state=4)
    other = recipes.banditron(K, gamma=0.2, random_state=4)
    for x, true in zip(*stream):
        decisions = one.decide(x), other.decide(x)
        assert decisions[0][:3] == decisions[1][:3]
        for learner, decision in zip((one, other), decisions):
            learner.learn(decision, int(decision.action == true))
    assert np.array_equal(one.table_, other.table_)


def test_corrected_ucwl_without_noise_is_ucwl(stream):
    one, other = recipes.corrected_ucwl(K, noise=FlipMatrix.none(2)), recipes.ucwl(K)
    assert np.array_equal(one.play(*stream).actions, other.play(*stream).actions)
    assert np.array_equal(one.table_, other.table_)


def test_scw_with_infinite_C_is_cw(stream):
    for variant in ("I", "II"):
        soft = recipes.mscw(confidence=0.8, C=np.inf, variant=variant).fit(*stream)
        assert np.array_equal(soft.table_, recipes.mcw(confidence=0.8).fit(*stream).table_)
    nearly = recipes.mscw(confidence=0.8, C=1e12, variant="II").fit(*stream)
    np.testing.assert_allclose(nearly.coef_, recipes.mcw(confidence=0.8).fit(*stream).coef_, atol=1e-6)


def test_pa_with_a_large_cap_is_plain_pa(stream):
    plain = recipes.mpa(C=np.inf).fit(*stream).coef_
    assert np.array_equal(recipes.mpa(C=1e12).fit(*stream).coef_, plain)
    np.testing.assert_allclose(recipes.mpa(C=1e12, variant="II").fit(*stream).coef_, plain, atol=1e-9)


@pytest.mark.parametrize("name", FEEDBACK)
def test_play_equals_step_by_step_bit_for_bit(name, stream):
    X, y = stream
    streamed, stepped = FEEDBACK[name](random_state=7), FEEDBACK[name](random_state=7)
    history = streamed.play(X, y, noise=NOISE, rng=9)
    rng = np.random.default_rng(9)
    for i, (x, true) in enumerate(zip(X, y)):
        decision = stepped.decide(x)
        assert decision.action == history.actions[i]
        assert decision.probability == history.probabilities[i]
        observed = NOISE.corrupt(np.array([int(decision.action == true)]), rng)[0]
        assert observed == history.feedback[i]
        stepped.learn(decision, observed)
    for part in ("table_", "sigma_", "rng_state_", "sums_"):
        assert np.array_equal(getattr(streamed, part), getattr(stepped, part)), part
    assert (streamed.n_rounds_, streamed.n_updates_) == (stepped.n_rounds_, stepped.n_updates_)


@pytest.mark.parametrize("name", FEEDBACK)
def test_sparse_rows_equal_dense_rows(name, stream):
    X, y = stream
    dense, sparse, stepped = (FEEDBACK[name](random_state=7) for _ in range(3))
    rows = sp.csr_array(X)
    one = dense.play(X, y, noise=NOISE, rng=9)
    other = sparse.play(rows, y, noise=NOISE, rng=9)
    assert np.array_equal(one.actions, other.actions)
    assert np.array_equal(dense.table_, sparse.table_)
    assert np.array_equal(dense.sigma_, sparse.sigma_)
    for i in range(50):
        stepped.learn(stepped.decide(rows[[i]]), int(one.feedback[i]))
        assert stepped.n_rounds_ == i + 1
    dense = FEEDBACK[name](random_state=7)
    dense.play(X[:50], y[:50], noise=NOISE, rng=9)
    assert np.array_equal(dense.table_, stepped.table_)


@pytest.mark.parametrize("name", LABELS)
def test_sparse_labels_equal_dense_labels(name, stream):
    X, y = stream
    assert np.array_equal(LABELS[name]().fit(X, y).table_, LABELS[name]().fit(sp.csr_array(X), y).table_)


@pytest.mark.parametrize("name", LABELS)
def test_float32_is_close_to_float64(name, stream):
    X, y = stream
    double, single = LABELS[name]().fit(X[:200], y[:200]), LABELS[name]().fit(X[:200].astype(np.float32), y[:200])
    assert single.table_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, double.coef_, atol=2e-3)
    sparse = LABELS[name]().fit(sp.csr_array(X[:200].astype(np.float32)), y[:200])
    assert np.array_equal(sparse.table_, single.table_)


def test_reliving_a_log_equals_playing_it(stream):
    X, y = stream
    played, relived = recipes.ucwl(K), recipes.ucwl(K)
    history = played.play(X, y, noise=NOISE, rng=1)
    relived.learn_logged(X, history.actions, history.feedback, history.probabilities)
    assert np.array_equal(played.table_, relived.table_)


def test_two_streams_equal_one(stream):
    X, y = stream
    for name in ("rcnbf", "ucwl"):
        whole, halves = FEEDBACK[name](random_state=0), FEEDBACK[name](random_state=0)
        whole.play(X, y)
        halves.play(X[:211], y[:211])
        halves.play(X[211:], y[211:])
        assert np.array_equal(whole.table_, halves.table_)


def test_robust_logistic_regression_without_noise_is_logistic_regression():
    X, y = load_iris(return_X_y=True)
    robust = RobustLogisticRegression(FlipMatrix.none(3), tol=1e-9).fit(X, y)
    plain = LogisticRegression(tol=1e-12, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(robust.predict_proba(X), plain.predict_proba(X), atol=1e-5)


def test_robust_kernel_logistic_regression_without_noise_is_kernel_logistic_regression():
    """Logistic regression on a root of the Gram matrix is kernel logistic regression."""
    X, y = make_moons(80, noise=0.3, random_state=0)
    gram = Gaussian(1.0).gram(X)
    robust = RobustKernelLogisticRegression(FlipMatrix.none(2), Gaussian(1.0), 0.5, "function", tol=1e-9).fit(X, y)
    values, vectors = np.linalg.eigh(gram)
    root = vectors * np.sqrt(np.maximum(values, 0))
    plain = LogisticRegression(C=2.0, tol=1e-10, solver="newton-cholesky").fit(root, y)
    np.testing.assert_allclose(robust.decision_function(X), plain.decision_function(root), atol=1e-4)


def test_one_kernel_of_many_is_robust_kernel_logistic_regression():
    X, y = make_moons(80, noise=0.3, random_state=0)
    for kernel in (Gaussian(1.0), Linear()):
        one = RobustKernelLogisticRegression(NOISE, kernel, penalty=0.5, tol=1e-9).fit(X, y)
        many = RobustMultiKernelLogisticRegression(NOISE, [kernel], penalty=0.5, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(many.decision_function(X), one.decision_function(X), atol=1e-6)
