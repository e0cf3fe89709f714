"""The flip likelihood: enumeration, finite differences, the mirror image, and three solvers with one optimum."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from noisewise import FlipMatrix
from noisewise.labels.flip_likelihood import flip_likelihood
from noisewise.labels.flip_parameters import (
    prior_counts,
    start_flips,
    to_flips,
    to_unconstrained,
    unconstrained_gradient,
)
from noisewise.labels.logistic.objective import FlipProblem
from noisewise.labels.logistic.solvers import SOLVERS, solve, updated_flips

SHAPES = pytest.mark.parametrize(("n_classes", "n_scores"), [(2, 1), (2, 2), (3, 3), (5, 5)])
CLASSES = pytest.mark.parametrize("n_classes", [2, 3, 6])


def random_problem(n_classes, n_scores, rng, n=30, p=4, flips=None):
    return FlipProblem(
        features=rng.normal(size=(n, p)),
        codes=rng.integers(n_classes, size=n),
        weights=rng.uniform(0.5, 2, n),
        penalties=rng.uniform(0.1, 1, p),
        n_classes=n_classes,
        n_scores=n_scores,
        flips=flips,
    )


def blobs(n_classes, rng, n=400):
    """Well apart in four coefficients, with a column of ones, and one-sided or cyclic flips."""
    true = rng.integers(n_classes, size=n)
    X = np.hstack([2.5 * np.eye(n_classes, 4)[true] + rng.normal(size=(n, 4)), np.ones((n, 1))])
    identity = np.eye(n_classes)
    cyclic = 0.75 * identity + 0.25 * np.roll(identity, 1, axis=1)
    noise = FlipMatrix.binary(0.05, 0.3) if n_classes == 2 else FlipMatrix(cyclic)
    return X, true, noise.corrupt(true, rng)


def differences(function, at, step=1e-6):
    return np.array([(function(at + e) - function(at - e)) / (2 * step) for e in step * np.eye(len(at))])


@SHAPES
def test_the_likelihood_sums_over_true_labels(n_classes, n_scores, rng):
    problem = random_problem(n_classes, n_scores, rng)
    scores = rng.normal(size=(30, n_scores))
    flips = to_flips(rng.normal(size=n_classes * (n_classes - 1)), n_classes)
    full = np.hstack([np.zeros((30, 1)), scores]) if n_scores == 1 else scores
    clean = softmax(full, axis=1)
    expected = sum(
        weight * np.log(sum(row[true] * flips[true, observed] for true in range(n_classes)))
        for row, observed, weight in zip(clean, problem.codes, problem.weights, strict=True)
    )
    value, _, counts = flip_likelihood(scores, problem.codes, flips, problem.weights)
    assert value == pytest.approx(expected, abs=1e-10)
    np.testing.assert_allclose(counts.sum(axis=0), np.bincount(problem.codes, problem.weights, n_classes))


@SHAPES
def test_the_gradient_is_that_of_the_loss(n_classes, n_scores, rng):
    problem = random_problem(n_classes, n_scores, rng)
    size = 4 * n_scores
    at = rng.normal(size=size + n_classes * (n_classes - 1))

    def loss(flat):
        return problem.loss(flat[:size].reshape(4, n_scores), flat[size:])

    _, by_coefficients, by_parameters = loss(at)
    found = np.concatenate([by_coefficients.ravel(), by_parameters])
    np.testing.assert_allclose(found, differences(lambda flat: loss(flat)[0], at), rtol=0, atol=1e-6)


def test_the_printed_gradient_is_not_that_of_the_loss(rng):
    """Eq. 5 takes the sum of the weights, a single number, for the penalty's gradient."""
    problem = random_problem(2, 1, rng, flips=np.array([[0.9, 0.1], [0.2, 0.8]]))
    at = rng.normal(size=(4, 1))
    right = problem.loss(at, np.zeros(0))[1]
    printed = right - problem.penalties[:, None] * at + problem.penalties[:, None] * at.sum()
    numeric = differences(lambda flat: problem.loss(flat[:, None], np.zeros(0))[0], at.ravel())
    assert np.abs(right.ravel() - numeric).max() < 1e-6
    assert np.abs(printed.ravel() - numeric).max() > 0.1


@CLASSES
def test_unconstrained_parameters_and_flips_are_inverse(n_classes, rng):
    parameters = rng.normal(size=n_classes * (n_classes - 1))
    flips = to_flips(parameters, n_classes)
    np.testing.assert_allclose(flips.sum(axis=1), 1)
    np.testing.assert_allclose(to_unconstrained(flips), parameters, atol=1e-12)


@CLASSES
def test_the_unconstrained_gradient_agrees_with_differences(n_classes, rng):
    parameters, counts = rng.normal(size=n_classes * (n_classes - 1)), rng.uniform(1, 5, (n_classes, n_classes))
    numeric = differences(lambda at: np.sum(counts * np.log(to_flips(at, n_classes))), parameters)
    np.testing.assert_allclose(unconstrained_gradient(parameters, counts), numeric, rtol=0, atol=1e-6)


@CLASSES
def test_no_parameters_swap_the_labels(n_classes, rng):
    for _ in range(200):
        flips = to_flips(rng.normal(scale=8, size=n_classes * (n_classes - 1)), n_classes)
        if n_classes == 2:
            assert flips[0, 1] + flips[1, 0] < 1
        else:
            assert (flips.argmax(axis=1) == np.arange(n_classes)).all()
        assert np.isfinite(flips).all()


def test_two_classes_may_lose_most_labels_of_one():
    """Positives of which four in five are not labelled: one rate far above one half."""
    assert to_flips(to_unconstrained(np.array([[0.99, 0.01], [0.8, 0.2]])), 2)[1, 0] == pytest.approx(0.8)


def test_the_mirror_image_has_the_same_likelihood(rng):
    scores, codes = rng.normal(size=(50, 1)), rng.integers(2, size=50)
    flips = np.array([[0.9, 0.1], [0.3, 0.7]])
    one = flip_likelihood(scores, codes, flips, np.ones(50))[0]
    other = flip_likelihood(-scores, codes, flips[::-1], np.ones(50))[0]
    assert one == pytest.approx(other, abs=1e-12)


def test_huge_scores_stay_finite():
    scores = np.array([[800.0], [-800.0], [800.0]])
    for flips in (np.eye(2), np.array([[0.9, 0.1], [0.0, 1.0]])):
        value, gradient, counts = flip_likelihood(scores, np.array([1, 0, 0]), flips, np.ones(3))
        assert np.isfinite([value, *gradient.ravel(), *counts.ravel()]).all()


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_all_solvers_reach_one_optimum(n_classes, learned, rng):
    X, _, observed = blobs(n_classes, rng, n=120)
    n_scores = 1 if n_classes == 2 else n_classes
    flips = None if learned else FlipMatrix.symmetric(0.1, n_classes).matrix
    problem = FlipProblem(X, observed, np.ones(120), np.array([1.0, 1.0, 1.0, 1.0, 0.5]), n_classes, n_scores, flips)
    fits = {name: solve(problem, name, max_iter=3000, tol=1e-6) for name in SOLVERS}
    for name in SOLVERS:
        fit = fits[name]
        assert fit.converged, name
        assert fit.history[-1] == pytest.approx(fits["lbfgs"].history[-1], abs=1e-5), name
        np.testing.assert_allclose(fit.coefficients, fits["lbfgs"].coefficients, atol=5e-3, err_msg=name)
        np.testing.assert_allclose(fit.flips, fits["lbfgs"].flips, atol=2e-3, err_msg=name)
        assert fit.n_iter == len(fit.history) - 1


def test_em_and_lbfgs_never_raise_the_loss(rng):
    X, _, observed = blobs(2, rng)
    problem = FlipProblem(X, observed, np.ones(400), np.ones(5), 2, 1)
    for name in ("lbfgs", "em"):
        assert np.diff(solve(problem, name).history).max() <= 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_swapped_starts_end_unswapped(solver, rng):
    """EM from rates of 0.48 each, where the mirror image is nearly as close; L-BFGS can't cross at all."""
    X, true, observed = blobs(2, rng)
    problem = FlipProblem(X, observed, np.ones(400), np.ones(5), 2, 1)
    found = solve(problem, solver, max_iter=100, start=np.array([[0.52, 0.48], [0.48, 0.52]]))
    assert found.flips[0, 1] + found.flips[1, 0] < 1
    if solver == "lbfgs":
        assert np.mean((X @ found.coefficients > 0).ravel() == true) > 0.9


def test_two_scores_of_two_classes_are_one(rng):
    """A softmax of two scores with penalty 2 is one score, their difference, with penalty 1."""
    X, _, observed = blobs(2, rng, n=150)
    one = solve(FlipProblem(X, observed, np.ones(150), np.ones(5), 2, 1), tol=1e-9)
    two = solve(FlipProblem(X, observed, np.ones(150), np.full(5, 2.0), 2, 2), tol=1e-9)
    np.testing.assert_allclose(two.flips, one.flips, atol=1e-6)
    np.testing.assert_allclose(
        softmax(X @ two.coefficients, axis=1)[:, 1], expit(X @ one.coefficients)[:, 0], atol=1e-6
    )


def test_updates_are_the_papers_with_the_prior_counted(rng):
    """Eqs. 7 and 8, written out, plus what the prior has counted."""
    X, _, observed = blobs(2, rng, n=100)
    problem = FlipProblem(X, observed, np.ones(100), np.ones(5), 2, 1)
    coefficients, parameters = 0.1 * rng.normal(size=(5, 1)), to_unconstrained(start_flips(2))
    omega, s = to_flips(parameters, 2), expit(X @ coefficients)[:, 0]
    marginal = omega[0, observed] * (1 - s) + omega[1, observed] * s
    clean = np.column_stack([1 - s, s])
    parts = np.array(
        [[omega[j, k] * np.sum((observed == k) / marginal * clean[:, j]) for k in range(2)] for j in range(2)]
    )
    parts += prior_counts(2)
    np.testing.assert_allclose(
        updated_flips(problem, problem.scores(coefficients), parameters), parts / parts.sum(axis=1, keepdims=True)
    )


def test_an_unknown_solver_gets_a_sentence(rng):
    with pytest.raises(ValueError, match="must be one of lbfgs, em, printed"):
        solve(random_problem(2, 1, rng), "newton")
