"""Bounds hold where they are measured, and printed constants that do not hold are shown."""

import numpy as np
import pytest
from scipy.special import erfi, iv

from noisewise import GaussianNoise, losses
from noisewise.features import theory
from noisewise.features.maps.random_map import RandomMap
from noisewise.features.solvers.surrogate_descent import descend, two_replicates
from noisewise.kernels import Exponential, Gaussian, Laplacian, Polynomial, RationalQuadratic
from noisewise.kernels.surrogates import surrogate
from noisewise.noise.unbiased import by_copies, by_second_moment


def spectrum(n, rng, d=10):
    """Protocol P1."""
    scales = 0.7 ** np.arange(d)
    X = rng.normal(size=(n, d)) * np.sqrt(scales / scales.sum())
    return X, X @ np.full(d, d**-0.5) + 0.1 * rng.normal(size=n)


def linear_regret(gradient, X, y, guarantee, ball):
    w, predictions = np.zeros(X.shape[1]), np.empty(len(y))
    for t in range(len(y)):
        predictions[t] = w @ X[t]
        w = w - guarantee.step * gradient(w, t)
        w *= min(1.0, ball / np.linalg.norm(w))
    return theory.regret(predictions, X @ theory.best_in_ball(X, y, ball), y)


@pytest.mark.parametrize("n_copies", [1, 2])
def test_linear_regret_stays_below_its_bound(n_copies, rng):
    n, variance = 4000, 0.03
    X, y = spectrum(n, rng)
    copies = GaussianNoise(variance).copies(X, 2, rng)
    lengths = np.sum(copies[:, 0] ** 2, axis=1)
    row_bound, target_bound = np.mean(lengths**2) ** 0.25, np.sqrt(np.mean(y**2))
    if n_copies == 2:
        promise = theory.two_copies_guarantee(n, 1.0, row_bound, target_bound)
        measured = linear_regret(lambda w, t: by_copies(w, copies[t, 0], copies[t, 1], y[t]), X, y, promise, 1.0)
    else:
        promise = theory.known_covariance_guarantee(n, 1.0, row_bound, target_bound, variance)
        covariance = variance * np.eye(10)
        measured = linear_regret(lambda w, t: by_second_moment(w, copies[t, 0], y[t], covariance), X, y, promise, 1.0)
    assert 0 < measured[-1] < promise.regret
    assert measured[-1] > 0.05 * promise.regret  # the bound is not vacuous


def test_the_printed_bound_of_the_gradient_is_too_small():
    w = x = np.array([1.0])
    gradient = by_copies(w, x, x, -1.0)
    right = theory.two_copies_guarantee(1, 1.0, 1.0, 1.0).regret ** 2
    assert right == pytest.approx(float(gradient @ gradient)) == 16
    printed = 4 * (1 + 1) * 1
    assert printed < float(gradient @ gradient)


def test_gradients_of_known_covariance_have_a_bounded_mean_square(rng):
    w, x, y, variance = np.array([0.8, 0.6]), np.array([0.7, -0.4]), -0.9, 0.2
    noisy = GaussianNoise(variance).copies(x[None], 200_000, rng)[0]
    measured = np.mean(np.sum(by_second_moment(w, noisy, y, variance * np.eye(2)) ** 2, axis=1))
    row_bound = np.mean(np.sum(noisy**2, axis=1) ** 2) ** 0.25
    assert measured <= theory.known_covariance_guarantee(1, 1.0, row_bound, 0.9, variance).regret ** 2


@pytest.mark.parametrize("kernel", [Gaussian(1.2), RationalQuadratic(1.0, 1.0)], ids=repr)
def test_surrogate_regret_stays_below_its_bound(kernel, rng):
    n, noise = 400, GaussianNoise(0.05)
    X = rng.uniform(-2, 2, (n, 1))
    hat = surrogate(kernel, noise)
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
    height = hat.height(1)
    ball = theory.surrogate_ball(1.0, height)
    promise = theory.surrogate_descent_guarantee(n, ball, height, np.sqrt(np.mean(y**2)))
    pair = two_replicates(noise.copies(X, 2, rng), noise.matrix(1))
    predictions = np.zeros(n)
    for t in range(40, n, 40):  # predictors of some rounds stand for those up to the next: steps are tiny
        part = pair._replace(stored=pair.stored[:t], other=pair.other[:t])
        stream = descend(part, y[:t], (hat, hat), [promise.step], [ball], power=None)
        predictions[t : t + 40] = hat.clean.gram(X[t : t + 40], stream.rows) @ stream.coefs[0]
    values, vectors = np.linalg.eigh(hat.clean.gram(X))
    features = vectors * np.sqrt(np.clip(values, 0, None))
    best = features @ theory.best_in_ball(features, y, 1.0)
    measured = theory.regret(predictions, best, y)[-1]
    assert 0 < measured < promise.regret


def test_height_of_the_radial_surrogate_is_bounded_with_the_variance():
    variance, d, c = 0.09, 5, 10.0
    kernel = surrogate(RationalQuadratic(1.0, float(d)), GaussianNoise(variance), highest_rate=c / d)
    assert c < d / (4 * variance)
    assert kernel.height(d) <= theory.radial_height(variance, c)


def test_mean_squared_norm_of_gaussian_maps(rng):
    """Lemma 14: the exact value, the bound that holds, and the printed one that does not."""
    B, width, p = 4.0, 2.0, 2.0
    exact = 4 * iv(0, 2 * np.sqrt(p) * B / width**2) * np.exp(2 * p * B / width**2)  # at E <x, x'>^2 = B^2
    right = theory.map_bound(Gaussian(width), np.sqrt(B), p)
    printed = 4 * np.exp((np.sqrt(p) * B + 2 * p * np.sqrt(B)) / width**2)
    assert exact == pytest.approx(928.7, rel=1e-3)
    assert right == pytest.approx(4 * np.exp(2 * (np.sqrt(p) + p)))  # 3695
    assert printed < exact < right


@pytest.mark.parametrize("estimator", ["geometric", "roulette"])
@pytest.mark.parametrize("kernel", [Polynomial(2), Exponential(), Gaussian(1.5)], ids=repr)
def test_maps_stay_within_their_bound(kernel, estimator, rng):
    x, noise = np.array([0.5, -0.3]), 0.2
    maps = RandomMap(kernel, estimator)
    plan = maps.draw(200_000, rng)
    drawn = maps.estimate(plan, x + noise * rng.normal(size=(int(maps.queries(plan).sum()), 2)))
    bound = theory.map_bound(kernel, np.sqrt(x @ x + 2 * noise**2), 2.0, estimator)
    measured = np.mean(maps.prod(drawn, drawn))
    assert measured <= bound * 1.03
    if not isinstance(kernel, Gaussian):
        assert measured == pytest.approx(bound, rel=0.03)


def test_unknown_noise_bounds_have_the_form_of_the_theorem():
    p, B_w, B_x, rounds = 2.0, 4.0, 0.5, 1000
    kernel, loss = Polynomial(2), losses.Exponential()
    u = B_w * (p / (p - 1)) ** 2 * kernel.of_dot(np.array(p * B_x))
    promise = theory.unknown_noise_guarantee(rounds, np.sqrt(B_w), loss, kernel, np.sqrt(B_x), p=p)
    derivative = loss.absolute_series(np.sqrt((p - 1) * u))
    assert promise.regret == pytest.approx(derivative * np.sqrt(u * rounds), rel=1e-12)
    assert promise.step == pytest.approx(B_w / (np.sqrt(u) * derivative) / np.sqrt(rounds), rel=1e-12)
    by_roulette = theory.unknown_noise_guarantee(rounds, 2.0, loss, kernel, np.sqrt(B_x), p=p, estimator="roulette")
    assert by_roulette.regret <= promise.regret * (p - 1) / p
    full = theory.unknown_noise_guarantee(rounds, 2.0, losses.Squared(), kernel, 0.7, 1.0, p, "full")
    less = theory.unknown_noise_guarantee(rounds, 2.0, losses.Squared(), kernel, 0.7, 1.0, p, "roulette")
    assert full.regret < less.regret


def test_printed_bounds_of_smoothed_losses_are_below_the_series():
    a = 2.0
    series = losses.SmoothedAbsolute().absolute_series(a)
    assert series == pytest.approx(erfi(a)) == pytest.approx(18.56, abs=0.01)
    right = 2 / (a * np.sqrt(np.pi)) * (np.exp(a**2) - 1)
    assert series < right == pytest.approx(30.24, abs=0.01)
    assert 0.5 + 1 / (a * np.sqrt(np.pi)) * (np.exp(a**2) - 1) < series
    assert 2 / (a * np.sqrt(np.pi)) * np.exp(a**2 - 1) < series


def test_one_copy_has_a_price_that_two_do_not(rng):
    """Section VI, twenty repetitions side by side: x is 3 or -1 without noise, or 1 with noise; y is 1."""
    n, repetitions = 20_000, 20
    weights = np.linspace(0, 1, 100_001)
    assert np.maximum(5 * (weights - 0.2) ** 2, (weights - 1) ** 2).min() == pytest.approx(0.30557, abs=1e-4)

    def mean_excess(copies, curvature, best):
        w, total = np.zeros(repetitions), np.zeros(repetitions)
        promise = theory.two_copies_guarantee(n, 1.0, np.sqrt(5), 1.0)
        for t in range(n):
            total += curvature * (w - best) ** 2
            w = np.clip(w - 10 * promise.step * 2 * (w * copies[0][t] - 1) * copies[1][t], -1, 1)
        return np.mean(total) / n

    first, second = np.where(rng.random((2, n, repetitions)) < 0.5, 3.0, -1.0)
    assert mean_excess((first, first), 5.0, 0.2) < 0.1  # without noise, both copies are x
    assert mean_excess((first, second), 1.0, 1.0) < 0.1
    assert mean_excess((first, first), 1.0, 1.0) == pytest.approx(0.64, rel=0.05)  # one copy in both parts


def test_best_in_ball_agrees_with_ridge_and_least_squares(rng):
    X, y = spectrum(200, rng)
    free = theory.best_in_ball(X, y, 100.0)
    np.testing.assert_allclose(free, np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-8)
    held = theory.best_in_ball(X, y, 0.3)
    assert np.linalg.norm(held) == pytest.approx(0.3)
    gradient = X.T @ (X @ held - y)
    np.testing.assert_allclose(gradient / np.linalg.norm(gradient), -held / 0.3, atol=1e-8)


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.surrogate_ball(1.0, 1.0, angle=0.0),
        lambda: theory.two_copies_guarantee(0, 1.0, 1.0, 1.0),
        lambda: theory.map_bound(Gaussian(1.0), 1.0, estimator="full"),
        lambda: theory.unknown_noise_guarantee(9, 1.0, losses.Exponential(), Polynomial(2), 1.0, estimator="full"),
    ],
)
def test_impossible_bounds_are_refused(call):
    with pytest.raises(ValueError):
        call()


def test_other_kernels_have_no_maps():
    with pytest.raises(TypeError, match="inner product"):
        theory.map_bound(Laplacian(1.0), 1.0)
