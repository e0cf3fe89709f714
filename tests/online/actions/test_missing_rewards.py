"""Missing rewards: read as the lowest where they are missing not at random, else dropped."""

import numpy as np
import pytest

from noisewise import load, save
from noisewise.online import ContextualBandit, UniformExploration

ACTIONS = [{"kind": name} for name in "abc"]
MEANS = np.array([0.2, 0.5, 0.8])
AT_RANDOM, NOT_AT_RANDOM = (0.5, 0.5), (0.8, 0.1)  # P(missing) of low and high rewards


def log(n, missing, seed=0):
    rng = np.random.default_rng(seed)
    played = rng.integers(3, size=n)
    rewards = (rng.random(n) < MEANS[played]).astype(float)
    absent = rng.random(n) < np.where(rewards, missing[1], missing[0])
    return [{}] * n, [ACTIONS[k] for k in played], [None if gone else r for gone, r in zip(absent, rewards)]


def taught(how, missing, n=1200):
    return ContextualBandit(missing=how, random_state=0).learn_logged(*log(n, missing))


def test_at_random_they_are_dropped():
    auto, drop = (taught(how, AT_RANDOM) for how in ("auto", "drop"))
    assert not auto.reader_.absent.not_at_random
    assert auto.n_rounds_ == drop.n_rounds_
    np.testing.assert_allclose(auto.predict({}, ACTIONS), drop.predict({}, ACTIONS), atol=1e-9)


def test_not_at_random_they_count_as_the_lowest():
    auto = taught("auto", NOT_AT_RANDOM)
    assert auto.reader_.absent.not_at_random
    errors = {how: np.abs(taught(how, NOT_AT_RANDOM).predict({}, ACTIONS) - MEANS).max() for how in ("drop", "auto")}
    assert errors["auto"] < 0.7 * errors["drop"]


def test_the_regression_is_that_of_least_squares():
    auto = taught("auto", NOT_AT_RANDOM, 300)
    n, expected, squares, missing, products = auto.reader_.absent.sums
    assert (n, missing) == (300, sum(reward is None for reward in log(300, NOT_AT_RANDOM)[2]))
    slope = np.linalg.solve([[n, expected], [expected, squares]], [missing, products])[1]
    assert slope < 0


def test_live_is_as_from_a_log_and_a_missing_reward_is_final(tmp_path):
    contexts, played, rewards = log(600, NOT_AT_RANDOM)
    live = ContextualBandit(UniformExploration(1.0), missing="auto", random_state=0)
    for context, action, reward in zip(contexts, played, rewards):
        decision = live.decide(context, [action])
        live.learn(decision, reward)
    with pytest.raises(ValueError, match="learnt"):
        live.learn(decision, 1.0)
    logged = ContextualBandit(missing="auto", random_state=0).learn_logged(contexts, played, rewards)
    np.testing.assert_allclose(live.predict({}, ACTIONS), logged.predict({}, ACTIONS), atol=1e-6)
    save(live, tmp_path / "bandit.nw")
    np.testing.assert_array_equal(load(tmp_path / "bandit.nw").reader_.absent.sums, live.reader_.absent.sums)
