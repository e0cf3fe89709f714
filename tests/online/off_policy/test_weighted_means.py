"""Smaller weights in place of large ones: less error where few rounds decide, and nothing changed where none do."""

import numpy as np
import pytest

from noisewise.online import Choice, FeedbackLog, LoggedRound, off_policy_action_value, off_policy_value
from noisewise.online.off_policy.weighted_means import SHRUNK, doubly_robust

OFFERED = tuple(Choice(name, {name: 1.0}) for name in "abc")


def plain(method, threshold, direct, weights, residuals):
    """The value with one threshold, round by round."""
    found = []
    for q, w, residual in zip(direct, weights, residuals):
        if method == "switch":
            found.append(q + (w * residual if w <= threshold else 0.0))
        else:
            found.append(q + w * threshold**2 / (w**2 + threshold**2) * residual)
    return np.mean(found)


@pytest.mark.parametrize("method", SHRUNK)
def test_the_value_is_that_of_one_of_the_thresholds(method, rng):
    direct, residuals = rng.random(200), rng.normal(size=200)
    weights = np.where(rng.random(200) < 0.2, 0.0, rng.pareto(1.2, 200))
    value, low, high = doubly_robust(method, direct, weights, residuals, np.ones(200), 0.9)
    thresholds = np.quantile(weights[weights > 0], (0.5, 0.75, 0.9, 0.95, 0.99))
    found = [plain(method, threshold, direct, weights, residuals) for threshold in thresholds]
    as_it_is = doubly_robust("dr", direct, weights, residuals, np.ones(200), 0.9)
    assert as_it_is[0] == pytest.approx(np.mean(direct + weights * residuals))
    assert np.isclose(value, [as_it_is[0], *found]).any()
    assert low <= as_it_is[1] < as_it_is[2] <= high


@pytest.mark.parametrize("method", ["dr", *SHRUNK])
def test_a_policy_that_never_plays_what_was_played_has_the_value_of_the_model(method):
    value, low, high = doubly_robust(method, np.full(9, 0.5), np.zeros(9), np.ones(9), np.ones(9), 0.9)
    assert value == low == high == 0.5


def squared_errors(method, bias):
    """Of the value, which is .5, with weights that have a heavy tail, by a model that is off by `bias`."""
    found = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        weights = rng.pareto(1.5, 200) / 2
        rewards = (rng.random(200) < 0.5).astype(float)
        found.append(doubly_robust(method, np.full(200, 0.5 + bias), weights, rewards - 0.5 - bias, np.ones(200), 0.9))
    return np.mean([(value - 0.5) ** 2 for value, _, _ in found])


@pytest.mark.parametrize("method", SHRUNK)
def test_where_few_rounds_decide_the_error_is_smaller(method):
    assert squared_errors(method, bias=0.0) < 0.6 * squared_errors("dr", bias=0.0)
    assert squared_errors(method, bias=0.2) < squared_errors("dr", bias=0.2)


@pytest.mark.parametrize("method", SHRUNK)
def test_logs_of_actions_with_features(method, rng):
    propensities, means = np.array([0.6, 0.3, 0.1]), np.array([0.6, 0.4, 0.5])
    played = rng.choice(3, size=400, p=propensities)
    rewards = (rng.random(400) < means[played]).astype(float)
    rounds = [LoggedRound({}, "abc"[k], r, float(propensities[k]), OFFERED) for k, r in zip(played, rewards)]
    value = off_policy_action_value(rounds, lambda one: [0.2, 0.2, 0.6], method=method, confidence=0.999)
    assert value.low < 0.5 < value.high


@pytest.mark.parametrize("method", SHRUNK)
def test_logs_without_action_features_have_them_too(method, rng):
    y, actions = rng.integers(3, size=1000), rng.integers(3, size=1000)
    log = FeedbackLog(np.eye(3)[y], actions, actions == y, np.full(1000, 1 / 3))
    value = off_policy_value(log, y, method=method)
    assert value.low - 0.01 <= 1 <= value.high + 0.01
