import numpy as np
import pytest

from noisewise.noise import FlipMatrix, rates_from_moments
from noisewise.online.rates.overlap import count_by_group
from noisewise.online.rates.per_action import ActionRates, action_rates
from noisewise.online.rates.pooling import SIGNIFICANCE, equal_rates_p_value
from noisewise.online.recipes import linucb


def overlapping(n_rounds, rng, distance, n_classes=4):
    """Gaussian classes around corners, the first of them wider than the others."""
    y = rng.integers(n_classes, size=n_rounds)
    width = np.where(y == 0, 1.5, 1.0)[:, None]
    X = distance * np.eye(n_classes)[y] + width * rng.normal(size=(n_rounds, n_classes))
    return np.column_stack([X / np.linalg.norm(X, axis=1, keepdims=True), np.full(n_rounds, 0.3)]), y


def uniform_log(n_rounds, rng, distance, rates):
    X, y = overlapping(n_rounds, rng, distance)
    actions = rng.integers(4, size=n_rounds)
    return X, actions, FlipMatrix.binary(*rates).corrupt((actions == y).astype(int), rng), np.full(n_rounds, 0.25)


def test_intervals_hold_the_rates_where_classes_overlap():
    rng, held = np.random.default_rng(0), []
    for _ in range(20):
        rates = rng.uniform(0.05, 0.35, size=2)
        found = rates_from_moments(*uniform_log(6_000, rng, 3.0, rates), 4)
        assert found.identified
        limits = found.false_positive_interval, found.false_negative_interval
        held.append([low <= rate <= high for rate, (low, high) in zip(rates, limits)])
    assert np.mean(held) >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / 40)


def test_rates_are_not_identified_where_even_confident_guesses_are_often_wrong():
    found = rates_from_moments(*uniform_log(8_000, np.random.default_rng(1), 1.0, (0.1, 0.1)), 4)
    assert not found.identified
    assert "can't be told from wrong guesses" in found.reason
    assert found.false_positive_interval == found.false_negative_interval == (0, 1)


def test_counts_are_those_of_each_group_and_the_excess_at_least_that_of_all():
    values = np.array([1.0, 0.0, 0.0, 0.0] * 50)
    confident, groups = np.arange(200) < 100, np.repeat([0, 1, 0, 1], 50)
    values[150:] = 1.0
    counts = count_by_group(values, confident, ~confident, groups, 3)
    assert counts.hits.tolist() == [13, 12, 0]
    assert counts.rounds.tolist() == [50, 50, 0]
    pooled = values[100:].mean() - values[:100].mean()
    least = 1 - 12 / 50 - 2 * np.sqrt(0.25 / 50 + 0.25 / 50)  # two standard errors below
    assert counts.sure_excess == pytest.approx([pooled, max(least, pooled), pooled])


def test_rates_that_overlap_explains_are_not_found_to_differ():
    hits, rounds = np.array([100.0, 100.0, 200.0]), np.full(3, 1_000.0)
    assert equal_rates_p_value(hits, rounds) < SIGNIFICANCE
    assert equal_rates_p_value(hits, rounds, np.zeros(3)) == equal_rates_p_value(hits, rounds)
    assert equal_rates_p_value(hits, rounds, np.array([0.0, 0.0, 0.11])) > 0.9
    assert equal_rates_p_value(hits, rounds, np.array([0.11, 0.11, 0.0])) < SIGNIFICANCE  # of the others, the wrong way


def test_equal_rates_of_overlapping_classes_are_not_used():
    for seed in range(3):
        X, y = overlapping(6_000, np.random.default_rng(seed), 2.5)
        learner = linucb(4, rates="action", random_state=seed)
        learner.play(X, y, FlipMatrix.binary(0.2, 0.2), rng=seed)
        assert not learner.tracker_.report.on


def test_intervals_by_action_hold_the_rates_where_classes_overlap():
    rng, held, identified = np.random.default_rng(3), [], []
    for _ in range(6):
        rates = rng.uniform(0.05, 0.35, size=(4, 2))
        X, y = overlapping(8_000, rng, 4.0)
        actions = rng.integers(4, size=8_000)
        flipped = rng.random(8_000) < rates[actions, (actions == y).astype(int)]
        columns = action_rates(X, actions, ((actions == y) != flipped).astype(float), 4).columns()
        identified += columns["identified"].tolist()
        for name, true in zip(("false_positive", "false_negative"), rates.T):
            held += ((columns[f"{name}_low"] <= true) & (true <= columns[f"{name}_high"])).tolist()
    assert np.mean(held) >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / len(held))
    assert np.mean(identified) > 0.8


def test_an_uninformative_action_between_wrong_and_right_is_left_as_it_is():
    rates = np.full((2, 4), 0.1)
    for pair, eliminated in (((0.5, 0.45), []), ((0.9, 0.05), [1]), ((0.05, 0.9), [1])):
        rates[:, 1] = pair
        report = ActionRates(rates[0], rates[1], np.full(4, 900.0), np.full(4, 900.0), p_value=1e-9, on=True)
        assert np.flatnonzero(report.uninformative).tolist() == eliminated
        assert report.noise[1] == (FlipMatrix.binary(*pair) if eliminated else FlipMatrix.binary(0.1, 0.1))
