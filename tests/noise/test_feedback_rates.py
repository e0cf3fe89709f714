import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_moons
from sklearn.linear_model import Ridge

from noisewise.noise import FlipMatrix
from noisewise.noise.exploration_moment import ExplorationMoment, exploration_terms
from noisewise.noise.feedback_rates import (
    NARROWED_INTERVAL,
    RIGHT_OVERLAP,
    combine_moments,
    pool_with_known_wrong,
    rates_from_moments,
)
from noisewise.noise.heads import SELECTION_ERROR, MeanFeedback, Z, consistent_head
from noisewise.noise.logged_rounds import leave_one_out_scores
from noisewise.online.recipes import rcnbf

SETTINGS = [(0.0, 0.0), (0.15, 0.15), (0.25, 0.25), (0.4, 0.4), (0.2, 0.4), (0.4, 0.2)]


def digits():
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return np.hstack([X, np.full((len(X), 1), 0.3)]), y


def synsep(n_rows, rng):
    prototypes = np.zeros((9, 400))
    for prototype in prototypes:
        prototype[rng.permutation(120)[: rng.integers(20, 41)]] = 1
    y = rng.integers(9, size=n_rows)
    X = prototypes[y]
    for row in X:
        row[rng.permutation(np.flatnonzero(row[:120]))[:5]] = 0
        row[120 + rng.permutation(280)[:20]] = 1
    return X, y


def logged(X, y, n_classes, rates, n_rounds, rng, gamma=0.1, skill=0.6):
    """A log of a player who guesses right with some skill and explores uniformly."""
    rows = rng.integers(len(X), size=n_rounds)
    truth = y[rows]
    guess = np.where(rng.random(n_rounds) < skill, truth, rng.integers(n_classes, size=n_rounds))
    actions = np.where(rng.random(n_rounds) < gamma, rng.integers(n_classes, size=n_rounds), guess)
    probabilities = gamma / n_classes + (1 - gamma) * (actions == guess)
    feedback = FlipMatrix.binary(*rates).corrupt((actions == truth).astype(int), rng)
    return X[rows], actions, feedback, probabilities


def covered(estimate, rates):
    (low0, high0), (low1, high1) = estimate.false_positive_interval, estimate.false_negative_interval
    return low0 <= rates[0] <= high0, low1 <= rates[1] <= high1


@pytest.mark.parametrize("data", ["digits", "synsep"])
def test_rates_of_long_logs_are_found_within_a_hundredth_on_average(data):
    rng = np.random.default_rng(1)
    (X, y), n_classes = (digits(), 10) if data == "digits" else (synsep(20_000, rng), 9)
    errors, seconds = [], []
    for rates in SETTINGS:
        log = logged(X, y, n_classes, rates, 50_000, rng)
        start = time.process_time()
        found = rates_from_moments(*log, n_classes)
        seconds.append(time.process_time() - start)
        assert found.identified
        errors.append(np.abs(np.array([found.false_positive, found.false_negative]) - rates))
    assert np.mean(errors) <= 0.01
    assert np.max(errors) <= 0.04
    assert np.median(seconds) < 3  # about half a second of one idle core


@pytest.mark.slow
@pytest.mark.parametrize("data", ["digits", "synsep"])
def test_no_rate_of_many_long_logs_is_far_off(data):
    errors = []
    for seed in range(300, 308):
        rng = np.random.default_rng(seed)
        (X, y), n_classes = (digits(), 10) if data == "digits" else (synsep(20_000, rng), 9)
        for rates in SETTINGS:
            found = rates_from_moments(*logged(X, y, n_classes, rates, 50_000, rng), n_classes)
            errors.append(np.abs(np.array([found.false_positive, found.false_negative]) - rates))
    assert np.mean(errors) <= 0.006
    assert np.max(errors) <= 0.03


def test_intervals_cover_the_truth_as_often_as_they_say():
    rng, rates = np.random.default_rng(2), (0.25, 0.15)
    X, y = digits()
    hits = [covered(rates_from_moments(*logged(X, y, 10, rates, 8_000, rng), 10), rates) for _ in range(60)]
    assert np.all(np.mean(hits, axis=0) >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / 60))
    assert np.mean(hits) >= 0.9


def test_intervals_are_not_idle():
    rng = np.random.default_rng(3)
    found = rates_from_moments(*logged(*digits(), 10, (0.25, 0.15), 20_000, rng), 10)
    assert np.ptp(found.false_positive_interval) < 0.06
    assert np.ptp(found.false_negative_interval) < 0.06


def test_no_exploration_leaves_rho0_unidentified_and_says_so():
    rng = np.random.default_rng(4)
    X, actions, feedback, _ = logged(*digits(), 10, (0.2, 0.1), 10_000, rng, gamma=0.0, skill=0.97)
    found = rates_from_moments(X, actions, feedback, np.ones(len(actions)), 10)
    assert not found.identified
    assert "explore" in found.reason
    assert found.false_positive == 0
    assert found.false_positive_interval[1] > 0.85
    assert abs(found.false_negative - 0.1) < 0.02


def test_feedback_without_information_is_clipped_with_a_reason():
    rng = np.random.default_rng(5)
    X, actions, _, probabilities = logged(*digits(), 10, (0.0, 0.0), 4_000, rng, gamma=0.5)
    found = rates_from_moments(X, actions, rng.integers(2, size=4_000), probabilities, 10)
    assert found.false_positive + found.false_negative == pytest.approx(0.85)
    assert "scaled down" in found.reason
    for same in (0, 1):
        found = rates_from_moments(X, actions, np.full(4_000, same), probabilities, 10)
        for rate, (low, high) in (
            (found.false_positive, found.false_positive_interval),
            (found.false_negative, found.false_negative_interval),
        ):
            assert low <= rate <= high


def test_sparse_rows_give_the_same_rates():
    X, *log = logged(*digits(), 10, (0.2, 0.2), 5_000, np.random.default_rng(6))
    dense, thin = rates_from_moments(X, *log, 10), rates_from_moments(sparse.csr_array(X), *log, 10)
    assert dense.noise == thin.noise


def test_wide_rows_are_projected_and_still_serve():
    rng = np.random.default_rng(7)
    y = rng.integers(4, size=6_000)
    X = np.hstack([np.repeat(np.eye(4)[y], 100, axis=1), rng.normal(scale=0.3, size=(6_000, 400))])
    found = rates_from_moments(*logged(X, y, 4, (0.1, 0.2), 6_000, rng), 4)
    assert abs(found.false_positive - 0.1) < 0.05
    assert abs(found.false_negative - 0.2) < 0.05


def test_scores_are_leave_one_out():
    rng = np.random.default_rng(8)
    X, actions, feedback, _ = logged(*digits(), 10, (0.1, 0.1), 120, rng)
    scores = leave_one_out_scores(X, actions, feedback.astype(float), 10, ridge=0.5)
    penalty = 0.5 * np.mean(np.sum(X**2, axis=1))
    for own in (0, 17, 119):
        others = (np.arange(120) != own) & (actions == actions[own])
        ridge = Ridge(alpha=penalty, fit_intercept=False).fit(X[others], feedback[others])
        assert scores[own, actions[own]] == pytest.approx(ridge.predict(X[own : own + 1])[0])


def test_exploration_terms_average_the_feedback_of_a_random_action():
    scores, propensities = np.array([[0.3, 0.9, 0.1]]), np.array([0.7, 0.2, 0.1])
    means = np.array([0.4, 0.8, 0.2])  # E[f | x, a]: the terms must average 0.4667 whatever the scores say
    total = 0.0
    for action in range(3):
        for feedback, probability in ((1.0, means[action]), (0.0, 1 - means[action])):
            term, _ = exploration_terms(
                scores, np.array([action]), np.array([feedback]), propensities[action : action + 1]
            )
            total += propensities[action] * probability * term[0]
    assert total == pytest.approx(means.mean(), abs=1e-12)


def test_the_exploration_moment_is_a_mean_with_its_standard_error_and_effective_size():
    rng = np.random.default_rng(9)
    terms, weights = rng.random(100), rng.random(100)
    whole = ExplorationMoment.of(terms, weights, rng.random(100))
    assert whole.mean == pytest.approx(terms.mean())
    assert whole.error == pytest.approx(terms.std() / 10)
    assert whole.effective_rounds == pytest.approx(weights.sum() ** 2 / np.sum(weights**2))


def test_the_consistent_head_stops_before_unreliable_values():
    rng = np.random.default_rng(10)
    values = np.concatenate([rng.random(4_000) < 0.1, rng.random(6_000) < 0.5]).astype(float)
    mean, error, count, excess = consistent_head(values)
    assert count <= 4_000
    assert abs(mean - 0.1) < 5 * error
    assert mean + excess == pytest.approx(values[count:].mean())
    assert consistent_head(values[:4_000])[2] == 4_000


@pytest.mark.parametrize(("n_errors", "low", "high"), [(2.0, 0.05, 0.15), (3.0, 0.003, 0.03), (4.0, 0.0, 0.005)])
def test_heads_are_seldom_narrowed_by_accident(n_errors, low, high):
    rng = np.random.default_rng(11)
    counts = [consistent_head((rng.random(3_500) < 0.1).astype(float), n_errors=n_errors)[2] for _ in range(2_000)]
    assert low <= np.mean(np.array(counts) < 3_500) <= high


def test_a_narrowed_head_a_learners_own_rounds_and_overlap_widen_the_interval():
    scores = np.tile([0.1, 0.0], (10_000, 1)) * (10_000 - np.arange(10_000))[:, None]  # most confident first
    moment = ExplorationMoment(100, 30.0, 20.0, 100.0, 110.0)
    plain = (np.arange(10_000) % 5 != 0).astype(float)
    later = np.arange(10_000) >= 3_500
    unreliable = np.where(later, np.arange(10_000) % 3 != 0, plain)  # more negative from then on
    for feedback, factor in ((plain, 1.0), (unreliable, NARROWED_INTERVAL)):
        found, own = (combine_moments(scores, np.zeros(10_000, int), feedback, moment, inflation=d) for d in (1.0, 1.1))
        assert found.noise == own.noise
        error = SELECTION_ERROR * np.sqrt(0.2 * 0.8 / found.confident_rounds)
        overlap = RIGHT_OVERLAP * max((1 - feedback[found.confident_rounds :]).mean() - 0.2, 0)
        assert found.false_negative == pytest.approx(max(0.2 - overlap / 2, 0), abs=1e-3)
        widths = [overlap + 2 * Z * factor * error * inflation for inflation in (1.0, 1.1)]
        assert [np.ptp(each.false_negative_interval) for each in (found, own)] == pytest.approx(widths, rel=0.01)


def test_rounds_in_both_estimates_are_not_counted_twice():
    rng, rate, n_explored, n_known = np.random.default_rng(12), 0.25, 500, 1_500
    known = rng.random((4_000, n_known)) < rate
    both = known[:, :n_explored].mean(axis=1), known.mean(axis=1)  # the first rounds explored, all are known wrong
    errors = [np.sqrt(rate * (1 - rate) / n) for n in (n_explored, n_known)]
    found = [
        pool_with_known_wrong(explored, errors[0], MeanFeedback(mean, errors[1], n_known))
        for explored, mean in zip(*both)
    ]
    rates, stated = np.transpose(found)
    assert stated.min() > 1.05 * np.prod(errors) / np.hypot(*errors)  # as if they were independent
    assert rates.std() < stated.mean() < 1.5 * rates.std()  # what the known ones move is in the error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"actions": [0, 3]}, "from 0 to 2"),
        ({"feedback": [0, 2]}, "0 or 1"),
        ({"feedback": ["yes", "no"]}, "0 or 1"),
        ({"X": np.zeros((2, 0))}, "table of numbers"),
        ({"probabilities": [0.0, 1.0]}, "above 0"),
        ({"X": [[np.nan], [0.0]]}, "NaN"),
        ({"actions": [0]}, "one action"),
    ],
)
def test_logs_that_cannot_be_right_are_refused(change, message):
    log = {"X": [[1.0], [0.0]], "actions": [0, 1], "feedback": [0, 1], "probabilities": [0.5, 0.5]} | change
    with pytest.raises(ValueError, match=message):
        rates_from_moments(np.array(log.pop("X")), n_classes=3, **log)


def test_actions_may_be_named(rng):
    y = rng.integers(3, size=2000)
    X = np.eye(3)[y] + rng.normal(scale=0.2, size=(2000, 3))
    names = np.array(["sun", "rain", "snow"])
    learner = rcnbf(classes=names, noise=FlipMatrix.none(2), gamma=0.3, random_state=0)
    history = learner.play(X, names[y], FlipMatrix.binary(0.1, 0.2), rng=1)
    rest = history.feedback, history.probabilities
    coded = [names.tolist().index(name) for name in history.actions]
    assert rates_from_moments(X, history.actions, *rest, classes=names) == rates_from_moments(X, coded, *rest, 3)
    with pytest.raises(ValueError, match="the action 'snow' is not among"):
        rates_from_moments(X, history.actions, *rest, classes=["sun", "rain"])
    with pytest.raises(ValueError, match="either n_classes="):
        rates_from_moments(X, history.actions, *rest)


@pytest.mark.parametrize(("n_right", "identified"), [(1, True), (2, False), (3, False)])
def test_rates_are_not_identified_where_several_actions_are_right_for_every_row(n_right, identified):
    rng = np.random.default_rng(5)
    y, actions = rng.integers(6, size=6000), rng.integers(6, size=6000)
    X = np.eye(6)[y] + rng.normal(scale=0.15, size=(6000, 6))
    feedback = FlipMatrix.binary(0.1, 0.2).corrupt(((actions - y) % 6 < n_right).astype(int), rng)
    found = rates_from_moments(X, actions, feedback, np.full(6000, 1 / 6), n_classes=6)
    assert found.identified == identified
    assert ("several actions may be right" in found.reason) != identified


def test_intervals_hold_where_the_player_knows_more_than_the_regression():
    inside = []
    for seed in range(12):
        X, y = make_moons(5000, noise=0.2, random_state=seed)
        rng = np.random.default_rng(seed)
        guesses = np.where(rng.random(5000) < 0.97, y, 1 - y)
        actions = np.where(rng.random(5000) < 0.01, rng.integers(2, size=5000), guesses)
        feedback = FlipMatrix.binary(0.27, 0.08).corrupt((actions == y).astype(int), rng)
        found = rates_from_moments(X, actions, feedback, np.where(actions == guesses, 0.995, 0.005), n_classes=2)
        inside.append(covered(found, (0.27, 0.08))[0])
    assert np.mean(inside) >= 0.75
