import itertools

import numpy as np
import pytest

from noisewise import FlipMatrix
from noisewise.online import theory
from noisewise.online.recipes import banditron, rcnbf

RATES = [(0.0, 0.0), (0.15, 0.15), (0.25, 0.25), (0.4, 0.4), (0.2, 0.4), (0.4, 0.2), (0.0, 0.3), (0.3, 0.0)]
GRID = list(itertools.product([2, 3, 9, 26], [0.01, 0.1, 0.3, 0.49], RATES))


def enumerated_second_moment(n_classes, gamma, rho0, rho1, true, greedy):
    """Mean squared length of h(f)/P(a) e_a - e_greedy over every label played and both feedbacks."""
    beta, total = 1 - rho0 - rho1, 0.0
    for action in range(n_classes):
        probability = (1 - gamma) * (action == greedy) + gamma / n_classes
        right = 1 - rho1 if action == true else rho0
        for feedback, probability_of_it in ((1, right), (0, 1 - right)):
            update = np.zeros(n_classes)
            update[action] += (feedback - rho0) / beta / probability
            update[greedy] -= 1
            total += probability * probability_of_it * (update @ update)
    return total


@pytest.mark.parametrize(("n_classes", "gamma", "rates"), GRID)
def test_second_moments_equal_the_enumeration(n_classes, gamma, rates):
    exact = theory.second_moments(n_classes, gamma, FlipMatrix.binary(*rates))
    wrong = enumerated_second_moment(n_classes, gamma, *rates, true=0, greedy=1)
    right = enumerated_second_moment(n_classes, gamma, *rates, true=1, greedy=1)
    assert exact.when_wrong == pytest.approx(wrong, rel=1e-9)
    assert exact.when_right == pytest.approx(right, rel=1e-9)


def test_printed_moments_bound_the_exact_ones():
    ratios = []
    for n_classes, gamma, rates in GRID:
        noise = FlipMatrix.binary(*rates)
        exact = theory.second_moments(n_classes, gamma, noise)
        printed = theory.second_moments(n_classes, gamma, noise, moments="printed")
        ratios.append(np.divide(exact, printed))
    wrong, right = np.max(ratios, axis=0)
    assert wrong < 0.75
    assert right < 1
    assert np.min(ratios) < 0.02  # and are far from tight


def test_bound_follows_theorem_4_by_hand():
    moments = theory.second_moments(5, 0.1, FlipMatrix.binary(0.1, 0.2))
    T, D, R = 10_000, 3.0, 50.0
    by_hand = R + np.sqrt(moments[0] * D * R) + 3 * max(moments[0] * D, np.sqrt(moments[1] * D * T)) + 0.1 * T
    found = theory.mistake_bound(T, 5, 0.1, FlipMatrix.binary(0.1, 0.2), complexity=D, hinge_loss=R)
    assert found == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.05, 0.05), (0.15, 0.15)])
@pytest.mark.parametrize("gamma", [0.05, 0.2])
def test_mistakes_stay_below_the_bound(rates, gamma):
    rng = np.random.default_rng(3)
    noise, horizon = FlipMatrix.binary(*rates), 20_000
    y = rng.integers(3, size=horizon)
    learner = rcnbf(n_classes=3, gamma=gamma, noise=noise, random_state=1)
    mistakes = learner.play(np.eye(3)[y], y, noise=noise, rng=2).mistakes.sum()
    # weights diag(1) - 1/3 separate the one-hot rows by one
    bound = theory.mistake_bound(horizon, 3, gamma, noise, complexity=2.0)
    assert mistakes < bound
    assert mistakes > bound / 100  # of the same order


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("hinge_loss", [0.0, 1000.0])
def test_no_other_exploration_has_a_lower_bound(rates, hinge_loss):
    noise = FlipMatrix.binary(*rates)
    best = theory.best_exploration(100_000, 10, noise, complexity=5.0, hinge_loss=hinge_loss)
    lowest = theory.mistake_bound(100_000, 10, best, noise, 5.0, hinge_loss)
    for gamma in np.geomspace(1e-5, 1.0, 500):
        assert lowest <= theory.mistake_bound(100_000, 10, gamma, noise, 5.0, hinge_loss) * (1 + 1e-6)


@pytest.mark.parametrize(
    ("rates", "exponent"), [((0.0, 0.0), 1 / 2), ((0.0, 0.3), 1 / 2), ((0.2, 0.0), 2 / 3), ((0.2, 0.3), 2 / 3)]
)
def test_best_bound_grows_with_the_corollary_s_exponent(rates, exponent):
    noise = FlipMatrix.binary(*rates)
    horizons = np.array([1e12, 1e14])
    bounds = [theory.mistake_bound(T, 9, theory.best_exploration(T, 9, noise), noise) for T in horizons]
    growth = np.diff(np.log(bounds)) / np.diff(np.log(horizons))
    assert growth[0] == pytest.approx(exponent, abs=0.01)
    named = [theory.corollary(T, 9, noise) for T in horizons]
    assert named[0].exponent == exponent
    assert np.diff(np.log([one.bound for one in named]))[0] / np.log(100) == pytest.approx(exponent, abs=0.01)
    assert min(one.bound / best for one, best in zip(named, bounds)) >= 1 - 1e-9


def test_rates_that_vanish_with_the_horizon_keep_the_root():
    bounds = []
    for horizon in (1e8, 1e10, 1e12):
        rate = 0.9 / np.sqrt(horizon)
        found = theory.corollary(horizon, 9, FlipMatrix.binary(rate, rate))
        assert found.case == "vanishing false-positive rate"
        bounds.append(found.bound / np.sqrt(horizon))
    assert max(bounds) / min(bounds) < 1.05


@pytest.mark.parametrize(
    ("rates", "gamma", "floor"),
    [
        ((0.15, 0.15), 0.1, 0.329),
        ((0.25, 0.25), 0.1, 0.489),
        ((0.4, 0.4), 0.02, 0.715),
        ((0.2, 0.4), 0.02, 0.540),
        ((0.4, 0.2), 0.1, 0.569),
    ],
)
def test_noise_floor_has_the_known_numbers_of_synsep(rates, gamma, floor):
    assert theory.noise_floor(9, FlipMatrix.binary(*rates), gamma) == pytest.approx(floor, abs=5e-4)


def test_banditron_settles_at_the_floor_and_the_corrected_learner_below_it():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=60_000)
    X = np.eye(4)[y]
    noise = FlipMatrix.binary(0.2, 0.2)
    floor = theory.noise_floor(4, noise, gamma=0.1)
    stuck = banditron(n_classes=4, gamma=0.1, random_state=1).play(X, y, noise=noise, rng=2)
    free = rcnbf(n_classes=4, gamma=0.1, noise=noise, random_state=1).play(X, y, noise=noise, rng=2)
    assert stuck.mistakes[-30_000:].mean() == pytest.approx(floor, abs=0.03)
    assert free.mistakes[-30_000:].mean() < floor - 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.second_moments(1, 0.1), "two or more labels"),
        (lambda: theory.second_moments(3, 0.0), "above 0"),
        (lambda: theory.second_moments(3, 0.6, moments="printed"), "at most 0.5"),
        (lambda: theory.second_moments(3, 0.1, moments="tight"), "exact"),
        (lambda: theory.mistake_bound(0, 3, 0.1), "horizon is 0"),
        (lambda: theory.mistake_bound(10, 3, 0.1, hinge_loss=-1), "hinge_loss is -1"),
        (lambda: theory.mistake_bound(10, 3, 0.1, noise=[FlipMatrix.none(2)] * 3), "one noise for all"),
        (lambda: theory.noise_floor(3, FlipMatrix.none(3)), "two classes"),
        (lambda: theory.noise_floor(3, FlipMatrix.none(2), gamma=2.0), "gamma is 2.0"),
    ],
)
def test_bad_numbers_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
