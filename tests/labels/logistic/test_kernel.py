"""Robust kernel logistic regression: one optimum for all solvers, KLR without noise, nothing to tune, bad input."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel

from noisewise import FlipMatrix
from noisewise.datasets import make_twonorm
from noisewise.kernels import Gaussian, Linear
from noisewise.labels import RobustKernelLogisticRegression, RobustLogisticRegression
from noisewise.labels.flip_likelihood import flip_likelihood
from noisewise.labels.kernel_features import exact_features
from noisewise.labels.logistic.kernel_choice import leave_one_out_loss
from noisewise.labels.logistic.objective import FlipProblem
from noisewise.labels.logistic.solvers import solve

ONE_SIDED = FlipMatrix.binary(false_positive=0.0, false_negative=0.3)
KERNEL = Gaussian(1.0)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(150, noise=0.25, random_state=3)
    return X, y, ONE_SIDED.corrupt(y, 1)


def printed_loss(model, X, observed, weights_norm):
    """The negative of eq. 3, on the Gram matrix, at the model's dual coefficients."""
    gram = KERNEL.gram(X)
    w = model.dual_coef_
    value = flip_likelihood(gram @ w + model.intercept_, observed, model.noise_.matrix, np.ones(len(X)))[0]
    norm = w.T @ w if weights_norm else w.T @ gram @ w
    return model.penalty_ / 2 * float(norm[0, 0]) - value


@pytest.mark.parametrize("norm", ["function", "weights"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_solvers_agree(norm, fit_intercept, moons):
    X, _, observed = moons
    models = {
        solver: RobustKernelLogisticRegression(
            None, KERNEL, 0.3, norm, fit_intercept, solver=solver, max_iter=3000, tol=1e-6, noise_prior=False
        ).fit(X, observed)
        for solver in ("lbfgs", "em", *(["printed"] if norm == "weights" else []))  # the paper's norm
    }
    for model in models.values():
        best = models["lbfgs"]
        assert model.objective_history_[-1] == pytest.approx(best.objective_history_[-1], abs=1e-4)
        np.testing.assert_allclose(model.decision_function(X), best.decision_function(X), atol=0.02)
        np.testing.assert_allclose(model.noise_.matrix, best.noise_.matrix, atol=2e-3)


@pytest.mark.parametrize("norm", ["function", "weights"])
def test_the_optimum_is_that_on_the_gram_matrix(norm, moons):
    X, _, observed = moons
    noise = FlipMatrix.binary(0.05, 0.25)
    model = RobustKernelLogisticRegression(noise, KERNEL, 0.5, norm, fit_intercept=False, tol=1e-8).fit(X, observed)
    gram = KERNEL.gram(X)
    ridge = np.eye(len(X)) if norm == "weights" else gram

    def loss(w):
        value, gradient, _ = flip_likelihood((gram @ w)[:, None], observed, noise.matrix, np.ones(len(X)))
        return 0.25 * w @ ridge @ w - value, 0.5 * ridge @ w - gram @ gradient[:, 0]

    found = minimize(loss, np.zeros(len(X)), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "gtol": 1e-9})
    assert printed_loss(model, X, observed, norm == "weights") == pytest.approx(found.fun, abs=1e-3)
    assert printed_loss(model, X, observed, norm == "weights") <= found.fun + 1e-6


def test_a_linear_kernel_is_linear_regression(moons):
    X, _, observed = moons
    kernel = RobustKernelLogisticRegression(ONE_SIDED, Linear(), 0.5, "function", tol=1e-9).fit(X, observed)
    linear = RobustLogisticRegression(ONE_SIDED, C=2.0, tol=1e-9).fit(X, observed)
    np.testing.assert_allclose(kernel.decision_function(X), linear.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("kernel", ["precomputed", "rbf", rbf_kernel])
def test_kernels_come_in_every_form(kernel, moons):
    X, _, observed = moons
    gamma = 1 / X.shape[1]  # scikit-learn's default
    own = Gaussian(gamma**-0.5)
    ours = RobustKernelLogisticRegression(None, own, 0.5).fit(X, observed)
    rows = own.gram(X) if kernel == "precomputed" else X
    theirs = RobustKernelLogisticRegression(None, kernel, 0.5).fit(rows, observed)
    np.testing.assert_allclose(theirs.decision_function(rows), ours.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("norm", ["function", "weights"])
def test_a_low_rank_of_all_rows_is_exact(norm, moons):
    X, _, observed = moons
    exact = RobustKernelLogisticRegression(ONE_SIDED, KERNEL, 0.5, norm, tol=1e-8).fit(X, observed)
    same = RobustKernelLogisticRegression(ONE_SIDED, KERNEL, 0.5, norm, low_rank=len(X), tol=1e-8).fit(X, observed)
    assert (exact.low_rank_, same.low_rank_) == (None, len(X))
    np.testing.assert_allclose(same.decision_function(X), exact.decision_function(X), atol=1e-3)
    few = RobustKernelLogisticRegression(ONE_SIDED, KERNEL, 0.5, norm, low_rank=40).fit(X, observed)
    assert few.dual_coef_.shape == (40, 1)
    assert np.mean(few.predict(X) == exact.predict(X)) > 0.95


def test_many_rows_take_the_low_rank_by_themselves():
    X, y = make_twonorm(3200, random_state=0)
    observed = FlipMatrix.binary(0.0, 0.3).corrupt(y, 0, classes=[-1, 1])
    model = RobustKernelLogisticRegression(noise=FlipMatrix.binary(0.02, 0.3)).fit(X, observed)
    assert model.low_rank_ == 300
    assert model.score(*make_twonorm(1000, random_state=1)) > 0.96


def test_one_sided_flips_move_the_boundary_back():
    X, y = make_moons(1300, noise=0.2, random_state=0)
    observed = FlipMatrix.binary(0.0, 0.4).corrupt(y[:300], 0)
    plain = RobustKernelLogisticRegression(noise=FlipMatrix.none(2)).fit(X[:300], observed)
    for source in ("fisher", "confident"):
        model = RobustKernelLogisticRegression(noise=source).fit(X[:300], observed)
        assert model.score(X[300:], y[300:]) > plain.score(X[300:], y[300:]) + 0.02
        assert model.noise_.matrix[1, 0] > 0.25 > 0.05 > model.noise_.matrix[0, 1]


def test_flipped_rows_are_found(moons):
    X, y = make_moons(600, noise=0.2, random_state=0)
    observed = FlipMatrix.binary(0.1, 0.3).corrupt(y, 0)
    model = RobustKernelLogisticRegression().fit(X[:300], observed[:300])
    quality = model.label_quality(X[300:], observed[300:])
    assert roc_auc_score(observed[300:] == y[300:], quality) > 0.9
    suggested = model.suggest(X[300:], observed[300:])
    assert np.mean(suggested == y[300:]) > np.mean(observed[300:] == y[300:]) + 0.05


def test_pair_flips_of_many_classes():
    X, y = load_digits(n_class=3, return_X_y=True)
    noise = FlipMatrix(0.6 * np.eye(3) + 0.4 * np.roll(np.eye(3), 1, axis=1))
    observed = noise.corrupt(y[:200], 0)
    model = RobustKernelLogisticRegression(noise=noise).fit(X[:200], observed)
    plain = RobustKernelLogisticRegression(noise=FlipMatrix.none(3)).fit(X[:200], observed)
    assert model.score(X[200:], y[200:]) > plain.score(X[200:], y[200:]) + 0.02


def test_leave_one_out_losses_are_those_of_refits(moons):
    """To first order: within a few per cent of what refitting without each row comes to."""
    X, _, observed = moons
    X, observed = X[:40], observed[:40]
    features = np.hstack([exact_features(KERNEL.gram(X), np.ones(40), "function")[0], np.ones((40, 1))])
    flips, ridges = np.array([[0.95, 0.05], [0.2, 0.8]]), np.append(np.full(features.shape[1] - 1, 0.5), 0.1)
    problem = FlipProblem(features, observed, np.ones(40), ridges, 2, 1, flips)
    refits = []
    for row in range(40):
        kept = np.arange(40) != row
        without = FlipProblem(features[kept], observed[kept], np.ones(39), ridges, 2, 1, flips)
        score = features[row : row + 1] @ solve(without, tol=1e-8).coefficients
        refits.append(-flip_likelihood(score, observed[row : row + 1], flips, np.ones(1))[0])
    fit = solve(problem, tol=1e-8)
    fitted = -flip_likelihood(features @ fit.coefficients, observed, flips, np.ones(40))[0] / 40
    assert leave_one_out_loss(problem, fit) == pytest.approx(np.mean(refits), rel=0.04)
    assert fitted < 0.9 * np.mean(refits)


def test_leave_one_out_losses_count_weights_as_rows(moons):
    X, _, observed = moons
    counts = np.arange(len(X)) % 3 + 1
    flips = np.array([[0.95, 0.05], [0.2, 0.8]])
    losses = []
    for rows, codes, weights in (
        (X, observed, counts.astype(float)),
        (np.repeat(X, counts, axis=0), np.repeat(observed, counts), np.ones(counts.sum())),
    ):
        features = exact_features(KERNEL.gram(rows), weights, "function")[0]
        problem = FlipProblem(features, codes, weights, np.full(features.shape[1], 0.5), 2, 1, flips)
        losses.append(leave_one_out_loss(problem, solve(problem, tol=1e-8)))
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)


def test_constant_columns_leave_the_class_proportions():
    y = np.repeat([0, 1], [30, 10])
    for noise in (None, FlipMatrix.none(2), "fisher", "confident"):
        proba = RobustKernelLogisticRegression(noise=noise).fit(np.ones((40, 2)), y).predict_proba(np.ones((3, 2)))
        assert np.isfinite(proba).all()
        assert (proba[:, 0] > 0.5).all()


def test_a_class_of_one_row_is_learned(moons):
    X, _, observed = moons
    labels = observed.copy()
    labels[0] = 2
    assert np.isfinite(RobustKernelLogisticRegression().fit(X, labels).predict_proba(X)).all()


def test_an_early_end_is_told(moons):
    X, _, observed = moons
    with pytest.warns(ConvergenceWarning, match="after 1 iterations; raise max_iter or the penalty"):
        RobustKernelLogisticRegression(None, KERNEL, 0.1, max_iter=1).fit(X, observed)


def test_sparse_rows_equal_dense_rows():
    X, y = load_iris(return_X_y=True)
    dense = RobustKernelLogisticRegression(FlipMatrix.symmetric(0.1, 3), penalty=0.5, tol=1e-8).fit(X, y)
    thin = RobustKernelLogisticRegression(FlipMatrix.symmetric(0.1, 3), penalty=0.5, tol=1e-8).fit(
        sparse.csr_array(X), y
    )
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"penalty": -1.0}, "penalty is -1.0"),
        ({"low_rank": 0}, "low_rank is 0"),
        ({"norm": "l1"}, "norm is 'l1'; it must be one of"),
        ({"solver": "sgd"}, "solver is 'sgd'"),
        ({"kernel": 3}, "kernel is 3; a kernel of noisewise.kernels"),
        ({"kernel": "precomputed"}, r"has shape \(150, 2\); in fit it must be square"),
    ],
)
def test_impossible_parameters_get_a_sentence(change, sentence, moons):
    with pytest.raises(ValueError, match=sentence):
        RobustKernelLogisticRegression(**change).fit(moons[0], moons[2])


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize(
    ("labels", "weights", "sentence"),
    [
        (np.zeros(150, int), None, "1 class only"),
        (np.arange(150), None, "each of the 150 labels is another one"),
        (None, -np.ones(150), "negative weights"),
    ],
)
def test_labels_and_weights_that_say_nothing_are_refused(labels, weights, sentence, moons):
    with pytest.raises(ValueError, match=sentence):
        RobustKernelLogisticRegression().fit(moons[0], moons[2] if labels is None else labels, weights)


def test_a_kernel_of_very_large_values_can_be_learnt_from_a_few_rows():
    X = np.random.default_rng(0).normal(size=(60, 2)) * 1e6
    y = (X[:, 0] > 0).astype(int)
    assert RobustKernelLogisticRegression(kernel=Linear(), low_rank=20, noise=None).fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("solver", ["lbfgs", "em"])
def test_the_prior_of_the_flip_matrix_costs_likelihood_and_can_be_switched_off(solver, moons):
    X, _, observed = moons
    losses = [
        printed_loss(
            RobustKernelLogisticRegression(None, KERNEL, 0.3, solver=solver, noise_prior=prior).fit(X, observed),
            X,
            observed,
            True,
        )
        for prior in (True, False)
    ]
    assert losses[1] < losses[0] - 0.01


def test_the_printed_solver_has_no_prior_whatever_the_switch(moons):
    X, _, observed = moons
    settings = {"noise": None, "kernel": KERNEL, "penalty": 0.3, "solver": "printed", "max_iter": 3000}
    one, other = (RobustKernelLogisticRegression(noise_prior=on, **settings).fit(X, observed) for on in (True, False))
    assert np.array_equal(one.noise_.matrix, other.noise_.matrix)
