"""Random terms and random maps: means, variances and counts of copies, against closed forms and the kernels."""

import numpy as np
import pytest
from scipy.special import i0

from helpers import assert_biased, assert_unbiased
from noisewise import losses
from noisewise.features.maps.descent import MapDescent
from noisewise.features.maps.random_map import RandomMap, RandomTerms, loss_terms
from noisewise.kernels import Binomial, Exponential, Gaussian, Laplacian, Linear, Polynomial
from noisewise.noise.unbiased import by_random_taylor

LOSSES = [losses.Exponential(), losses.SmoothedAbsolute(), losses.SmoothedHinge()]
MEAN, DEVIATION = 0.6, 0.5
MEAN_SQUARE = MEAN**2 + DEVIATION**2


def estimates(terms, n, rng):
    """`n` estimates of a series at 0.6, from factors with this mean."""
    degrees = terms.degrees(n, rng)
    factors = rng.normal(MEAN, DEVIATION, (n, max(degrees.max(), 1)))
    products = np.concatenate([np.ones((n, 1)), np.cumprod(factors, axis=1)], axis=1)[:, : terms.top + 1]
    values = products * terms.weighted()[: products.shape[1]]
    order = np.arange(products.shape[1])
    used = order == degrees[:, None] if terms.single else order <= degrees[:, None]
    return np.sum(values * used, axis=1)


def second_moment(gamma, p, roulette):
    """E theta^2 by its double sum."""
    n = np.arange(len(gamma))
    if not roulette:
        return p / (p - 1) * np.sum(gamma**2 * (p * MEAN_SQUARE) ** n)
    low, gap = np.minimum.outer(n, n), np.abs(np.subtract.outer(n, n))
    return np.sum(np.outer(gamma, gamma) * (p * MEAN_SQUARE) ** low * MEAN**gap)


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_one_random_term_has_the_moments_of_lemma_1(loss, p, rng):
    terms = loss_terms(loss, "geometric", p)
    drawn = estimates(terms, 200_000, rng)
    assert_unbiased(drawn, loss.derivative(MEAN), sigmas=3.5)
    exact = second_moment(terms.coefficients, p, roulette=False)
    assert np.mean(drawn**2) == pytest.approx(exact, rel=0.03)
    assert exact <= p / (p - 1) * loss.absolute_series(np.sqrt(p * MEAN_SQUARE)) ** 2


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_numbers_of_factors_are_geometric(p, rng):
    degrees = loss_terms(losses.Exponential(), "roulette", p).degrees(400_000, rng)
    assert degrees.mean() == pytest.approx(1 / (p - 1), rel=0.01)
    assert_unbiased(degrees >= 3, p**-3.0)


@pytest.mark.parametrize(("loss", "p", "literal", "roulette"), [
    (LOSSES[0], 1.2, 10.96, 0.26), (LOSSES[0], 2.0, 5.00, 0.70), (LOSSES[0], 4.0, 6.94, 2.36),
    (LOSSES[1], 1.2, 5.54, 0.41), (LOSSES[1], 2.0, 3.33, 1.09), (LOSSES[1], 4.0, 8.78, 5.02),
    (LOSSES[2], 1.2, 4.92, 0.06), (LOSSES[2], 2.0, 1.45, 0.17), (LOSSES[2], 4.0, 1.45, 0.75),
])  # fmt: skip
def test_roulette_has_less_variance_from_the_same_copies(loss, p, literal, roulette, rng):
    for estimator, expected in (("geometric", literal), ("roulette", roulette)):
        terms = loss_terms(loss, estimator, p)
        exact = second_moment(terms.coefficients, p, estimator == "roulette") - loss.derivative(MEAN) ** 2
        assert exact == pytest.approx(expected, rel=0.1)
        drawn = estimates(terms, 100_000, rng)
        assert_unbiased(drawn, loss.derivative(MEAN))
        if p < 4:  # from there on, the variance of a sample is carried by a few draws
            assert drawn.var() == pytest.approx(exact, rel=0.1)


def test_random_terms_agree_with_the_plain_formula(rng):
    for estimator in ("roulette", "geometric"):
        terms = loss_terms(losses.Exponential(), estimator, 2.0)
        for degree in (0, 1, 4):
            factors = rng.normal(MEAN, DEVIATION, degree)
            products = np.concatenate([[1.0], np.cumprod(factors)])
            values = terms.weighted()[: degree + 1] * products
            expected = by_random_taylor(terms.coefficients, factors, 2.0, roulette=estimator == "roulette")
            assert (values[-1] if terms.single else values.sum()) == pytest.approx(expected, rel=1e-12)


def test_the_target_belongs_inside_the_product(rng):
    y, terms = -1.0, loss_terms(losses.Exponential(), "geometric", 2.0)
    degrees = terms.degrees(200_000, rng)
    factors = rng.normal(MEAN, DEVIATION, (len(degrees), degrees.max()))
    rows = np.arange(len(degrees))

    def derivatives(inside):
        products = np.concatenate([np.ones((len(rows), 1)), np.cumprod(inside * factors, axis=1)], axis=1)
        return y * terms.weighted()[degrees] * products[rows, degrees]

    truth = y * losses.Exponential().derivative(y * MEAN)
    assert_unbiased(derivatives(y), truth)
    assert_biased(derivatives(1.0), truth, sigmas=50)  # as printed


X, Z, NOISE = np.array([0.9, 0.2, -0.3]), np.array([0.8, 0.4, -0.1]), 0.3
SMALL = np.array([0.3, 0.1, -0.2]), np.array([0.2, 0.3, 0.1])
DOT = [Linear(), Polynomial(2, 0), Polynomial(3), Exponential(), Binomial(1.5)]


def noisy_maps(maps, x, n, rng, noise=NOISE):
    plan = maps.draw(n, rng)
    return maps.estimate(plan, x + noise * rng.normal(size=(int(maps.queries(plan).sum()), len(x))))


@pytest.mark.parametrize("estimator", ["auto", "roulette", "geometric"])
@pytest.mark.parametrize("kernel", DOT, ids=repr)
def test_maps_have_the_kernel_as_their_mean(kernel, estimator, rng):
    x, z = SMALL if isinstance(kernel, Binomial) else (X, Z)
    maps, n = RandomMap(kernel, estimator, p=2.0), 100_000
    one, other = noisy_maps(maps, x, n, rng, 0.2), noisy_maps(maps, z, n, rng, 0.2)
    assert_unbiased(maps.mult(one, z), kernel(x, z), sigmas=3.5)
    assert_unbiased(maps.prod(one, other), kernel(x, z), sigmas=3.5)


@pytest.mark.parametrize("estimator", ["roulette", "geometric"])
def test_maps_of_the_gaussian_kernel_have_it_as_their_mean(estimator, rng):
    kernel = Gaussian(1.0)
    maps, n = RandomMap(kernel, estimator, p=2.0), 1_000_000
    one = noisy_maps(maps, X, n, rng)
    assert kernel(X, Z) == pytest.approx(0.9139, abs=1e-4)
    assert_unbiased(maps.mult(one, Z), kernel(X, Z), sigmas=3.5)
    wide = RandomMap(Gaussian(2.0), estimator, p=2.0)
    one, other = noisy_maps(wide, X, n // 4, rng), noisy_maps(wide, Z, n // 4, rng)
    assert_unbiased(wide.prod(one, other), Gaussian(2.0)(X, Z), sigmas=3.5)


def test_the_printed_map_of_the_gaussian_kernel_is_that_of_another(rng):
    printed = RandomMap(Gaussian(1.0), "geometric", p=2.0)
    printed.roots = printed.roots**2  # the root is missing in print, in both subroutines
    printed.terms = RandomTerms(printed.roots, "geometric", 2.0)
    drawn = printed.mult(noisy_maps(printed, X, 1_000_000, rng), Z)
    other = np.exp(-X @ X - Z @ Z) * i0(4 * np.sqrt(X @ Z))
    assert other == pytest.approx(1.448, abs=1e-3)
    assert_unbiased(drawn, other)
    assert_biased(drawn, Gaussian(1.0)(X, Z))


@pytest.mark.parametrize(
    ("estimator", "factor", "argument"), [("geometric", 2.0, 2.0), ("roulette", 1.0, 2.0), ("auto", 1.0, 1.0)]
)
def test_squared_norms_of_maps(estimator, factor, argument, rng):
    x, noise = SMALL[0], 0.2
    mean_square = x @ x + 3 * noise**2
    for kernel in (Polynomial(2), Exponential()) if estimator != "auto" else (Polynomial(2), Polynomial(3)):
        maps = RandomMap(kernel, estimator, p=2.0)
        drawn = noisy_maps(maps, x, 400_000, rng, noise)
        expected = factor * kernel.of_dot(np.array(argument * mean_square))
        assert np.mean(maps.prod(drawn, drawn)) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
@pytest.mark.parametrize(("kernel", "times"), [(Exponential(), 1), (Gaussian(1.0), 3)], ids=["exponential", "gaussian"])
def test_queries_per_round(kernel, times, p, rng):
    maps, n = RandomMap(kernel, "roulette", p), 60_000
    derivatives = loss_terms(losses.Exponential(), "roulette", p)
    n_maps = n + derivatives.degrees(n, rng).sum()
    assert maps.queries(maps.draw(int(n_maps), rng)).sum() / n == pytest.approx(times * p / (p - 1) ** 2, rel=0.02)


@pytest.mark.parametrize(("kernel", "loss", "queries"), [
    (Polynomial(3), losses.Squared(), 6), (Linear(), losses.Squared(), 2),
])  # fmt: skip
def test_polynomials_take_a_fixed_number_of_copies(kernel, loss, queries, rng):
    descent = MapDescent(kernel, loss)
    for _ in range(20):
        plan, degree = descent.draw(rng)
        assert descent.map.queries(plan).sum() == queries
        assert degree == 1
    assert descent.map.lost_probability == 0


def test_rounds_draw_their_maps_independently(rng):
    descent = MapDescent(Exponential(), losses.Exponential(), p=2.0)
    rounds = [descent.draw(rng) for _ in range(5000)]
    assert_unbiased([descent.map.queries(plan).sum() for plan, _ in rounds], 2.0)
    assert all(len(plan) == degree + 1 for plan, degree in rounds)


def test_terms_that_vanish_take_no_copies(rng):
    maps = RandomMap(Polynomial(2, 0), "geometric")  # only degree 2 counts
    plan = maps.draw(2000, rng)
    assert set(np.unique(plan[:, 1])) == {-1, 2}
    assert_unbiased(plan[:, 1] == 2, 1 / 8)
    nothing = maps.estimate(plan[plan[:, 1] < 0][:3], np.empty((0, 2)))
    np.testing.assert_array_equal(maps.mult(nothing, [1.0, 2.0]), 0)


def test_degrees_are_truncated_and_the_lost_probability_is_reported():
    maps = RandomMap(Exponential(), "roulette", p=1.01)
    assert maps.draw(2000, 0)[:, 1].max() == 60
    assert maps.lost_probability == pytest.approx(1.01**-61)
    assert np.isfinite(RandomMap(Exponential(), "geometric", p=1000.0).terms.weighted()).all()


@pytest.mark.parametrize(("call", "error", "sentence"), [
    (lambda: RandomMap(Laplacian(1.0)), TypeError, "inner product"),
    (lambda: RandomMap(Linear(), "printed"), ValueError, "'roulette'"),
    (lambda: RandomMap(Linear(), p=1.0), ValueError, "above 1"),
])  # fmt: skip
def test_impossible_maps_are_refused(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()
