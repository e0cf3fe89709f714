import numpy as np
import pytest

from linucb_rounds import Learner, digits
from noisewise.online.rates.feedback_codes import MISSING
from noisewise.online.rates.missing_feedback import (
    FeedbackTable,
    MissingReport,
    MissingTracker,
    estimate_channels,
    missing_not_at_random,
    missingness_residuals,
    oriented,
    unbiased_targets,
)
from noisewise.online.recipes import linucb

CASES = (
    "none",
    "at random",
    "missing if wrong",
    "missing if right",
    "always missing if wrong",
    "by action",
    "by direction",
    "by image",
    "none, strong rates",
)
MISSING_RATES = {"at random": (0.5, 0.5), "missing if wrong": (0.7, 0.1), "missing if right": (0.1, 0.7)}
MISSING_RATES["always missing if wrong"] = (1.0, 0.2)


def channels(case, X, rng):
    """P(feedback | group of x, action, truth), and the group of each x."""
    half = rng.permutation(10)[:5]
    rates = np.full((10, 2), 0.15)
    if "strong" in case:
        rates[:], rates[half] = (0.05, 0.6), (0.5, 0.1)
    absent = np.zeros((2, 10, 2)) + np.array(MISSING_RATES.get(case, (0.0, 0.0)))
    groups = np.zeros(len(X), dtype=np.int64)
    if case == "by action":
        absent[:], absent[:, half] = (0.0, 0.6), (0.8, 0.0)
    if case in ("by direction", "by image"):
        absent[1] = 0.9
        position = X @ rng.normal(size=X.shape[1]) if case == "by direction" else rng.random(len(X))
        groups = (position > np.median(position)).astype(np.int64)
    positive = np.stack([rates[:, 0], 1 - rates[:, 1]], axis=1)
    given = np.stack([1 - positive, positive], axis=2) * (1 - absent)[..., None]
    return np.concatenate([given, absent[..., None]], axis=-1), groups


def play(case, seed, missing="auto", n_rounds=30_000):
    """LinUCB on digits whose feedback may be missing: greedy error and tracker."""
    X, y = digits()
    rng = np.random.default_rng(seed)
    channel, groups = channels(case, X, rng)
    learner, tracker, table = Learner(10, X.shape[1]), MissingTracker(10), FeedbackTable.fixed(10, missing)
    rows, uniforms = rng.integers(len(X), size=n_rounds), rng.random((n_rounds, 3))
    done = 0
    while done < n_rounds:
        part = slice(done, min(n_rounds, tracker.next_refit) if missing == "auto" else n_rounds)
        actions, feedback = learner.play(
            X, rows[part], y, channel, groups[rows[part]], uniforms[part], 0.0, table.targets, table.importance
        )
        if missing == "auto":
            tracker.observe(X[rows[part]], actions, feedback)
            if tracker.due:
                learner.use(tracker.refit())
                table, learner.width = tracker.table, tracker.table.width
        done = part.stop
    return learner.greedy_error(X, y), tracker


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("first", [70, 200])
def test_using_missing_feedback_is_never_worse_than_dropping_it(case, first):
    seeds = range(first, first + 3)
    used = np.mean([play(case, seed)[0] for seed in seeds])
    dropped = np.mean([play(case, seed, "drop")[0] for seed in seeds])
    assert used <= dropped + 0.005


def public_error(case, seed, missing, n_rounds=30_000):
    """The same rounds through the public learner, one by one."""
    X, y = digits()
    rng = np.random.default_rng(seed)
    channel, groups = channels(case, X, rng)
    learner = linucb(10, missing=missing, random_state=0)
    for row, u in zip(rng.integers(len(X), size=n_rounds), rng.random(n_rounds), strict=True):
        decision = learner.decide(X[row])
        cumulative = np.cumsum(channel[groups[row], decision.code, int(decision.action == y[row])])
        code = int(np.sum(u * cumulative[-1] >= cumulative[:-1]))
        learner.learn(decision, None if code == MISSING else code)
    return np.mean(learner.predict(X) != y)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_public_learner_uses_missing_feedback_no_worse_than_it_drops_it(case):
    seeds = (70, 71)
    used = np.mean([public_error(case, seed, "auto") for seed in seeds])
    assert used <= np.mean([public_error(case, seed, "drop") for seed in seeds]) + 0.005


def test_a_good_player_whose_mistakes_have_no_feedback_does_not_forget_what_that_means():
    error, tracker = play("always missing if wrong", 301, n_rounds=6_000)
    assert tracker.report.missing_used
    assert error < 0.06


@pytest.mark.slow
def test_feedback_that_is_always_missing_after_mistakes_is_used_to_the_end():
    errors = [play("always missing if wrong", seed)[0] for seed in range(300, 308)]
    assert max(errors) < 0.03


def test_feedback_missing_not_at_random_is_used():
    used, tracker = play("missing if wrong", 1, n_rounds=9_000)
    dropped, _ = play("missing if wrong", 1, "drop", n_rounds=9_000)
    assert used < dropped
    report = tracker.report
    assert report.used
    assert report.missing_used
    assert not report.by_action
    assert report.when_wrong[0] == pytest.approx([0.3 * 0.85, 0.3 * 0.15, 0.7], abs=0.06)
    assert report.when_right[0] == pytest.approx([0.9 * 0.15, 0.9 * 0.85, 0.1], abs=0.06)


@pytest.mark.parametrize("case", ["at random", "by image"])
def test_feedback_missing_at_random_given_x_is_dropped(case):
    used, tracker = play(case, 2, n_rounds=9_000)
    dropped, _ = play(case, 2, "drop", n_rounds=9_000)
    assert not tracker.report.missing_used
    assert (tracker.table.importance[:, MISSING] == 0).all()
    assert used <= dropped + 0.015


def test_missing_as_negative_is_ruinous_where_it_is_missing_for_right_actions():
    taken_as_negative, _ = play("missing if right", 3, "no", n_rounds=9_000)
    used, _ = play("missing if right", 3, n_rounds=9_000)
    assert used + 0.05 < taken_as_negative


def report_of(when_wrong, when_right, **flags):
    flags = {"p_value": 1.0, "by_action": False, "used": True, "missing_used": True} | flags
    return MissingReport(np.array(when_wrong), np.array(when_right), np.ones(1), np.ones(1), **flags)


def test_targets_average_zero_when_wrong_and_one_when_right():
    report = report_of([[0.6, 0.1, 0.3]], [[0.1, 0.8, 0.1]])
    table = unbiased_targets(report)
    assert np.sum(table.targets * report.when_wrong) == pytest.approx(0, abs=1e-9)
    assert np.sum(table.targets * report.when_right) == pytest.approx(1)
    assert 0.5 <= table.width[0] <= 4


def test_uninformative_feedback_is_left_out():
    table = unbiased_targets(report_of([[0.4, 0.1, 0.5]], [[0.1, 0.4, 0.5]]))
    assert table.importance.tolist() == [[1, 1, 0]]
    assert table.targets[0, :2] == pytest.approx([-1 / 3, 4 / 3])
    unused = unbiased_targets(report_of([[0.4, 0.1, 0.5]], [[0.1, 0.4, 0.5]], used=False))
    assert np.array_equal(unused.targets, FeedbackTable.fixed(1, "drop").targets)


def test_wholly_uninformative_feedback_still_gives_finite_targets():
    table = unbiased_targets(report_of([[0.25, 0.25, 0.5]], [[0.26, 0.24, 0.5]]))
    assert np.isfinite(table.targets).all()
    assert table.importance.tolist() == [[1, 1, 0]]


def test_positive_feedback_must_be_likelier_for_right_actions():
    right, wrong = np.array([[0.1, 0.8, 0.1]]), np.array([[0.6, 0.2, 0.2]])
    assert oriented(right, wrong)
    assert not oriented(wrong, right)
    assert not oriented(np.vstack([right, wrong]), np.vstack([wrong, right]))


def test_missingness_explained_by_x_is_at_random():
    rng = np.random.default_rng(6)
    X = np.hstack([rng.normal(size=(4_000, 3)), np.ones((4_000, 1))])
    scores = rng.random((4_000, 3))
    right = X[:, 0] > 0
    one = np.zeros(4_000, dtype=np.intp)
    by_x = np.where(rng.random(4_000) < 0.5 + 0.2 * np.tanh(X[:, 0]), MISSING, 0)
    truth = rng.random(4_000) < 0.5
    by_truth = np.where(rng.random(4_000) < np.where(truth, 0.1, 0.7), MISSING, 0)
    assert not missing_not_at_random(missingness_residuals(X, scores, by_x), one, right, ~right, least=0.1)
    assert missing_not_at_random(missingness_residuals(X, scores, by_truth), one, truth, ~truth, least=0.1)
    assert (missingness_residuals(X, scores, one) == 0).all()


def test_a_log_without_missing_feedback_gives_plain_rates():
    X, y = digits()
    rng = np.random.default_rng(7)
    rows = rng.integers(len(X), size=6_000)
    actions = np.where(rng.random(6_000) < 0.6, y[rows], rng.integers(10, size=6_000))
    right = actions == y[rows]
    feedback = np.where(right, rng.random(6_000) >= 0.2, rng.random(6_000) < 0.1).astype(np.int64)
    report, _ = estimate_channels(X[rows], actions, feedback, 10)
    assert report.when_wrong[0, 1] == pytest.approx(0.1, abs=0.05)
    assert report.when_right[0, 0] == pytest.approx(0.2, abs=0.03)
    assert not report.missing_used
    columns = report.columns()
    assert columns["said_right_when_wrong"] == pytest.approx(report.when_wrong[:, 1])
    assert len(columns["p_value"]) == 10


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="'auto', 'drop' or 'no'"):
        FeedbackTable.fixed(2, "maybe")
    with pytest.raises(ValueError, match="no rounds"):
        MissingTracker(2).refit()
