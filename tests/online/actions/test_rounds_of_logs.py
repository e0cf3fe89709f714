"""Logs of decisions among actions with features: out, in, learnt from, and used to value policies."""

import json

import numpy as np
import pytest

from noisewise import FlipMatrix
from noisewise.online import (
    ContextualBandit,
    Greedy,
    ThompsonSampling,
    UniformExploration,
    iter_dsjson,
    iter_vw,
    logged_round,
    off_policy_action_value,
    write_dsjson,
    write_vw,
)

MEALS = [
    {"id": "pasta", "taste": "salty", "price": 9.5},
    {"id": "tart", "taste": "sweet", "price": 4.0},
    {"id": "curry", "taste": "hot", "price": 11.0},
]


def expected_reward(context, meal):
    """Between 0 and 1: sweet meals at night, cheap ones else."""
    return 0.9 if (context["time"] == "night") == (meal["taste"] == "sweet") else 0.2


def play(bandit, n, seed=0, flips=0.0, graded=True):
    """The rounds of a log, as a bandit plays and learns."""
    rng = np.random.default_rng(seed)
    rounds = []
    for _ in range(n):
        context = {"time": str(rng.choice(["noon", "night"])), "age": int(rng.integers(18, 80))}
        meals = [MEALS[index] for index in rng.permutation(3)[: rng.integers(2, 4)]]
        decision = bandit.decide(context, meals)
        mean = expected_reward(context, meals[decision.position])
        reward = round(rng.uniform(mean - 0.1, mean + 0.1), 3) if graded else float(rng.random() < mean)
        if rng.random() < flips:
            reward = 1 - reward
        bandit.learn(decision, reward)
        rounds.append(logged_round(decision, context, meals, reward))
    return rounds


FORMATS = {
    "adf": (
        lambda rounds, path: write_vw(rounds, path, layout="adf"),
        lambda path, **options: iter_vw(path, layout="adf", **options),
    ),
    "dsjson": (write_dsjson, iter_dsjson),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_graded_rounds_are_read_back_and_learnt_as_they_were(kind, tmp_path):
    bandit = ContextualBandit(random_state=0)
    rounds = play(bandit, 64)
    write, read = FORMATS[kind]
    write(rounds, tmp_path / "log")
    again = list(read(tmp_path / "log", rewards=(0, 1)))
    assert [one.feedback for one in again] == pytest.approx([one.feedback for one in rounds], abs=1e-12)
    assert [one.features for one in again] == [one.features for one in rounds]
    logged = ContextualBandit().learn_rounds(again)
    bandit.model_.solve()
    context = {"time": "night", "age": 50}
    np.testing.assert_allclose(logged.predict(context, MEALS), bandit.predict(context, MEALS), atol=1e-8)
    with pytest.raises(ValueError, match="rewards=\\(0, 1\\)"):
        list(read(tmp_path / "log"))
    with pytest.raises(ValueError, match=r"a reward of .*; it lies between 0 and 0.1"):
        list(read(tmp_path / "log", rewards=(0, 0.1)))


def test_vowpal_wabbit_reads_every_line(tmp_path):
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    rounds = play(ContextualBandit(random_state=0), 30)
    write_vw(rounds, tmp_path / "log.txt", layout="adf")
    write_dsjson(rounds, tmp_path / "log.json")
    for options in (f"-d {tmp_path}/log.txt", f"-d {tmp_path}/log.json --dsjson"):
        model = vowpalwabbit.Workspace(f"--cb_explore_adf -q :: {options} --quiet")
        assert model.get_weighted_examples() == 30
        reported = model.get_sum_loss()
        assert np.isfinite(reported)
        assert reported != 0
        model.finish()


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
@pytest.mark.parametrize("flips", [0.0, 0.2])
def test_values_of_policies_are_those_they_have(method, flips):
    rounds = play(ContextualBandit(UniformExploration(1.0), random_state=0), 3000, flips=flips)
    noise = FlipMatrix.binary(flips, flips) if flips else None

    def right(one):
        sweet = [choice.features.get("taste=sweet", 0) for choice in one.offered]
        return int(np.argmax(sweet) if "time=night" in one.features else np.argmin(sweet))

    means = []
    for one in rounds:
        time = "night" if "time=night" in one.features else "noon"
        taste = "sweet" if "taste=sweet" in one.offered[right(one)].features else "other"
        means.append(expected_reward({"time": time}, {"taste": taste}))
    value = off_policy_action_value(rounds, right, noise=noise, method=method, confidence=0.999)
    assert value.low < np.mean(means) < value.high
    assert value.high - value.low < 0.25


def test_the_value_of_a_learner_is_that_of_its_probabilities():
    rounds = play(ContextualBandit(UniformExploration(1.0), random_state=0), 400)
    target = ContextualBandit(ThompsonSampling(), random_state=1)
    play(target, 100, seed=5)

    def probabilities(one):
        return target.probabilities(one.features, [choice.features for choice in one.offered])

    of_learner, of_function = (
        off_policy_action_value(rounds, policy, method="ips") for policy in (target, probabilities)
    )
    assert of_learner == of_function
    greedy = ContextualBandit(Greedy(), random_state=1)
    play(greedy, 300, seed=5)
    assert off_policy_action_value(rounds, greedy).low > np.mean([one.feedback for one in rounds])


def test_rewards_below_zero_and_binary_costs():
    rounds = [
        one._replace(feedback=2 * one.feedback - 1)
        for one in play(ContextualBandit(UniformExploration(1.0), random_state=0), 300)
    ]
    plain = off_policy_action_value([one._replace(feedback=(one.feedback + 1) / 2) for one in rounds], lambda one: 0)
    assert off_policy_action_value(rounds, lambda one: 0, rewards=(-1, 1)) == pytest.approx(2 * plain - 1, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"policy": lambda one: 7}, "the policy gave 7"),
        ({"policy": lambda one: [0.5, 0.4]}, "sum to 1"),
        ({"method": "magic"}, "method is 'magic'"),
        ({"rewards": (0, 0.1)}, "it lies between 0 and 0.1"),
        ({"rounds": []}, "two or more"),
        ({"confidence": 2}, "confidence is 2"),
    ],
)
def test_bad_arguments_are_refused(options, sentence):
    given = {"rounds": play(ContextualBandit(random_state=0), 5), "policy": lambda one: 0, **options}
    with pytest.raises(ValueError, match=sentence):
        off_policy_action_value(**given)


def test_a_round_needs_the_offer_it_was_played_from():
    decision = ContextualBandit(random_state=0).decide({}, MEALS)
    with pytest.raises(ValueError, match="was played, which is not action"):
        logged_round(decision, {}, [{"id": "other"}] * 1, 1)
    plain = next(iter_vw(["1:-1:0.5 | a"]))
    with pytest.raises(ValueError, match="a log in ADF layout does"):
        ContextualBandit().learn_rounds([plain])


def test_dsjson_keeps_the_reward_beside_the_cost(tmp_path):
    write_dsjson(play(ContextualBandit(random_state=0), 1), tmp_path / "log")
    event = json.loads((tmp_path / "log").read_text())
    assert event["_label_cost"] == -event["o"][0]["v"]
