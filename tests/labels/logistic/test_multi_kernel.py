"""Robust logistic regression in many kernels: the printed passes, weights with a scale, groups of columns, guards."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from noisewise import FlipMatrix
from noisewise.datasets import load, make_twonorm
from noisewise.kernels import Gaussian, Grouped, Linear
from noisewise.labels import RobustKernelLogisticRegression, RobustMultiKernelLogisticRegression
from noisewise.labels.flip_likelihood import flip_likelihood
from noisewise.labels.logistic.kernel_weights import weigh_kernels
from noisewise.labels.logistic.multi_kernel import paper_kernels
from noisewise.labels.logistic.printed_algorithm import fit_printed

ONE_SIDED = FlipMatrix.binary(false_positive=0.0, false_negative=0.4)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(160, noise=0.2, random_state=0)
    return X, y, ONE_SIDED.corrupt(y, 0)


def grams_of(X, kernels):
    return np.stack([kernel.gram(X) for kernel in kernels])


@pytest.mark.parametrize("noise", [None, ONE_SIDED, "fisher"], ids=["learned", "given", "fisher"])
def test_one_kernel_is_robust_kernel_logistic_regression(noise, moons):
    X, _, observed = moons
    many = RobustMultiKernelLogisticRegression(noise, [Gaussian(0.8)], tol=1e-8).fit(X, observed)
    one = RobustKernelLogisticRegression(noise, Gaussian(0.8), penalty=many.penalty_, tol=1e-8).fit(X, observed)
    np.testing.assert_allclose(many.kernel_weights_, [1.0])
    np.testing.assert_allclose(many.decision_function(X), one.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(many.noise_.matrix, one.noise_.matrix, atol=1e-6)


def test_weights_sum_to_one_and_are_few(moons):
    X, y, observed = moons
    model = RobustMultiKernelLogisticRegression().fit(X, observed)
    assert len(model.kernels_) == 21
    assert model.kernel_weights_.sum() == pytest.approx(1)
    assert np.count_nonzero(model.kernel_weights_) <= 8
    assert model.kernel_weights_[:4].sum() == 0  # kernels in which every row is only like itself
    assert model.score(X, y) > 0.82


def test_every_pass_lowers_the_leave_one_out_loss(moons):
    X, _, observed = moons
    kernels = [Gaussian(0.1), Gaussian(0.7), Gaussian(3.0), Linear()]
    found = weigh_kernels(grams_of(X, kernels), observed, 2, [0.1, 1.0], ONE_SIDED.matrix, "weights", True, 20, 1e-4)
    assert found.converged
    assert (np.diff(found.history) < -1e-4).all()
    assert found.weights.sum() == pytest.approx(1)


def test_informative_groups_of_columns_are_found():
    X, y = make_twonorm(300, random_state=0)
    rng = np.random.default_rng(0)
    X = np.hstack([X, rng.normal(size=(300, 20))])  # the second half is noise
    kernels = [Grouped(Gaussian(6.0), range(20)), Grouped(Gaussian(6.0), range(20, 40))]
    observed = FlipMatrix.binary(0.0, 0.3).corrupt(y, rng, classes=[-1, 1])
    model = RobustMultiKernelLogisticRegression(FlipMatrix.binary(0.02, 0.3), kernels).fit(X, observed)
    assert model.kernel_weights_[0] > 0.9
    assert model.score(X, y) > 0.9


def test_the_kernel_in_eq_15_needs_its_chain_factor(rng):
    """Gradient in u of the likelihood of scores sum u_i^2 K_i w: with the factor 2 u it is right, without it is not."""
    X, codes = rng.normal(size=(25, 2)), rng.integers(2, size=25)
    parts = np.stack([kernel.gram(X) for kernel in (Gaussian(0.5), Gaussian(2.0), Linear())]) @ rng.normal(size=(25, 1))
    flips, u, ones = np.array([[0.9, 0.1], [0.3, 0.7]]), rng.uniform(0.5, 2, 3), np.ones(25)

    def value(at):
        return flip_likelihood(np.tensordot(at**2, parts, 1), codes, flips, ones)

    numeric = np.array([(value(u + 1e-6 * unit)[0] - value(u - 1e-6 * unit)[0]) / 2e-6 for unit in np.eye(3)])
    printed = np.einsum("ins,ns->i", parts, value(u)[1])
    np.testing.assert_allclose(2 * u * printed, numeric, atol=1e-6)
    assert np.abs(printed - numeric).max() > 0.1


def test_the_first_printed_step_by_hand(moons):
    """From zero, along the gradient with the step of the initial Hessian and the ridge of eq. 20; then the flips."""
    X, _, observed = moons
    kernel = Gaussian(1.0)
    gram = kernel.gram(X)
    found = fit_printed(gram[None], observed, np.ones(160), 2, None, max_iter=1, n_steps=1)
    explained = np.where(observed == 1, 0.8, 0.2)
    gradient = gram @ (explained - 0.5)
    ridge = (160 / 2 + 1) / 2
    # 1/4 - 0.8 * 0.2 is the curvature of each row
    step = gradient @ gradient / (0.09 * np.sum((gram @ gradient) ** 2) + 2 * ridge * gradient @ gradient)
    np.testing.assert_allclose(found.rows[:, 0], step * gradient)
    assert found.kernels[0] != 1
    np.testing.assert_allclose(found.flips.sum(axis=1), 1)


def test_many_printed_steps_end_where_the_gradient_is_zero(moons):
    X, _, observed = moons
    gram = Gaussian(1.0).gram(X)
    flips = np.array([[0.9, 0.1], [0.2, 0.8]])
    w = fit_printed(gram[None], observed, np.ones(160), 2, flips, max_iter=1, n_steps=500).rows
    ridge = (160 / 2 + 1) / 2
    gradient = gram @ flip_likelihood(gram @ w, observed, flips, np.ones(160))[1] - 2 * ridge * w
    np.testing.assert_allclose(gradient, 0, atol=1e-6)


def test_printed_passes_learn_clean_labels_but_more_are_not_better_on_noisy_ones():
    X, y = make_twonorm(300, random_state=0)
    clean = RobustMultiKernelLogisticRegression(algorithm="printed").fit(X, y)
    assert clean.n_iter_ == 5
    others = make_twonorm(2000, random_state=1)
    assert clean.score(*others) > 0.96
    observed = FlipMatrix.symmetric(0.3, 2).corrupt(y, 0, classes=[-1, 1])
    few, many = (
        RobustMultiKernelLogisticRegression(None, algorithm="printed", max_iter=passes).fit(X, observed)
        for passes in (5, 60)
    )
    assert few.score(*others) > many.score(*others) + 0.05


def test_three_classes_are_printed_too(moons):
    X, _, _ = moons
    y = (X[:, 0] > -0.3).astype(int) + (X[:, 0] > 0.9)
    model = RobustMultiKernelLogisticRegression(algorithm="printed", max_iter=15).fit(X, y)
    assert model.dual_coef_.shape == (160, 3)
    assert model.score(X, y) > 0.9


def test_a_pass_that_would_prune_all_kernels_is_not_taken():
    X, y = np.zeros((30, 2)), np.repeat([0, 1], 15)
    kernels = [Linear()]  # of rows of zeros: only the penalty moves its weight
    with pytest.warns(ConvergenceWarning, match="pass 1 of the printed algorithm would have pruned all kernels"):
        model = RobustMultiKernelLogisticRegression(None, kernels, algorithm="printed").fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.kernel_weights_.sum() > 0


def test_passes_that_end_early_are_told(moons):
    X, _, observed = moons
    with pytest.warns(ConvergenceWarning, match="would still help after 1 passes"):
        RobustMultiKernelLogisticRegression(ONE_SIDED, penalty=0.1, max_iter=1).fit(X, observed)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"algorithm": "posed"}, "algorithm is 'posed'; it must be one of left_out, printed"),
        ({"kernels": []}, "one kernel of noisewise.kernels or more"),
        ({"kernels": ["rbf"]}, "one kernel of noisewise.kernels or more"),
        ({"max_iter": 0}, "max_iter is 0"),
    ],
)
def test_impossible_parameters_get_a_sentence(change, sentence, moons):
    with pytest.raises(ValueError, match=sentence):
        RobustMultiKernelLogisticRegression(**change).fit(moons[0], moons[2])


def test_the_printed_algorithm_refuses_many_rows():
    X, y = make_twonorm(3001, random_state=0)
    with pytest.raises(ValueError, match="give at most 3000"):
        RobustMultiKernelLogisticRegression(algorithm="printed").fit(X, y)


def test_the_papers_widths_double():
    widths = np.array([kernel.width for kernel in paper_kernels()])
    np.testing.assert_allclose(widths**2, 2.0 ** np.arange(-10, 11))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_rows", "most"), [("banana", 400, 0.12), ("twonorm", 400, 0.03), ("thyroid", 140, 0.08)]
)
def test_printed_passes_reach_the_papers_errors_on_clean_labels(name, n_rows, most):
    try:
        data = load(f"raetsch_{name}")
    except (FileNotFoundError, OSError) as missing:
        pytest.skip(str(missing))
    errors = []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(data.y))
        train, test = order[:n_rows], order[n_rows : n_rows + 2000]
        model = RobustMultiKernelLogisticRegression(None, algorithm="printed")
        errors.append(1 - model.fit(data.X[train], data.y[train]).score(data.X[test], data.y[test]))
    assert np.mean(errors) < most
