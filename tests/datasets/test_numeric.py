import numpy as np
import pytest
from scipy.stats import skew
from sklearn.linear_model import LinearRegression

from helpers import assert_unbiased
from noisewise import datasets
from noisewise.datasets import generators


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


def test_the_linear_stream_fades_by_seven_tenths_and_has_unit_trace():
    X, y = datasets.make_linear_stream(50_000, random_state=0)
    variances = 0.7 ** np.arange(10) / sum(0.7**i for i in range(10))
    assert_unbiased(X, 0)
    assert_unbiased(X**2, variances)
    assert_unbiased((X**2).sum(axis=1), 1)
    assert_unbiased(X[:, 0] * X[:, 1], 0)
    residual = y - X @ np.full(10, 10**-0.5)
    assert_unbiased(residual, 0)
    assert_unbiased(residual**2, 0.01)


def test_the_sine_waves_twice_as_fast_and_carries_noise_of_a_tenth():
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
