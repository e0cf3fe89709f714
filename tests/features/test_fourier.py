"""Deconvolved random Fourier features: unbiased products of clean features, and regression on noisy rows."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from helpers import assert_biased, assert_unbiased
from noisewise import GaussianNoise
from noisewise.datasets import make_friedman_small, make_noisy_moons, make_sine
from noisewise.features import (
    DeconvolvedFourierClassifier,
    DeconvolvedFourierRegressor,
    LaplaceNoise,
    MaskingNoise,
    SymmetricNoise,
)
from noisewise.features.noise_argument import characteristic_of_mean
from noisewise.features.solvers.deconvolution import (
    excess_products,
    noisier_products,
    pair_damping,
    principal_components,
    rotate,
)
from noisewise.kernels import Gaussian, Laplacian, Linear

ROW = np.array([0.4, -0.8])
NOISES = [GaussianNoise([[0.3, 0.1], [0.1, 0.2]]), LaplaceNoise([0.3, 0.2])]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("m", [1, 2])
def test_corrected_products_are_those_of_clean_features_damped(noise, m, rng):
    frequencies, phases = 0.7 * rng.normal(size=(5, 2)), rng.uniform(0, 2 * np.pi, 5)
    angles = noise.copies(np.tile(ROW, (100_000, 1)), m, rng).mean(axis=1) @ frequencies.T + phases
    cosines, sines = ((f(angles)[:, :, None] * f(angles)[:, None, :]) for f in (np.cos, np.sin))
    damping = characteristic_of_mean(noise, frequencies, m)
    clean = damping * np.cos(frequencies @ ROW + phases)
    corrected = cosines - excess_products(cosines, sines, *pair_damping(frequencies, noise, m))
    assert_unbiased(corrected.reshape(-1, 25), np.outer(clean, clean).ravel())
    assert_unbiased(np.cos(angles), clean)
    assert_biased(cosines.reshape(-1, 25), np.outer(clean, clean).ravel())


def test_the_mean_of_two_copies_has_less_variance_than_their_product(rng):
    noise, frequencies = GaussianNoise(0.3), rng.normal(size=(4, 2))
    copies = noise.copies(np.tile(ROW, (20_000, 1)), 2, rng)
    single = characteristic_of_mean(noise, frequencies, 1)
    first, second = (np.cos(copies[:, a] @ frequencies.T) / single for a in (0, 1))
    product = (first[:, :, None] * second[:, None, :] + second[:, :, None] * first[:, None, :]) / 2
    angles = copies.mean(axis=1) @ frequencies.T
    cosines, sines = ((f(angles)[:, :, None] * f(angles)[:, None, :]) for f in (np.cos, np.sin))
    damping = characteristic_of_mean(noise, frequencies, 2)
    ours = cosines - excess_products(cosines, sines, *pair_damping(frequencies, noise, 2))
    ours /= np.outer(damping, damping)
    assert_unbiased((ours - product).reshape(-1, 16), 0.0)
    assert (ours.var(axis=0) < product.var(axis=0)).all()


def test_rotated_sums_are_sums_of_rotated_features(rng):
    Z, by = rng.normal(size=(30, 6)), rng.normal(size=(4, 3))
    sums = Z.T @ Z
    rotated, noise = rotate(sums, np.eye(4), by)
    Z_rotated = np.column_stack([Z[:, 0], Z[:, 1:5] @ by, Z[:, 5]])
    np.testing.assert_allclose(rotated, Z_rotated.T @ Z_rotated)
    np.testing.assert_allclose(noise, by.T @ by)


def test_principal_components_make_the_prior_a_plain_ridge(rng):
    Z = np.column_stack([np.ones(50), rng.normal(size=(50, 5))])
    prior = np.array([1.0, 2.0, 0.5, 3.0])
    basis = principal_components(Z.T @ Z, 1, prior)
    np.testing.assert_allclose(basis.T @ (basis / prior[:, None]), np.eye(4), atol=1e-10)


@pytest.mark.parametrize(
    "noise",
    [GaussianNoise(0.09), LaplaceNoise(0.2), SymmetricNoise(lambda w: np.sinc(0.5 * w / np.pi).prod(axis=-1))],
)
def test_the_attenuation_of_a_sine_is_corrected(noise, rng):
    X, y = make_sine(3000, rng)
    noisy = noise.corrupt(X, rng) if hasattr(noise, "corrupt") else X + rng.uniform(-0.5, 0.5, X.shape)
    X_test, y_test = make_sine(2000, rng)
    plain = DeconvolvedFourierRegressor(random_state=0).fit(noisy, y)
    model = DeconvolvedFourierRegressor(noise, random_state=0).fit(noisy, y)
    assert model.correction_ == 1
    errors = [np.mean((y_test - fitted.predict(X_test)) ** 2) - 0.01 for fitted in (plain, model)]
    assert errors[1] < 0.5 * errors[0]


def test_noise_is_estimated_from_copies(rng):
    X, y = make_sine(2000, rng)
    copies = GaussianNoise(0.09).copies(X, 2, rng)
    known = DeconvolvedFourierRegressor(GaussianNoise(0.09), random_state=0).fit(copies[:, 0], y, copies=copies)
    found = DeconvolvedFourierRegressor(random_state=0).fit(copies[:, 0], y, copies=copies)
    np.testing.assert_allclose(found.noise_.matrix(1), 0.09, rtol=0.1)
    np.testing.assert_allclose(found.predict(X), known.predict(X), atol=0.05)


def test_pieces_give_what_all_rows_give(rng):
    X, y = make_sine(300, rng)
    copies = GaussianNoise(0.04).copies(X, 2, rng)
    options = {"kernel": Gaussian(1.5), "n_components": 40, "random_state": 0}
    whole = DeconvolvedFourierRegressor(**options).fit(copies[:, 0], y, copies=copies)
    pieces = DeconvolvedFourierRegressor(**options)
    for part in (slice(0, 1), slice(1, 17), slice(17, 300)):
        pieces.partial_fit(copies[part, 0], y[part], copies=copies[part])
    np.testing.assert_allclose(pieces.coef_, whole.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="all need as many"):
        pieces.partial_fit(X, y)


def test_where_nothing_is_corrected_it_is_as_good_as_kernel_ridge_on_the_averages():
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    rng, noise = np.random.default_rng(0), GaussianNoise(0.1)
    copies = noise.copies(X[:300], 2, rng)
    model = DeconvolvedFourierRegressor(noise, random_state=0).fit(copies[:, 0], y[:300], copies=copies)
    grid = {"alpha": 10.0 ** np.arange(-3, 2), "gamma": [0.003, 0.01, 0.03, 0.1]}
    plain = TransformedTargetRegressor(GridSearchCV(KernelRidge(kernel="rbf"), grid), transformer=StandardScaler())
    assert model.correction_ == 0
    assert model.score(X[300:], y[300:]) > plain.fit(copies.mean(axis=1), y[:300]).score(X[300:], y[300:]) - 0.02


@pytest.mark.skipif("NOISEWISE_DATA" not in os.environ, reason="NOISEWISE_DATA names no folder")
@pytest.mark.parametrize("seed", range(3))
def test_housing_is_as_good_as_kernel_ridge_on_the_averages(seed):
    data = np.load(Path(os.environ["NOISEWISE_DATA"]) / "housing.npz")
    X, y, rng = data["X"].astype(float), data["medv"].astype(float), np.random.default_rng(seed)
    order, noise = rng.permutation(len(y)), GaussianNoise(0.09)
    X, y = StandardScaler().fit_transform(X)[order], y[order]
    copies = noise.copies(X[:350], 2, rng)
    model = DeconvolvedFourierRegressor(noise, random_state=0).fit(copies[:, 0], y[:350], copies=copies)
    grid = {"alpha": 10.0 ** np.arange(-3, 2), "gamma": [0.003, 0.01, 0.03, 0.1]}
    plain = TransformedTargetRegressor(GridSearchCV(KernelRidge(kernel="rbf"), grid), transformer=StandardScaler())
    assert model.score(X[350:], y[350:]) > plain.fit(copies.mean(axis=1), y[:350]).score(X[350:], y[350:]) - 0.02


def test_moments_of_a_noisier_copy_are_those_of_its_features(rng):
    X, noise = rng.normal(size=(400_000, 1)), GaussianNoise(0.5)
    copies = noise.copies(X, 2, rng)
    frequencies, phases = np.array([[0.5], [1.5]]), np.array([0.3, 2.0])

    def moments(rows):
        angles = rows @ frequencies.T + phases
        return np.column_stack([np.ones(len(rows)), np.cos(angles), np.sin(2 * X)]), np.sin(angles)

    Z, sines = moments(copies.mean(axis=1))
    damped = noisier_products((Z.T @ Z)[None], (sines.T @ sines)[None], frequencies, noise, 2, 1e-3)[0]
    Z = moments(copies[:, 0])[0]
    np.testing.assert_allclose(damped / len(X), Z.T @ Z / len(X), atol=0.006)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("in_pieces", [False, True])
def test_noisy_rows_are_predicted_by_the_mean_target_of_rows_like_them(m, in_pieces, rng):
    noise = GaussianNoise(1.0)
    X = rng.normal(size=(3000, 1))
    copies = noise.copies(X, m, rng)
    model = DeconvolvedFourierRegressor(noise, random_state=0)
    getattr(model, "partial_fit" if in_pieces else "fit")(copies[:, 0], X[:, 0], copies=copies)
    rows = np.array([[-1.5], [0.0], [1.0]])
    np.testing.assert_allclose(model.predict(rows, noisy=True), rows[:, 0] / 2, atol=0.12)  # E[x | x~] = x~ / 2
    assert (np.abs(model.predict(rows)) > np.abs(rows[:, 0]) / 2 + 0.05)[[0, 2]].all()


def test_moons_are_separated_through_noise(rng):
    X, y, copies = make_noisy_moons(1000, noise=0.3, random_state=1)
    model = DeconvolvedFourierClassifier(GaussianNoise(0.09), random_state=0)
    assert model.fit(copies[:, 0], y, copies=copies).score(X, y) > 0.99


def test_three_classes(rng):
    X = rng.uniform(-3, 3, (1500, 1))
    y = np.array(["low", "middle", "high"])[(X[:, 0] > -1).astype(int) + (X[:, 0] > 1)]
    noise = GaussianNoise(0.04)
    model = DeconvolvedFourierClassifier(noise, n_components=60, random_state=0).fit(noise.corrupt(X, rng), y)
    assert model.score(X, y) > 0.95
    assert model.decision_function(X).shape == (1500, 3)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"noise": MaskingNoise(0.5)}, "no additive noise"),
        ({"kernel": Linear()}, "Gaussian, Laplacian"),
        ({"n_components": 0}, "at least one"),
        ({"n_folds": 1}, "at least two folds"),
        ({"max_inflation": 0.5}, "1 or more"),
        ({"strength": -1.0}, "0 or more"),
        ({"noise": GaussianNoise(1e6), "kernel": Laplacian(0.001)}, "hides all frequencies"),
        ({"noise": GaussianNoise([1.0, 1.0])}, "2 columns, the data have 1"),
    ],
)
def test_bad_settings_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        DeconvolvedFourierRegressor(random_state=0, **options).fit(np.arange(10.0)[:, None], np.arange(10.0))


def tuned(noise, copies, y, validation, test, error):
    """Test error of the width and ridge that are best on clean validation rows."""
    fits = [
        DeconvolvedFourierRegressor(noise, kernel=Gaussian(width), strength=strength, random_state=0).fit(
            copies[:, 0], y, copies=copies
        )
        for width in (0.75, 1.0, 1.5, 2.0)
        for strength in 10.0 ** np.arange(-4, -1.4, 0.5)
    ]
    best = min(fits, key=lambda model: error(model.predict(validation[0]), validation[1]))
    return error(best.predict(test[0]), test[1])


def squared(predicted, y):
    return np.mean((predicted - y) ** 2)


def misclassified(predicted, y):
    return np.mean(np.sign(predicted) != y)


@pytest.mark.slow
def test_tuned_on_clean_rows_a_sine_is_learnt_as_if_it_were_clean():
    noise, errors = GaussianNoise(0.09), []
    for seed in range(3):
        X, y = make_sine(1000, seed)
        copies = noise.copies(X, 2, np.random.default_rng([1, seed]))
        errors.append(tuned(noise, copies, y, make_sine(3000, seed + 10), make_sine(3000, seed + 20), squared))
    assert np.mean(errors) < 0.0109 * 1.15


@pytest.mark.slow
def test_tuned_on_clean_rows_moons_are_separated():
    noise, errors = GaussianNoise(0.16), []
    for seed in range(3):
        _, y, copies = make_noisy_moons(1000, 0.4, seed)
        validation, test = (make_noisy_moons(3000, 0.4, seed + more)[:2] for more in (10, 20))
        errors.append(tuned(noise, copies, y, validation, test, misclassified))
    assert np.mean(errors) <= 0.003


def moons(n, seed):
    return make_noisy_moons(n, 0.4, seed)[:2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "deviation", "error"),
    [
        (make_sine, 0.3, squared),
        (make_sine, 0.5, squared),
        (moons, 0.3, misclassified),
        (moons, 0.4, misclassified),
        (make_friedman_small, 0.3, squared),
    ],
)
def test_by_default_never_a_tenth_worse_than_averaging_the_copies(make, deviation, error):
    noise, errors = GaussianNoise(deviation**2), []
    for seed in range(8):
        X, y = make(1000, seed)
        copies = noise.copies(X, 2, np.random.default_rng([1, seed]))
        test = make(3000, seed + 100)
        averaged = DeconvolvedFourierRegressor(random_state=0).fit(copies.mean(axis=1), y)
        model = DeconvolvedFourierRegressor(random_state=0).fit(copies[:, 0], y, copies=copies)
        errors.append([error(fitted.predict(test[0]), test[1]) for fitted in (averaged, model)])
    plain, ours = np.mean(errors, axis=0)
    assert ours <= 1.1 * plain
