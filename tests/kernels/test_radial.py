import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import quad
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics.pairwise import rbf_kernel

from helpers import assert_unbiased
from noisewise.kernels import Gaussian, Laplacian, RationalQuadratic, median_width, squared_distances

RADIAL = [Gaussian(1.7), Laplacian(2.0), RationalQuadratic(1.5, 3.0), RationalQuadratic(0.4, 0.5)]


def test_gaussian_agrees_with_scikit_learn_at_gamma_one_over_width_squared():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(Gaussian(1.7).gram(X, Z), rbf_kernel(X, Z, gamma=1 / 1.7**2))


def test_radial_kernels_agree_with_a_plain_loop():
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    r = np.array([[np.sqrt(sum((a - b) ** 2 for a, b in zip(x, z))) for z in Z] for x in X])
    np.testing.assert_allclose(Gaussian(0.8).gram(X, Z), np.exp(-((r / 0.8) ** 2)), rtol=1e-12)
    np.testing.assert_allclose(Laplacian(0.8).gram(X, Z), np.exp(-r / 0.8), rtol=1e-12)
    np.testing.assert_allclose(RationalQuadratic(1.5, 2.0).gram(X, Z), 1 / (1 + r**2 / 2) ** 1.5, rtol=1e-12)


@pytest.mark.parametrize("kernel", RADIAL[1:])
@pytest.mark.parametrize("r", [0.0, 0.3, 1.0, 4.0])
def test_schoenberg_mixture_of_gaussians_is_the_kernel(kernel, r):
    # integrated over log u: the densities are sharp near 0 and heavy far out
    mixture, _ = quad(lambda t: np.exp(t - np.exp(t) * r**2) * kernel.schoenberg(np.exp(t)), -60, 60, limit=500)
    assert mixture == pytest.approx(kernel.of_squared_distance(np.array(r**2)), abs=1e-7)


def test_schoenberg_densities_are_the_known_ones():
    u = np.array([0.01, 0.2, 1.0, 7.0])
    s = 1.3
    levy = u**-1.5 * np.exp(-1 / (4 * s**2 * u)) / (2 * s * np.sqrt(np.pi))
    np.testing.assert_allclose(Laplacian(s).schoenberg(u), levy)
    np.testing.assert_allclose(RationalQuadratic(2.0, 3.0).schoenberg(u), 9 * u * np.exp(-3 * u))


@pytest.mark.parametrize("kernel", RADIAL)
def test_drawn_rates_mix_to_the_kernel(kernel):
    rates = kernel.draw_rates(20_000, np.random.default_rng(2))
    squared = np.array([0.1, 1.0, 5.0])
    assert_unbiased(np.exp(-np.outer(rates, squared)), kernel.of_squared_distance(squared))


def test_squared_distances_survive_a_far_origin():
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(30, 4)) + 1e7, rng.normal(size=(20, 4)) + 1e7
    np.testing.assert_allclose(squared_distances(X, Z), cdist(X, Z, "sqeuclidean"), rtol=1e-9)


@pytest.mark.parametrize("shape", [lambda X: X, sparse.csr_array])
def test_equal_rows_have_distance_zero(shape):
    X = np.random.default_rng(4).normal(size=(40, 300))
    twice = shape(np.vstack([X, X]))
    np.testing.assert_array_equal(np.diagonal(squared_distances(twice, shape(np.vstack([X, X])))), 0)
    gram = Laplacian(1.0).gram(twice)
    np.testing.assert_array_equal(gram[:40, 40:].diagonal(), 1)
    np.testing.assert_array_equal(gram.diagonal(), Laplacian(1.0).diagonal(twice))


def test_median_width_is_the_median_distance():
    X = np.random.default_rng(5).normal(size=(60, 4))
    assert median_width(X) == pytest.approx(np.median(pdist(X)))
    assert median_width(sparse.csr_matrix(X)) == pytest.approx(np.median(pdist(X)))


def test_median_width_of_a_sample_is_near_and_repeats():
    X = np.random.default_rng(6).normal(size=(3000, 4))
    whole = median_width(X, max_rows=3000)
    assert median_width(X, max_rows=500, random_state=0) == pytest.approx(whole, rel=0.05)
    assert median_width(X, max_rows=500, random_state=0) == median_width(X, max_rows=500, random_state=0)
    assert median_width(X, max_rows=500, random_state=0) != median_width(X, max_rows=500, random_state=1)


def test_median_width_ignores_duplicates_and_refuses_only_duplicates():
    assert median_width([[0.0]] * 9 + [[2.0]]) == 2.0
    with pytest.raises(ValueError, match="all rows are equal"):
        median_width([[1.0], [1.0]])


@pytest.mark.parametrize("width", [0.0, -1.0, np.inf, np.nan])
@pytest.mark.parametrize("kind", [Gaussian, Laplacian])
def test_impossible_widths_are_refused(kind, width):
    with pytest.raises(ValueError, match="width"):
        kind(width)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_median_width_is_found_though_nearly_all_rows_are_duplicates(kind):
    rows = np.zeros((3000, 2))
    rows[7] = (3.0, 4.0)
    assert {median_width(kind(rows), random_state=seed) for seed in range(8)} == {5.0}
