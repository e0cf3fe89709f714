"""Exported logs teach others what the model knows, and policies are judged by states that had not learnt the round."""

import json

import numpy as np
import pytest

from serve_app import serving


def play(client, name, n, rng, right):
    """Rounds of a model with three actions; `right(kind, action)` is the feedback."""
    spec = {"actions": ["a", "b", "c", "d"], "features": {"names": ["x", "y"]}, "exploration": 0.3}
    client.put(f"/models/{name}", json=spec).raise_for_status()
    for _ in range(n):
        x, y = rng.normal(size=2)
        made = client.post(f"/models/{name}/decide", json={"features": {"x": x, "y": y}}).json()
        body = {"decision_id": made["decision_id"], "right": bool(right(x, y, made["action"]))}
        client.post(f"/models/{name}/feedback", json=body).raise_for_status()


def wanted(x, y, action):
    return action == ("a" if x > 0 else "b")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    rng = np.random.default_rng(0)
    with serving(f"sqlite:///{tmp_path_factory.mktemp('export')}/log.db") as one:
        play(one, "noise", 400, rng, lambda *_: rng.random() < 0.25)
        play(one, "signal", 400, rng, wanted)
        yield one


def test_the_greedy_policy_is_not_judged_by_rounds_it_learnt_from(client):
    report = client.get("/models/noise/off-policy?method=ips").json()
    values = {one["policy"]: one for one in report["policies"]}
    assert values["greedy"]["low"] < 0.25 < values["greedy"]["high"]  # pure noise: every policy is worth .25
    assert values["greedy"]["value"] < 0.33
    assert report["warning"] == "400 rounds are few: differences between policies may be chance"
    values = {one["policy"]: one["value"] for one in client.get("/models/signal/off-policy").json()["policies"]}
    assert values["greedy"] > values["uniform"] + 0.3


def test_a_line_of_the_export_has_all_actions_with_their_propensities(client):
    lines = [json.loads(line) for line in client.get("/models/signal/export").text.splitlines()]
    assert len(lines) == 400
    for line in lines:
        assert sorted(line["a"]) == [1, 2, 3, 4]
        assert sum(line["p"]) == pytest.approx(1)
        assert line["p"][0] == pytest.approx(line["_label_probability"])
        assert [one["action"] for one in line["c"]["_multi"]] == [{f"id={name}": 1.0} for name in "abcd"]


def test_vowpal_wabbit_learns_from_the_export_as_well_as_from_lines_of_its_own(client):
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    lines = client.get("/models/signal/export").text.splitlines()

    def right(options, texts, question):
        """The fraction of new contexts in which what was learnt from the texts plays the right action."""
        workspace = vowpalwabbit.Workspace(f"--cb_explore_adf -q :: --epsilon 0.0 --quiet {options}")
        for text in texts * 3:
            example = workspace.parse(text, vowpalwabbit.LabelType.CONTEXTUAL_BANDIT)
            workspace.learn(example)
            workspace.finish_example(example)
        found = []
        for x, y in np.random.default_rng(1).normal(size=(200, 2)).tolist():
            example = workspace.parse(question(x, y), vowpalwabbit.LabelType.CONTEXTUAL_BANDIT)
            found.append(wanted(x, y, "abcd"[int(np.argmax(workspace.predict(example)))]))
            workspace.finish_example(example)
        workspace.finish()
        return np.mean(found)

    def own(x, y, labels=("", "", "", "")):
        return [f"shared |c x:{x} y:{y}", *(f"{label} |action {name}" for label, name in zip(labels, "abcd"))]

    def own_round(line):
        label = f"0:{line['_label_cost']}:{line['_label_probability']}"
        labels = [label if number == line["_labelIndex"] else "" for number in range(4)]
        return own(line["c"]["x"], line["c"]["y"], labels)

    last = json.loads(lines[-1])
    exported = right(
        "--dsjson", lines, lambda x, y: json.dumps(last | {"c": {"x": x, "y": y, "_multi": last["c"]["_multi"]}})
    )
    assert exported > 0.85
    assert exported > right("", [own_round(json.loads(line)) for line in lines], own) - 0.03
