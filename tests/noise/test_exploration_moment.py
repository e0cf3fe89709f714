import numpy as np
import pytest

from noisewise.noise import FlipMatrix, rates_from_moments
from noisewise.noise.exploration_moment import ExplorationMoment, exploration_sums
from noisewise.online import RateTracker
from noisewise.online.rates.per_action import ActionRateTracker


def adverts(n_rounds, rng, exploration=0.3):
    """Five adverts that each please by themselves: several may, or none."""
    X = np.column_stack([rng.normal(size=(n_rounds, 6)) / 2.5, np.full(n_rounds, 0.3)])
    pleases = 1 / (1 + np.exp(1.5 - 4 * X[:, :6] @ rng.normal(size=(6, 5))))
    best = pleases.argmax(axis=1)
    actions = np.where(rng.random(n_rounds) < exploration, rng.integers(5, size=n_rounds), best)
    propensities = exploration / 5 + (1 - exploration) * (actions == best)
    clicks = (rng.random(n_rounds) < pleases[np.arange(n_rounds), actions]).astype(int)
    return X, actions, clicks, propensities


def labels(n_rounds, rng, rates=(0.2, 0.1)):
    """Rows of which exactly one of five labels is right, played at random."""
    y = rng.integers(5, size=n_rounds)
    X = np.column_stack([np.eye(5)[y] + rng.normal(scale=0.4, size=(n_rounds, 5)), np.full(n_rounds, 0.3)])
    actions = rng.integers(5, size=n_rounds)
    feedback = FlipMatrix.binary(*rates).corrupt((actions == y).astype(int), rng)
    return X, actions, feedback, np.full(n_rounds, 0.2)


@pytest.mark.parametrize("seed", range(3))
def test_clicks_on_adverts_have_no_flip_rates(seed):
    X, actions, clicks, propensities = adverts(8_000, np.random.default_rng(seed))
    tracker, by_action = RateTracker(5), ActionRateTracker(5)
    for one in (tracker, by_action):
        one.observe(X, actions, propensities, clicks)
    for found in (rates_from_moments(X, actions, clicks, propensities, 5), tracker.estimate()):
        assert not found.identified
        assert "several actions may be right for a row, or none" in found.reason
        assert found.noise == FlipMatrix.binary(0, 0)
        assert found.false_positive_interval == found.false_negative_interval == (0, 1)
    report = by_action.estimate()
    assert not report.on
    assert not report.identified.any()
    assert "or none" in report.columns()["reason"][0]


def test_labels_of_which_one_is_right_are_not_taken_for_adverts():
    rng = np.random.default_rng(5)
    found = [rates_from_moments(*labels(1_500, rng), 5) for _ in range(60)]
    assert not any("several" in one.reason for one in found)


@pytest.mark.parametrize("n_rounds", [3_000, 20_000])
def test_labels_with_rates_of_each_action_are_not_taken_for_adverts(n_rounds):
    rng = np.random.default_rng(7)
    for _ in range(5):
        X, actions, right, propensities = labels(n_rounds, rng, rates=(0.0, 0.0))
        noises = [FlipMatrix.binary(*rng.uniform(0, 0.4, 2)) for _ in range(5)]
        feedback = np.choose(actions, [noise.corrupt(right, rng) for noise in noises])
        tracker = ActionRateTracker(5)
        tracker.observe(X, actions, propensities, feedback)
        assert tracker.estimate().reason == ""


def test_the_dependence_on_rows_is_a_covariance_with_its_error():
    rng = np.random.default_rng(6)
    n, expected = 4_000, rng.normal(size=4_000)
    statistics = []
    for slope in (0.0, 0.5):
        terms = slope * expected + rng.normal(size=n)
        moment = ExplorationMoment.of(terms, np.ones(n), expected)
        statistics.append(moment.dependence / np.sqrt(moment.dependence_variance))
        assert moment.depends_on_rows == (slope > 0)
    assert abs(statistics[0]) < 5
    assert statistics[1] > 0.5 * 0.8 * np.sqrt(n / 1.25)
    parts = [
        exploration_sums(terms[part], np.ones(n // 2), expected[part], 0.0)
        for part in (slice(0, n // 2), slice(n // 2, n))
    ]
    assert np.sum(parts, axis=0)[:4] == pytest.approx(exploration_sums(terms, np.ones(n), expected, 0.0)[:4])
