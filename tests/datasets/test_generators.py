"""Synthetic data: moments, Bayes errors and determinism of every generator."""

import numpy as np
import pytest
from scipy.stats import norm, skew
from sklearn.linear_model import LinearRegression, Perceptron

from helpers import assert_unbiased
from noisewise import datasets
from noisewise.datasets import generators

GENERATORS = [
    datasets.make_synsep,
    datasets.make_synnonsep,
    datasets.make_twonorm,
    datasets.make_ringnorm,
    datasets.make_waveform,
    datasets.make_sine_2d,
    datasets.make_noisy_moons,
    datasets.make_linear_stream,
    datasets.make_sine,
    datasets.make_friedman_small,
    datasets.make_california_like,
]
SHIFT = 2 / np.sqrt(20)


@pytest.mark.parametrize("make", GENERATORS)
def test_the_same_seed_gives_the_same_rows_and_another_seed_others(make):
    first, again, other = make(50, random_state=3), make(50, random_state=3), make(50, random_state=4)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize("make", GENERATORS)
def test_every_generator_gives_one_label_a_row_and_leaves_the_global_seed_alone(make):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    X, y, *_ = make(7, random_state=np.random.default_rng(0))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert X.shape[0] == len(y) == 7


def test_synsep_rows_are_prototypes_less_five_bits_plus_twenty_strays():
    X, y = datasets.make_synsep(3000, random_state=0)
    assert set(np.unique(X)) == {0.0, 1.0}
    np.testing.assert_array_equal(X[:, 120:].sum(axis=1), 20)
    for code in range(9):
        topic = X[y == code, :120]
        prototype = topic.max(axis=0)
        assert 20 <= prototype.sum() <= 40
        np.testing.assert_array_equal(topic.sum(axis=1), prototype.sum() - 5)


def test_synsep_bits_are_dropped_and_gained_alike():
    X, y = datasets.make_synsep(20_000, random_state=1)
    assert_unbiased(X[:, 120:], 20 / 280)
    topic = X[y == 4, :120]
    prototype = topic.max(axis=0) == 1
    assert_unbiased(topic[:, prototype], 1 - 5 / prototype.sum())
    assert_unbiased(y[:, None] == np.arange(9), 1 / 9)


def test_synsep_is_linearly_separable():
    X, y = datasets.make_synsep(3000, random_state=2, sparse=True)
    assert Perceptron(max_iter=50, tol=None, random_state=0).fit(X, y).score(X, y) == 1.0


def test_synnonsep_changes_five_per_cent_of_the_labels_uniformly():
    X, y = datasets.make_synsep(30_000, random_state=5, sparse=True)
    X_same, moved = datasets.make_synnonsep(30_000, random_state=5, sparse=True)
    assert (X_same != X).nnz == 0
    assert_unbiased(y != moved, 0.05)
    assert_unbiased(((moved - y) % 9)[:, None] == np.arange(1, 9), 0.05 / 8)


@pytest.mark.parametrize("make", [datasets.make_synsep, datasets.make_synnonsep])
def test_sparse_bits_are_the_dense_ones(make):
    dense, y = make(200, random_state=0)
    sparse, y_sparse = make(200, random_state=0, sparse=True)
    assert sparse.format == "csr"
    assert sparse.indices.dtype == sparse.indptr.dtype == np.int32
    assert sparse.has_sorted_indices
    np.testing.assert_array_equal(sparse.toarray(), dense)
    np.testing.assert_array_equal(y, y_sparse)


def test_twonorm_has_its_means_variances_and_bayes_error():
    X, y = datasets.make_twonorm(50_000, random_state=0)
    assert set(y) == {-1, 1}
    assert_unbiased(y == 1, 0.5)
    for sign in (-1, 1):
        assert_unbiased(X[y == sign], sign * SHIFT)
        assert_unbiased((X[y == sign] - sign * SHIFT) ** 2, 1)
    assert_unbiased(np.sign(X.sum(axis=1)) != y, norm.cdf(-2))  # the Bayes rule; 2.28 %


def test_ringnorm_has_its_means_and_variances():
    X, y = datasets.make_ringnorm(50_000, random_state=0)
    assert_unbiased(y == 1, 0.5)
    assert_unbiased(X[y == -1], 0)
    assert_unbiased(X[y == -1] ** 2, 4)
    assert_unbiased(X[y == 1], SHIFT)
    assert_unbiased((X[y == 1] - SHIFT) ** 2, 1)


def test_waveform_has_the_means_and_variances_of_mixed_triangles():
    X, y = datasets.make_waveform(60_000, random_state=0)
    triangle = {peak: np.array([max(6 - abs(i - peak), 0) for i in range(1, 22)]) for peak in (7, 11, 15)}
    for code, (one, two) in enumerate([(7, 15), (7, 11), (15, 11)]):
        mean = (triangle[one] + triangle[two]) / 2
        variance = 1 + (triangle[one] - triangle[two]) ** 2 / 12
        assert_unbiased(y == code, 1 / 3)
        assert_unbiased(X[y == code], mean)
        assert_unbiased((X[y == code] - mean) ** 2, variance)


def test_binary_waveform_sets_the_middle_class_against_the_others():
    X, y = datasets.make_waveform(300, random_state=0)
    X_binary, signs = datasets.make_waveform(300, random_state=0, binary=True)
    np.testing.assert_array_equal(X, X_binary)
    np.testing.assert_array_equal(signs, np.where(y == 1, 1, -1))


def test_sine_2d_labels_follow_the_posterior():
    X, y = datasets.make_sine_2d(100_000, random_state=0)
    posterior = datasets.sine_2d_posterior(X)
    assert posterior.min() >= 0
    assert posterior.max() <= 1
    assert_unbiased(X, 0.5)
    assert_unbiased(y - posterior, 0)
    assert_unbiased((y - posterior) * (posterior - 0.5), 0)


def test_sine_2d_has_its_bayes_error():
    X, y = datasets.make_sine_2d(100_000, random_state=1)
    mistakes = (datasets.sine_2d_posterior(X) > 0.5) != y
    assert_unbiased(mistakes, 0.5 - 2 / np.pi**2)  # half the mean of abs(sin sin), taken from a half
    assert_unbiased(mistakes[:3000], 0.295)  # what the paper's own test sample shows


def test_moons_lie_on_two_half_circles():
    X, y, _ = datasets.make_noisy_moons(20_000, random_state=0)
    assert set(y) == {-1, 1}
    assert_unbiased(y == 1, 0.5)
    upper, lower = X[y == -1], X[y == 1]
    assert_unbiased(upper, [0, 2 / np.pi])
    assert_unbiased(lower, [1, 0.5 - 2 / np.pi])
    assert_unbiased((upper**2).sum(axis=1), 1 + 2 * 0.05**2)
    assert_unbiased(((lower - [1, 0.5]) ** 2).sum(axis=1), 1 + 2 * 0.05**2)


def test_moons_copies_are_unbiased_independent_and_as_noisy_as_asked():
    X, _, copies = datasets.make_noisy_moons(20_000, noise=0.3, n_copies=3, random_state=1)
    errors = copies - X[:, None, :]
    assert_unbiased(errors, 0)
    assert_unbiased(errors**2, 0.09)
    assert_unbiased(errors[:, 0] * errors[:, 1], 0)


def test_moons_without_noise_are_their_own_copies():
    X, _, copies = datasets.make_noisy_moons(10, noise=0, random_state=0)
    np.testing.assert_array_equal(copies, np.stack([X, X], axis=1))


@pytest.mark.parametrize("options", [{"noise": -1}, {"spread": -0.1}, {"noise": np.nan}])
def test_a_negative_deviation_is_refused(options):
    with pytest.raises(ValueError, match="standard deviations, 0 or more"):
        datasets.make_noisy_moons(5, **options)


def test_the_linear_stream_has_geometric_variances_with_unit_trace():
    X, y = datasets.make_linear_stream(50_000, random_state=0)
    variances = 0.7 ** np.arange(10) / sum(0.7**i for i in range(10))
    assert_unbiased(X, 0)
    assert_unbiased(X**2, variances)
    assert_unbiased((X**2).sum(axis=1), 1)
    assert_unbiased(X[:, 0] * X[:, 1], 0)
    residual = y - X @ np.full(10, 10**-0.5)
    assert_unbiased(residual, 0)
    assert_unbiased(residual**2, 0.01)


def test_the_sine_has_frequency_two_and_noise_of_a_tenth():
    X, y = datasets.make_sine(50_000, random_state=0)
    assert X.min() >= -3
    assert X.max() <= 3
    assert_unbiased(X[:, 0] ** 2, 3)
    residual = y - np.sin(2 * X[:, 0])
    assert_unbiased(residual, 0)
    assert_unbiased(residual**2, 0.01)


def test_friedman_small_ignores_its_fifth_column():
    X, y = datasets.make_friedman_small(50_000, random_state=0)
    assert np.abs(X).max() <= 1
    assert_unbiased(X**2, 1 / 3)
    residual = y - (np.sin(np.pi * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + X[:, 3] / 2)
    assert_unbiased(residual**2, 0.01)
    assert_unbiased(residual * X[:, 4], 0)


def test_california_like_columns_are_standard_skewed_and_correlated():
    X, _ = datasets.make_california_like(100_000, random_state=0)
    assert_unbiased(X, 0)
    assert_unbiased(X**2, 1)
    assert (skew(X) > 0.5).all()
    grown = np.exp(np.outer(generators.SKEWS, generators.SKEWS) * (generators.LOADINGS @ generators.LOADINGS.T)) - 1
    alone = np.sqrt(np.exp(generators.SKEWS**2) - 1)
    correlation = grown / np.outer(alone, alone)  # of lognormals
    for one, two in [(0, 1), (2, 3), (6, 7)]:
        assert abs(correlation[one, two]) > 0.2
        assert_unbiased(X[:, one] * X[:, two], correlation[one, two])


def test_california_like_is_mostly_linear_and_suffers_from_feature_noise():
    scores = []
    for seed in range(8):
        X, y = datasets.make_california_like(random_state=seed)
        noisy = X + np.random.default_rng(seed).standard_normal(X.shape)
        train, test = slice(0, 3750), slice(3750, None)
        models = (LinearRegression().fit(rows[train], y[train]) for rows in (X, noisy))
        scores.append([model.score(X[test], y[test]) for model in models])
    clean, naive = np.mean(scores, axis=0)
    assert abs(clean - 0.73) < 0.015
    assert abs(naive - 0.52) < 0.02
