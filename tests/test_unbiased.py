"""Every correction: its mean over the noise is the clean value, and the wrong printed forms are found out."""

import numpy as np
import pytest

from helpers import assert_biased, assert_unbiased
from noisewise import FlipMatrix, GaussianNoise
from noisewise.noise import unbiased

DRAWS = 200_000
W, X, Y = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.3, -0.7]), 0.4
CLEAN_GRADIENT = 2 * (W @ X - Y) * X
COVARIANCE = np.array([[0.5, 0.2, 0.0], [0.2, 0.4, 0.1], [0.0, 0.1, 0.3]])


def laplace_replicates(rng, n):
    return X + rng.laplace(scale=np.sqrt(0.25), size=(n, 3))


def gaussian_replicates(rng, n):
    return GaussianNoise(COVARIANCE).copies(X[None], n, rng)[0]


def test_one_replicate_and_the_covariance_give_the_clean_gradient(rng):
    noisy = gaussian_replicates(rng, DRAWS)
    assert_unbiased(unbiased.by_second_moment(W, noisy, Y, COVARIANCE), CLEAN_GRADIENT)


def test_the_printed_second_moment_is_biased(rng):
    noisy = gaussian_replicates(rng, DRAWS)
    printed = unbiased.by_second_moment(W, noisy, Y, COVARIANCE) + COVARIANCE @ W  # subtracts it once, not twice
    assert_biased(printed, CLEAN_GRADIENT, sigmas=50)


@pytest.mark.parametrize("replicates", [gaussian_replicates, laplace_replicates])
def test_two_replicates_give_the_clean_gradient(replicates, rng):
    assert_unbiased(unbiased.by_copies(W, replicates(rng, DRAWS), replicates(rng, DRAWS), Y), CLEAN_GRADIENT)


def test_one_replicate_in_both_factors_is_biased(rng):
    noisy = gaussian_replicates(rng, DRAWS)
    assert_biased(unbiased.by_copies(W, noisy, noisy, Y), CLEAN_GRADIENT, sigmas=50)


def test_symmetrised_replicates_have_less_variance(rng):
    first, second = gaussian_replicates(rng, DRAWS), gaussian_replicates(rng, DRAWS)
    one_sided = 2 * (first @ W - Y)[:, None] * second
    assert unbiased.by_copies(W, first, second, Y).var(axis=0).sum() < 0.8 * one_sided.var(axis=0).sum()


def test_propensities_stand_in_for_actions_not_taken(rng):
    values, probabilities = np.array([1.0, -2.0, 0.5]), np.array([0.7, 0.1, 0.2])
    actions = rng.choice(3, DRAWS, p=probabilities)
    assert_unbiased(unbiased.by_propensity(values[actions], actions, probabilities[actions], 3), values)


def feedback_through(noise, right, rng):
    return noise.corrupt(np.full(DRAWS, int(right)), rng)


@pytest.mark.parametrize("right", [False, True])
def test_corrected_feedback_has_the_true_feedback_as_its_mean(right, rng):
    noise = FlipMatrix.binary(0.2, 0.4)
    corrected = noise.unbiased_targets(feedback_through(noise, right, rng))[:, 1]
    assert_unbiased(corrected, float(right))


def test_corrected_feedback_is_exact_in_expectation():
    noise = FlipMatrix.binary(0.2, 0.4)
    values = noise.inverse[:, 1]  # h(0), h(1)
    np.testing.assert_allclose(values, [-0.2 / 0.4, 0.8 / 0.4])
    np.testing.assert_allclose(noise.matrix @ values, [0, 1], atol=1e-15)


def test_the_printed_feedback_estimate_is_biased():
    rates, beta = np.array([0.2, 0.4]), 0.4
    printed = np.array([((1 - rates[f]) * f - rates[f] * f) / beta for f in (0, 1)])  # the primes are lost
    bias = FlipMatrix.binary(*rates).matrix @ printed - [0, 1]
    assert np.abs(bias).max() > 0.5


@pytest.mark.parametrize("roulette", [True, False])
@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_random_taylor_terms_sum_to_the_function(roulette, p, rng):
    coefficients = 1 / np.cumprod(np.concatenate([[1.0], np.arange(1.0, 30)]))  # exp
    degrees = unbiased.random_degree(rng, p, 40_000)
    draws = [unbiased.by_random_taylor(coefficients, rng.normal(0.6, 0.5, n), p, roulette=roulette) for n in degrees]
    assert_unbiased(draws, np.exp(0.6))


def test_roulette_has_less_variance_than_one_term(rng):
    coefficients = -((-1.0) ** np.arange(30)) / np.cumprod(np.concatenate([[1.0], np.arange(1.0, 30)]))  # -exp(-a)
    samples = {True: [], False: []}
    for n in unbiased.random_degree(rng, 2.0, 40_000):
        factors = rng.normal(0.6, 0.5, n)
        for roulette in samples:
            samples[roulette].append(unbiased.by_random_taylor(coefficients, factors, 2.0, roulette=roulette))
    one_term, roulette = np.var(samples[False]), np.var(samples[True])
    np.testing.assert_allclose([one_term, roulette], [5.00, 0.70], rtol=0.1)


def test_degrees_follow_their_distribution(rng):
    degrees = unbiased.random_degree(rng, 3.0, 100_000)
    assert_unbiased(degrees, 1 / (3.0 - 1))
    assert_unbiased(degrees >= 2, 3.0**-2)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: unbiased.by_propensity([1.0], [0], [0.0], 2), "probability"),
        (lambda: unbiased.by_propensity([1.0], [2], [0.5], 2), "from 0 to 1"),
        (lambda: unbiased.random_degree(p=1.0), "above 1"),
    ],
)
def test_impossible_input_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
