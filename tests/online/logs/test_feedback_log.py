import numpy as np
import pandas as pd
import polars as pl
import pytest

from feedback_logs import assert_same, dense, some_log, written
from helpers import assert_unbiased
from noisewise.online.logs.feedback_log import FeedbackLog
from noisewise.online.logs.logged_round import Choice
from noisewise.online.logs.open_bandit import from_open_bandit, to_open_bandit
from noisewise.online.logs.vw import read_vw, write_vw
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


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_log_calls_its_features_as_a_frame_does(frame):
    rows = frame({"age": [30.0, 40.0], "height": [1.5, 2.0]})
    log = FeedbackLog(rows, ["a", "b"], [1, 0], [0.5, 0.5])
    assert log.feature_names == ["age", "height"]
    assert read_vw(written(write_vw, log)).feature_names == ["age", "height"]
    assert FeedbackLog(rows, ["a", "b"], [1, 0], [0.5, 0.5], feature_names=["p", "q"]).feature_names == ["p", "q"]


@pytest.mark.parametrize(
    ("change", "message"),
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
        ({"actions": ["a", "a"]}, "the action 'a' alone was played; name all actions"),
        ({"actions": []}, "nothing was played"),
        ({"actions": "ab"}, "one action for each row is needed, not 'ab'"),
        ({"actions": None}, "one action for each row is needed, not None"),
        ({"probabilities": ["high", "low"]}, r"probabilities is \['high', 'low'\]; numbers above 0"),
        ({"feature_names": ["p", "q"]}, "feature names"),
        ({"ids": ["e1"]}, "ids has 1 entries"),
        ({"offered": [(Choice("a"),), (Choice("a"),)]}, "round 2 played 'b'"),
        ({"dropped": [0.5]}, "dropped has shape"),
        ({"dropped": [0.5, 1.0]}, "dropped with probability 1.0"),
        ({"dropped": [np.nan, 0.5]}, "dropped with probability nan"),
    ],
)
def test_impossible_logs_are_refused(change, message):
    parts = {"X": [[1.0], [2.0]], "actions": ["a", "b"], "feedback": [1, 0], "probabilities": [0.5, 0.5]}
    with pytest.raises(ValueError, match=message):
        FeedbackLog(**{**parts, **change})


@pytest.mark.parametrize("sparse", [False, True])
def test_a_log_for_learners_has_each_round_as_often_as_it_stands_for(sparse):
    dropped = np.tile([0.0, 0.75, 0.6, 0.3], 10)
    log = some_log(sparse=sparse, ids=[str(number) for number in range(40)], dropped=dropped)
    logs = [log.repeated(seed) for seed in range(300)]
    times = np.array([np.bincount(np.array(one.ids, dtype=int), minlength=40) for one in logs])
    assert (times[:, dropped == 0] == 1).all()
    assert (times[:, dropped == 0.75] == 4).all()
    assert_unbiased(times[:, dropped == 0.6], 2.5)
    assert_unbiased(times[:, dropped == 0.3], 1 / 0.7)
    one, indices = logs[0], np.array(logs[0].ids, dtype=int)
    assert (np.diff(indices) >= 0).all()
    assert np.array_equal(dense(one.X), dense(log.X)[indices])
    for name in ("actions", "feedback", "probabilities"):
        assert np.array_equal(getattr(one, name), getattr(log, name)[indices]), name
    assert one.dropped is None
    assert one.repeated() is one
    assert_same(log.repeated(3), log.repeated(3))


def test_rounds_that_stand_for_others_have_no_field_in_open_bandit_feedback():
    log = some_log(dropped=np.full(40, 0.5))
    with pytest.raises(ValueError, match=r"Open Bandit Pipeline has no field; log.repeated"):
        to_open_bandit(log)
    assert to_open_bandit(log.repeated())["n_rounds"] == 80


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
    ("change", "message"),
    [
        ({"pscore": None}, "pscore missing"),
        ({"pscore": np.zeros(6)}, "above 0"),
        ({"reward": np.full(6, 0.5)}, "feedback is 0.5"),
        ({"action": np.full(6, 3)}, "whole numbers from 0 to 2"),
        ({"n_rounds": 7}, "n_rounds is 7"),
        ({"n_actions": 4.7}, "n_actions is 4.7; it is a whole number"),
        ({"n_actions": "3"}, "n_actions is '3'"),
        ({"n_actions": np.inf}, "n_actions is inf"),
    ],
)
def test_bad_open_bandit_feedback_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        from_open_bandit({**open_bandit_feedback(), **change})


@pytest.mark.parametrize("given", [None, [1, 2], np.ones(3)])
def test_what_is_no_dict_is_no_open_bandit_feedback(given):
    with pytest.raises(ValueError, match="a dict with n_actions, context, action, reward, pscore is needed"):
        from_open_bandit(given)
