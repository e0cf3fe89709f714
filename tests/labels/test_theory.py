"""Limits and bounds of nearest neighbours under label noise, against simulation."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.neighbors import KNeighborsClassifier

from noisewise import FlipMatrix
from noisewise.datasets import make_sine_2d, sine_2d_posterior
from noisewise.labels import theory

LIPSCHITZ = np.pi  # Lipschitz constant of the chessboard's posterior
NOISES = [FlipMatrix.binary(0.1, 0.3), FlipMatrix.binary(0.1, 0.4), FlipMatrix.symmetric(0.2, 2)]


@pytest.fixture(scope="module")
def eta():
    """The posterior on a grid of the unit square: a mean over it is an expectation over x."""
    middles = (np.arange(400) + 0.5) / 400
    return sine_2d_posterior(np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2))


def measured_error(noise, n_rows, k, seeds, n_test=4000):
    """Exact error over the distribution of the labels of k-NN trained on corrupted rows, and its standard error."""
    errors = []
    for seed in range(seeds):
        X, y = make_sine_2d(n_rows, random_state=seed)
        X_test, _ = make_sine_2d(n_test, random_state=1000 + seed)
        votes = KNeighborsClassifier(k).fit(X, noise.corrupt(y, seed)).predict_proba(X_test)[:, 1]
        p = sine_2d_posterior(X_test)
        errors.append(np.where(votes >= 0.5, 1 - p, p).mean())
    return np.mean(errors), np.std(errors, ddof=1) / np.sqrt(seeds)


def test_bayes_error_of_the_chessboard(eta):
    assert theory.bayes_error(eta) == pytest.approx(0.5 - 2 / np.pi**2, abs=1e-5)


@pytest.mark.parametrize(("rate", "limit"), [(0.1, 0.400), (0.2, 0.425), (0.3, 0.450)])
def test_one_neighbour_tends_to_the_stated_limit(eta, rate, limit):
    found = theory.neighbors_limit(eta, FlipMatrix.symmetric(rate, 2), n_neighbors=1)
    assert found == pytest.approx(rate + (1 - 2 * rate) * np.mean(2 * eta * (1 - eta)), abs=1e-12)
    assert found == pytest.approx(limit, abs=5e-4)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("k", [1, 4, 9])
def test_few_neighbours_reach_their_limit(eta, noise, k):
    """At 20,000 rows the neighbours of a row are nearly at its position."""
    measured, error = measured_error(noise, 20_000, k, seeds=5)
    assert measured == pytest.approx(theory.neighbors_limit(eta, noise, k), abs=5 * error + 0.002)


def test_many_neighbours_reach_the_limit_which_is_below_the_misled_share(eta):
    noise = FlipMatrix.binary(false_positive=0.1, false_negative=0.4)
    limit = theory.neighbors_limit(eta, noise)
    measured, error = measured_error(noise, 20_000, 400, seeds=3, n_test=2000)
    assert measured == pytest.approx(limit, abs=5 * error + 0.01)
    assert limit < theory.bayes_error(eta) + theory.misled_share(eta, noise) - 0.05


def test_the_limit_of_growing_k_is_that_of_a_large_fixed_one(eta):
    noise = FlipMatrix.binary(0.1, 0.3)
    assert theory.neighbors_limit(eta, noise, 100_001) == pytest.approx(theory.neighbors_limit(eta, noise), abs=1e-3)


def test_equal_rates_mislead_no_row(eta):
    noise = FlipMatrix.symmetric(0.4, 2)
    assert theory.misled_share(eta, noise) == 0
    assert theory.neighbors_limit(eta, noise) == pytest.approx(theory.bayes_error(eta), abs=1e-12)


def test_a_fixed_k_is_its_binomial_vote(eta):
    noise, k = FlipMatrix.binary(0.2, 0.1), 6
    noisy = noise.push(np.column_stack([1 - eta, eta]))[:, 1]
    says_one = binom.sf(2, k, noisy)  # three votes of six are enough
    expected = np.mean(eta * (1 - says_one) + (1 - eta) * says_one)
    assert theory.neighbors_limit(eta, noise, k) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize(("n", "k"), [(500, 5), (4000, 50)])
def test_theorem_1_bounds_what_is_measured(eta, noise, n, k):
    measured, error = measured_error(noise, n, k, seeds=4)
    assert measured - 5 * error < theory.neighbors_bound(eta, noise, n, k, n_features=2, lipschitz=LIPSCHITZ)


def test_theorem_1_falls_to_the_bayes_error_plus_the_misled_share(eta):
    noise = FlipMatrix.binary(0.1, 0.3)
    bound = theory.neighbors_bound(eta, noise, 10**24, 10**10, n_features=2, lipschitz=LIPSCHITZ)
    assert bound == pytest.approx(theory.bayes_error(eta) + theory.misled_share(eta, noise), abs=2e-3)


@pytest.mark.parametrize(("n", "k"), [(500, 8), (4000, 100)])
def test_theorem_2_bounds_what_is_measured_and_falls_to_the_bayes_error(eta, n, k):
    bayes = theory.bayes_error(eta)
    measured, error = measured_error(FlipMatrix.symmetric(0.3, 2), n, k, seeds=4)
    assert measured - 5 * error < theory.neighbors_bound_symmetric(bayes, 0.3, n, k, 2, LIPSCHITZ)
    assert theory.neighbors_bound_symmetric(bayes, 0.3, 10**24, 10**10, 2, LIPSCHITZ) == pytest.approx(bayes, abs=1e-3)


@pytest.mark.parametrize("k", [8, 9, 16, 101, 1000])
def test_theorem_2_pays_for_the_votes_without_lemma_8(k):
    """A vote of k costs less than 2 p / sqrt(k), exactly; with Chernoff's bound more than the printed sqrt(2)."""
    p = np.linspace(1e-4, 0.5, 5000)
    excess = (1 - 2 * p) * binom.sf(np.ceil(k / 2) - 1, k, p)
    assert (excess <= 0.75 * p / np.sqrt(k)).all()
    chernoff = (1 - 2 * p) * np.exp(k * (0.5 - p) + k / 2 * np.log(2 * p))
    assert (chernoff > np.sqrt(2) * p / np.sqrt(k)).any()


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("n", [100, 2000])
def test_theorem_4_encloses_what_is_measured(eta, rate, n):
    low, high = theory.nearest_neighbor_bounds(theory.bayes_error(eta), rate, n, n_features=2, lipschitz=LIPSCHITZ)
    measured, error = measured_error(FlipMatrix.symmetric(rate, 2), n, 1, seeds=4)
    assert low - 5 * error < measured < high + 5 * error


def test_theorem_4_encloses_the_limit(eta):
    low, high = theory.nearest_neighbor_bounds(theory.bayes_error(eta), 0.2, 10**15, n_features=2, lipschitz=LIPSCHITZ)
    assert low < theory.neighbors_limit(eta, FlipMatrix.symmetric(0.2, 2), 1) < high
    assert low > theory.bayes_error(eta) + 0.05


def test_weights_stand_for_rows():
    eta, weights, noise = np.array([0.1, 0.6, 0.7]), np.array([3, 1, 0]), FlipMatrix.binary(0.1, 0.4)
    for measure in (theory.misled_share, theory.neighbors_limit):
        assert measure(eta, noise, weights=weights) == pytest.approx(measure(np.repeat(eta, weights), noise))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.bayes_error([0.5, 1.2]), "outside 0 and 1"),
        (lambda: theory.bayes_error([[0.5]]), "has shape"),
        (lambda: theory.misled_share([0.5], FlipMatrix.none(3)), "two classes"),
        (lambda: theory.neighbors_limit([0.5], FlipMatrix.none(2), 0), "n_neighbors is 0"),
        (lambda: theory.neighbors_bound_symmetric(0.1, 0.2, 100, 7, 2, 1.0), "from 8 on"),
        (lambda: theory.neighbors_bound_symmetric(0.1, 0.5, 100, 9, 2, 1.0), "below 1/2"),
        (lambda: theory.neighbors_bound_symmetric(0.1, 0.2, 10, 11, 2, 1.0), "there are 10 rows"),
        (lambda: theory.nearest_neighbor_bounds(0.1, 0.2, 10, 2, 0.0), "lipschitz is 0.0"),
    ],
)
def test_impossible_questions_get_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
