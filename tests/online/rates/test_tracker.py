import copy

import numpy as np
import pytest
from sklearn.datasets import load_digits

from noisewise.noise import FlipMatrix
from noisewise.noise.feedback_rates import rates_from_moments
from noisewise.online.rates.tracker import RateTracker, check_tracker
from noisewise.online.recipes import corrected_ucwl, linucb, rcine


def stream(n_rounds, rates, exploration, rng):
    """A player who learns: right with a probability that rises from 0.1 to 0.9, with these exploration rates."""
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    rows = rng.integers(len(X), size=n_rounds)
    skill = 0.9 - 0.8 * np.exp(-np.arange(n_rounds) / 5_000)
    guess = np.where(rng.random(n_rounds) < skill, y[rows], rng.integers(10, size=n_rounds))
    actions = np.where(rng.random(n_rounds) < exploration, rng.integers(10, size=n_rounds), guess)
    probabilities = exploration / 10 + (1 - exploration) * (actions == guess)
    feedback = FlipMatrix.binary(*rates).corrupt((actions == y[rows]).astype(int), rng)
    return X[rows], actions, probabilities, feedback


@pytest.mark.parametrize("rates", [(0.15, 0.15), (0.4, 0.2)])
def test_rates_are_within_two_hundredths_after_a_hundred_thousand_rounds(rates):
    tracker = RateTracker(10)
    exploration = np.where(np.arange(100_000) < tracker.first_rounds, tracker.first_exploration, tracker.exploration)
    log = stream(100_000, rates, exploration, np.random.default_rng(0))
    tracker.observe(*log)
    found = tracker.estimate()
    assert found.identified
    assert abs(found.false_positive - rates[0]) <= 0.02
    assert abs(found.false_negative - rates[1]) <= 0.02


def found_in_play(n_rounds, rates, seeds):
    """Errors of both rates as a learner has found them in the end, and the half-widths of their intervals, by seed."""
    X, y = load_digits(return_X_y=True)
    X = np.column_stack([X / np.linalg.norm(X, axis=1, keepdims=True), np.full(len(X), 0.3)])
    errors, half_widths = [], []
    for seed in seeds:
        rows = np.random.default_rng(seed).integers(len(X), size=n_rounds)
        learner = corrected_ucwl(10, random_state=seed)
        learner.play(X[rows], y[rows], noise=FlipMatrix.binary(*rates), rng=seed + 10_000)
        found = learner.tracker_.estimate()
        errors.append([found.false_positive - rates[0], found.false_negative - rates[1]])
        half_widths.append(np.ptp([found.false_positive_interval, found.false_negative_interval], axis=1) / 2)
    return np.abs(errors), np.array(half_widths)


def test_intervals_of_a_playing_learner_hold_the_truth_and_would_not_at_half_the_width():
    errors, half_widths = found_in_play(20_000, (0.25, 0.25), range(16))
    assert np.mean(errors <= half_widths) >= 0.88
    assert np.mean(errors <= half_widths / 2) < 0.88


@pytest.mark.slow
@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.1, 0.3), (0.25, 0.25), (0.3, 0.1), (0.4, 0.2)])
def test_intervals_after_a_hundred_thousand_rounds_hold_the_truth(rates):
    errors, half_widths = found_in_play(100_000, rates, range(1000, 1040))
    assert np.all(np.mean(errors <= half_widths, axis=0) >= 0.88)
    assert np.mean(errors <= half_widths) >= 0.93
    assert np.mean(errors <= half_widths / 2) < 0.88


def test_tracker_agrees_with_the_whole_log():
    X, actions, probabilities, feedback = stream(20_000, (0.2, 0.3), np.full(20_000, 0.2), np.random.default_rng(1))
    tracker = RateTracker(10)
    for part in np.array_split(np.arange(20_000), 7):
        tracker.observe(X[part], actions[part], probabilities[part], feedback[part])
    whole = rates_from_moments(X, actions, feedback, probabilities, 10)
    found = tracker.estimate()
    assert abs(found.false_positive - whole.false_positive) < 0.015
    assert abs(found.false_negative - whole.false_negative) < 0.015


def test_kept_rounds_are_bounded_and_evenly_distributed_over_time():
    log = stream(6_000, (0.1, 0.1), np.full(6_000, 0.5), np.random.default_rng(2))
    tracker = RateTracker(10, n_kept=500)
    tracker.observe(*log)
    for rows, _ in map(tracker.kept_rounds, (0, 1)):
        assert 250 <= len(rows) <= 500
    assert tracker.strides.min() > 1
    others, _ = tracker.kept_rounds(1)
    indices = [int(np.flatnonzero((log[0].astype(np.float32) == row).all(axis=1))[0]) for row in others]
    assert max(indices) > 1_000


def test_state_is_arrays_numbers_and_a_few_parts():
    tracker = RateTracker(10)
    tracker.observe(*stream(1_200, (0.1, 0.1), np.full(1_200, 0.5), np.random.default_rng(3)))
    parts = tracker.kept
    assert all(isinstance(value, np.ndarray | int | float) for value in vars(tracker).values() if value is not parts)
    assert max(map(len, parts)) < 10
    twin = RateTracker(10)
    vars(twin).update(copy.deepcopy(vars(tracker)))
    more = stream(1_000, (0.1, 0.1), np.full(1_000, 0.5), np.random.default_rng(4))
    tracker.observe(*more)
    twin.observe(*more)
    assert tracker.estimate() == twin.estimate()


def test_without_exploration_the_reason_is_given():
    tracker = RateTracker(10)
    tracker.observe(*stream(5_000, (0.1, 0.1), np.zeros(5_000), np.random.default_rng(5)))
    found = tracker.estimate()
    assert not found.identified
    assert "rho0 is not identified" in found.reason


def test_the_exploration_rate_falls_after_the_first_rounds():
    tracker = RateTracker(10, exploration=0.02, first_exploration=0.1, first_rounds=1_000)
    assert tracker.exploration_rate() == 0.1
    tracker.observe(*stream(1_000, (0.1, 0.1), np.full(1_000, 0.1), np.random.default_rng(6)))
    assert tracker.exploration_rate() == 0.02
    with pytest.warns(DeprecationWarning, match="RateTracker.share is now exploration_rate"):
        assert tracker.share() == 0.02


def test_what_cannot_track_is_refused():
    check_tracker(RateTracker(3), 3)
    for tracker, sentence in [(object(), "as a RateTracker is"), (RateTracker, "as a RateTracker is")]:
        with pytest.raises(ValueError, match=sentence):
            check_tracker(tracker, 3)
    with pytest.raises(ValueError, match="for 4 actions; the learner has 3"):
        check_tracker(RateTracker(4), 3)


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        RateTracker(10, exploration=2.0)
    with pytest.raises(ValueError, match="2 or more"):
        RateTracker(1)
    with pytest.raises(ValueError, match="n_kept"):
        RateTracker(10, n_kept=0)
    with pytest.raises(ValueError, match="table of numbers"):
        RateTracker(2).observe(["a", "b"], [0, 1], [0.5, 0.5], [1, 0])
    with pytest.raises(ValueError, match="no rounds"):
        RateTracker(10).estimate()
    tracker = RateTracker(2)
    tracker.observe(np.eye(2), [0, 1], [0.5, 0.5], [1, 0])
    with pytest.raises(ValueError, match="columns"):
        tracker.observe(np.eye(3), [0, 1, 1], [0.5, 0.5, 0.5], [1, 0, 0])


@pytest.mark.parametrize(
    ("make", "first"),
    [
        (lambda: corrected_ucwl(3, block=40), 40),
        (lambda: rcine(3, block=60), 60),
        (lambda: rcine(3), 50_000),
        (lambda: linucb(3, rates="action"), 500),
    ],
)
def test_a_report_that_is_too_early_says_when_there_is_one(make, first):
    learner = make()
    with pytest.raises(ValueError, match=f"first time after {first} rounds; there have been 0"):
        learner.report()
    for x in np.eye(3):
        learner.learn(learner.decide(x), 1)
    if hasattr(learner.tracker_, "report"):  # which it has before the first estimate
        assert not learner.report("pandas")["on"].any()
    else:
        with pytest.raises(ValueError, match=f"first time after {first} rounds; there have been 3"):
            learner.report()


def test_report_has_the_tracked_rates_in_a_frame(rng):
    y = rng.integers(3, size=3000)
    X = np.eye(3)[y] + rng.normal(scale=0.1, size=(3000, 3))
    learner = corrected_ucwl(3, block=1000, random_state=0)
    learner.play(X, y, noise=FlipMatrix.binary(0.2, 0.1), rng=1)
    frame, found = learner.report("pandas"), learner.tracker_.estimate()
    assert len(frame) == 1
    assert frame["false_positive"][0] == found.false_positive
    assert (frame["false_negative_low"][0], frame["false_negative_high"][0]) == found.false_negative_interval
    assert frame["identified"][0]
    greedy = corrected_ucwl(3, block=1000, exploration=0, random_state=0)
    greedy.play(X, y, noise=FlipMatrix.binary(0.2, 0.1), rng=1)
    assert not greedy.report("pandas")["identified"][0]
    assert "explore" in greedy.report("polars")["reason"][0]


@pytest.mark.parametrize(
    "rows", [np.zeros((4000, 2)), np.ones((4000, 1)), np.random.default_rng(1).normal(size=(4000, 5))]
)
def test_uninformative_rows_identify_no_rates(rows):
    rng = np.random.default_rng(0)
    y, actions, probabilities = rng.integers(3, size=4000), rng.integers(3, size=4000), np.full(4000, 1 / 3)
    tracker = RateTracker(3)
    tracker.observe(rows, actions, probabilities, actions == y)
    for found in (tracker.estimate(), rates_from_moments(rows, actions, actions == y, probabilities, 3)):
        assert not found.identified
        assert "X does not tell which action is right, or the feedback does not" in found.reason
        assert found.false_positive_interval == found.false_negative_interval == (0.0, 1.0)


@pytest.mark.parametrize("unit", [1e-300, 1e-30, 1e-8, 1e8, 1e30, 1e300])
def test_rates_do_not_depend_on_the_unit_of_the_features(unit):
    X, actions, probabilities, feedback = stream(5_000, (0.2, 0.3), np.full(5_000, 0.3), np.random.default_rng(1))
    expected = rates_from_moments(X, actions, feedback, probabilities, 10)
    found = rates_from_moments(X * unit, actions, feedback, probabilities, 10)
    assert found.identified
    assert found.false_positive == pytest.approx(expected.false_positive, abs=1e-4)
    assert found.false_negative == pytest.approx(expected.false_negative, abs=1e-4)


def test_a_tracker_stored_before_it_tested_for_several_right_actions_goes_on():
    tracker = RateTracker(10)
    tracker.observe(*stream(1_200, (0.1, 0.1), np.full(1_200, 0.5), np.random.default_rng(3)))
    state = copy.deepcopy(tracker.__noisewise_state__())
    earlier = RateTracker.__from_noisewise_state__({**state, "moment_sums": state["moment_sums"][:4]})
    more = stream(1_000, (0.1, 0.1), np.full(1_000, 0.5), np.random.default_rng(4))
    for one in (tracker, earlier):
        one.observe(*more)
    assert tracker.estimate() == earlier.estimate()
