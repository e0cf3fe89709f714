import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.datasets import make_blobs

from noisewise.kernels import Gaussian, squared_distances
from noisewise.labels.flip_likelihood import FlipLikelihood
from noisewise.labels.gaussian_process.laplace import LaplaceProblem, conjugate_gradients, find_mode
from noisewise.labels.gaussian_process.rows import LabelledRows, process_features
from noisewise.labels.gaussian_process.search import as_problem

FLIPS = {
    2: np.array([[0.9, 0.1], [0.3, 0.7]]),
    3: np.array([[0.8, 0.15, 0.05], [0.02, 0.9, 0.08], [0.2, 0.1, 0.7]]),
}


def some_problem(n_classes, n=40, rank=5, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, rank))
    codes = np.argmax(features @ rng.normal(size=(rank, n_classes)), axis=1)
    codes = np.where(rng.random(n) < 0.15, rng.integers(0, n_classes, n), codes)
    return LaplaceProblem(features, codes, rng.integers(1, 4, n).astype(float), n_classes)


def log_posterior(V, problem, flips, precision):
    """Plain: log-likelihood of what was observed, and the normal prior of the coefficients."""
    scores = problem.features @ V.reshape(problem.features.shape[1], -1)
    if problem.n_classes == 2:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    likelihood = (np.exp(log_softmax(scores, axis=1)) * flips.T[problem.codes]).sum(axis=1)
    return problem.weights @ np.log(likelihood) - precision / 2 * np.sum(V**2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_mode_is_where_a_general_optimiser_ends(n_classes):
    problem = some_problem(n_classes)
    mode = find_mode(problem, FLIPS[n_classes], 0.5, tol=1e-18)
    general = minimize(
        lambda V: -log_posterior(V, problem, FLIPS[n_classes], 0.5), np.zeros(mode.coefficients.size), tol=1e-10
    )
    np.testing.assert_allclose(mode.coefficients.ravel(), general.x, atol=1e-4)
    assert mode.converged
    assert mode.n_steps < 20


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradient_and_hessian_product_are_derivatives(n_classes, rng):
    scores = rng.normal(size=(30, 1 if n_classes == 2 else n_classes))
    labels = rng.integers(0, n_classes, 30), FLIPS[n_classes], rng.random(30)
    at, step = FlipLikelihood.at(scores, *labels), 1e-5
    for c in range(scores.shape[1]):
        along = np.zeros_like(scores)
        along[:, c] = step
        above, below = FlipLikelihood.at(scores + along, *labels), FlipLikelihood.at(scores - along, *labels)
        numeric = (above.log_likelihood - below.log_likelihood) / (2 * step)
        assert abs(numeric - at.gradient[:, c].sum()) < 1e-8
        hessian = -(above.gradient - below.gradient) / (2 * step)
        np.testing.assert_allclose(at.hessian_product(along / step), hessian, atol=1e-8)
        np.testing.assert_allclose(at.curvature[:, c], hessian[:, c], atol=1e-8)


def dense_evidence(gram, mode, flips):
    """With n x n matrices instead of features: log P(y | f) - f'K^-1 f / 2 - log det(I + W^1/2 K W^1/2) / 2."""
    scores = mode.problem.features @ mode.coefficients
    rows = FlipLikelihood.at(scores, mode.problem.codes, flips, mode.problem.weights)
    total = rows.log_likelihood
    for c in range(scores.shape[1]):
        roots = np.sqrt(np.maximum(rows.curvature[:, c], 0))
        total -= scores[:, c] @ np.linalg.solve(gram, scores[:, c]) / 2
        total -= np.linalg.slogdet(np.eye(len(gram)) + roots[:, None] * gram * roots)[1] / 2
    return total


@pytest.mark.parametrize("n_classes", [2, 3])
def test_evidence_equals_the_dense_formula_of_the_kernel(n_classes):
    X, y = make_blobs(30, centers=n_classes, cluster_std=4.0, random_state=0)
    rows = LabelledRows.of(X, y, np.ones(30), n_classes)
    features = process_features(rows.rows, rows.row_weights, squared_distances(rows.rows), 3.0, 30)
    mode = find_mode(as_problem(features, rows), FLIPS[n_classes], 1 / 2.5, tol=1e-18)
    gram = 2.5 * (Gaussian(3.0).gram(rows.rows) + 1)
    assert features.projection.shape[1] == 31
    assert abs(mode.evidence - dense_evidence(gram, mode, FLIPS[n_classes])) < 1e-7


def test_evidence_is_near_the_integral_over_two_coefficients():
    problem = some_problem(2, n=60, rank=2)
    mode = find_mode(problem, FLIPS[2], 0.5)
    half_widths = 8 * np.sqrt(np.diag(np.linalg.inv(mode.factors[0].T @ mode.factors[0])))
    axes = [np.linspace(centre - wide, centre + wide, 49) for centre, wide in zip(mode.coefficients[:, 0], half_widths)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    logs = np.array([log_posterior(V, problem, FLIPS[2], 0.5) for V in grid])
    cell = np.prod([axis[1] - axis[0] for axis in axes])
    integral = logs.max() + np.log(np.exp(logs - logs.max()).sum() * cell * 0.5 / (2 * np.pi))
    no_opinion = problem.weights.sum() * np.log(0.5)
    assert abs(mode.evidence - integral) < 0.25
    assert integral - no_opinion > 5  # far from where everything agrees


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_gradient_of_the_evidence_equals_finite_differences(n_classes):
    problem, flips, step = some_problem(n_classes, n=120), FLIPS[n_classes], 1e-5

    def evidence(log_precision, logs):
        return find_mode(problem, np.exp(logs), np.exp(log_precision), tol=1e-24).evidence

    by_precision, by_flips = find_mode(problem, flips, 0.5, tol=1e-24).gradient(1e-12)
    at = np.log(0.5)
    numeric = (evidence(at + step, np.log(flips)) - evidence(at - step, np.log(flips))) / (2 * step)
    assert abs(numeric - by_precision) < 1e-6 * max(1, abs(numeric))
    for index in np.ndindex(n_classes, n_classes):
        move = np.zeros_like(flips)
        move[index] = step
        numeric = (evidence(at, np.log(flips) + move) - evidence(at, np.log(flips) - move)) / (2 * step)
        assert abs(numeric - by_flips[index]) < 1e-6 * max(1, abs(numeric))


def test_conjugate_gradients_solve_and_stop_at_negative_curvature():
    matrix = np.diag([1.0, 2.0, 5.0]) + 0.3
    target = np.array([[1.0], [-2.0], [0.5]])
    found = conjugate_gradients(lambda V: matrix @ V, target, lambda V: V, 1e-12, 10)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, target), atol=1e-10)
    np.testing.assert_array_equal(conjugate_gradients(lambda V: -V, target, lambda V: V, 1e-12, 10), target)
