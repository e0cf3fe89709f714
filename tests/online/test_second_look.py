import numpy as np
from sklearn.datasets import load_digits

from noisewise.noise import FlipMatrix
from noisewise.noise.logged_rounds import leave_one_out_scores, narrow
from noisewise.online.rates.tracker import surely_wrong


def log_of(rates, n_rounds, seed):
    """Rounds of a player who is right half of the time: rows, scores, actions, feedback, truth."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    rows = rng.integers(len(X), size=n_rounds)
    actions = np.where(rng.random(n_rounds) < 0.5, y[rows], rng.integers(10, size=n_rounds))
    feedback = FlipMatrix.binary(*rates).corrupt((actions == y[rows]).astype(int), rng).astype(float)
    seen = narrow(X[rows] / np.linalg.norm(X[rows], axis=1, keepdims=True))
    return seen, leave_one_out_scores(seen, actions, feedback, 10), actions, feedback, y[rows]


def test_rounds_found_wrong_with_hindsight_were_wrong_and_are_most_of_these():
    rows, scores, actions, feedback, truth = log_of((0.25, 0.25), 12_000, 0)
    found = surely_wrong(rows, scores, actions, np.arange(len(rows)))
    assert np.mean(actions[found] == truth[found]) < 0.02
    assert len(found) > 0.7 * np.sum(actions != truth)
    assert abs(feedback[found].mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / len(found)) + 0.005


def test_the_surest_rounds_come_first():
    rows, scores, actions, _, truth = log_of((0.25, 0.25), 12_000, 1)
    found = surely_wrong(rows, scores, actions, np.arange(len(rows)))
    wrong = actions[found] != truth[found]
    third = len(found) // 3
    assert wrong[:third].mean() > wrong[-third:].mean()
    assert wrong[:third].mean() > 0.99


def test_an_even_sample_is_enough_to_learn_from():
    rows, scores, actions, _, truth = log_of((0.15, 0.15), 12_000, 2)
    found = surely_wrong(rows, scores, actions, np.arange(0, len(rows), 4))
    assert np.mean(actions[found] == truth[found]) < 0.01
    assert len(found) > 0.7 * np.sum(actions != truth)


def test_without_a_wrong_round_or_rows_to_learn_from_nothing_is_found():
    rows, scores, actions, _, _ = log_of((0.1, 0.1), 200, 3)
    assert len(surely_wrong(rows, scores, scores.argmax(axis=1), np.arange(200))) == 0
    assert len(surely_wrong(rows, scores, actions, np.zeros(0, dtype=int))) == 0


def test_rows_that_cannot_be_told_apart_leave_their_common_class_as_the_only_guess():
    rows, scores, actions, _, _ = log_of((0.1, 0.1), 400, 4)
    scores[:, 3] = 9.0
    found = surely_wrong(np.ones_like(rows), scores, actions, np.arange(400))
    assert sorted(found.tolist()) == np.flatnonzero(actions != 3).tolist()
