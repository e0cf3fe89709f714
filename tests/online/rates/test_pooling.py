import numpy as np
import pytest
from scipy.stats import chi2_contingency

from noisewise.online.rates.pooling import (
    equal_channels_p_value,
    equal_rates_p_value,
    shrunken_channels,
    shrunken_rates,
)


def test_the_test_of_equal_rates_agrees_with_scipy():
    hits, rounds = np.array([10.0, 30.0, 25.0]), np.array([100.0, 120.0, 90.0])
    table = np.stack([hits, rounds - hits])
    assert equal_rates_p_value(hits, rounds) == pytest.approx(
        chi2_contingency(table, lambda_="log-likelihood", correction=False).pvalue
    )
    assert equal_rates_p_value(np.zeros(3), np.array([5.0, 0.0, 0.0])) == 1.0


def test_rates_of_like_groups_are_pooled_and_of_unlike_ones_kept():
    rounds = np.full(10, 200.0)
    alike = shrunken_rates(np.random.default_rng(22).binomial(200, 0.3, 10).astype(float), rounds)
    assert np.std(alike) < 0.02
    unlike = shrunken_rates(np.array([20.0, 180.0] * 5), rounds)
    assert unlike == pytest.approx([0.1, 0.9] * 5, abs=0.02)
    assert shrunken_rates(np.zeros(2), np.zeros(2)).tolist() == [0, 0]


def test_the_test_of_equal_channels_agrees_with_scipy():
    counts = np.random.default_rng(4).integers(5, 50, size=(4, 3)).astype(float)
    expected = chi2_contingency(counts, lambda_="log-likelihood", correction=False).pvalue
    assert equal_channels_p_value(counts) == pytest.approx(expected)
    assert equal_channels_p_value(np.array([[3.0, 0.0, 0.0], [9.0, 0.0, 0.0]])) == 1.0


def test_like_channels_are_pooled_and_unlike_ones_kept():
    rng = np.random.default_rng(5)
    alike = shrunken_channels(rng.multinomial(100, [0.5, 0.3, 0.2], size=10).astype(float))
    assert alike.sum(axis=1) == pytest.approx(np.ones(10))
    assert alike.std(axis=0).max() < 0.03
    unlike = shrunken_channels(np.array([[900.0, 50.0, 50.0], [50.0, 50.0, 900.0]]))
    assert unlike == pytest.approx(np.array([[0.9, 0.05, 0.05], [0.05, 0.05, 0.9]]), abs=0.02)
