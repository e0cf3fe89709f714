"""Open Bandit Pipeline's dict with features of actions: rounds in and out."""

import numpy as np
import pytest

from noisewise.online import (
    Choice,
    ContextualBandit,
    LoggedRound,
    UniformExploration,
    iter_open_bandit,
    logged_round,
    off_policy_action_value,
    to_open_bandit,
)


@pytest.fixture
def feedback(rng):
    """Rounds of a uniform policy over four actions, two slots; the reward is the product of two features."""
    n, actions = 400, np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, -1.0]])
    context, action, position = rng.normal(size=(n, 3)), rng.integers(4, size=n), rng.integers(2, size=n)
    reward = np.clip(0.5 + 0.2 * context[:, 0] * (actions[action, 0] - 1.5), 0, 1)
    return {
        "n_rounds": n,
        "n_actions": 4,
        "context": context,
        "action_context": actions,
        "action": action,
        "position": position,
        "reward": reward,
        "pscore": np.full(n, 0.25),
        "pi_b": np.full((n, 4, 2), 0.25),
    }


def test_rounds_come_back_as_they_were(feedback):
    back = to_open_bandit(iter_open_bandit(feedback))
    for key in ("context", "action_context", "action", "position", "reward", "pscore"):
        np.testing.assert_array_equal(back[key], feedback[key], err_msg=key)
    first = feedback | {"position": None, "pi_b": feedback["pi_b"][:, :, :1]}
    back = to_open_bandit(iter_open_bandit(first))
    assert back["position"] is None
    np.testing.assert_array_equal(back["pi_b"], first["pi_b"])


def test_rounds_have_features_slots_and_propensities(feedback):
    rounds = list(iter_open_bandit(feedback, classes=["a", "b", "c", "d"]))
    for n in (0, 7, 399):
        one = rounds[n]
        expected = {str(j): x for j, x in enumerate(feedback["context"][n])}
        assert one.features == expected | ({"slot=2": 1.0} if feedback["position"][n] else {})
        assert one.action == "abcd"[feedback["action"][n]]
        assert one.offered[1] == Choice("b", {"0": 1.0, "1": 0.5}, 0.25)


def test_a_learner_and_an_evaluation_take_them(feedback):
    rounds = list(iter_open_bandit(feedback))
    learner = ContextualBandit(random_state=0).learn_rounds(rounds)
    by_hand = ContextualBandit(random_state=0)
    slots = [{"slot": "2"} if position else {} for position in feedback["position"]]
    named = [{str(j): x for j, x in enumerate(row)} | slot for row, slot in zip(feedback["context"], slots)]
    by_hand.learn_logged(named, [rounds[0].offered[k].features for k in feedback["action"]], feedback["reward"])
    offered = [choice.features for choice in rounds[0].offered]
    context = {"0": 1.0, "1": 0.0, "2": 0.0}
    np.testing.assert_allclose(learner.predict(context, offered), by_hand.predict(context, offered), atol=1e-9)
    value = off_policy_action_value(rounds, lambda one: 3 if one.features["0"] > 0 else 0)
    assert value.low > feedback["reward"].mean()


def test_what_a_learner_played_goes_out():
    bandit, rounds = ContextualBandit(UniformExploration(1.0), random_state=0), []
    meals = [{"id": "tart", "taste": "sweet"}, {"id": "soup", "price": 5.0}]
    for number in range(6):
        context = {"age": 20.0 + number}
        rounds.append(logged_round(bandit.decide(context, meals), context, meals, reward=0.5))
    out = to_open_bandit(rounds)
    assert out["actions"] == ["tart", "soup"]
    assert (out["context_names"], out["action_context_names"]) == (["age"], ["price", "taste=sweet"])
    assert out["context"].ravel().tolist() == [20.0, 21.0, 22.0, 23.0, 24.0, 25.0]
    assert out["action_context"].tolist() == [[0.0, 1.0], [5.0, 0.0]]
    np.testing.assert_array_equal(out["pi_b"], np.full((6, 2, 1), 0.5))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"action_context": None}, "action_context has shape"),
        ({"action_context": np.zeros((3, 2))}, "4 rows of finite numbers"),
        ({"context": np.full((400, 2), np.nan)}, "context has shape"),
        ({"reward": np.full(400, 3.0)}, "a reward between 0 and 1"),
        ({"reward": np.zeros(3)}, "each round needs"),
        ({"pscore": None}, "pscore missing"),
    ],
)
def test_bad_dicts_are_refused_before_the_first_round(feedback, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        iter_open_bandit(feedback | change)


def test_offers_that_change_and_plain_rounds_do_not_go_out():
    first = LoggedRound({}, "a", 1.0, 0.5, (Choice("a", {"x": 1.0}), Choice("b")))
    with pytest.raises(ValueError, match="change from round to round"):
        to_open_bandit([first, first._replace(offered=(Choice("a", {"x": 2.0}), Choice("b")))])
    with pytest.raises(ValueError, match="on offer are needed"):
        to_open_bandit([first._replace(offered=())])
    with pytest.raises(ValueError, match="dropped with probability"):
        to_open_bandit([first._replace(dropped=0.5)])
