"""Bad input of the contextual bandit: one sentence, and nothing learnt."""

import numpy as np
import pytest
import scipy.sparse as sp

from noisewise import FlipMatrix
from noisewise.online import ContextualBandit, recipes
from refusals import assert_refused

GOOD = {"time": "noon", "age": 30}, [{"taste": "sweet", "price": 3.0}, {"taste": "salty", "price": 4.0}]
CALLS = [
    (GOOD[0], [], "there are no actions"),
    (GOOD[0], {}, "there are no actions"),
    (GOOD[0], [{"taste": "sweet", "price": float("nan")}], "feature 'price' of the action is nan"),
    ({"age": float("inf")}, GOOD[1], "feature 'age' of the context is inf"),
    (GOOD[0], [{"taste": 3.0}], "feature 'taste' of the action is 3.0; it was a category before"),
    (GOOD[0], [{"price": "cheap"}], "feature 'price' of the action is 'cheap'; it was a number before"),
    (GOOD[0], [{"made": object()}], "feature 'made' of the action is a object; numbers, words"),
    (GOOD[0], [{"made": 1j}], "feature 'made' of the action is a complex"),
    (GOOD[0], [{"new": 1.0, "big": 1e200}], "their squares overflow"),
    (GOOD[0], np.ones((2, 3)), "had names before"),
    ([1.0, 2.0], GOOD[1], "had names before"),
    (GOOD[0], "pasta", "a frame, an array, dicts or lists"),
    (GOOD[0], 3, "a frame, an array, dicts or lists"),
    (GOOD[0], [{"id": "a"}, {"id": "a"}], "two actions have the same name, 'a'"),
    (GOOD[0], [{"x": 1}, 3], "an action is given as 3; a dict of features or a row of numbers is needed"),
    (GOOD[0], ["tart", "soup"], "an action is given as 'tart'; a dict"),
    ("noon", GOOD[1], "features of the context"),
    (GOOD[0], [{}] * 100_001, "at most 100,000"),
]


@pytest.mark.parametrize(("context", "actions", "sentence"), CALLS, ids=[call[2][:30] for call in CALLS])
@pytest.mark.parametrize("started", [True, False])
def test_bad_features_are_refused(context, actions, sentence, started):
    bandit = ContextualBandit(random_state=0)
    if started:
        bandit.learn(bandit.decide(*GOOD), 1)
    elif "before" in sentence:
        return
    assert_refused(bandit, lambda: bandit.decide(context, actions), sentence)
    assert_refused(bandit, lambda: bandit.decide(context, actions, slots=1), sentence)


@pytest.mark.parametrize(
    ("context", "actions", "sentence"),
    [
        (np.ones(3), np.ones((2, 4)), "the context has 3 features; it had 2 before"),
        (np.ones(2), np.ones((2, 5)), "the action has 5 features; it had 4 before"),
        (np.ones(2), np.full((2, 4), np.nan), "is NaN, infinite or too large"),
        (np.ones(2), sp.csr_array(np.full((2, 4), np.inf)), "is NaN, infinite or too large"),
        (np.ones((3, 2)), np.ones((2, 4)), "the context has 3 rows"),
        (np.ones(2), np.ones(4), "a row for each is needed"),
        (np.ones(2), np.full((2, 4), "a"), "numbers are needed"),
        (np.ones(2), np.ones((0, 4)), "there are no actions"),
    ],
)
def test_bad_arrays_are_refused(context, actions, sentence):
    bandit = ContextualBandit(random_state=0)
    bandit.learn(bandit.decide(np.ones(2), np.ones((2, 4))), 1)
    assert_refused(bandit, lambda: bandit.decide(context, actions), sentence)


@pytest.mark.parametrize(
    ("options", "reward", "sentence"),
    [
        ({}, 1.5, "the reward is 1.5; it lies between 0 and 1"),
        ({"rewards": (-1, 1)}, -2, "the reward is -2; it lies between -1 and 1"),
        ({"costs": True}, 2, "the cost is 2; it lies between 0 and 1"),
        ({}, "good", "the reward is 'good'"),
        ({}, np.inf, "the reward is inf"),
        ({}, {"click": 1}, "the reward is {'click': 1}"),
        ({"outcomes": {"click": 0.5}}, {"buy": 1}, "counts of 'click' are needed"),
        ({"outcomes": {"click": 0.5}}, {"click": 3}, "the reward is 1.5"),
        ({"noise": {"ann": FlipMatrix.binary(0.1, 0.1)}}, 1, "the person is None; noise is known of"),
    ],
)
def test_bad_rewards_are_refused(options, reward, sentence):
    bandit = ContextualBandit(random_state=0, **options)
    decision = bandit.decide(*GOOD)
    assert_refused(bandit, lambda: bandit.learn(decision, reward), sentence)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"policy": "greedy"}, "ThompsonSampling"),
        ({"interactions": "all"}, "interactions is 'all'"),
        ({"covariance": "none"}, "covariance is 'none'"),
        ({"rewards": (1, 0)}, "it is an interval"),
        ({"rewards": 1}, "it is an interval"),
        ({"outcomes": {}}, "a weight for each"),
        ({"noise": 0.1}, "the noise of rewards"),
        ({"noise": FlipMatrix.none(3)}, "the noise of rewards"),
        ({"memory": 1}, "memory is 1"),
        ({"missing": "perhaps"}, "missing is 'perhaps'"),
        ({"ridge": 0}, "ridge is 0"),
        ({"hash_bits": 3}, "hash_bits is 3"),
        ({"hash_bits": 12, "covariance": "full"}, "needs hash_bits=None"),
        ({"random_state": -1}, "random_state is -1"),
        ({"noise": {"sweet": FlipMatrix.binary(0.1, 0.1)}, "noise_by": "colour"}, "no feature 'colour'"),
    ],
)
def test_bad_parameters_are_refused_with_the_first_decision(options, sentence):
    bandit = ContextualBandit(**options)
    assert_refused(bandit, lambda: bandit.decide(*GOOD), sentence)


def test_decisions_of_others_and_damaged_ones_are_refused():
    bandit, other = ContextualBandit(random_state=0), ContextualBandit(random_state=0)
    decision, foreign = bandit.decide(*GOOD), other.decide(*GOOD)
    plain = recipes.linucb(2).decide([1.0])
    for wrong, sentence in [
        (foreign, "another learner"),
        (plain, "takes the ActionDecision"),
        (None, "takes the ActionDecision"),
        (decision._replace(id=7), "was not made by this learner"),
        (decision._replace(id="0"), "not a whole number"),
        (decision._replace(features=([0, 99], [1.0, 1.0])), "features is damaged"),
        (decision._replace(context=([0], [np.nan])), "not finite"),
    ]:
        assert_refused(bandit, lambda wrong=wrong: bandit.learn(wrong, 1), sentence)


def test_a_bad_round_in_a_log_leaves_nothing_of_it(monkeypatch):
    monkeypatch.setattr("noisewise.online.actions.bandit.BLOCK", 2)
    bandit = ContextualBandit(random_state=0)
    contexts, meals = [GOOD[0]] * 4, [GOOD[1][0]] * 3
    log = contexts, [*meals, {"taste": 5.0}], [1, 0, 1, 1]
    assert_refused(bandit, lambda: bandit.learn_logged(*log), "it was a category before")
    bandit.learn(bandit.decide(*GOOD), 1)
    assert_refused(bandit, lambda: bandit.learn_logged(*log), "it was a category before")
    assert_refused(bandit, lambda: bandit.learn_logged(contexts, meals, [1, 1, 1]), "3 actions have 4 contexts")
    assert_refused(bandit, lambda: bandit.learn_logged(contexts[:3], meals, [1, 1, 2]), "it lies between 0 and 1")
