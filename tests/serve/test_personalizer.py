"""Personalizer's calls with its defaults, as its clients use them, and with both of its published clients."""

import random
import time

import pytest

from serve_app import serving

SHORT = {"rewardWaitTime": "PT5S", "explorationPercentage": 0.1}
ACTIONS = [{"id": name} for name in ("tea", "coffee", "juice")]
RANK, CONFIGURATION = "/personalizer/v1.0/rank", "/personalizer/v1.0/configurations/service"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with serving(f"sqlite:///{tmp_path_factory.mktemp('personalizer')}/log.db") as one:
        yield one


def rank(client, kind=0, **more):
    body = {"contextFeatures": [{"kind": f"k{kind}"}], "actions": ACTIONS, **more}
    response = client.post(RANK, json=body)
    assert response.status_code == 201, response.text
    return response.json()


def until(check, seconds=20):
    end = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < end, "it did not get there"
        time.sleep(0.05)
    return found


def counts(client):
    return client.get("/models/personalizer").json()["counts"]


def test_a_model_has_the_defaults_of_personalizer(client):
    rank(client)
    spec = client.get("/models/personalizer").json()["spec"]
    assert (spec["wait_seconds"], spec["default_reward"], spec["rewards"]) == (600.0, 0.0, "earliest")
    found = client.get(CONFIGURATION).json()
    assert (found["rewardWaitTime"], found["defaultReward"], found["rewardAggregation"]) == ("PT10M", 0.0, "earliest")


def test_clicks_alone_teach_no_less_than_clicks_and_zeros(tmp_path):
    """The actions wanted depend on the context; a reward is sent only when the wanted one is shown."""
    rng = random.Random(0)
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        wanted = {kind: ACTIONS[kind % 3]["id"] for kind in range(6)}
        for _ in range(120):
            kind = rng.randrange(6)
            made = rank(client, kind)
            if made["rewardActionId"] == wanted[kind]:
                client.post(f"/personalizer/v1.0/events/{made['eventId']}/reward", json={"value": 1})
        summary = client.get("/models/personalizer").json()
        assert summary["accuracy"] is None  # for ten minutes nothing but praise has come
        assert "only positive feedback" in summary["warning"]
        assert 'noisewise_model_one_kind{model="personalizer"} 1.0' in client.get("/metrics").text
        client.patch("/models/personalizer", json={"wait_seconds": 0.5, "exploration": 0.1}).raise_for_status()
        until(lambda: counts(client)["answers"] == 120)  # zeros for the rest
        assert counts(client)["defaults"] > 20
        summary = client.get("/models/personalizer").json()
        assert summary["warning"] is None
        right = 0
        for _ in range(60):
            kind = rng.randrange(6)
            made = rank(client, kind)
            right += made["rewardActionId"] == wanted[kind]
        assert right / 60 > 0.6  # uniform has 1/3


def test_a_model_that_hears_nothing_but_praise_stays_at_its_baseline(tmp_path):
    rng, shown = random.Random(1), []
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        spec = {"actions": ["a", "b", "c"], "features": {"count": 2}, "exploration": 0.05}
        client.put("/models/m", json=spec).raise_for_status()
        for _ in range(400):
            made = client.post("/models/m/decide", json={"features": [rng.gauss(0, 1), 1.0]}).json()
            shown.append(made["action"])
            if made["action"] == rng.choice("abc"):
                client.post("/models/m/feedback", json={"decision_id": made["decision_id"], "right": True})
        late = [shown[200:].count(action) / 200 for action in "abc"]
        assert max(abs(fraction - 1 / 3) for fraction in late) < 5 * (2 / 9 / 200) ** 0.5
        assert client.get("/models/m").json()["accuracy"] is None


@pytest.mark.parametrize("event", ["a/b/c", "with spaces", "größe-日本", "x" * 256, "100%", "a?b#c"])
def test_event_ids_may_be_anything_of_256_characters(client, event):
    from urllib.parse import quote

    assert rank(client, eventId=event)["eventId"] == event
    before = counts(client)["right"]
    address = f"/personalizer/v1.0/events/{quote(event, safe='')}/reward"
    assert client.post(address, json={"value": 1}).status_code == 204
    assert counts(client)["right"] == before + 1
    assert client.get(f"/models/personalizer/decisions/{quote(event, safe='')}").json()["answer"]["right"] is True


@pytest.mark.parametrize(("value", "counted"), [(-1, -1), (2, 1), (0, 0), (0.25, 0.25), (-7, -1)])
def test_rewards_count_as_they_are_and_beyond_1_as_the_nearer_one(client, value, counted):
    event = rank(client)["eventId"]
    assert client.post(f"/personalizer/v1.0/events/{event}/reward", json={"value": value}).status_code == 204
    assert client.get(f"/models/personalizer/decisions/{event}").json()["answer"]["reward"] == counted


def test_the_earliest_reward_counts_though_it_precedes_the_rank(client):
    for value in (1, 0):
        assert client.post("/personalizer/v1.0/events/early/reward", json={"value": value}).status_code == 204
    before = counts(client)
    rank(client, eventId="early")
    after = counts(client)
    assert (after["answers"], after["right"]) == (before["answers"] + 1, before["right"] + 1)
    assert client.get("/models/personalizer/decisions/early").json()["answer"]["right"] is True


def test_rewards_are_summed_when_the_wait_is_over(tmp_path):
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        configured = client.get(CONFIGURATION).json() | {"rewardAggregation": "sum", "rewardWaitTime": "PT5S"}
        assert client.put(CONFIGURATION, json=configured).json()["rewardAggregation"] == "sum"
        rank(client, eventId="good")
        rank(client, eventId="bad")
        client.post("/personalizer/v1.0/events/good/reward", json={"value": -1})
        for _ in range(4):
            client.post("/personalizer/v1.0/events/good/reward", json={"value": 0.5})
        assert counts(client)["answers"] == 0
        client.patch("/models/personalizer", json={"wait_seconds": 0.1}).raise_for_status()
        until(lambda: counts(client)["answers"] == 2)
        answers = [client.get(f"/models/personalizer/decisions/{name}").json()["answer"] for name in ("good", "bad")]
        assert [(one["reward"], one["by_default"]) for one in answers] == [(1.0, False), (0.0, True)]


def test_slots_get_different_actions_and_rewards_of_their_own(client):
    slots = [
        {"id": "top", "baselineAction": "tea"},
        {"id": "side", "baselineAction": "juice", "excludedActions": ["tea"]},
    ]
    body = {"actions": ACTIONS, "slots": slots, "eventId": "page", "deferActivation": True}
    response = client.post("/personalizer/multislot/rank?api-version=2022-09-01-preview", json=body)
    assert response.status_code == 201, response.text
    top, side = (slot["rewardActionId"] for slot in response.json()["slots"])
    assert top != side != "tea"
    rewards = {"reward": [{"slotId": "top", "value": 1}, {"slotId": "side", "value": 0}]}
    before = counts(client)["answers"]
    assert client.post("/personalizer/multislot/events/page/reward", json=rewards).status_code == 204
    assert counts(client)["answers"] == before
    assert client.post("/personalizer/multislot/events/page/activate").status_code == 204
    assert counts(client)["answers"] == before + 2


def test_excluded_actions_stay_where_they_were(client):
    ranking = [one["id"] for one in rank(client, excludedActions=["coffee"])["ranking"]]
    assert ranking[1] == "coffee"


def liked(context, action):
    return float((action["taste"] == "sweet") == (context["time"] == "noon"))


def meals(rng):
    kinds = [{"taste": rng.choice(["sweet", "salty"]), "cuisine": {"from": rng.choice("abc")}} for _ in range(4)]
    return [{"id": f"meal {rng.randrange(10**6)}", "features": [kind, {"price": rng.random()}]} for kind in kinds]


def test_the_older_client_teaches_a_taste_for_features_of_actions_that_were_never_on_offer_before(tmp_path):
    pytest.importorskip("msrest")
    personalizer = pytest.importorskip("azure.cognitiveservices.personalizer")
    from azure.cognitiveservices.personalizer.models import RankableAction, RankRequest
    from msrest.authentication import CognitiveServicesCredentials

    rng, earned = random.Random(0), []
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        client.put(CONFIGURATION, json={"explorationPercentage": 0.1}).raise_for_status()
        old = personalizer.PersonalizerClient(str(client.base_url).rstrip("/"), CognitiveServicesCredentials("key"))
        for _ in range(150):
            context, actions = {"time": rng.choice(["noon", "evening"])}, meals(rng)
            features = [context, {"user": {"age": rng.random()}}]
            made = old.rank(
                RankRequest(
                    context_features=features,
                    actions=[RankableAction(id=one["id"], features=one["features"]) for one in actions],
                    excluded_actions=[actions[3]["id"]],
                )
            )
            played = next(one for one in actions if one["id"] == made.reward_action_id)
            assert sum(one.probability for one in made.ranking) == pytest.approx(1, abs=1e-6)
            earned.append(liked(context, played["features"][0]))
            old.events.reward(made.event_id, earned[-1])
        assert sum(earned[-75:]) / 75 > 0.75  # uniform has a half
        importance = {"name": "now", "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-02T00:00:00Z"}
        response = client.put("/personalizer/featureImportances/f", json=importance)
        top = {one["featureName"] for one in response.json()["featureScores"][:4]}
        assert top == {"time=noon", "time=evening", "taste=sweet", "taste=salty"}


def test_an_apprentice_returns_the_first_action_and_says_how_often_it_would_have(tmp_path):
    personalizer = pytest.importorskip("azure.ai.personalizer")
    from azure.core.credentials import AzureKeyCredential

    rng = random.Random(1)
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        address, key = str(client.base_url).rstrip("/"), AzureKeyCredential("key")
        new = personalizer.PersonalizerClient(address, key)
        manager = personalizer.PersonalizerAdministrationClient(address, key)
        manager.update_service_configuration({**manager.get_service_configuration(), "learningMode": "Apprentice"})
        for _ in range(60):
            context, actions = {"time": rng.choice(["noon", "evening"])}, meals(rng)
            made = new.rank({"contextFeatures": [context], "actions": actions})
            assert made["rewardActionId"] == actions[0]["id"]
            new.reward(made["eventId"], {"value": liked(context, actions[0]["features"][0])})
        slots = [{"id": "s", "baselineAction": actions[2]["id"], "features": [{"size": "large"}]}]
        made = new.rank_multi_slot({"actions": actions, "slots": slots})
        assert made["slots"][0]["rewardActionId"] == actions[2]["id"]
        found = manager.get_service_configuration()
        assert found["learningMode"] == "Apprentice"
        metrics = found["latestApprenticeModeMetrics"]
        assert metrics["numberOfEvents"] == 61
        assert 0 < metrics["numberOfImitatedEvents"] < 61
        assert 0 < metrics["sumOfImitatedRewards"] <= metrics["sumOfRewards"] <= 60
        evaluation = {"name": "e", "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-02T00:00:00Z"}
        manager.create_evaluation("e1", evaluation)
        names = [one["name"] for one in client.get("/personalizer/evaluations/e1").json()["content"]["value"]]
        assert names == ["online", "greedy", "uniform", "baseline"]
        manager.apply_from_evaluation({"evaluationId": "e1", "policyName": "greedy"})
        assert manager.get_service_configuration()["learningMode"] == "Online"
        assert manager.get_policy()["arguments"] == "greedy"
        made = new.rank({"contextFeatures": [context], "actions": actions})
        assert made["ranking"][0]["probability"] == 1.0
        assert manager.reset_policy()["arguments"] == "thompson_sampling"
        assert manager.update_policy({"name": "n", "arguments": "upper_confidence"})["arguments"] == "upper_confidence"
        manager.create_feature_importance("f1", evaluation)
        assert manager.get_feature_importance("f1")["featureScores"]
        assert [one["id"] for one in manager.list_feature_importances()] == ["f1"]
        manager.delete_feature_importance("f1")
        new.close()
        manager.close()


def test_a_model_of_a_fixed_set_of_actions_still_answers_these_calls(tmp_path):
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        spec = {"actions": ["tea", "coffee", "juice"], "features": {"hashed": 16}, "wait_seconds": 600.0}
        client.put("/models/personalizer", json=spec | {"default_right": 0.0}).raise_for_status()
        event = rank(client)["eventId"]
        assert client.post(f"/personalizer/v1.0/events/{event}/reward", json={"value": 2}).status_code == 204
        assert client.get(f"/models/personalizer/decisions/{event}").json()["answer"]["right"] is True
        response = client.put(CONFIGURATION, json={"learningMode": "Apprentice"})
        assert (response.status_code, "fixed set of actions" in response.json()["detail"]) == (409, True)


def test_the_older_client_works(client):
    pytest.importorskip("msrest")
    personalizer = pytest.importorskip("azure.cognitiveservices.personalizer")
    from azure.cognitiveservices.personalizer.models import RankableAction, RankRequest
    from msrest.authentication import CognitiveServicesCredentials

    old = personalizer.PersonalizerClient(str(client.base_url).rstrip("/"), CognitiveServicesCredentials("key"))
    request = RankRequest(actions=[RankableAction(id=one["id"], features=[]) for one in ACTIONS], event_id="old/1")
    response = old.rank(request)
    assert response.reward_action_id in {one["id"] for one in ACTIONS}
    old.events.reward("old/1", 1.0)
    old.events.activate("old/1")
    assert client.get("/models/personalizer/decisions/old%2F1").json()["answer"]["right"] is True


def test_the_newer_client_works(tmp_path):
    import io
    from datetime import UTC, datetime

    personalizer = pytest.importorskip("azure.ai.personalizer")
    from azure.core.credentials import AzureKeyCredential

    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        address, key = str(client.base_url).rstrip("/"), AzureKeyCredential("key")
        new = personalizer.PersonalizerClient(address, key)
        actions = [{**one, "features": []} for one in ACTIONS]
        for index in range(30):
            made = new.rank({"actions": actions})
            new.reward(made["eventId"], {"value": float(index % 2)})
        new.activate(made["eventId"])
        made = new.rank_multi_slot({"actions": actions, "slots": [{"id": "s", "baselineAction": "tea"}]})
        new.reward_multi_slot(made["eventId"], {"reward": [{"slotId": "s", "value": 1}]})
        new.activate_multi_slot(made["eventId"])
        new.close()
        manager = personalizer.PersonalizerAdministrationClient(address, key)
        configuration = manager.get_service_configuration()
        assert configuration["rewardWaitTime"] == "PT10M"
        assert manager.update_service_configuration({**configuration, "explorationPercentage": 0.3})
        assert manager.get_service_configuration()["explorationPercentage"] == 0.3
        assert manager.get_policy() == manager.reset_policy() == manager.update_policy(manager.get_policy())
        now = datetime.now(UTC)
        evaluation = {"name": "first", "startTime": now.isoformat(), "endTime": now.isoformat()}
        manager.create_evaluation("e1", evaluation)
        assert manager.get_evaluation("e1", start_time=now, end_time=now)["status"] == "Succeeded"
        assert [one["id"] for one in manager.list_evaluations()] == ["e1"]
        manager.delete_evaluation("e1")
        state = b"".join(manager.export_model(signed=False))
        properties = manager.get_model_properties()
        assert properties["creationTime"] <= properties["lastModifiedTime"]
        manager.reset_model()
        assert counts(client)["answers"] == 0
        manager.import_model(io.BytesIO(state))
        assert counts(client)["answers"] == 31
        assert manager.get_log_properties()["dateRange"]["from"]
        manager.delete_logs()
        assert counts(client)["answers"] == 31
        manager.close()
