import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import Perceptron

from helpers import assert_unbiased
from noisewise import datasets

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


def test_synnonsep_moves_one_label_in_twenty_to_each_other_class_alike():
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
