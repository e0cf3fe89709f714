import numpy as np
import pytest

from feedback_logs import assert_same, dense, some_log, written
from noisewise.online._formats_obp import from_open_bandit, to_open_bandit
from noisewise.online._formats_vw import read_vw, write_vw
from noisewise.online._logs import Choice, FeedbackLog
from noisewise.online.recipes import linucb


def test_a_log_teaches_a_learner_as_its_arrays_do():
    log = some_log(sparse=True)
    by_log = linucb(classes=log.classes).learn_logged(log.X, log.actions, log.feedback, log.probabilities)
    read = read_vw(written(write_vw, log), classes=log.classes, features=4)
    by_file = linucb(classes=log.classes).learn_logged(read.X, read.actions, read.feedback, read.probabilities)
    assert np.array_equal(by_log.decision_function(dense(log.X)), by_file.decision_function(dense(log.X)))


def test_rounds_and_back_are_the_same_log():
    log = some_log(ids=[f"r{number}" for number in range(40)], feature_names=["a", "b", "c", "d"])
    assert_same(FeedbackLog.from_rounds(log.rounds(), log.classes, log.feature_names), log)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"X": [1.0, 2.0]}, "one row of features"),
        ({"X": [[1.0], [np.nan]]}, "NaN or infinity in row 1"),
        ({"X": [[1.0]]}, "X has 1 rounds"),
        ({"feedback": [1, 2]}, "feedback is 2"),
        ({"feedback": [1, -1]}, "feedback is -1"),
        ({"feedback": [1]}, "feedback has shape"),
        ({"probabilities": [0.5, 0.0]}, "above 0"),
        ({"probabilities": [0.5, 1.5]}, "at most 1"),
        ({"probabilities": [0.5, np.nan]}, "nan"),
        ({"classes": ["a", "z"]}, "'b' is not among the classes"),
        ({"actions": ["a", "a"]}, "1 class only"),
        ({"feature_names": ["p", "q"]}, "feature names"),
        ({"ids": ["e1"]}, "ids has 1 entries"),
        ({"offered": [(Choice("a"),), (Choice("a"),)]}, "round 2 played 'b'"),
    ],
)
def test_impossible_logs_are_refused(change, says):
    parts = {"X": [[1.0], [2.0]], "actions": ["a", "b"], "feedback": [1, 0], "probabilities": [0.5, 0.5]}
    with pytest.raises(ValueError, match=says):
        FeedbackLog(**{**parts, **change})


def open_bandit_feedback():
    rng = np.random.default_rng(0)
    return {
        "n_rounds": 6,
        "n_actions": 3,
        "context": rng.normal(size=(6, 2)),
        "action_context": np.eye(3),
        "action": rng.integers(3, size=6),
        "position": np.zeros(6, dtype=int),
        "reward": rng.integers(2, size=6),
        "expected_reward": rng.random((6, 3)),
        "pi_b": np.full((6, 3, 1), 1 / 3),
        "pscore": np.full(6, 1 / 3),
    }


def test_open_bandit_feedback_round_trips_exactly():
    feedback = open_bandit_feedback()
    back = to_open_bandit(from_open_bandit(feedback))
    assert back.keys() == feedback.keys()
    for key, value in feedback.items():
        assert np.array_equal(back[key], value), key


def test_open_bandit_feedback_of_named_sparse_logs():
    log = some_log(sparse=True)
    back = to_open_bandit(log)
    assert back["position"] is None
    assert_same(from_open_bandit(back, classes=log.classes), log)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"pscore": None}, "pscore missing"),
        ({"pscore": np.zeros(6)}, "above 0"),
        ({"reward": np.full(6, 0.5)}, "feedback is 0.5"),
        ({"action": np.full(6, 3)}, "whole numbers from 0 to 2"),
        ({"n_rounds": 7}, "n_rounds is 7"),
    ],
)
def test_bad_open_bandit_feedback_is_refused(change, says):
    with pytest.raises(ValueError, match=says):
        from_open_bandit({**open_bandit_feedback(), **change})
