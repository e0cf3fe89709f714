"""Algorithm 3: equal to its literal form, unbiased predictions, and what it refuses."""

import numpy as np
import pytest

from helpers import assert_biased, assert_unbiased
from noisewise import GaussianNoise
from noisewise.features.kernel import NoisyKernelRegressor
from noisewise.features.solvers.surrogate_descent import descend, two_replicates
from noisewise.features.theory import surrogate_descent_guarantee
from noisewise.kernels import Gaussian, Linear
from noisewise.kernels.surrogates import surrogate

NOISE = GaussianNoise(0.09)


def sine(n, rng, noise=NOISE, m=2):
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n), noise.copies(X, m, rng)


def literal(stored, other, y, kernel, step, ball, power=3.0):
    """Algorithm 3 line by line, every norm by its double sum."""
    alpha, path = np.zeros(len(y)), []
    gram, cross = kernel.gram(stored), kernel.gram(stored, other)
    for t in range(len(y)):
        alpha = alpha.copy()
        alpha[t] = -step * 2 * (alpha[:t] @ cross[:t, t] - y[t])
        norm = alpha @ gram @ alpha
        if norm > ball**2:
            alpha *= ball / np.sqrt(norm)
        path.append(alpha)
    if power is None:
        return path[-1]
    return np.average(path, axis=0, weights=np.arange(1.0, len(y) + 1) ** power)


@pytest.mark.parametrize("power", [None, 0.0, 3.0])
@pytest.mark.parametrize("ball", [0.8, 100.0])
def test_blocks_and_runs_equal_the_literal_algorithm(ball, power, rng):
    _, y, copies = sine(600, rng)
    hat = surrogate(Gaussian(1.0), NOISE)
    pair = two_replicates(copies, NOISE.matrix(1))
    steps = np.array([0.3, 0.03])
    stream = descend(pair, y, (hat, hat), steps, np.full(2, ball), power)
    for run, step in enumerate(steps):
        expected = literal(copies[:, 0], copies[:, 1], y, hat, step, ball, power)
        np.testing.assert_allclose(stream.coefs[run], expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_losses_of_the_stream_are_those_of_earlier_averages(rng):
    _, y, copies = sine(300, rng)
    hat = surrogate(Gaussian(1.0), NOISE)
    pair = two_replicates(copies, NOISE.matrix(1))
    whole = descend(pair, y, (hat, hat), np.array([0.1]), np.array([2.0]))
    n = 280
    part = descend(pair._replace(stored=pair.stored[:n], other=pair.other[:n]), y[:n], (hat, hat), [0.1], [2.0])
    errors = [
        hat.gram(rows[n : n + 1], pair.stored[:n])[0] @ part.coefs[0] - y[n] for rows in (pair.stored, pair.other)
    ]
    assert whole.losses[0, n] == pytest.approx(errors[0] * errors[1], rel=1e-9)


@pytest.mark.parametrize("m", [1, 2])
def test_noisy_rows_are_predicted_by_the_mean_target_of_rows_like_them(m, rng):
    noise = GaussianNoise(1.0)
    X = rng.normal(size=(1000, 1))
    copies = noise.copies(X, m, rng)
    model = NoisyKernelRegressor(noise=noise, random_state=0).fit(copies[:, 0], X[:, 0], copies=copies)
    rows = np.array([[-1.5], [0.0], [1.0]])
    np.testing.assert_allclose(model.predict(rows, noisy=True), rows[:, 0] / 2, atol=0.15)  # E[x | x~] = x~ / 2


def test_the_stored_copy_must_not_be_the_one_of_the_gradient(rng):
    """At the other copy, the gradient's length is clean on average; at the stored one it depends on what is stored."""
    w, centres = np.array([1.0, -2.0, 1.5]), np.array([[-1.0], [0.0], [0.8]])
    hat, kernel, x, y = surrogate(Gaussian(1.0), NOISE), Gaussian(1.0), np.array([[0.3]]), 0.4
    one, other = NOISE.copies(x, 200_000, rng)[0], NOISE.copies(x, 200_000, rng)[0]
    at = np.array([[0.5]])
    truth = 2 * (w @ kernel.gram(centres, x)[:, 0] - y) * kernel(x[0], at[0])
    length = 2 * (w @ hat.gram(centres, other) - y)
    assert_unbiased(length * hat.gram(at, one)[0], truth)
    assert_biased(length * hat.gram(at, other)[0], truth)


def test_one_copy_is_split_into_two_independent_ones(rng):
    covariance = np.array([[0.3, 0.1], [0.1, 0.2]])
    X = np.array([[1.0, -2.0]]).repeat(200_000, axis=0)
    pair = two_replicates(GaussianNoise(covariance).copies(X, 1, rng), covariance, rng)
    both = np.hstack([pair.stored - X, pair.other - X])
    products = (both[:, :, None] * both[:, None, :]).reshape(len(X), -1)
    zero = np.zeros((2, 2))
    assert_unbiased(products, np.block([[2 * covariance, zero], [zero, 2 * covariance]]).ravel())
    assert (pair.noise_stored, pair.noise_other) == (2.0, 2.0)


def test_copies_are_shared_out_and_averaged():
    copies = np.arange(15.0).reshape(1, 5, 3)
    pair = two_replicates(copies, np.eye(3))
    np.testing.assert_array_equal(pair.stored, copies[:, :3].mean(axis=1))
    np.testing.assert_array_equal(pair.other, copies[:, 3:].mean(axis=1))
    assert (pair.noise_stored, pair.noise_other) == (1 / 3, 1 / 2)


def test_learns_the_clean_function_through_noise(rng):
    errors = {}
    for seed in range(3):
        X, y, copies = sine(1000, np.random.default_rng(seed))
        grid = np.linspace(-2.8, 2.8, 200)[:, None]
        models = {
            "two copies": NoisyKernelRegressor(noise=NOISE).fit(copies[:, 0], y, copies=copies[:, 1:]),
            "one copy": NoisyKernelRegressor(noise=NOISE, random_state=0).fit(copies[:, 0], y),
            "uncorrected": NoisyKernelRegressor(noise=GaussianNoise(0.0)).fit(copies[:, 0], y),
            "clean": NoisyKernelRegressor().fit(X, y),
        }
        for name, model in models.items():
            errors.setdefault(name, []).append(np.mean((model.predict(grid) - np.sin(2 * grid[:, 0])) ** 2))
    mean = {name: np.mean(values) for name, values in errors.items()}
    assert mean["clean"] < 0.003
    assert mean["two copies"] < 0.012
    assert mean["two copies"] < mean["one copy"] < mean["uncorrected"]


def test_noise_is_estimated_from_copies(rng):
    covariance = np.array([[0.3, 0.1], [0.1, 0.2]])
    X = rng.normal(size=(4000, 2))
    copies = GaussianNoise(covariance).copies(X, 3, rng)
    model = NoisyKernelRegressor(Gaussian(3.0), step=0.1, budget=50).fit(copies[:, 0], X[:, 0], copies=copies[:, 1:])
    np.testing.assert_allclose(model.noise_.covariance, covariance, atol=0.02)


def test_a_budget_bounds_the_stored_rows_and_keeps_the_norm(rng):
    _, y, copies = sine(2000, rng)
    hat = surrogate(Gaussian(1.0), NOISE)
    pair = two_replicates(copies, NOISE.matrix(1))
    stream = descend(pair, y, (hat, hat), np.array([0.1]), np.array([1.5]), power=None, budget=300)
    assert len(stream.rows) == 300
    norm = stream.coefs[0] @ hat.gram(stream.rows) @ stream.coefs[0]
    assert norm <= 1.5**2 * (1 + 1e-9)
    model = NoisyKernelRegressor(Gaussian(1.0), NOISE, budget=300).fit(copies[:, 0], y, copies=copies[:, 1:])
    whole = NoisyKernelRegressor(Gaussian(1.0), NOISE).fit(copies[:, 0], y, copies=copies[:, 1:])
    grid = np.linspace(-2.8, 2.8, 100)[:, None]
    assert len(model.support_rows_) == 300
    assert np.mean((model.predict(grid) - whole.predict(grid)) ** 2) < 0.1


def test_the_step_of_the_theory(rng):
    _, y, copies = sine(200, rng)
    model = NoisyKernelRegressor(Gaussian(1.0), NOISE, step="theory", ball=2.0).fit(
        copies[:, 0], y, copies=copies[:, 1:]
    )
    height = surrogate(Gaussian(1.0), NOISE).height(1)
    bound = np.sqrt(np.mean((y - y.mean()) ** 2))
    assert model.step_ == pytest.approx(surrogate_descent_guarantee(200, 2.0, height, bound).step)


@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({"kernel": Gaussian(0.5), "noise": GaussianNoise(0.2)}, ValueError, "or more is advised"),
        ({"kernel": Gaussian(0.85), "noise": GaussianNoise(0.2)}, ValueError, "or more is advised"),  # one copy: twice
        ({"kernel": Linear()}, TypeError, "radial"),
        ({"noise": 0.3}, TypeError, "GaussianNoise"),
        ({"step": -0.1}, ValueError, "step"),
        ({"step": "large"}, ValueError, "step"),
        ({"ball": 0.0}, ValueError, "ball"),
        ({"budget": 0}, ValueError, "budget"),
    ],
)
def test_impossible_input_is_refused(parameters, error, sentence, rng):
    X = rng.normal(size=(20, 1))
    with pytest.raises(error, match=sentence):
        NoisyKernelRegressor(**parameters).fit(X, X[:, 0])


def test_copies_that_do_not_match_are_refused(rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match=r"copies have shape \(20, 1, 3\), and X has \(20, 2\)"):
        NoisyKernelRegressor().fit(X, X[:, 0], copies=np.zeros((20, 1, 3)))
