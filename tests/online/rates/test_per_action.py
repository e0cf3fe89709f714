import time
from copy import deepcopy

import numpy as np
import pytest
from scipy.sparse import csr_array

from linucb_rounds import Learner, digits, two_sides
from noisewise.noise import FlipMatrix
from noisewise.online import BanditClassifier, LeastSquares, MissingTracker, PeopleTracker, UpperConfidence
from noisewise.online.rates.per_action import (
    EARLY,
    LEAST_EARLY_GAP,
    ActionRates,
    ActionRateTracker,
    action_rates,
    corrected_scores,
    keep_signal,
    misleads,
)
from noisewise.online.rates.refit import RoundLog
from noisewise.online.recipes import linucb
from noisewise.online.recipes.confident import RATES_EXPLORATION

KINDS = {"strong": ((0.5, 0.1), (0.05, 0.6)), "mild": ((0.3, 0.1), (0.1, 0.3)), "equal": ((0.2, 0.2), (0.2, 0.2))}


def rates_of(kind, rng):
    """Five actions of one kind, five of the other."""
    rates = np.tile(KINDS[kind][1], (10, 1))
    rates[rng.permutation(10)[:5]] = KINDS[kind][0]
    return rates


def play(rates, rng, n_rounds=30_000, exploration=0.01, learnt="estimated"):
    """LinUCB on digits, and what its tracker found: greedy error, played error, tracker."""
    X, y = digits()
    channel = np.stack([[1 - rates[:, 0], rates[:, 0]], [rates[:, 1], 1 - rates[:, 1]]]).transpose(2, 0, 1)[None]
    learner, tracker = Learner(10, X.shape[1]), ActionRateTracker(10)
    if learnt == "known":
        learner.false_positive, learner.signal = rates[:, 0], 1 - rates.sum(axis=1)
    rows, uniforms = rng.integers(len(X), size=n_rounds), rng.random((n_rounds, 3))
    done = mistakes = 0
    while done < n_rounds:
        part = slice(done, min(n_rounds, tracker.next_refit) if learnt == "estimated" else n_rounds)
        groups = np.zeros(part.stop - done, dtype=np.int64)
        table = np.tile([0.0, 1.0], (10, 1)), np.ones((10, 2))
        actions, feedback = learner.play(X, rows[part], y, channel, groups, uniforms[part], exploration, *table)
        mistakes += np.sum(actions != y[rows[part]])
        if learnt == "estimated":
            tracker.observe(X[rows[part]], actions, np.ones(len(actions)), feedback)
            learner.correct(tracker.estimate())
        done = part.stop
    return learner.greedy_error(X, y), mistakes / n_rounds, tracker


def test_strongly_unequal_rates_are_learnt_while_playing():
    rates = rates_of("strong", np.random.default_rng(10))
    greedy, played, tracker = play(rates, np.random.default_rng(11))
    assert greedy <= 0.05
    assert played <= 0.25
    assert tracker.report.on
    assert np.abs(tracker.report.false_positive - rates[:, 0]).mean() < 0.05
    assert np.abs(tracker.report.false_negative - rates[:, 1]).mean() < 0.03
    raw, *_ = play(rates, np.random.default_rng(11), learnt="raw")
    assert raw >= 0.4


def test_equal_rates_cost_nothing():
    rates = rates_of("equal", np.random.default_rng(12))
    estimated, _, tracker = play(rates, np.random.default_rng(13))
    raw, *_ = play(rates, np.random.default_rng(13), learnt="raw")
    assert not tracker.report.on
    assert abs(estimated - raw) <= 0.005


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "most", "more"), [("strong", 0.05, 0.015), ("mild", 0.05, 0.03), ("equal", 0.03, 0.015)]
)
def test_estimated_rates_are_nearly_as_good_as_known_ones(kind, most, more):  # mild ones do not mislead: not used
    estimated, known, raw = [], [], []
    for seed in range(4):
        rates = rates_of(kind, np.random.default_rng(seed))
        estimated.append(play(rates, np.random.default_rng(100 + seed))[0])
        known.append(play(rates, np.random.default_rng(100 + seed), learnt="known")[0])
        raw.append(play(rates, np.random.default_rng(100 + seed), learnt="raw")[0])
    assert np.mean(estimated) <= most
    assert np.mean(estimated) <= np.mean(known) + more
    assert np.mean(estimated) <= np.mean(raw) + 0.005


@pytest.mark.slow
@pytest.mark.parametrize("uninformative", [(0.95, 0.05), (0.05, 0.95)])
def test_an_action_that_always_gets_the_same_feedback_is_scored_by_elimination(uninformative):
    rates = np.full((10, 2), 0.1)
    rates[3] = uninformative
    greedy, _, tracker = play(rates, np.random.default_rng(14))
    assert np.flatnonzero(tracker.report.uninformative).tolist() == [3]
    assert greedy <= 0.06
    assert play(rates, np.random.default_rng(14), learnt="raw")[0] >= 0.1


@pytest.mark.parametrize("kinds", [[(0.5, 0.1), (0.05, 0.6)], [(0.3, 0.1), (0.1, 0.3)], [(0.2, 0.2)], [(0.0, 0.0)]])
def test_of_two_actions_the_rates_are_found_too(kinds):
    pairs = np.array(kinds * 2)[:2]
    noise = [FlipMatrix.binary(*pair) for pair in pairs]
    (X, y), (others, sides) = two_sides(20_000, 3), two_sides(4000, 777)
    known, found = linucb(2, noise=noise), linucb(2, rates="action", random_state=0)
    for learner in (known, found):
        learner.play(X, y, noise, 3)
    errors = [np.mean(learner.predict(others) != sides) for learner in (known, found)]
    assert errors[1] < errors[0] + 0.03  # as rounds with small margins were counted, .06 to .16 more
    report = found.report("pandas")
    for name, true in zip(("false_positive", "false_negative"), pairs.T):
        inside = (report[f"{name}_low"] - 0.01 <= true) & (true <= report[f"{name}_high"] + 0.01)
        assert inside.all()


def log_of(rates, n_rounds, rng, skill=0.7):
    X, y = digits()
    rows = rng.integers(len(X), size=n_rounds)
    actions = np.where(rng.random(n_rounds) < skill, y[rows], rng.integers(10, size=n_rounds))
    right = actions == y[rows]
    positive = np.where(right, 1 - rates[actions, 1], rates[actions, 0])
    return X[rows], actions, (rng.random(n_rounds) < positive).astype(float)


def test_a_refit_of_thirty_thousand_rounds_is_quick():
    log = log_of(rates_of("strong", np.random.default_rng(15)), 30_000, np.random.default_rng(16))
    start = time.process_time()
    found = action_rates(*log, 10)
    assert time.process_time() - start < 2  # about a quarter of a second on an idle core
    assert found.on


def test_short_logs_use_quantiles_and_long_ones_counts():
    rates = rates_of("strong", np.random.default_rng(17))
    short = action_rates(*log_of(rates, 2_500, np.random.default_rng(18)), 10)
    long = action_rates(*log_of(rates, 20_000, np.random.default_rng(18)), 10)
    assert short.on
    assert np.abs(long.false_negative - rates[:, 1]).max() < 0.05
    assert np.abs(long.false_positive - rates[:, 0]).mean() < 0.05
    assert np.abs(short.false_negative - rates[:, 1]).mean() < 0.15


def rare_label(n_rounds, rng):
    """Rows of four overlapping classes, of which the last is rare."""
    centres = rng.normal(size=(4, 10))
    y = rng.choice(4, size=n_rounds, p=[0.32, 0.32, 0.32, 0.04])
    X = 2.25 * (centres / np.linalg.norm(centres, axis=1, keepdims=True))[y] + rng.normal(size=(n_rounds, 10))
    return np.column_stack([X / np.linalg.norm(X, axis=1, keepdims=True), np.full(n_rounds, 0.3)]), y


def test_a_label_that_is_rarely_right_is_not_taken_for_one_with_little_positive_feedback():
    rng = np.random.default_rng(20)
    X, y = rare_label(2_500, rng)
    actions = np.where(rng.random(len(y)) < 0.7, y, rng.integers(4, size=len(y)))
    feedback = FlipMatrix.binary(0.2, 0.2).corrupt((actions == y).astype(int), rng).astype(float)
    found = action_rates(X, actions, feedback, 4)
    assert not found.on
    assert found.false_negative[3] < 0.42  # over a half, if all labels are taken to be right equally often


def test_estimating_equal_rates_costs_little_while_it_learns_where_a_label_is_rare():
    excess = []
    for seed in range(3):
        X, y = rare_label(6_000, np.random.default_rng(seed))
        noise = FlipMatrix.binary(0.2, 0.2)
        played = [
            linucb(4, random_state=seed, **options).play(X, y, noise, rng=seed).mistake_rate
            for options in ({}, {"rates": "action"})
        ]
        excess.append(played[1] - played[0])
    assert np.mean(excess) < 0.05


def test_only_rates_that_exchange_the_order_of_two_actions_mislead():
    swapped = np.array([[0.5, 0.05], [0.1, 0.6]])  # wrong, the first has more positive feedback than the second, right
    close = np.array([[0.35, 0.05], [0.1, 0.6]])
    assert misleads(swapped)
    assert not misleads(close)
    assert not misleads(np.array([[0.42, 0.05], [0.1, 0.6]]), LEAST_EARLY_GAP)  # by a little only, which may be chance
    assert misleads(np.array([[0.7, 0.05], [0.1, 0.75]]), LEAST_EARLY_GAP)


def test_while_rates_are_not_used_it_plays_as_a_learner_that_explores_as_much():
    X, y = digits()
    noise = FlipMatrix.binary(0.2, 0.2)
    tracked = linucb(10, rates="action", random_state=0)
    plain = linucb(10, exploration=RATES_EXPLORATION, random_state=0)
    played = [learner.play(X, y, noise=noise, rng=0).actions for learner in (tracked, plain)]
    assert not tracked.tracker_.report.on
    assert np.array_equal(*played)


def test_an_action_never_played_gets_the_pooled_rates():
    X, actions, feedback = log_of(np.full((10, 2), 0.2), 6_000, np.random.default_rng(19))
    kept = actions != 7
    found = action_rates(X[kept], actions[kept], feedback[kept], 10)
    assert found.wrong_rounds[7] == found.right_rounds[7] == 0
    assert found.false_positive[7] == pytest.approx(0.2, abs=0.05)


def test_tracker_refits_at_its_checkpoints_only():
    X, actions, feedback = log_of(np.full((10, 2), 0.2), 1_300, np.random.default_rng(20))
    tracker, refits = ActionRateTracker(10), []
    for t in range(0, 1_300, 50):
        part = slice(t, t + 50)
        tracker.observe(X[part], actions[part], np.ones(50), feedback[part])
        if tracker.due:
            refits.append(t + 50)
        tracker.estimate()
    assert refits == [500, 750, 1150]


def test_a_report_of_few_rounds_has_rates_and_says_that_they_are_rough():
    report = ActionRates(
        np.array([0.1, 0.6]), np.array([0.2, 0.3]), np.array([5.0, 6.0]), np.array([7.0, 8.0]), p_value=1e-9, on=True
    )
    columns = report.columns()
    assert columns["useless"].tolist() == [False, True]
    assert columns["on"].all()
    for name in ("false_positive", "false_negative"):
        assert (columns[f"{name}_low"].tolist(), columns[f"{name}_high"].tolist()) == ([0, 0], [1, 1])
    assert not columns["identified"].any()
    assert columns["reason"] == [EARLY] * 2
    assert report.noise[0] == FlipMatrix.binary(0.1, 0.2)
    off = ActionRates(*(np.full(2, 0.4),) * 4, p_value=0.5, on=False)
    assert off.noise == [FlipMatrix.none(2)] * 2
    assert not off.uninformative.any()
    with pytest.warns(DeprecationWarning, match="ActionRates.useless is now uninformative"):
        assert report.useless.tolist() == [False, True]


def test_every_rate_lies_in_its_interval_from_the_first_round_on():
    learner = linucb(3, rates="action", random_state=0)
    for x in np.eye(3):
        learner.learn(learner.decide(x), 1)
        report = learner.report("pandas")
        for name in ("false_positive", "false_negative"):
            assert (report[f"{name}_low"] <= report[name]).all()
            assert (report[name] <= report[f"{name}_high"]).all()
        assert not report["identified"].any()
        assert (report["reason"] == EARLY).all()


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("n_right", "identified"), [(1, True), (2, False), (3, False)])
def test_logs_in_which_several_actions_are_right_for_every_row_tell_so(n_right, identified, known):
    rng = np.random.default_rng(3)
    y, actions = rng.integers(6, size=8000), rng.integers(6, size=8000)
    X = np.column_stack([np.eye(6)[y] + rng.normal(scale=0.15, size=(8000, 6)), np.ones(8000)])
    feedback = FlipMatrix.binary(0.1, 0.2).corrupt(((actions - y) % 6 < n_right).astype(int), rng)
    learner = linucb(6, rates="action", random_state=0)
    learner.learn_logged(X, actions, feedback, np.full(8000, 1 / 6) if known else None)
    report = learner.report("pandas")
    assert (report["identified"] == identified).all()
    assert report["reason"].str.contains("several actions may be right").all() != identified
    assert not report["on"].any()


def test_correction_undoes_the_channel_and_eliminates_uninformative_actions():
    truth = np.array([[0.7, 0.2, 0.1]])
    rates = np.array([[0.1, 0.3, 0.5], [0.2, 0.1, 0.45]])
    observed = rates[0] + (1 - rates.sum(axis=0)) * truth
    found = corrected_scores(observed, np.ones((1, 3)), rates)
    assert found == pytest.approx(truth)


def test_rates_are_scaled_to_a_signal_of_a_tenth():
    rates = keep_signal(np.array([0.8, 0.1]), np.array([0.8, 0.2]))
    assert rates.sum(axis=0) == pytest.approx([0.9, 0.3])


def test_a_bandit_classifier_learns_with_the_tracker():
    X, y = digits()
    rng = np.random.default_rng(23)
    noise = [FlipMatrix.binary(*rates) for rates in rates_of("strong", rng)]
    rows = rng.integers(len(X), size=20_000)
    learner = BanditClassifier(
        UpperConfidence(1.0, 0.01, 0.01),
        LeastSquares(1.0),
        "value",
        n_classes=10,
        covariance="full",
        tracker=ActionRateTracker(10),
        block=500,
        random_state=0,
    )
    learner.play(X[rows], y[rows], noise=noise, rng=1)
    assert learner.tracker_.report.on
    assert np.mean(learner.predict(X) != y) <= 0.07


def test_log_grows_and_keeps_its_rounds():
    log = RoundLog(2)
    for t in range(3):
        log.append(np.full((700, 2), t), np.full(700, t), np.zeros(700))
    assert log.n == 2_100
    assert np.array_equal(log.X[:, 0], np.repeat([0, 1, 2], 700))
    assert np.array_equal(log.actions, np.repeat([0, 1, 2], 700))


def test_tracker_continues_from_its_stored_state():
    X, actions, feedback = log_of(np.full((10, 2), 0.2), 1_000, np.random.default_rng(24))
    tracker = ActionRateTracker(10)
    tracker.observe(X[:600], actions[:600], np.ones(600), feedback[:600])
    tracker.estimate()
    twin = ActionRateTracker.__from_noisewise_state__(deepcopy(tracker.__noisewise_state__()))
    for one in (tracker, twin):
        one.observe(X[600:], actions[600:], np.ones(400), feedback[600:])
    for name, values in tracker.estimate().columns().items():
        assert np.array_equal(values, twin.estimate().columns()[name])


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_sparse_rows_are_tracked_as_dense_ones(covariance):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=1000)
    X = np.eye(3, 8)[y] + np.where(rng.random((1000, 8)) < 0.3, rng.normal(scale=0.3, size=(1000, 8)), 0)
    dense, sparse = (linucb(3, rates="action", covariance=covariance, random_state=0) for _ in range(2))
    dense.play(X, y)
    sparse.play(csr_array(X), y)
    assert sparse.report("polars").equals(dense.report("polars"))


@pytest.mark.parametrize("make", [ActionRateTracker, MissingTracker, PeopleTracker])
def test_trackers_need_actions_to_choose_from(make):
    with pytest.raises(ValueError, match="n_classes is 1"):
        make(1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"actions": [0, 3]}, "whole numbers from 0 to 2"),
        ({"actions": [0, -1]}, "whole numbers from 0 to 2"),
        ({"actions": [0]}, "per row of X"),
        ({"X": [[1.0, np.nan], [0.0, 1.0]]}, "NaN or infinity"),
        ({"feedback": [0, 3]}, "must be 0"),
    ],
)
def test_rounds_that_cannot_be_are_refused_and_not_kept(change, sentence):
    given = {"X": np.eye(2), "actions": [0, 1], "feedback": [0, 1], **change}
    by_action, by_missing = ActionRateTracker(3), MissingTracker(3)
    with pytest.raises(ValueError, match=sentence):
        by_action.observe(given["X"], given["actions"], [0.5, 0.5], given["feedback"])
    with pytest.raises(ValueError, match=sentence):
        by_missing.observe(given["X"], given["actions"], given["feedback"])
    assert by_action.log is None
    assert by_missing.log is None


def test_a_log_stored_before_propensities_were_kept_goes_on():
    log = RoundLog(2)
    log.append(np.ones((3, 2)), [0, 1, 0], [1, 0, 1], propensities=[0.5, 0.5, 0.5])
    state = log.__noisewise_state__()
    assert state.pop("propensities")[:3].tolist() == [0.5] * 3
    earlier = RoundLog.__from_noisewise_state__(state)
    earlier.append(np.ones((1, 2)), [1], [1], propensities=[0.25])
    assert earlier.propensities[:4].tolist() == [1, 1, 1, 0.25]


@pytest.mark.parametrize(("n_actions", "n_rounds"), [(6, 900), (20, 6000), (30, 12_000)])
def test_rates_of_many_actions_are_used_after_more_rounds_for_each(n_actions, n_rounds):
    rng = np.random.default_rng(0)
    y, actions = rng.integers(n_actions, size=(2, n_rounds))
    played = np.where(rng.random(n_rounds) < 0.8, y, actions)
    rates = np.array([(0.6, 0.1), (0.02, 0.7)])[played % 2]
    right = played == y
    feedback = (right != (rng.random(n_rounds) < np.where(right, rates[:, 1], rates[:, 0]))).astype(float)
    X = np.eye(n_actions)[y]
    assert action_rates(X, played, feedback, n_actions).on
    assert not action_rates(X[:-1], played[:-1], feedback[:-1], n_actions).on
