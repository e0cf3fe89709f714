"""The store of an earlier service: its models, requests and responses, and how it goes on, all over HTTP."""

import json

import numpy as np

SHORT = {"count": 2, "constant": 0.5}
ABC = {"actions": ["a", "b", "c"], "features": SHORT}
NAMED = {"names": ["hour", "heat"], "unit_norm": True, "constant": 0.5}
SPECS = {
    "linucb": {"actions": ["tea", "coffee", "water"], "features": NAMED, "exploration": 0.2, "seed": 5},
    "ucwl": {"actions": [10, 20, 30], "features": {"count": 3}, "recipe": "ucwl"},
    "rates": {**ABC, "noise": "estimate", "exploration": 0.1},
    "annotators": {**ABC, "people": True, "seed": 3},
    "missing": {**ABC, "missing": "auto", "seed": 4},
    "missing-is-wrong": {**ABC, "missing": "no", "recipe": "soba"},
    "told": {
        **ABC,
        "recipe": "rcnbf",
        "noise": [{"false_positive": 0.1 * index, "false_negative": 0.2} for index in range(3)],
        "exploration": 0.3,
    },
    "tracked": {**ABC, "recipe": "ucwl", "noise": "estimate", "options": {"block": 100}, "seed": 6},
    "diagonal": {**ABC, "options": {"covariance": "diagonal"}},
    "closing": {**ABC, "people": True, "wait_seconds": 2.0, "default_right": False},
}
# written to the store itself: a service would refuse it by now, but models of it are there
OLDER = {"annotators-and-missing": {**ABC, "people": True, "missing": "auto"}}
ROUNDS = dict.fromkeys([*SPECS, *OLDER], 60) | {"rates": 600, "tracked": 130, "closing": 14}
WAITING, LATE = 10, 15  # one of so many rounds stays without feedback, or has it later
ANNOTATORS = {"ann": 0.05, "bob": 0.4, "cy": 0.8}
RANKING = "/personalizer/v1.0"
RANKED = ["sport", "news", "music"]


def spec_of(name):
    return {**SPECS, **OLDER}[name]


def drawn(name, index):
    """Numbers of a round: fixed, and of few digits, so that a store of them takes little space."""
    seed = [sum(name.encode()), index]
    return np.random.default_rng(seed).integers(-64, 65, size=6) / 64


def decide(client, name, index):
    """The response to the decision of a round."""
    spec, numbers = spec_of(name), drawn(name, index)
    features = {"hour": numbers[0], "heat": numbers[1]} if name == "linucb" else numbers[: spec["features"]["count"]]
    body = {"features": features if isinstance(features, dict) else features.tolist(), "decision_id": f"{name}-{index}"}
    if index % 8 == 5:
        body["excluded"] = spec["actions"][:1]
    return good(client.post(f"/models/{name}/decide", json=body))


def give_feedback(client, name, index, action):
    """The response to the feedback on a round."""
    spec, numbers = spec_of(name), drawn(name, index)
    right = action == spec["actions"][int(numbers[0] > 0) + int(numbers[1] > 0.5)]
    body = {"decision_id": f"{name}-{index}", "right": bool(right)}
    draw = (numbers[4] + 1) / 2
    if spec.get("people"):
        body["person"] = list(ANNOTATORS)[index % 3]
        body["right"] = bool(right != (draw < ANNOTATORS[body["person"]]))
        if index % 7 == 6:  # nobody is named
            del body["person"]
    elif draw < (0.45 if action == spec["actions"][0] else 0.05):
        body["right"] = not body["right"]
    if "missing" in spec and numbers[5] < (-0.6 if right else 0.4):
        body["right"] = None
    return good(client.post(f"/models/{name}/feedback", json=body))


def play(client, name, indices):
    """Rounds in order; each tenth waits for its feedback, and some have it when a later one has been decided."""
    held = []
    for index in indices:
        action = decide(client, name, index)["action"]
        if index % WAITING == WAITING - 1:
            continue
        held.append((index, action))
        if index % LATE != LATE - 1:
            for one in reversed(held):
                assert give_feedback(client, name, *one)["status"] == "accepted"
            held = []
    for one in held:
        assert give_feedback(client, name, *one)["status"] == "accepted"


def rank(client, index, **more):
    """A call of Personalizer, whose first one makes the model."""
    numbers = drawn("personalizer", index)
    context = [{"time": ["morning", "evening"][index % 2]}, {"device": {"kind": ["phone", "desk"][index % 3 % 2]}}]
    body = {"contextFeatures": context, "actions": [{"id": name} for name in RANKED], "eventId": f"event-{index}"}
    if numbers[0] > 0.8:
        body["excludedActions"] = RANKED[:1]
    return good(client.post(f"{RANKING}/rank", json=body | more))


def reward(client, index, chosen):
    """A reward, which is 1 or 0."""
    value = float(chosen == RANKED[index % 2])
    return client.post(f"{RANKING}/events/event-{index}/reward", json={"value": value}).status_code


def activate(client, index):
    """Say that what was ranked has been shown."""
    return client.post(f"{RANKING}/events/event-{index}/activate").status_code


def play_ranking(client, indices):
    """Rounds of Personalizer's calls: some wait to be activated, some for their reward."""
    for index in indices:
        chosen = rank(client, index, deferActivation=index % 4 == 1)["rewardActionId"]
        if index % 6 != 5:
            assert reward(client, index, chosen) == 204
        if index % 8 == 1:
            assert activate(client, index) == 204


def good(reply):
    assert reply.status_code in (200, 201), reply.text
    return reply.json()


def go_on(client):
    """Outputs of every model of the store: for the rounds before, those that wait, and the next ones."""
    outputs = {"models": [[one["name"], one["recipe"], one["n_features"]] for one in all_models(client)]}
    outputs |= ranking(client)
    for name in sorted(ROUNDS, key=closes):  # models that close decisions write to the log at any time
        outputs |= {f"{key} of {name}": value for key, value in one_model(client, name).items()}
    return outputs


def closes(name):
    return "wait_seconds" in spec_of(name)


def all_models(client):
    return good(client.get("/models"))["models"]


def one_model(client, name):
    """Outputs of a model before and after more rounds; one that closes decisions by itself makes one more."""
    n, closing = ROUNDS[name], closes(name)
    waiting = range(WAITING - 1, n, WAITING)
    before = {f"{key} before": value for key, value in state_of(client, name).items()}
    explained = [good(client.get(f"/models/{name}/decisions/{name}-{index}")) for index in (0, *waiting[-2:])]
    late = [
        give_feedback(client, name, index, made["action"])["status"]
        for index, made in zip(waiting[-2:], explained[-2:])
    ]
    again = [decide(client, name, 3), give_feedback(client, name, 3, spec_of(name)["actions"][0])]
    made = []
    for index in range(n, n + (1 if closing else 9)):
        made.append(decide(client, name, index))
        if not closing and index % 4:
            give_feedback(client, name, index, made[-1]["action"])
    log = "\n".join(map(as_first_exported, good_text(client.get(f"/models/{name}/export")).splitlines()))
    return {
        **before,
        "explained": [as_lists(one) for one in explained],
        "late": late,
        "again": [as_lists(one) for one in again],
        "actions": [one["action"] for one in made],
        "versions": [] if closing else [one["version"] - made[0]["version"] for one in made],
        "exported": [len(log.splitlines()), *log.splitlines()[:6:5]],
        **({} if closing else state_of(client, name)),
    } | {"probabilities": [one["probability"] for one in made]}


def as_first_exported(line):
    """A line of an export without what the first version did not have: other propensities, features of actions."""
    event = json.loads(line)
    event["a"], event["p"] = event["a"][:1], event["p"][:1]
    event["c"]["_multi"] = [{"_tag": one["_tag"]} for one in event["c"]["_multi"]]
    return json.dumps(event, ensure_ascii=False)


def state_of(client, name):
    """The numbers of a model's report, its annotators and its curve, without the words."""
    report = good(client.get(f"/models/{name}"))
    noise = report["noise"]
    return {
        "counts": as_lists({key: report["counts"][key] for key in ("decisions", "answers", "right", "missing")}),
        "noise": as_lists({key: noise[key] for key in ("false_positive", "false_negative", "identified", "by_action")}),
        "report": as_lists({key: report[key] for key in ("accuracy", "exploration", "actions", "coefficients")}),
        "annotators": as_lists(good(client.get(f"/models/{name}/people"))),
        "curve": [[one["decisions"], one["heard_right"], one["accuracy"]] for one in history(client, name)],
    }


def history(client, name):
    return good(client.get(f"/models/{name}/history"))["points"]


def ranking(client):
    """The same for Personalizer's calls."""
    n = 40
    before = {f"{key} before of ranking": value for key, value in state_of(client, "personalizer").items()}
    settled = [reward(client, 35, "news"), activate(client, 37), activate(client, 13), reward(client, 11, "sport")]
    made = [rank(client, index) for index in range(n, n + 12)]
    rewarded = [reward(client, n + index, one["rewardActionId"]) for index, one in enumerate(made)]
    return {
        **before,
        "settled of ranking": settled,
        "probabilities of ranking": [[one["probability"] for one in each["ranking"]] for each in made],
        "chosen of ranking": [[one["id"] for one in each["ranking"]] for each in made],
        "rewarded of ranking": rewarded,
        **{f"{key} of ranking": value for key, value in state_of(client, "personalizer").items()},
    }


def good_text(reply):
    assert reply.status_code == 200, reply.text
    return reply.text


def as_lists(value):
    """JSON without objects, times and what the first version did not say: their items in order of their names."""
    if isinstance(value, dict):
        return [[name, as_lists(value[name])] for name in sorted(value) if name not in ("time", "recomputed")]
    return [as_lists(one) for one in value] if isinstance(value, list) else value
