"""Models with action features: decisions among what is on offer, rewards, and nothing learnt from what is refused."""

import asyncio
import json
import random
from collections import Counter

import numpy as np
import pytest

from noisewise.online import ChangeWatch, ContextualBandit
from noisewise.serve import Store, replay
from noisewise.serve.api.monitoring import ServiceMetrics
from noisewise.serve.models.offer_spec import OfferRequest, OfferSpec
from noisewise.serve.models.report import report, summary
from offers import liked, make_offers, play, situation
from serve_app import service, serving, settled


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"policy": "inverse_gap_weighting", "memory": 50.0},
        {"policy": "upper_confidence", "options": {"per_action": True, "width_in_std": 0.5}},
        {"options": {"hash_bits": 10}},
        {"memory": "0.5s"},
        {"missing": "auto"},
        {"watch": True},
        {"options": {"interactions": None}, "reward_range": [-1.0, 1.0]},
    ],
    ids=str,
)
def test_a_model_equals_the_library_its_replay_and_itself_after_a_restart(tmp_path, spec):
    url = f"sqlite:///{tmp_path}/log.db"

    async def run():
        async with service(url) as one:
            model, _ = await one.create("meals", OfferSpec(actions="features", **spec))
            same = None
            if not isinstance(model.spec.memory, str):  # the times of the feedback are in the log alone
                same = ContextualBandit(**{**model.learner.get_params(), "random_state": model.spec.seed})
            await play(one, model, 70, random.Random(0), same)
            if same is not None:
                np.testing.assert_array_equal(model.learner.model_.weights, same.model_.weights)
            live, counts = model.model_file(), vars(model.progress).copy()
        async with service(url) as one:
            model = await one.model("meals")
            assert model.model_file() == live
            assert model.progress.by_action()
            assert model.progress.n_right == counts["n_right"]
            await play(one, model, 30, random.Random(1))
            return model.model_file()

    live = asyncio.run(run())
    store = Store(url)
    assert replay(store, "meals").model_file() == live
    store.close()


def test_taste_that_depends_on_context_and_action_is_learnt_though_items_come_and_go(tmp_path):
    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            model, _ = await one.create("meals", OfferSpec(actions="features"))
            return await play(one, model, 200, random.Random(2))

    rewards = asyncio.run(run())
    assert np.mean(rewards[-100:]) > 0.9  # drawn uniformly, a half


def test_many_features_make_the_covariance_diagonal_and_a_replay_the_same(tmp_path):
    url, rng = f"sqlite:///{tmp_path}/log.db", random.Random(3)

    async def run():
        async with service(url) as one:
            model, _ = await one.create("m", OfferSpec(actions="features"))
            for number in range(40):
                actions = [{f"x{rng.randrange(60)}": 1, "y": rng.random()} for _ in range(5)]
                context = {f"c{rng.randrange(40)}": "on"}
                made = await one.decide(model, OfferRequest(context=context, actions=actions))
                await one.feedback(model, made.decision_id, float(number % 2))
            assert not hasattr(model.learner.model_, "sigma")
            return model.model_file()

    live = asyncio.run(run())
    store = Store(url)
    assert replay(store, "m").model_file() == live
    store.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with serving(f"sqlite:///{tmp_path_factory.mktemp('offers')}/log.db") as one:
        one.put("/models/meals", json={"actions": "features"}).raise_for_status()
        rng = random.Random(4)
        for _ in range(60):
            context, actions = situation(rng)
            made = decide(one, context=context, actions=actions)
            played = next(action for action in actions if action["id"] == made["action"])
            give(one, made, reward=liked(context, played))
        yield one


def decide(client, model="meals", **body):
    response = client.post(f"/models/{model}/decide", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def give(client, made, model="meals", **body):
    response = client.post(f"/models/{model}/feedback", json={"decision_id": made["decision_id"], **body})
    assert response.status_code == 200, response.text
    return response.json()


ACTIONS = [{"id": "tart", "taste": "sweet", "price": 4}, {"id": "soup", "taste": "salty", "price": 6}]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"actions": []}, "there are no actions"),
        ({"actions": [{"price": 1}] * 10_000}, "there are 10,000 actions; at most 1,000"),
        ({"actions": ACTIONS, "context": {"age": "old"}}, "'age' of the context is 'old'; it was a number before"),
        ({"actions": [{"price": "cheap"}]}, "'price' of the action is 'cheap'; it was a number before"),
        ({"actions": ACTIONS, "context": {"x": 1e200}}, "their squares overflow"),
        ({"actions": [{"id": "a"}, {"x": 1}]}, "all or none have one"),
        ({"actions": [{"id": "a"}, {"id": "a"}]}, "two actions have the same id, 'a'"),
        ({"actions": [{"id": [1]}]}, "an action's id is [1]"),
        ({"actions": ACTIONS, "excluded": ["pie"]}, "pie is excluded, and not on offer"),
        ({"actions": ACTIONS, "excluded": ["tart", "soup"]}, "no action is left"),
        ({"actions": ["tart", "soup"], "context": {}}, "actions.0"),
        ({"actions": ACTIONS, "context": [1, 2]}, "context"),
        ({"features": [1, 2]}, "it needs a context and actions"),
        ({"actions": ACTIONS, "baseline": "pie"}, "the baseline 'pie' is not among the actions"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_offer_that_cant_be_read_is_refused_in_one_sentence(client, body, words):
    before = client.get("/models/meals/file").content
    response = client.post("/models/meals/decide", json=body)
    assert response.status_code == 422
    assert words in response.json()["detail"]
    assert client.get("/models/meals/file").content == before


def test_numbers_that_are_not_finite_are_refused(client):
    for number in ("NaN", "Infinity", "1e999"):
        text = f'{{"context": {{"age": {number}}}, "actions": [{{"price": 1}}]}}'
        response = client.post("/models/meals/decide", content=text, headers={"Content-Type": "application/json"})
        assert response.status_code == 422


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"reward": 1.5}, "it lies between 0 and 1"),
        ({"reward": "much"}, "reward"),
        ({"outcomes": {"click": 1}}, "a number is needed"),
        ({}, "exactly one of right, reward and outcomes"),
        ({"right": True, "reward": 1}, "exactly one of right, reward and outcomes"),
    ],
    ids=str,
)
def test_a_reward_that_cant_be_learnt_is_refused_and_leaves_the_decision_open(client, body, words):
    made = decide(client, context={}, actions=ACTIONS)
    response = client.post("/models/meals/feedback", json={"decision_id": made["decision_id"], **body})
    assert response.status_code == 422
    assert words in response.json()["detail"]
    assert give(client, made, reward=0.25) == {
        "decision_id": made["decision_id"],
        "status": "accepted",
        "right": None,
        "reward": 0.25,
    }
    assert give(client, made, reward=1)["status"] == "duplicate"


def test_models_of_rows_take_no_offers_and_no_rewards(client):
    client.put("/models/rows", json={"actions": ["a", "b"], "features": {"count": 1}}).raise_for_status()
    response = client.post("/models/rows/decide", json={"context": {}, "actions": ACTIONS})
    assert "it needs features" in response.json()["detail"]
    made = decide(client, "rows", features=[1])
    response = client.post("/models/rows/feedback", json={"decision_id": made["decision_id"], "reward": 1})
    assert (response.status_code, "right is needed" in response.json()["detail"]) == (422, True)


def test_the_reasons_of_a_decision_add_up_to_what_the_action_has_beyond_the_mean(client):
    context, actions = situation(random.Random(5))
    made = decide(client, context=context, actions=actions)
    found = client.get(f"/models/meals/decisions/{made['decision_id']}").json()
    scores = {one["action"]: one["score"] for one in found["scores"]}
    reasons = found["reasons"]
    assert sum(one["contribution"] for one in reasons) == pytest.approx(
        scores[made["action"]] - np.mean(list(scores.values())), abs=1e-5
    )
    assert "taste" in reasons[0]["action"]
    assert "time" in reasons[0]["context"]
    assert sum(one["probability"] for one in found["scores"]) == pytest.approx(1)
    assert found["context"] == context


def test_excluded_actions_are_never_played_and_actions_without_ids_are_their_positions(client):
    for _ in range(20):
        assert decide(client, context={}, actions=ACTIONS, excluded=["tart"])["action"] == "soup"
    unnamed = [{"taste": "sweet"}, {"taste": "salty"}, {"taste": "sour"}]
    assert decide(client, actions=unnamed, excluded=[0, 2])["action"] == 1


def test_outcomes_make_a_reward_and_costs_are_the_other_way_round(client):
    weights = {"click": 0.2, "purchase": 0.8}
    client.put("/models/shop", json={"actions": "features", "outcomes": weights}).raise_for_status()
    made = decide(client, "shop", actions=ACTIONS)
    assert give(client, made, "shop", outcomes={"click": 1, "purchase": 0})["reward"] == pytest.approx(0.2)
    found = client.get(f"/models/shop/decisions/{made['decision_id']}").json()["answer"]
    assert found["outcomes"] == {"click": 1, "purchase": 0}
    client.put("/models/costs", json={"actions": "features", "costs": True, "reward_range": [0, 10]}).raise_for_status()
    for _ in range(20):
        made = decide(client, "costs", actions=ACTIONS)
        give(client, made, "costs", reward=8.0 if made["action"] == "tart" else 2.0)
    played = [decide(client, "costs", actions=ACTIONS)["action"] for _ in range(10)]
    assert played.count("soup") >= 9
    made = decide(client, "costs", actions=ACTIONS)
    assert give(client, made, "costs", right=True)["reward"] == 0.0


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"reward_range": [1, 0]}, "it is an interval"),
        ({"policy": "greedy", "options": {"width_in_std": 1}}, "greedy has no width_in_std"),
        ({"options": {"hash_bits": 10, "covariance": "full"}}, "hashed features have a diagonal covariance"),
        ({"default_reward": 3}, "it lies between 0 and 1"),
        ({"memory": "some days"}, "a time such as '7d'"),
        ({"rewards": "sum"}, "needs wait_seconds"),
        ({"people": True}, "there is no such field"),
        ({"noise": {"false_positive": 0.5, "false_negative": 0.5}}, "the rates sum to"),
    ],
    ids=str,
)
def test_impossible_specifications_are_refused(client, spec, words):
    response = client.put("/models/impossible", json={"actions": "features", **spec})
    assert (response.status_code, words in response.json()["detail"]) == (422, True), response.text


def test_an_apprentice_plays_the_baseline_learns_from_it_and_says_how_often_it_agrees(client):
    client.put("/models/young", json={"actions": "features", "mode": "apprentice"}).raise_for_status()
    rng = random.Random(6)
    for _ in range(60):
        context, actions = situation(rng)
        actions.sort(key=lambda action: -liked(context, action))  # the baseline knows what is liked
        made = decide(client, "young", context=context, actions=actions)
        assert (made["action"], made["probability"]) == (actions[0]["id"], 1.0)
        give(client, made, "young", reward=liked(context, actions[0]) * rng.choice([0.5, 1]))
    made = decide(client, "young", actions=ACTIONS, baseline="soup")
    assert made["action"] == "soup"
    found = client.get("/models/young").json()
    assert 0 <= found["agreement"]["low"] <= found["agreement"]["value"] <= 1
    assert found["counts"]["answers"] == 60
    client.patch("/models/young", json={"mode": "online", "policy": "greedy"}).raise_for_status()
    assert client.get("/models/young").json()["recipe"] == "greedy"
    assert decide(client, "young", actions=ACTIONS)["probability"] == 1.0


def test_rewards_are_summed_and_missing_ones_have_a_default_when_the_wait_is_over(tmp_path):
    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            spec = OfferSpec(actions="features", rewards="sum", wait_seconds=0.3, default_reward=0.1)
            model, _ = await one.create("m", spec)
            names = []
            for _ in range(2):
                made = await one.decide(model, OfferRequest(actions=ACTIONS))
                names.append(made.decision_id)
            for value in (0.25, 0.5, 3.0, -3.0):
                await one.reward(model, names[0], value)
            for _ in range(200):
                if model.progress.n_feedback == 2:
                    break
                await asyncio.sleep(0.05)
            return sorted(model.progress._recent()[:, 1].tolist()), model.progress.n_defaults

    assert asyncio.run(run()) == ([0.1, 0.75], 1)


def test_a_model_that_hears_only_the_highest_reward_decides_uniformly_and_says_why(client):
    client.put("/models/praise", json={"actions": "features", "policy": "greedy"}).raise_for_status()
    for number in range(40):
        made = decide(client, "praise", actions=ACTIONS)
        if number % 2:
            give(client, made, "praise", reward=1)
    assert decide(client, "praise", actions=ACTIONS)["probability"] == 0.5
    assert "default_reward" in client.get("/models/praise").json()["warning"]


def test_noise_is_estimated_by_person_and_reported(client):
    client.put("/models/crowd", json={"actions": "features", "noise": "estimate"}).raise_for_status()
    rng = random.Random(7)
    for number in range(300):
        context, actions = situation(rng)
        made = decide(client, "crowd", context=context, actions=actions)
        played = next(action for action in actions if action["id"] == made["action"])
        contrary = number % 4 == 0
        value = liked(context, played)
        give(client, made, "crowd", reward=1 - value if contrary else value, person="contrary" if contrary else "ann")
    groups = {one["group"]: one["signal"] for one in client.get("/models/crowd").json()["groups"]}
    assert groups["contrary"] < groups["ann"]


def test_additive_noise_is_estimated_by_person_and_may_leave_the_interval(tmp_path, rng):
    people = {"careful": 0.05, "careless": 0.8}

    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            model = await make_offers(one, noise="additive")
            source = random.Random(0)
            for number in range(500):
                context, actions = situation(source)
                made = await one.decide(model, OfferRequest(context=context, actions=actions))
                person = list(people)[number % 2]
                given = liked(context, actions[made.code]) + people[person] * rng.normal()
                await one.feedback(model, made.decision_id, given, person)
            await settled(model)
            return model.model_file(), report(model, Counter())["groups"]

    live, found = asyncio.run(run())
    variances = {one["group"]: one["variance"] for one in found}
    assert 3 * variances["careful"] < variances["careless"]
    assert {one["group"]: one["weight"] for one in found}["careless"] < 1
    store = Store(f"sqlite:///{tmp_path}/log.db")
    assert replay(store, "meals").model_file() == live
    store.close()


def test_a_change_of_the_noise_is_in_the_summary_and_in_the_metrics(tmp_path, rng):
    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            watched = await make_offers(one, watch=True)
            await make_offers(one, "unwatched")
            await play(one, watched, 5, random.Random(0))
            before = summary(watched, Counter())["change"]
            expected, rates = rng.random(4000), np.repeat([0.05, 0.3], 2000)
            rewards = (rng.random(4000) < expected) ^ (rng.random(4000) < rates)
            watched.learner.watch_ = ChangeWatch(first_rounds=0)
            watched.learner.watch_.observe(expected, rewards)
            metrics = {one.name: one.samples for one in ServiceMetrics(one).collect()}["noisewise_model_changed"]
            assert [(sample.labels["model"], sample.value) for sample in metrics] == [("meals", 1.0)]
            return before, summary(watched, Counter())["change"], watched.learner.watch_.change()

    before, shown, found = asyncio.run(run())
    assert before is None
    assert shown == str(found)
    assert shown.startswith(f"from round {found.round:,} on rewards follow")


def test_the_log_has_the_request_as_it_came(client):
    text = json.dumps({"context": {"time": "noon"}, "actions": ACTIONS, "decision_id": "mine"}, indent=3)
    headers = {"Content-Type": "application/json"}
    client.post("/models/meals/decide", content=text, headers=headers).raise_for_status()
    again = client.post("/models/meals/decide", content=text, headers=headers).json()
    found = client.get("/models/meals/decisions/mine").json()
    assert (found["action"], found["probability"]) == (again["action"], again["probability"])


def test_bodies_with_strange_json_are_refused_or_read_whole(client):
    def body(context, *actions):
        return '{"context": ' + context + ', "actions": [' + ", ".join(actions) + "]}"

    many = [json.dumps({"id": f"meal {k}", "price": k}, separators=(",", " : ")) for k in range(200)]
    one, nested = '{"price": 1}', "[" * 1000 + "1" + "]" * 1000
    texts = {
        body("{}", *many): 200,
        body("{}", *many, '{"id": "x", "price": 1, "price": 2}'): 422,
        body('{"a": ' + nested + "}", one): 400,
        body('{"a": 1' + 400 * "0" + "}", one): 422,
        body('{"a": "' + 5000 * "x" + '"}', one): 200,
        body('{"b": "\\ud800"}', one): 422,
    }
    for text, status in texts.items():
        response = client.post("/models/meals/decide", content=text, headers={"Content-Type": "application/json"})
        assert response.status_code == status, (text[:60], response.text[:300])
