"""Rates that change: found where they change, and nowhere else."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from noisewise import load, save
from noisewise.noise import FlipMatrix
from noisewise.online import ChangeWatch, ContextualBandit, RateTracker, WindowedRateTracker
from noisewise.online.recipes import corrected_ucwl


def rewards_of(expected, rates, rng):
    return (rng.random(len(expected)) < expected) ^ (rng.random(len(expected)) < rates)


def chow(expected, rewards, at):
    """Statistic of a split, by least squares on both sides."""
    total = 0.0
    for part in (slice(0, at), slice(at, None)):
        rows = np.column_stack([np.ones_like(expected[part]), expected[part]])
        total += np.linalg.lstsq(rows, rewards[part].astype(float))[1].item()
    together = np.linalg.lstsq(np.column_stack([np.ones_like(expected), expected]), rewards.astype(float))[1].item()
    return (together - total) / (total / (len(expected) - 4))


def test_the_statistic_is_that_of_chow_at_its_largest(rng):
    expected = rng.beta(1, 3, 3000)
    rewards = rewards_of(expected, np.repeat([0.0, 0.25], 1500), rng)
    watch = ChangeWatch(first_rounds=0)
    watch.observe(expected, rewards)
    change = watch.change()
    splits = {at: chow(expected, rewards, at) for at in range(200, 2801, 50)}
    assert change.round == max(splits, key=splits.get)
    assert change.statistic == pytest.approx(max(splits.values()), rel=1e-6)
    assert abs(change.round - 1500) <= 150
    assert f"from round {change.round:,} on" in str(change)


def test_one_by_one_in_parts_and_merged_blocks_agree(rng):
    expected = rng.random(9000)
    rewards = rewards_of(expected, np.repeat([0.05, 0.3], [5000, 4000]), rng)
    whole, parts = ChangeWatch(block=50), ChangeWatch(block=50)
    whole.observe(expected, rewards)
    for start in range(0, 9000, 70):
        parts.observe(expected[start : start + 70], rewards[start : start + 70])
    assert whole.block > 50  # neighbours were joined
    assert whole.change().round == parts.change().round
    assert whole.change().after == pytest.approx(parts.change().after)
    assert abs(whole.change().round - 5000) <= 300


def test_without_a_change_none_is_found():
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        expected, watch = rng.beta(1, 3, 4000), ChangeWatch(first_rounds=0)
        rewards = rewards_of(expected, 0.15, rng)
        for start in range(0, 4000, 500):
            watch.observe(expected[start : start + 500], rewards[start : start + 500])
            found += watch.change() is not None
    assert found <= 1
    assert ChangeWatch().change() is None


def test_a_bandit_finds_when_its_rewards_began_to_be_flipped(tmp_path):
    rng, actions = np.random.default_rng(1), [{"id": name, "kind": name} for name in "abcd"]
    bandit = ContextualBandit(watch=True, random_state=0)
    for number in range(4500):
        likes = int(rng.integers(4))
        decision = bandit.decide({"likes": "abcd"[likes]}, actions)
        reward = rng.random() < (0.8 if decision.position == likes else 0.2)
        bandit.learn(decision, int(reward ^ (number >= 3500 and rng.random() < 0.35)))
    assert abs(bandit.change().round - 3500) <= 100
    save(bandit, tmp_path / "bandit.nw")
    assert load(tmp_path / "bandit.nw").change() == bandit.change()
    with pytest.raises(ValueError, match="watch=True"):
        ContextualBandit().change()


@pytest.fixture
def played(rng):
    """Uniform rounds of three actions whose flip rates change after 6,000 of them."""
    y, actions = rng.integers(3, size=12_000), rng.integers(3, size=12_000)
    X = np.eye(3)[y] + rng.normal(scale=0.2, size=(12_000, 3))
    right = (actions == y).astype(int)
    first = FlipMatrix.binary(0.05, 0.1).corrupt(right[:6000], rng)
    second = FlipMatrix.binary(0.3, 0.1).corrupt(right[6000:], rng)
    return X, actions, np.full(12_000, 1 / 3), np.concatenate([first, second])


def test_windows_are_trackers_of_their_own_rounds(played, tmp_path):
    tracker = WindowedRateTracker(3, window=3000)
    for start in range(0, 12_000, 500):
        tracker.observe(*(column[start : start + 500] for column in played))
    assert tracker.change().round == 6000
    rows = tracker.report("polars")
    assert rows["first_round"].to_list() == [0, 3000, 6000, 9000]
    alone = RateTracker(3)
    alone.player_knows_more = True  # from the windows before
    for start in range(9000, 12_000, 500):
        alone.observe(*(column[start : start + 500] for column in played))
    assert rows["false_positive"][3] == alone.estimate().false_positive
    assert tracker.estimate() == alone.estimate()
    save(tracker, tmp_path / "tracker.nw")
    assert load(tmp_path / "tracker.nw").change() == tracker.change()


def test_intervals_of_later_windows_hold_although_the_player_knows_more_than_a_window_tells():
    inside = []
    for seed in range(4):
        X, y = make_moons(16_000, noise=0.2, random_state=seed)
        learner = corrected_ucwl(2, tracker=WindowedRateTracker(2, window=4000), block=4000, random_state=seed)
        learner.play(X, y, noise=FlipMatrix.binary(0.1, 0.1), rng=seed)
        later = learner.report("pandas").iloc[1:]
        later = later[later["identified"]]
        inside += (later["false_positive_low"] <= 0.1).tolist()
    assert np.mean(inside) >= 0.9


def test_windows_without_a_change_show_none(played):
    tracker = WindowedRateTracker(3, window=2000)
    tracker.observe(*(column[:6000] for column in played))
    assert tracker.change() is None


def test_a_recipe_takes_a_tracker_of_windows(played):
    X, *_ = played
    learner = corrected_ucwl(3, tracker=WindowedRateTracker(3, window=2000), random_state=0)
    y = X.argmax(axis=1)
    history = learner.play(X[:5000], y[:5000], noise=FlipMatrix.binary(0.2, 0.1), rng=0)
    assert history.mistakes[-1000:].mean() < 0.1


def test_a_learner_reports_the_windows_of_its_tracker(played):
    X, *_ = played
    learner = corrected_ucwl(3, tracker=WindowedRateTracker(3, window=2000), block=1000, random_state=0)
    learner.decide(X[0])
    with pytest.raises(ValueError, match="for the first time after 1000 rounds"):
        learner.report()
    learner.play(X[:5000], X[:5000].argmax(axis=1))
    assert learner.report("polars").equals(learner.tracker_.report("polars"))
    assert learner.report("polars")["first_round"].to_list() == [0, 2000, 4000]


@pytest.mark.parametrize(
    "make",
    [lambda: ChangeWatch(block=0), lambda: ChangeWatch(first_rounds=-1), lambda: WindowedRateTracker(3, window=0.5)],
)
def test_impossible_numbers_of_rounds_are_refused(make):
    with pytest.raises(ValueError, match="it is a number of rounds"):
        make()
