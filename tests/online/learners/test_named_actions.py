"""Actions go by their names: which may be played, which were, and how the feedback on each is flipped."""

from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pytest

from noisewise import FlipMatrix, load, save
from noisewise.online import FeedbackLog, off_policy_value, recipes
from refusals import assert_refused

NAMES = ["cat", ("dog", 2), 7]
NOISES = [FlipMatrix.binary(0.4, 0.1), FlipMatrix.binary(0.05, 0.5), FlipMatrix.none(2)]
BY_NAME = dict(reversed(list(zip(NAMES, NOISES))))
FEEDBACK = ["banditron", "bandit_pa", "soba", "confidit", "linucb", "ucwl", "rcnbf", "rcine", "corrected_ucwl"]


def rounds(n=200):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    return np.eye(3, 4)[y] + rng.normal(scale=0.2, size=(n, 4)), [NAMES[code] for code in y]


@pytest.mark.parametrize("recipe", FEEDBACK)
def test_noise_by_name_is_that_in_order(recipe):
    X, y = rounds()
    by_name, in_order = (getattr(recipes, recipe)(classes=NAMES, noise=n, random_state=0) for n in (BY_NAME, NOISES))
    one, other = by_name.play(X, y, noise=BY_NAME, rng=1), in_order.play(X, y, noise=NOISES, rng=1)
    assert one.actions.tolist() == other.actions.tolist()
    assert one.feedback.tolist() == other.feedback.tolist()
    assert by_name.noise_ == NOISES
    np.testing.assert_array_equal(by_name.decision_function(X), in_order.decision_function(X))


@pytest.mark.parametrize(
    "names", [range(2, 5), pd.Series([2, 3, 4]), pl.Series(["a", "b", "c"]), {"a": 1, "b": 2, "c": 3}], ids=str
)
def test_a_learner_is_saved_whatever_its_names_came_in(names, tmp_path):
    X, _ = rounds()
    noise = MappingProxyType(dict(zip(names, NOISES)))
    learner = recipes.linucb(classes=names, noise=noise, random_state=0)
    shown = learner.decide(X[0])
    save(learner, tmp_path / "learner.nw")
    resumed = load(tmp_path / "learner.nw").learn(shown, 1)
    assert resumed.classes_.tolist() == list(names)
    assert resumed.decide(X[1]).action == learner.learn(shown, 1).decide(X[1]).action


def test_noise_by_name_is_saved_changed_and_corrects_a_log(tmp_path):
    X, y = rounds()
    learner = recipes.linucb(classes=NAMES, noise=BY_NAME, random_state=0)
    history = learner.play(X, y, noise=BY_NAME, rng=1)
    save(learner, tmp_path / "learner")
    assert load(tmp_path / "learner").noise == BY_NAME
    log = FeedbackLog(X, history.actions, history.feedback, np.full(len(X), 1 / 3), classes=NAMES)
    with pytest.warns(RuntimeWarning):  # the probabilities are not those it was played with
        assert off_policy_value(log, learner, BY_NAME) == off_policy_value(log, learner, NOISES)
    assert learner.use_noise(dict(zip(NAMES, reversed(NOISES)))).noise_ == NOISES[::-1]


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ({"cat": NOISES[0]}, r"noise is given for \['cat'\]; one for each of the classes \['cat', \('dog', 2\), 7\]"),
        ({**BY_NAME, "eel": NOISES[0]}, "noise is given for .*'eel'"),
        ({}, r"noise is given for \[\]"),
        ({**BY_NAME, 7: 0.1}, "FlipMatrix of two classes.*; this is 0.1"),
        ("cat", "FlipMatrix of two classes.*; this is 'cat'"),
        (FlipMatrix.none(3), "FlipMatrix of two classes.*; this is one of 3 classes"),
    ],
)
def test_noise_that_leaves_an_action_out_is_refused(noise, message):
    with pytest.raises(ValueError, match=message):
        recipes.ucwl(classes=NAMES, noise=noise)


@pytest.mark.parametrize(
    "some",
    [
        list,
        tuple,
        set,
        iter,
        dict.fromkeys,
        lambda names: pd.Series(names, dtype=object),
        lambda names: np.array(names),
    ],
)
def test_actions_may_be_listed_in_any_way(some):
    learner = recipes.ucwl(classes=["cat", "dog", "eel"])
    assert learner.decide([1.0, 2.0], actions=some(["dog"])).action == "dog"
    assert learner.decide([1.0, 2.0], actions=pl.Series(["eel"])).action == "eel"


@pytest.mark.parametrize("strange", ["eel", 8, None, float("nan"), pd.NA, ["cat"], ("dog", [2])])
def test_an_action_that_does_not_exist_is_refused_as_an_action(strange):
    X, y = rounds(3)
    learner = recipes.linucb(classes=NAMES, random_state=0)
    learner.play(X, y)
    given = np.empty(3, dtype=object)
    given[:] = ["cat", 7, strange]
    message = "the action .* is not among the classes \\['cat', \\('dog', 2\\), 7\\]"
    assert_refused(learner, lambda: learner.decide(X[0], actions=given), message)
    assert_refused(learner, lambda: learner.decide(X[0], actions=[strange]), message)
    assert_refused(learner, lambda: learner.learn_logged(X, given, [1, 0, 1], 0.5), message)
    assert_refused(learner, lambda: learner.play(X, given), message.replace("action", "label"))
    log = FeedbackLog(X, ["cat", 7, "cat"], [1, 0, 1], [0.5, 0.5, 0.5], classes=NAMES)
    with pytest.raises(ValueError, match=message):
        off_policy_value(log, given)


@pytest.mark.parametrize("given", [None, "cat", 7, np.array(7)])
def test_one_action_for_all_rows_is_refused(given):
    X, _ = rounds(3)
    learner = recipes.linucb(classes=NAMES)
    assert_refused(learner, lambda: learner.learn_logged(X, given, [1, 0, 1], 0.5), "one action for each row is needed")
    assert_refused(learner, lambda: learner.play(X, given), "one label for each row is needed")


def test_probabilities_that_are_no_numbers_are_refused():
    X, y = rounds(3)
    learner = recipes.linucb(classes=NAMES)
    assert_refused(learner, lambda: learner.learn_logged(X, y, [1, 0, 1], "high"), "probabilities is 'high'; numbers")


@pytest.mark.parametrize("rates", [(0.95, 0.04), (0.04, 0.95), (0.49, 0.5)])
def test_an_action_with_uninformative_feedback_is_scored_by_elimination(rates):
    X, y = rounds(3000)
    noise = [FlipMatrix.binary(*rates), FlipMatrix.binary(0.1, 0.1), FlipMatrix.binary(0.1, 0.1)]
    learner = recipes.linucb(classes=NAMES, noise=noise)
    assert learner.play(X, y, noise=noise, rng=1).mistakes[-1000:].mean() < 0.05
    scores = learner.decision_function(X)
    np.testing.assert_allclose(scores[:, 0], 1 - np.maximum(scores[:, 1:], 0).sum(axis=1))


def test_feedback_of_low_signal_is_corrected_if_all_actions_have_it():
    X, y = rounds(3000)
    noise = FlipMatrix.binary(0.45, 0.45)
    raw, known = (recipes.linucb(classes=NAMES, noise=one, intercept=False) for one in (None, noise))
    for learner in (raw, known):
        learner.learn_logged(X, y, [1, 0] * 1500, 1.0)
    scores, baseline = np.split(X @ raw._weights(), 2, axis=1)
    np.testing.assert_allclose(known.decision_function(X), (scores - 0.45 * baseline) / 0.1)
