"""Expectations by enumeration of all outcomes of a round: corrected feedback and steps are unbiased."""

import copy
import itertools

import numpy as np
import pytest

from noisewise import FlipMatrix
from noisewise.online import corrected_feedback, importance_signal, label_signal, recipes

K, GAMMA = 5, 0.2
X = np.array([0.5, -1.0, 2.0])
RATES = [(0.0, 0.0), (0.15, 0.15), (0.4, 0.4), (0.2, 0.4), (0.4, 0.2), (0.05, 0.6)]
WEIGHTS = np.random.default_rng(0).normal(size=(K, 3))
GREEDY = int((WEIGHTS @ X).argmax())
PLAYED = np.full(K, GAMMA / K) + (1 - GAMMA) * (np.arange(K) == GREEDY)


def rounds(true, rates):
    """(action, feedback, probability) of everything that can happen."""
    for action, observed in itertools.product(range(K), (0, 1)):
        rho0, rho1 = rates[action]
        right = action == true
        yield action, observed, PLAYED[action] * ((rho1, 1 - rho1)[observed] if right else (1 - rho0, rho0)[observed])


def learner(noise, **options):
    """An RCNBF learner with given weights."""
    model = recipes.rcnbf(K, gamma=GAMMA, noise=noise, random_state=0, **options)
    model.learn(model.decide(X), 0)
    model.table_[:, :K] = WEIGHTS.T
    return model


def moves(noise, action, observed):
    """What the compiled learner adds to its weights."""
    model = learner(noise)
    decision = model.decide(X)._replace(action=action, code=action, best=GREEDY, probability=PLAYED[action])
    model.learn(decision, observed)
    return model.table_[:, :K].T - WEIGHTS


@pytest.mark.parametrize("rates", RATES)
def test_corrected_feedback_is_unbiased(rates):
    noise = FlipMatrix.binary(*rates)
    rho0, rho1 = rates
    assert abs((1 - rho0) * corrected_feedback(0, noise) + rho0 * corrected_feedback(1, noise) - 0) < 1e-12
    assert abs(rho1 * corrected_feedback(0, noise) + (1 - rho1) * corrected_feedback(1, noise) - 1) < 1e-12


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("true", range(K))
def test_the_learner_moves_on_average_as_the_perceptron(rates, true):
    noise = FlipMatrix.binary(*rates)
    mean = sum(p * moves(noise, a, f) for a, f, p in rounds(true, [rates] * K))
    assert np.abs(mean - np.outer(label_signal(K, true, GREEDY), X)).max() < 1e-12


@pytest.mark.parametrize("true", range(K))
def test_rates_that_differ_by_action_are_corrected_too(true):
    rates = RATES[1:]
    noises = [FlipMatrix.binary(*pair) for pair in rates]
    mean = sum(p * moves(noises, a, f) for a, f, p in rounds(true, rates))
    assert np.abs(mean - np.outer(label_signal(K, true, GREEDY), X)).max() < 1e-12
    wrong = sum(p * moves(noises[0], a, f) for a, f, p in rounds(true, rates))
    assert np.abs(wrong - np.outer(label_signal(K, true, GREEDY), X)).max() > 0.1


def test_the_signal_function_is_what_the_learner_uses():
    noise = FlipMatrix.binary(0.2, 0.4)
    for action, observed in itertools.product(range(K), (0, 1)):
        signal = importance_signal(K, action, GREEDY, PLAYED[action], observed, noise)
        np.testing.assert_allclose(moves(noise, action, observed), np.outer(signal, X), atol=1e-12)


def printed_h(f, rates):
    """Algorithms 1 and 2 as printed, their primes lost."""
    rho = rates[f]
    return ((1 - rho) * f - rho * f) / (1 - sum(rates))


def test_the_printed_forms_are_biased():
    rates, true = (0.2, 0.4), (GREEDY + 1) % K
    noise = FlipMatrix.binary(*rates)
    right = label_signal(K, true, GREEDY)
    assert abs(0.4 * printed_h(0, rates) + 0.6 * printed_h(1, rates) - 1) > 0.3

    def mean(signal):
        return sum(p * signal(a, f) for a, f, p in rounds(true, [rates] * K))

    def greedy_for_played(a, f):  # 1[greedy = r] where 1[played = r] is meant
        e = np.eye(K)[GREEDY]
        return corrected_feedback(f, noise) / PLAYED[GREEDY] * e - e

    def played_for_greedy(a, f):  # and the other way round, in the Banditron line
        return corrected_feedback(f, noise) / PLAYED[a] * np.eye(K)[a] - np.eye(K)[a]

    assert np.abs(mean(greedy_for_played) - right).max() == pytest.approx(1.0, abs=0.1)
    assert np.abs(mean(played_for_greedy) - right).max() > 0.03


@pytest.mark.parametrize("rates", RATES[:5])
def test_second_moments_are_exact(rates):
    rho0, rho1 = rates
    noise = FlipMatrix.binary(*rates)
    beta = 1 - rho0 - rho1
    v0, v1, P = rho0 * (1 - rho0) / beta**2, rho1 * (1 - rho1) / beta**2, PLAYED[GREEDY]
    for true in (GREEDY, (GREEDY + 1) % K):
        second = sum(p * (moves(noise, a, f) ** 2).sum() for a, f, p in rounds(true, [rates] * K)) / (X @ X)
        if true == GREEDY:
            exact = (1 - P) / P + v1 / P + v0 * (K - 1) * K / GAMMA
        else:
            exact = 1 + (1 + v1) * K / GAMMA + v0 * ((K - 2) * K / GAMMA + 1 / P)
        assert second == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("make", [recipes.bandit_pa, recipes.ucwl, recipes.confidit, recipes.corrected_ucwl])
@pytest.mark.parametrize("rates", RATES[1:5])
def test_margin_learners_move_on_average_as_without_noise(make, rates):
    """The mean of the played class moves, on average over the noise, as clean feedback would have moved it."""
    scaled = make is recipes.corrected_ucwl

    def after(noise, right, observed):
        options = {"scale_step": False} if scaled else {}
        model = make(K, noise=noise, random_state=0, **options)
        model.play(np.vstack([X, -X, X[::-1]] * 3), [0, 1, 2] * 3)
        decision = model.decide(X, actions=[1])
        model.learn(decision, observed)
        return model._weights().copy()

    noise = FlipMatrix.binary(*rates)
    for right in (0, 1):
        probabilities = noise.matrix[right]
        base = make(K, noise=noise, random_state=0, **({"scale_step": False} if scaled else {}))
        base.play(np.vstack([X, -X, X[::-1]] * 3), [0, 1, 2] * 3)
        mean = sum(probabilities[observed] * after(noise, right, observed) for observed in (0, 1))
        clean = base.decide(X, actions=[1])
        base.use_noise(FlipMatrix.none(2)).learn(clean, right)
        np.testing.assert_allclose(mean, base._weights(), atol=1e-12)


MARGIN_LEARNERS = {
    "bandit_pa": recipes.bandit_pa,
    "capped bandit_pa": lambda n_classes, **options: recipes.bandit_pa(n_classes, C=0.02, **options),
    "confidit": recipes.confidit,
    "confidit, not projected": lambda n_classes, **options: recipes.confidit(n_classes, projection=False, **options),
    "ucwl": recipes.ucwl,
    "full ucwl": lambda n_classes, **options: recipes.ucwl(n_classes, covariance="full", **options),
    "corrected_ucwl": lambda n_classes, **options: recipes.corrected_ucwl(n_classes, scale_step=False, **options),
}


@pytest.mark.parametrize("name", MARGIN_LEARNERS)
def test_rates_that_differ_by_action_are_corrected_by_every_margin_learner(name):
    noises = [FlipMatrix.binary(*pair) for pair in RATES[1 : K + 1]]
    warm = MARGIN_LEARNERS[name](K, noise=FlipMatrix.none(2), random_state=0)
    warm.play(np.vstack([X, -X, X[::-1]] * 3), [0, 1, 2] * 3)

    def after(noise, action, observed):
        model = copy.deepcopy(warm).use_noise(noise)
        return model.learn(model.decide(X, actions=[action]), observed)._weights().copy()

    for action, right in itertools.product(range(K), (0, 1)):
        probabilities = noises[action].matrix[right]
        mean = sum(probabilities[observed] * after(noises, action, observed) for observed in (0, 1))
        np.testing.assert_allclose(mean, after(FlipMatrix.none(2), action, right), atol=1e-12)
