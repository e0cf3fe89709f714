import numpy as np
import pytest
from scipy import sparse
from scipy.stats import kstest
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers import assert_unbiased
from noisewise.kernels import (
    FourierFeatures,
    Gaussian,
    Laplacian,
    Linear,
    NystroemFeatures,
    Polynomial,
    RationalQuadratic,
    draw_frequencies,
    fourier_features,
    nystroem,
)

RADIAL = [Gaussian(1.7), Laplacian(2.0), RationalQuadratic(1.5, 3.0), RationalQuadratic(0.4, 0.5)]
ANY = [*RADIAL, Linear(), Polynomial(2), Linear() + 0.5 * Gaussian(1.0)]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 3))


@parametrize_with_checks([FourierFeatures(n_components=7), NystroemFeatures(n_components=7)])
def test_features_are_scikit_learn_transformers(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", RADIAL)
def test_fourier_features_are_the_kernel_on_average(kernel, X):
    n = 20_000
    features = fourier_features(kernel, n, random_state=1).fit_transform(X[:6])
    products = n * features.T[:, :, None] * features.T[:, None, :]
    assert_unbiased(products, kernel.gram(X[:6]))


@pytest.mark.parametrize("kernel", RADIAL)
def test_fourier_features_serve_sparse_rows(kernel, X):
    features = fourier_features(kernel, 50, random_state=1).fit(X)
    np.testing.assert_allclose(features.transform(sparse.csr_array(X)), features.transform(X))


def test_gaussian_frequencies_have_variance_two_over_width_squared(X):
    width, n = 1.7, 40_000
    ours = draw_frequencies(Gaussian(width), 3, n, rng=2)
    theirs = RBFSampler(gamma=1 / width**2, n_components=n, random_state=3).fit(X).random_weights_
    for drawn in (ours, theirs):
        assert_unbiased(drawn.T**2, 2 / width**2)


def test_laplacian_frequencies_are_cauchy():
    width = 2.0
    frequencies = draw_frequencies(Laplacian(width), 1, 5000, rng=4)[0]
    assert kstest(frequencies * width, "cauchy").pvalue > 1e-6


def test_fourier_features_refuse_other_kernels(X):
    with pytest.raises(TypeError, match="NystroemFeatures"):
        FourierFeatures(Linear()).fit(X)
    with pytest.raises(ValueError, match="at least one"):
        fourier_features(Gaussian(1.0), 0).fit(X)


@pytest.mark.parametrize("kernel", ANY)
def test_nystroem_with_all_rows_is_the_gram(kernel, X):
    features = nystroem(kernel, len(X), random_state=0).fit_transform(X)
    np.testing.assert_allclose(features @ features.T, kernel.gram(X), atol=1e-7)


@pytest.mark.parametrize("kernel", ANY)
def test_nystroem_is_exact_on_the_rows_it_is_built_on_and_never_above_the_diagonal(kernel, X):
    model = nystroem(kernel, 12, random_state=0).fit(X)
    features = model.transform(X)
    known = model.component_indices_
    np.testing.assert_allclose(features @ features[known].T, kernel.gram(X, X[known]), atol=1e-7)
    assert (np.square(features).sum(axis=1) <= kernel.diagonal(X) + 1e-7).all()


def test_nystroem_agrees_with_scikit_learn_on_the_same_rows(X):
    theirs = Nystroem(kernel="rbf", gamma=1 / 1.7**2, n_components=12, random_state=5).fit(X)
    ours = nystroem(Gaussian(1.7), 12, random_state=0).fit(X[theirs.component_indices_])
    A, B = theirs.transform(X), ours.transform(X)
    np.testing.assert_allclose(B @ B.T, A @ A.T, atol=1e-8)


def test_nystroem_serves_sparse_rows_and_copies_of_rows(X):
    twice = np.vstack([X, X])
    features = nystroem(Gaussian(1.0), 80, random_state=0).fit_transform(sparse.csr_matrix(twice))
    np.testing.assert_allclose(features @ features.T, Gaussian(1.0).gram(twice), atol=1e-7)


@pytest.mark.parametrize("make", [fourier_features, nystroem])
def test_a_seed_repeats_the_features(make, X):
    first, again, other = (make(Gaussian(1.0), 9, random_state=seed).fit_transform(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01


@pytest.mark.parametrize("kind", [FourierFeatures, NystroemFeatures])
def test_without_a_kernel_the_width_comes_from_the_data(kind, X):
    model = kind(random_state=0).fit(X)
    assert isinstance(model.kernel_, Gaussian)
    assert kind(random_state=0).fit(10 * X).kernel_.width == pytest.approx(10 * model.kernel_.width)


def test_what_is_no_kernel_is_refused():
    with pytest.raises(TypeError, match=r"'rbf' is not a kernel of noisewise.kernels; Gaussian\(width\) would do"):
        NystroemFeatures("rbf").fit(np.eye(3))
