"""The HTTP API as a client uses it."""

import io
import json

import polars as pl
import pytest

from noisewise.online import read_dsjson
from noisewise.serve import new_key_in, read_keys
from noisewise.serve.app import STATIC
from serve_app import serving

NAMED = {"names": ["hour", "heat"], "unit_norm": True, "constant": 0.5}
SPEC = {"actions": ["tea", "coffee"], "features": NAMED, "exploration": 0.2, "seed": 3}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with serving(f"sqlite:///{tmp_path_factory.mktemp('serve')}/log.db") as one:
        assert one.put("/models/drinks", json=SPEC).status_code == 201
        for hour in range(40):
            made = one.post("/models/drinks/decide", json={"features": {"hour": hour % 24, "heat": 1}}).json()
            right = (made["action"] == "tea") == (hour % 24 > 12)
            body = {"decision_id": made["decision_id"], "right": right, "person": "ann"}
            assert one.post("/models/drinks/feedback", json=body).json()["status"] == "accepted"
        yield one


def is_problem(response, status, words):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert words in response.json()["detail"], response.text


def test_the_same_model_again_is_fine_and_another_one_is_refused(client):
    assert client.put("/models/drinks", json=SPEC).status_code == 200
    is_problem(client.put("/models/drinks", json=SPEC | {"seed": 4}), 409, "choose another name")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"actions": ["tea"]}, "at least 2"),
        ({"actions": ["tea", "tea"]}, "same name"),
        ({"recipe": "magic"}, "recipe"),
        ({"features": {}}, "exactly one of"),
        ({"features": {"count": 9000}, "options": {"covariance": "full"}}, "fewer features"),
        ({"noise": {"false_positive": 0.6, "false_negative": 0.5}}, "information"),
        ({"noise": [{"false_positive": 0.1, "false_negative": 0.1}]}, "one for each"),
        ({"recipe": "soba", "noise": "estimate"}, "can't be estimated"),
        ({"recipe": "ucwl", "people": True}, "need the recipe linucb"),
        ({"people": True, "missing": "auto"}, "ignores who gave the feedback"),
        ({"people": True, "noise": "estimate"}, "noise=null"),
        ({"recipe": "corrected_ucwl"}, "give its rates"),
        ({"options": {"C": 1.0}}, "does not take"),
        ({"exploration": 1.5}, "less than or equal to 1"),
        ({"color": "red"}, "no such field"),
    ],
)
def test_impossible_specifications_are_refused(client, change, words):
    is_problem(client.put("/models/impossible", json=SPEC | change), 422, words)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"features": {"hour": 1}}, "missing: heat"),
        ({"features": {"hour": 1, "heat": 2, "cold": 3}}, "unknown: cold"),
        ({"features": {"hour": "late", "heat": 1}}, "finite number"),
        ({"features": {"hour": True, "heat": 1}}, "finite number"),
        ({"features": [1, 2]}, "an object with hour, heat"),
        ({"features": {"hour": 1, "heat": 2}, "actions": ["milk"]}, "no action 'milk'"),
        ({"features": {"hour": 1, "heat": 2}, "decision_id": ""}, "decision_id"),
        ({}, "features"),
    ],
)
def test_features_that_do_not_fit_are_refused(client, body, words):
    is_problem(client.post("/models/drinks/decide", json=body), 422, words)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", "-1e999"])
def test_numbers_that_are_not_finite_are_refused(client, number):
    text = f'{{"features": {{"hour": {number}, "heat": 1}}}}'
    response = client.post("/models/drinks/decide", content=text, headers={"Content-Type": "application/json"})
    assert response.status_code == 422


@pytest.mark.parametrize(
    ("change", "covariance"),
    [
        ({}, "full"),
        ({"features": {"count": 784}}, "diagonal"),
        ({"features": {"count": 784}, "options": {"covariance": "full"}}, "full"),
        ({"features": {"count": 784}, "revision": 2}, "full"),
        ({"features": {"count": 784}, "people": True}, "full"),
        ({"recipe": "banditron"}, "none"),
    ],
)
def test_the_covariance_of_a_large_model_is_diagonal_unless_asked_otherwise(client, change, covariance):
    assert client.put("/models/sized", json=SPEC | change).json()["covariance"] == covariance
    client.delete("/models/sized").raise_for_status()


def test_unknown_models_and_decisions_are_not_found(client):
    is_problem(client.get("/models/nobody"), 404, "no model 'nobody'")
    is_problem(client.post("/models/nobody/decide", json={"features": [1.0]}), 404, "PUT /models/nobody")
    is_problem(client.get("/models/drinks/decisions/none"), 404, "no decision 'none'")
    is_problem(client.post("/models/drinks/feedback", json={"decision_id": "none", "right": True}), 404, "no decision")


def test_a_report_has_counts_weights_accuracy_and_exploration(client):
    report = client.get("/models/drinks").json()
    assert report["counts"]["decisions"] == report["counts"]["answers"] >= 40
    assert {one["feature"] for one in report["coefficients"]} == {"hour", "heat", "(constant)"}
    assert [one["action"] for one in report["actions"]] == ["tea", "coffee"]
    assert report["accuracy"]["low"] <= report["accuracy"]["value"] <= report["accuracy"]["high"]
    assert report["exploration"]["share"] == 0.2
    assert report["name"] in [one["name"] for one in client.get("/models").json()["models"]]


def test_history_is_the_learning_curve(client):
    points = client.get("/models/drinks/history").json()["points"]
    assert [point["answers"] for point in points[:4]] == [10, 20, 30, 40]
    assert all(0 <= point["accuracy"] <= 1 for point in points)


def test_a_decision_can_be_explained(client):
    body = {"features": {"hour": 3, "heat": 4}, "excluded": ["tea"]}
    made = client.post("/models/drinks/decide", json=body).json()
    why = client.get(f"/models/drinks/decisions/{made['decision_id']}").json()
    assert (why["action"], why["probability"], why["answer"]) == ("coffee", made["probability"], None)
    assert why["features"] == [0.6, 0.8, 0.5]
    assert [one["allowed"] for one in why["scores"]] == [False, True]
    assert 0 <= why["draw"] < 1


def test_explanations_say_which_action_had_the_highest_bound(client):
    for hour in range(5):
        made = client.post("/models/drinks/decide", json={"features": {"hour": hour, "heat": 1}}).json()
        why = client.get(f"/models/drinks/decisions/{made['decision_id']}").json()
        bounds = {one["action"]: one["score"] + one["width"] for one in why["scores"]}
        assert why["best"] == max(bounds, key=bounds.get)


def test_the_log_can_be_exported_and_read(client):
    text = client.get("/models/drinks/export").text
    log = read_dsjson(text.splitlines(), classes=["tea", "coffee"])
    frame = pl.read_parquet(io.BytesIO(client.get("/models/drinks/export?format=parquet").content))
    assert len(log) == frame.height == client.get("/models/drinks").json()["counts"]["answers"]
    assert log.actions.tolist() == frame["action"].to_list()
    assert log.feedback.tolist() == frame["right"].cast(int).to_list()
    assert log.ids == frame["decision_id"].to_list()


def test_off_policy_values_are_reported(client):
    report = client.get("/models/drinks/off-policy?method=ips").json()
    assert [one["policy"] for one in report["policies"]] == ["greedy", "uniform", "always tea", "always coffee"]
    assert report["rounds"] >= 40


def test_decisions_that_were_not_activated_are_neither_exported_nor_valued(tmp_path):
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        asked = {"contextFeatures": [{"a": 1}], "actions": [{"id": "x"}, {"id": "y"}], "deferActivation": True}
        for index in range(12):
            shown, event = index % 2 == 0, f"/personalizer/v1.0/events/e{index}"
            client.post("/personalizer/v1.0/rank", json=asked | {"eventId": f"e{index}"})
            if shown:
                client.post(f"{event}/activate")
            client.post(f"{event}/reward", json={"value": float(shown)})

        def exported():
            log = read_dsjson(client.get("/models/personalizer/export").text.splitlines(), classes=["x", "y"])
            table = client.get("/models/personalizer/export?format=parquet").content
            assert pl.read_parquet(io.BytesIO(table))["decision_id"].to_list() == log.ids
            assert client.get("/models/personalizer/off-policy").json()["rounds"] == len(log)
            return dict(zip(log.ids, log.feedback.tolist()))

        activated = {f"e{index}": 1 for index in range(0, 12, 2)}
        assert exported() == activated
        client.post("/personalizer/v1.0/events/e3/activate")
        assert exported() == activated | {"e3": 0}
        assert client.get("/models/personalizer").json()["counts"]["answers"] == 7


def test_health_and_metrics(client):
    assert client.get("/healthz").text == "alive\n"
    assert client.get("/readyz").text == "ready, learning\n"
    metrics = client.get("/metrics").text
    assert 'noisewise_model_answers_total{model="drinks"} 40.0' in metrics
    assert 'route="/models/{name}/decide"' in metrics


def test_other_origins_may_not_read_responses(client):
    response = client.options(
        "/models", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "GET"}
    )
    assert "access-control-allow-origin" not in response.headers
    assert client.get("/models").headers["x-frame-options"] == "DENY"


def test_the_page_is_served_where_there_is_one(client):
    response = client.get("/")
    if (STATIC / "index.html").exists():
        assert "text/html" in response.headers["content-type"]
    else:
        is_problem(response, 404, "Not Found")


def test_personalizer_clients_work_unchanged(client):
    asked = {
        "contextFeatures": [{"time": "morning"}, {"user": {"age": 30, "member": True}}],
        "actions": [{"id": "pasta", "features": [{"taste": "salty"}]}, {"id": "ice", "features": []}, {"id": "soup"}],
        "excludedActions": ["soup"],
        "eventId": "event-1",
        "deferActivation": True,
    }
    response = client.post("/personalizer/v1.0/rank", json=asked)
    assert response.status_code == 201
    ranking = response.json()["ranking"]
    assert response.json()["eventId"] == "event-1"
    assert ranking[0]["id"] == response.json()["rewardActionId"] != "soup"
    assert sum(one["probability"] for one in ranking) == pytest.approx(1)
    assert {one["id"]: one["probability"] for one in ranking}["soup"] == 0
    assert client.post("/personalizer/v1.0/events/event-1/reward", json={"value": 1.0}).status_code == 204
    assert client.get("/models/personalizer").json()["counts"]["answers"] == 0
    assert client.post("/personalizer/v1.0/events/event-1/activate").status_code == 204
    assert client.get("/models/personalizer").json()["counts"]["right"] == 1
    is_problem(client.post("/personalizer/v1.0/events/nothing/activate"), 404, "nothing")
    other = asked | {"actions": [{"id": "cake"}, {"id": "ice"}], "eventId": "event-2"}
    assert client.post("/personalizer/v1.0/rank", json=other).status_code == 201  # actions may be new


def test_keys_rate_limits_and_body_sizes_are_enforced(tmp_path):
    key = new_key_in(tmp_path / "keys", "ann")
    assert key not in (tmp_path / "keys").read_text()
    settings = {"keys": read_keys(tmp_path / "keys"), "requests_per_second": 20, "largest_body": 500}
    with serving(f"sqlite:///{tmp_path}/log.db", **settings) as client:
        is_problem(client.get("/models"), 401, "API key")
        is_problem(client.get("/models", headers={"Authorization": "Bearer wrong"}), 401, "API key")
        assert client.get("/healthz").status_code == 200
        for header in ({"Authorization": f"Bearer {key}"}, {"X-API-Key": key}, {"Ocp-Apim-Subscription-Key": key}):
            assert client.get("/models", headers=header).status_code == 200
        client.headers["X-API-Key"] = key
        is_problem(client.put("/models/m", content=b" " * 501), 413, "500 bytes")
        pieces = (b" " * 100 for _ in range(6))
        is_problem(client.put("/models/m", content=pieces), 413, "500 bytes")
        codes = {client.get("/models").status_code for _ in range(60)}
        assert codes <= {200, 429}


def test_requests_above_the_limit_are_refused(tmp_path):
    with serving(f"sqlite:///{tmp_path}/log.db", requests_per_second=1) as client:
        assert client.get("/healthz").status_code == 200
        responses = [client.get("/healthz") for _ in range(10)]
        refused = [one for one in responses if one.status_code == 429]
        assert refused
        assert refused[0].headers["retry-after"] == "1"


def test_a_learner_process_makes_no_decisions(tmp_path):
    with serving(f"sqlite:///{tmp_path}/log.db", role="learner") as client:
        client.put("/models/drinks", json=SPEC).raise_for_status()
        is_problem(client.post("/models/drinks/decide", json={"features": {"hour": 1, "heat": 1}}), 503, "learns only")


def test_the_openapi_document_lists_problems(client):
    document = client.get("/openapi.json").json()
    assert json.dumps(document).count("HTTPValidationError") == 0
    assert set(document["paths"]["/models/{name}/decide"]["post"]["responses"]) >= {"200", "404", "422", "503"}


def test_unknown_paths_and_methods_are_problems(client):
    is_problem(client.get("/nothing"), 404, "Not Found: /openapi.json lists the calls there are")
    is_problem(client.request("DELETE", "/models"), 405, "Method Not Allowed: this path takes GET")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (("PUT", "/models/m", SPEC | {"explore": 0.1}), "body.explore: there is no such field"),
        (("PUT", "/models/a b", SPEC), "path.name: a name has letters, digits"),
        (
            ("PUT", "/models/m", SPEC | {"noise": {"false_positive": 0.6, "false_negative": 0.6}}),
            "body.noise: the rates sum to 0.99 or more; below, the feedback still carries information",
        ),
    ],
)
def test_errors_name_the_field_and_say_what_is_valid(client, call, sentence):
    method, path, body = call
    response = client.request(method, path, json=body)
    is_problem(response, 422, sentence)
    assert response.json()["errors"][0]["where"] == sentence.split(":")[0]


def test_invalid_json_is_told_apart_from_a_missing_content_type(client):
    json_body, kind = {"Content-Type": "application/json"}, "send the header Content-Type: application/json"
    path = "/models/drinks/decide"
    is_problem(client.post(path, content=b"{nope", headers=json_body), 422, "body: this is no JSON (")
    is_problem(client.post(path, content=b'{"features": {"hour": 1, "heat": 1}}'), 422, kind)
    is_problem(client.post(path, content=b"[1]", headers=json_body), 422, "body: Input should be")
