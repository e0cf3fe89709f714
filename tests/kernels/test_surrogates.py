"""Surrogate kernels: their mean over the noise is the clean kernel, for any covariance and any radial kernel."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erfc

from helpers import assert_biased, assert_unbiased
from noisewise import GaussianNoise
from noisewise.kernels import Gaussian, Laplacian, Linear, RationalQuadratic
from noisewise.kernels.surrogates import blurred, mixture_nodes, surrogate

DRAWS = 200_000
A, X = np.array([0.3, -0.2, 0.5, 0.1]), np.array([0.0, 0.4, 0.1, -0.1])
FULL = np.array([[0.30, 0.10, 0.0, 0.05], [0.10, 0.2, 0.05, 0.0], [0.0, 0.05, 0.25, 0.08], [0.05, 0.0, 0.08, 0.15]])


def values_at(kernel, noisy):
    return kernel.gram(A[None], noisy)[0]


@pytest.mark.parametrize("covariance", [0.3, [0.1, 0.3, 0.0, 0.2], FULL])
def test_mean_over_the_noise_is_the_clean_kernel(covariance, rng):
    noise, kernel = GaussianNoise(covariance), Gaussian(1.6)
    noisy = noise.copies(X[None], DRAWS, rng)[0]
    assert_unbiased(values_at(surrogate(kernel, noise), noisy), kernel(A, X), sigmas=3.5)
    assert_biased(values_at(kernel, noisy), kernel(A, X))


def test_matrix_form_equals_the_rotated_diagonal_form():
    width = 1.5
    variances, axes = np.linalg.eigh(FULL)
    delta = axes.T @ (A - X)
    height = np.prod(width**2 / (width**2 - 2 * variances)) ** 0.5
    rotated = height * np.exp(-np.sum(delta**2 / (width**2 - 2 * variances)))
    shape = width**2 * np.eye(4) - 2 * FULL
    matrix = np.sqrt(width**8 / np.linalg.det(shape)) * np.exp(-(A - X) @ np.linalg.solve(shape, A - X))
    np.testing.assert_allclose(surrogate(Gaussian(width), GaussianNoise(FULL))(A, X), rotated, rtol=1e-12)
    np.testing.assert_allclose(rotated, matrix, rtol=1e-12)


def test_naive_bias_has_a_closed_form(rng):
    noise, kernel = GaussianNoise(FULL), Gaussian(1.5)
    noisy = noise.copies(X[None], DRAWS, rng)[0]
    assert_unbiased(values_at(kernel, noisy), blurred(kernel, noise)(A, X))
    shape = 2.25 * np.eye(4) + 2 * FULL
    expected = np.sqrt(2.25**4 / np.linalg.det(shape)) * np.exp(-(A - X) @ np.linalg.solve(shape, A - X))
    assert blurred(kernel, noise)(A, X) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("ratio", [1.05, 1.5, 2.0, 5.0])
def test_standard_deviation_grows_as_the_width_nears_its_limit(ratio, rng):
    # second moment of the surrogate at its own centre: another Gaussian integral
    variance, d = 0.3, 4
    kernel = surrogate(Gaussian(np.sqrt(2 * variance * ratio)), GaussianNoise(variance))
    shrunk = 2 * variance * (ratio - 1)
    second = (ratio / (ratio - 1)) ** d * (1 + 4 * variance / shrunk) ** (-d / 2)
    printed = {1.05: 10.5, 1.5: 1.50, 2.0: 0.88, 5.0: 0.29}[ratio]
    assert np.sqrt(second - 1) == pytest.approx(printed, rel=0.02)
    if ratio >= 1.5:
        noisy = GaussianNoise(variance).copies(np.zeros((1, d)), DRAWS, rng)[0]
        assert kernel.gram(np.zeros((1, d)), noisy).std() == pytest.approx(printed, rel=0.03)


def equation_8(r2, variance, c, d=5):
    """The surrogate of (1 + r^2 / d)^-1 up to the rate c / d, for noise variance * I, by adaptive quadrature."""

    def part(u):
        return d * (1 - 2 * variance * u) ** (-d / 2) * np.exp(-u * r2 / (1 - 2 * variance * u) - u * d)

    return quad(part, 0, c / d, epsabs=1e-13, epsrel=1e-13)[0]


def test_equation_8_by_quadrature():
    variance, d, c = 0.3, 5, 4.0
    kernel = surrogate(RationalQuadratic(1.0, float(d)), GaussianNoise(variance), highest_rate=c / d)
    r = np.array([0.0, 0.5, 1.0, 3.0, 6.0])
    rows = np.zeros((5, d))
    rows[:, 0] = r
    exact = [equation_8(r2, variance, c) for r2 in r**2]
    np.testing.assert_allclose(kernel.gram(np.zeros((1, d)), rows)[0], exact, atol=1e-10, rtol=0)
    rates, weights = mixture_nodes(RationalQuadratic(1.0, float(d)), c / d, 20)  # 20 nodes are enough
    by_20 = [
        np.sum(weights * (1 - 2 * variance * rates) ** (-d / 2) * np.exp(-rates * r2 / (1 - 2 * variance * rates)))
        for r2 in r**2
    ]
    np.testing.assert_allclose(by_20, exact, atol=1e-10, rtol=0)
    whole = 1 / (1 + r**2 / d)
    truncated = kernel.clean.gram(np.zeros((1, d)), rows)[0]
    np.testing.assert_allclose(truncated, whole * (1 - np.exp(-c / whole)), atol=1e-10)  # eq. 7


def test_equation_8_needs_the_variance(rng):
    variance, d, c = 0.3, 5, 4.0
    kernel = surrogate(RationalQuadratic(1.0, 5.0), GaussianNoise(variance), highest_rate=c / d)
    centre, clean = np.zeros(d), np.array([1.2, -0.5, 0.8, 0.0, 1.0])
    noisy = GaussianNoise(variance).copies(clean[None], DRAWS, rng)[0]
    truth = kernel.clean(centre, clean)
    assert_unbiased(kernel.gram(centre[None], noisy)[0], truth, sigmas=3.5)
    squared = np.sum(noisy[:20_000] ** 2, axis=1)
    deviation = np.sqrt(variance)  # what the paper prints instead of the variance
    rates, weights = mixture_nodes(RationalQuadratic(1.0, 5.0), c / d, 40)
    assert 2 * deviation * rates.max() < 1
    shrunk = rates / (1 - 2 * deviation * rates)
    printed = (weights * (1 - 2 * deviation * rates) ** (-d / 2)) @ np.exp(-np.outer(shrunk, squared))
    assert_biased(printed, truth)


@pytest.mark.parametrize("kernel", [Laplacian(2.0), RationalQuadratic(2.0, 3.0), RationalQuadratic(0.4, 0.5)])
@pytest.mark.parametrize("covariance", [0.2, FULL])
def test_radial_kernels_have_surrogates(kernel, covariance, rng):
    noise = GaussianNoise(covariance)
    hat = surrogate(kernel, noise)
    noisy = noise.copies(X[None], 5_000, rng)[0]
    assert_unbiased(values_at(hat, noisy), hat.clean(A, X))
    far = A + np.array([4.0, 0, 0, 0])
    assert hat.clean(A, far) == pytest.approx(kernel(A, far), rel=2e-3)  # truncation matters at small distances only


def test_truncation_loses_the_mass_of_high_rates():
    hat = surrogate(Laplacian(2.0), GaussianNoise(0.3), highest_rate=0.45 / 0.3)
    kept = erfc(np.sqrt(1 / (4 * 2.0**2 * 1.5)))  # the Levy distribution up to the rate 1.5
    assert kept == pytest.approx(0.773, abs=5e-4)
    assert hat.clean.diagonal(np.zeros((1, 3)))[0] == pytest.approx(kept, abs=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplacian(0.7), RationalQuadratic(2.0, 3.0)])
def test_without_noise_the_surrogate_is_the_kernel(kernel):
    rows = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_allclose(surrogate(kernel, GaussianNoise(0.0)).gram(rows), kernel.gram(rows), rtol=1e-12)


@pytest.mark.parametrize("covariance", [0.3, FULL])
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplacian(1.0)])
def test_surrogates_are_mercer_kernels(kernel, covariance):
    rows = np.random.default_rng(1).normal(size=(40, 4))
    hat = surrogate(kernel, GaussianNoise(covariance))
    gram = hat.gram(rows)
    assert np.linalg.eigvalsh(gram)[0] > -1e-10
    np.testing.assert_allclose(hat.diagonal(rows), np.diagonal(gram), rtol=1e-12)
    np.testing.assert_allclose(hat.gram(rows, rows.copy()), gram, rtol=1e-9)


def test_surrogates_are_values():
    one, two = (surrogate(Gaussian(2.0), GaussianNoise(0.1)) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)


@pytest.mark.parametrize("covariance", [0.5, [0.1, 0.5], [[0.5, 0.0], [0.0, 0.1]]])
def test_widths_at_the_limit_are_refused_with_advice(covariance):
    with pytest.raises(ValueError, match=r"above 1 .* 1\.414 or more is advised"):
        surrogate(Gaussian(1.0), GaussianNoise(covariance))
    surrogate(Gaussian(1.0001), GaussianNoise(covariance))


@pytest.mark.parametrize("rate", [0.0, -1.0, 1.0, 2.0, np.inf])
def test_impossible_rates_are_refused(rate):
    with pytest.raises(ValueError, match=r"below 1; up to 0\.5 is advised"):
        surrogate(Laplacian(1.0), GaussianNoise(0.5), highest_rate=rate)


def test_other_kernels_are_refused():
    with pytest.raises(TypeError, match="schoenberg"):
        surrogate(Linear(), GaussianNoise(0.5))
    with pytest.raises(TypeError, match="closed form"):
        blurred(Laplacian(1.0), GaussianNoise(0.5))
