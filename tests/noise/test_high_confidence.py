import numpy as np
from sklearn.datasets import load_digits

from noisewise.noise import FlipMatrix
from noisewise.noise.high_confidence import (
    informative_about_annotators,
    ranked_rounds,
    right_and_wrong,
    wrong_in_hindsight,
)
from noisewise.noise.logged_rounds import leave_one_out_scores, project_rows


def log_of(rates, n_rounds, seed):
    """Rounds of a player who is right half of the time: rows, scores, actions, feedback, truth."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    rows = rng.integers(len(X), size=n_rounds)
    actions = np.where(rng.random(n_rounds) < 0.5, y[rows], rng.integers(10, size=n_rounds))
    feedback = FlipMatrix.binary(*rates).corrupt((actions == y[rows]).astype(int), rng).astype(float)
    projected = project_rows(X[rows] / np.linalg.norm(X[rows], axis=1, keepdims=True))
    return projected, leave_one_out_scores(projected, actions, feedback, 10), actions, feedback, y[rows]


def test_rounds_found_wrong_with_hindsight_were_wrong_and_are_most_of_these():
    rows, scores, actions, feedback, truth = log_of((0.25, 0.25), 12_000, 0)
    found = wrong_in_hindsight(rows, scores, actions, np.arange(len(rows)))
    assert np.mean(actions[found] == truth[found]) < 0.02
    assert len(found) > 0.7 * np.sum(actions != truth)
    assert abs(feedback[found].mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / len(found)) + 0.005


def test_the_most_confident_of_them_come_first():
    rows, scores, actions, _, truth = log_of((0.25, 0.25), 12_000, 1)
    found = wrong_in_hindsight(rows, scores, actions, np.arange(len(rows)))
    wrong = actions[found] != truth[found]
    third = len(found) // 3
    assert wrong[:third].mean() > wrong[-third:].mean()
    assert wrong[:third].mean() > 0.99


def test_an_even_sample_is_enough_for_the_second_classifier():
    rows, scores, actions, _, truth = log_of((0.15, 0.15), 12_000, 2)
    found = wrong_in_hindsight(rows, scores, actions, np.arange(0, len(rows), 4))
    assert np.mean(actions[found] == truth[found]) < 0.01
    assert len(found) > 0.7 * np.sum(actions != truth)


def test_without_a_wrong_round_or_rows_to_learn_from_nothing_is_found():
    rows, scores, actions, _, _ = log_of((0.1, 0.1), 200, 3)
    assert len(wrong_in_hindsight(rows, scores, scores.argmax(axis=1), np.arange(200))) == 0
    assert len(wrong_in_hindsight(rows, scores, actions, np.zeros(0, dtype=int))) == 0


def test_rows_that_cannot_be_told_apart_leave_their_common_class_as_the_only_guess():
    rows, scores, actions, _, _ = log_of((0.1, 0.1), 400, 4)
    scores[:, 3] = 9.0
    found = wrong_in_hindsight(np.ones_like(rows), scores, actions, np.arange(400))
    assert sorted(found.tolist()) == np.flatnonzero(actions != 3).tolist()


def test_rounds_are_ranked_by_their_margins():
    scores = np.array([[0.9, 0.1, 0.2], [0.6, 0.5, 0.1], [0.9, 0.2, 0.0], [0.5, 0.4, 0.3]])
    right, wrong = ranked_rounds(scores, np.array([0, 0, 2, 2]))
    assert right.tolist() == [0, 1]
    assert wrong.tolist() == [2, 3]


def test_right_rounds_need_a_margin_and_wrong_ones_a_low_rank():
    scores = np.array([[0.9, 0.1, 0.0], [0.5, 0.4, 0.0], [0.9, 0.5, 0.1], [0.2, 0.8, 0.1]])
    right, wrong = right_and_wrong(scores, np.array([0, 0, 2, 0]))
    assert right.tolist() == [True, False, False, False]
    assert wrong.tolist() == [False, False, True, False]


def test_rounds_with_small_margins_tell_nothing_about_annotators():
    scores = np.array([[0.9, 0.1, 0.0], [0.5, 0.4, 0.0], [0.5, 0.4, 0.0], [0.9, 0.5, 0.0], [0.5, 0.4, 0.0]])
    played, tell = np.array([0, 0, 1, 1, 2]), [True, False, False, True, True]
    assert informative_about_annotators(scores, played, median_margin=0.3).tolist() == tell
