"""Robust logistic regression: scikit-learn without noise, the boundary and the rates with it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from noisewise import FlipMatrix
from noisewise.labels import RobustLogisticRegression
from noisewise.labels.logistic import solvers
from noisewise.labels.logistic.linear import FlipProblem, _HeldOut, held_out_folds

CYCLE = FlipMatrix(0.6 * np.eye(3) + 0.4 * np.roll(np.eye(3), 1, axis=1))
ONE_SIDED = FlipMatrix.binary(false_positive=0.0, false_negative=0.4)


def three_blobs(n=1500):
    return make_blobs(n, centers=[[0, 0], [4, 0], [0, 4]], random_state=0)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_without_noise_it_is_logistic_regression(C, fit_intercept, load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    weights = np.random.default_rng(0).uniform(0.2, 2, len(y))
    none = FlipMatrix.none(len(np.unique(y)))
    found = RobustLogisticRegression(none, C=C, fit_intercept=fit_intercept, tol=1e-9).fit(X, y, weights)
    plain = LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-12, solver="newton-cholesky").fit(X, y, weights)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-5)
    np.testing.assert_allclose(found.predict_proba(X), plain.predict_proba(X), atol=1e-6)


def test_one_sided_flips_move_the_boundary_back():
    X, y = make_blobs(1500, centers=[[0, 0], [2.5, 0]], random_state=0)
    observed = ONE_SIDED.corrupt(y, 0)
    model = RobustLogisticRegression().fit(X, observed)
    plain = LogisticRegression().fit(X, observed)
    clean = LogisticRegression().fit(X, y).score(X, y)
    assert model.score(X, y) > clean - 0.01 > plain.score(X, y) + 0.03
    np.testing.assert_allclose(model.noise_.matrix, ONE_SIDED.matrix, atol=0.08)


def test_cyclic_flips_of_three_classes_are_found():
    X, y = three_blobs()
    model = RobustLogisticRegression().fit(X, CYCLE.corrupt(y, 0))
    np.testing.assert_allclose(model.noise_.matrix, CYCLE.matrix, atol=0.06)
    assert model.score(X, y) > 0.96


@pytest.mark.parametrize("source", ["confident", "fisher"])
def test_noise_of_other_estimators_is_one_sided(source):
    X, y = make_blobs(300, centers=[[0, 0], [3, 0]], random_state=0)
    model = RobustLogisticRegression(noise=source).fit(X, ONE_SIDED.corrupt(y, 0))
    assert model.noise_.matrix[0, 1] < 0.05
    assert 0.2 < model.noise_.matrix[1, 0] < 0.55
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
def test_sparse_rows_equal_dense_rows(container):
    X, y = three_blobs(300)
    X = np.where(X > 1, X, 0)
    observed = CYCLE.corrupt(y, 0)
    dense = RobustLogisticRegression(tol=1e-9).fit(X, observed)
    thin = RobustLogisticRegression(tol=1e-9).fit(container(X), observed)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-4)
    np.testing.assert_allclose(thin.predict_proba(container(X)), dense.predict_proba(X), atol=1e-5)


def test_weights_count_rows():
    X, y = three_blobs(200)
    observed, counts = CYCLE.corrupt(y, 0), np.random.default_rng(1).integers(0, 4, 200)
    weighted = RobustLogisticRegression(tol=1e-8).fit(X, observed, counts)
    repeated = RobustLogisticRegression(tol=1e-8).fit(np.repeat(X, counts, axis=0), np.repeat(observed, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


def test_flipped_rows_are_of_low_quality_and_get_other_labels():
    X, y = make_blobs(1000, centers=[[0, 0], [6, 0]], random_state=0)
    observed = ONE_SIDED.corrupt(y, 0)
    model = RobustLogisticRegression().fit(X[:500], observed[:500])
    rest, wrong = slice(500, None), observed[500:] != y[500:]
    quality = model.label_quality(X[rest], observed[rest])
    assert quality[~wrong].min() > quality[wrong].mean()
    assert np.mean(model.suggest(X[rest], observed[rest]) == y[rest]) > 0.99


def test_an_early_end_is_told():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations; scale the columns"):
        RobustLogisticRegression(max_iter=2).fit(X, y)


def test_the_history_falls_to_the_minimum():
    X, y = three_blobs(300)
    model = RobustLogisticRegression().fit(X, CYCLE.corrupt(y, 0))
    assert len(model.objective_history_) == model.n_iter_ + 1
    assert model.objective_history_[-1] == min(model.objective_history_)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"C": 0}, "C is 0"),
        ({"max_iter": 0}, "max_iter is 0"),
    ],
)
def test_impossible_parameters_get_a_sentence(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        RobustLogisticRegression(**change).fit(*load_breast_cancer(return_X_y=True))


def test_callbacks_see_every_iteration_and_may_stop_it():
    pytest.importorskip("sklearn.callback")

    class Watcher:
        def __init__(self, most):
            self.most, self.seen, self.ended = most, 0, False

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.seen += context.parent is not None
            return self.seen == self.most

        def teardown(self, estimator, context):
            self.ended = True

    X, y = three_blobs(300)
    watcher = Watcher(most=1000)
    model = RobustLogisticRegression().set_callbacks(watcher).fit(X, CYCLE.corrupt(y, 0))
    assert watcher.seen == model.n_iter_
    assert watcher.ended
    impatient = Watcher(most=3)
    with pytest.warns(ConvergenceWarning, match="after 3 iterations"):
        model = RobustLogisticRegression().set_callbacks(impatient).fit(X, CYCLE.corrupt(y, 0))
    assert model.n_iter_ == 3


def test_flips_are_found_where_columns_could_explain_any_labels(rng):
    """Words of a topic of their own among many common ones: 3,000 columns, 600 rows, four classes."""
    y = np.arange(1200) % 4
    common, own = rng.integers(1000, 3000, (1200, 30)), rng.integers(0, 250, (1200, 12)) + 250 * y[:, None]
    words = np.hstack([common, own])
    X = sparse.csr_array((np.ones(words.size), (np.repeat(np.arange(1200), 42), words.ravel())), shape=(1200, 3000))
    X, flips = X / np.sqrt(42), FlipMatrix(0.7 * np.eye(4) + 0.3 * np.roll(np.eye(4), 1, axis=1))
    model = RobustLogisticRegression().fit(X[:600], flips.corrupt(y[:600], 0))
    plain = RobustLogisticRegression(FlipMatrix.none(4)).fit(X[:600], flips.corrupt(y[:600], 0))
    np.testing.assert_allclose(model.noise_.matrix, flips.matrix, atol=0.15)
    assert model.score(X[600:], y[600:]) > plain.score(X[600:], y[600:]) + 0.05


@pytest.mark.parametrize("noise", [(0.1, 0.2), (0.3, 0.1), (0.2, 0.4), (0.0, 0.4)], ids=repr)
def test_wide_sparse_rows_of_a_rare_class_are_no_worse_than_plain_or_constant(noise):
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.04).astype(int)
    rates = 0.05 * np.where((rng.random((2, 300)) < 0.15), 4.0, 1.0)
    X = sparse.csr_array((rng.random((4000, 300)) < rates[y]).astype(float))
    observed = FlipMatrix.binary(*noise).corrupt(y[:1000], 1)
    model = RobustLogisticRegression().fit(X[:1000], observed)
    plain = LogisticRegression(max_iter=2000).fit(X[:1000], observed)
    errors = [np.mean(one.predict(X[1000:]) != y[1000:]) for one in (model, plain)]
    assert errors[0] <= min(errors[1], y[1000:].mean()) + 0.01


@pytest.mark.parametrize("n", [2000, 3000])  # fewer and more than eight rows for each column
@pytest.mark.parametrize("noise", [(0.05, 0.3), (0.3, 0.3)], ids=repr)
def test_observed_labels_are_no_less_likely_than_by_plain_or_constant(n, noise):
    rng = np.random.default_rng(1)
    y = (rng.random(n + 4000) < 0.04).astype(int)
    rates = 0.05 * np.where((rng.random((2, 300)) < 0.15), 4.0, 1.0)
    X = sparse.csr_array((rng.random((n + 4000, 300)) < rates[y]).astype(float))
    observed = FlipMatrix.binary(*noise).corrupt(y, 1)
    model = RobustLogisticRegression().fit(X[:n], observed[:n])
    plain = LogisticRegression(max_iter=2000).fit(X[:n], observed[:n])
    constant = np.tile([1 - observed[:n].mean(), observed[:n].mean()], (4000, 1))
    ours, *others = (
        np.log(p[np.arange(4000), observed[n:]])
        for p in (model.predict_proba(X[n:]) @ model.noise_.matrix, plain.predict_proba(X[n:]), constant)
    )
    for other in others:
        assert np.mean(ours - other) > -2 * np.std(ours - other) / np.sqrt(4000) - 1e-4


def random_table(seed, rows_per_column):
    """Classes around random centres, observed through random flips; at times nothing but noise."""
    rng = np.random.default_rng(seed)
    d, n_classes = int(rng.integers(1, 7)), int(rng.integers(2, 4))
    y = rng.choice(n_classes, rows_per_column * d, p=rng.dirichlet(np.full(n_classes, 3.0)))
    y[:n_classes] = np.arange(n_classes)
    centres = rng.normal(size=(n_classes, d)) * rng.choice([0.0, 0.5, 2.0])
    kept = rng.uniform(0.6, 1, n_classes)[:, None]
    flips = kept * np.eye(n_classes) + (1 - kept) * (1 - np.eye(n_classes)) / (n_classes - 1)
    return centres[y] + rng.normal(size=(len(y), d)), FlipMatrix(flips).corrupt(y, rng)


def test_penalised_likelihood_is_never_lower_than_that_of_plain_or_constant_by_more_than_a_nat(monkeypatch):
    for most in (solvers.MOST_LOST, 0.0):
        monkeypatch.setattr(solvers, "MOST_LOST", most)
        lost = []
        for seed in range(30):
            X, y = random_table(seed, rows_per_column=40 + seed)
            codes = np.unique(y, return_inverse=True)[1]
            model = RobustLogisticRegression(tol=1e-8).fit(X, y)
            plain = LogisticRegression(tol=1e-10, max_iter=2000).fit(X, y)
            ours, others = (
                np.square(one.coef_).sum() / 2 - np.log(p[np.arange(len(y)), codes]).sum()
                for one, p in ((model, model.predict_proba(X) @ model.noise_.matrix), (plain, plain.predict_proba(X)))
            )
            assert others <= -np.log(np.bincount(codes)[codes] / len(codes)).sum() + 1e-4
            lost.append(ours - others)
        assert max(lost) < most + 1e-4
        assert min(lost) < -1


@pytest.mark.parametrize(
    ("losses", "learnt"),
    [
        ({"noisy": 0.5, "plain": 0.51, "constant": 0.6}, True),
        ({"noisy": 0.5, "plain": 0.499, "constant": 0.6}, True),  # within two standard errors
        ({"noisy": 0.5, "plain": 0.4, "constant": 0.6}, False),
        ({"noisy": 0.5, "plain": 0.51, "constant": 0.49}, False),
    ],
)
def test_noise_is_learnt_where_held_out_labels_are_about_as_likely_with_it(losses, learnt):
    class Told(_HeldOut):
        def losses(self, noise, factor):
            told = losses["noisy" if noise is None else "constant" if factor > 100 else "plain"]
            return told + np.linspace(-0.1, 0.1, 100) * (factor + (noise is None))

    problem = FlipProblem(np.ones((100, 1)), np.arange(100) % 2, np.ones(100), np.ones(1), 2, 1)
    noise, factor = Told(problem, np.zeros(100), np.ones(1), 10).likeliest(None)
    assert (noise is None) == learnt
    if learnt:
        assert factor == 1


def test_folds_spread_every_class_and_keep_equal_rows_together():
    X = np.repeat(np.arange(12.0), 3)[:, None]
    codes = np.repeat(np.arange(2), 18)
    folds = held_out_folds(X, codes)
    assert (folds.reshape(12, 3) == folds[::3, None]).all()
    assert (np.bincount(2 * folds + codes) == 6).all()
    order = np.random.default_rng(0).permutation(36)
    np.testing.assert_array_equal(held_out_folds(X[order], codes[order]), folds[order])
