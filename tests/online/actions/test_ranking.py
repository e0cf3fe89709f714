"""Decisions whose log is kept elsewhere: ranking changes nothing, and what is learnt is what `decide` would have."""

import numpy as np
import pytest

from noisewise.online import ContextualBandit, UniformExploration, decision_of, know_offer, rank_offer, reasons
from noisewise.online.actions import features
from noisewise.online.actions.features import FeatureIndex
from noisewise.online.actions.offers import as_offer
from refusals import same, state_of

MEALS = [{"id": "tart", "taste": "sweet", "price": 4.0}, {"id": "soup", "taste": "salty", "price": 6.0}]


def taught(n=30, **options):
    bandit, rng = ContextualBandit(random_state=0, **options), np.random.default_rng(0)
    for _ in range(n):
        context = {"time": str(rng.choice(["noon", "night"])), "age": float(rng.normal())}
        decision = bandit.decide(context, MEALS)
        bandit.learn(decision, float((decision.action == "tart") == (context["time"] == "noon")))
    return bandit


def test_ranking_leaves_no_trace_and_gives_the_probabilities_of_the_policy():
    bandit = taught()
    before = state_of(bandit)
    offer = as_offer([*MEALS, {"id": "pie", "taste": "sour", "size": 3.0}])  # with features that are new
    ranked = rank_offer(bandit, [{"time": "noon", "day": "Monday"}], offer, 0.5)
    assert ranked.is_new
    assert same(before, state_of(bandit))
    expected = bandit.probabilities({"time": "noon", "day": "Monday"}, offer.features, offer.names)
    np.testing.assert_array_equal(ranked.probabilities, expected)
    np.testing.assert_array_equal(
        ranked.means, bandit.predict({"time": "noon", "day": "Monday"}, offer.features, offer.names)
    )
    assert not rank_offer(bandit, [{"time": "noon"}], as_offer(MEALS), 0.5).is_new


@pytest.mark.parametrize("exploration", [0.0, 0.3, 1.0])
def test_exploration_mixes_a_policy_with_a_uniform_one(exploration):
    bandit = taught(policy=UniformExploration(0.2))
    ranked = rank_offer(bandit, [{"time": "noon"}], as_offer(MEALS), 0.999, exploration)
    low = (1 - exploration) * 0.1 + exploration / 2
    assert sorted(ranked.probabilities) == pytest.approx([low, 1 - low])
    assert ranked.position == 1  # the draw is at the end


def test_following_a_log_is_deciding_and_learning():
    bandit, other = ContextualBandit(random_state=3), ContextualBandit(random_state=3)
    rng = np.random.default_rng(1)
    for number in range(40):
        context = {"user": f"u{rng.integers(6)}"}
        offered = [{"id": f"m{number + k}", "kind": f"k{rng.integers(5)}", "price": rng.random()} for k in range(3)]
        decision = bandit.decide(context, offered)
        reward = float(rng.random())
        bandit.learn(decision, reward)
        offer = as_offer(offered)
        know_offer(other, [context], offer)
        other.n_decisions_ = number + 1
        played = as_offer([offered[decision.position]])
        other.learn(decision_of(other, [context], played, decision.probability, number), reward)
    np.testing.assert_array_equal(bandit.model_.weights, other.model_.weights)


@pytest.mark.parametrize("options", [{}, {"covariance": "diagonal"}, {"interactions": None}, {"costs": True}], ids=str)
def test_reasons_add_up_to_what_an_action_has_beyond_the_mean(options):
    bandit, context, offer = taught(**options), {"time": "noon", "age": 0.5}, as_offer(MEALS)
    expected = bandit.predict(context, MEALS)
    for position in range(2):
        found = reasons(bandit, [context], offer, position)
        assert sum(value for _, _, value in found) == pytest.approx(expected[position] - expected.mean())
        assert [abs(value) for _, _, value in found] == sorted((abs(value) for _, _, value in found), reverse=True)


def test_an_action_whose_features_have_changed_is_encoded_anew():
    index, record = FeatureIndex("action"), {"price": 1.0, "tags": ["new"]}
    names = ["tart"]
    for _ in range(3):
        assert index.rows([record], None, names).values.tolist() == [1.0, 1.0, 1.0]
    record["price"] = 2.0
    assert index.rows([record], None, names).values.tolist() == [1.0, 2.0, 1.0]
    record["tags"].append("cold")
    assert len(index.rows([record], None, names).values) == 4
    with pytest.raises(ValueError, match="it was a number before"):
        index.rows([{"price": "cheap"}], None, names)


def test_features_beyond_the_most_share_columns(monkeypatch):
    monkeypatch.setattr(features, "MOST_COLUMNS", 10)
    bandit = ContextualBandit(random_state=0)
    for number in range(40):
        bandit.learn(bandit.decide({f"c{number}": 1.0}, [{"kind": f"k{number}"}, {"kind": "k0"}]), number % 2)
    for side in (bandit.encoder_.contexts, bandit.encoder_.actions):
        assert side.n_columns == 10
    assert len(bandit.model_.weights) == 100


def test_numbers_too_large_for_a_float_are_refused():
    bandit = taught(5)
    before = state_of(bandit)
    for large in (10**400, float("inf"), float("nan"), 1e200):
        for key in ("age", "new"):
            with pytest.raises(ValueError, match=r"large|drop it or fill it in"):
                bandit.decide({key: large}, MEALS)
    assert same(before, state_of(bandit))
