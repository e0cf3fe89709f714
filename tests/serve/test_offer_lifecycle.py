"""The life of a model with action features: changed, reset, rolled back, moved, forgotten; its log exported."""

import asyncio
import json
import random
import time

import numpy as np
import pytest

from noisewise.online import ContextualBandit, iter_dsjson
from noisewise.serve import Store, maintenance, replay
from noisewise.serve.models import lifecycle, retention
from noisewise.serve.models.changes import SpecChange
from noisewise.serve.models.offer_spec import OfferRequest
from noisewise.serve.models.service import Conflict, NotFound
from offers import liked, make_offers, play, situation
from serve_app import make, service, serving
from serve_processes import Postgres, has_postgres


def run(tmp_path, test, name="log"):
    async def inside():
        async with service(f"sqlite:///{tmp_path}/{name}.db") as one:
            return await test(one)

    return asyncio.run(inside())


def replays(one, model):
    one.applier.catch_up()  # rows that retention writes are read from the log, a moment later
    return replay(one.store, model.name).model_file() == model.model_file()


def test_changes_resets_and_earlier_states_replay(tmp_path):
    async def test(one):
        model, rng = await make_offers(one), random.Random(0)
        await play(one, model, 30, rng)
        weights, position = model.learner.model_.weights.copy(), model.position
        await lifecycle.update(one, model, SpecChange(exploration=1.0, policy="greedy"))
        await play(one, model, 30, rng)
        uniform = {row.probability for row in one.store.read(position) if row.kind == 0}
        assert uniform == {1 / 6}
        await lifecycle.roll_back(one, model, position)
        np.testing.assert_array_equal(model.learner.model_.weights, weights)
        assert (model.spec.policy, model.progress.n_feedback) == ("thompson_sampling", 30)
        await play(one, model, 10, rng)
        draws = [row.draw for row in one.store.read() if row.draw is not None]
        assert len(set(draws)) == len(draws)
        assert replays(one, model)
        await lifecycle.reset(one, model)
        assert (model.progress.n_feedback, model.learner.n_rounds_) == (0, 0)
        await play(one, model, 10, rng)
        assert replays(one, model)
        for change in ({"default_right": True}, {"default_reward": 5.0}):
            with pytest.raises(ValueError, match="default"):
                await lifecycle.update(one, model, SpecChange.model_validate(change))

    run(tmp_path, test)


def test_feedback_on_decisions_from_before_a_reset_is_learnt(tmp_path):
    async def test(one):
        model, rng = await make_offers(one), random.Random(1)
        context, actions = situation(rng)
        made = await one.decide(model, OfferRequest(context=context, actions=actions))
        await lifecycle.reset(one, model)
        await one.feedback(model, made.decision_id, 1.0)
        assert model.learner.n_rounds_ == 1
        assert replays(one, model)

    run(tmp_path, test)


def test_an_erased_person_has_never_taught_the_model(tmp_path):
    async def test(one):
        model, rng = await make_offers(one, noise="estimate"), random.Random(2)
        for person in ("ann", "ben", "ann"):
            await play(one, model, 15, rng, person=person)
        assert await lifecycle.erase_person(one, model, "ben", forget_base=False) == 15
        assert model.progress.n_feedback == model.learner.n_rounds_ == 30
        assert list(model.learner.reader_.channels.groups) == ["ann"]
        assert replays(one, model)

    run(tmp_path, test)


def test_a_log_is_removed_and_a_model_is_moved_and_deleted(tmp_path):
    rng = random.Random(3)

    async def test(one):
        model = await make_offers(one, keep_days=1.0)
        await play(one, model, 30, rng)
        assert await lifecycle.remove_log(one, model) == 60
        await play(one, model, 10, rng)
        assert replays(one, model)
        retention.store_version(one.store, model, retention.AUTOMATIC)
        assert retention.remove_older(one.store, model.id, time.time() + 1) == 21  # with the row of the removal
        await play(one, model, 5, rng)
        assert replays(one, model)
        return model.to_bytes()[0], model.learner.model_.weights.copy()

    async def elsewhere(one):
        await make(one, "rows")
        with pytest.raises(Conflict):
            await lifecycle.import_model(one, "rows", state)
        model = await lifecycle.import_model(one, "moved", state)
        np.testing.assert_array_equal(model.learner.model_.weights, weights)
        assert model.progress.n_feedback == 45
        await play(one, model, 10, rng)
        assert replays(one, model)
        await lifecycle.delete(one, model)
        with pytest.raises(NotFound):
            await one.model("moved")

    state, weights = run(tmp_path, test)
    run(tmp_path, elsewhere, "other")
    url = f"sqlite:///{tmp_path}/log.db"
    assert maintenance.check(url, replaying=True) == []
    maintenance.compact(url, keep_days=1e-9)
    assert maintenance.check(url, replaying=True) == []


@pytest.mark.skipif(not has_postgres(), reason="PostgreSQL's programs are not installed here")
def test_api_processes_and_a_learner_share_the_log_of_offers(tmp_path):
    postgres, rng = Postgres(), random.Random(4)

    async def test():
        async with (
            service(postgres.url, role="learner", state_seconds=0.1) as learner,
            service(postgres.url, role="api") as first,
            service(postgres.url, role="api") as second,
        ):
            await make_offers(first)
            for number in range(40):
                context, actions = situation(rng, first=number)  # each decision brings an action that is new
                deciding, hearing = (first, second) if number % 2 else (second, first)
                request = OfferRequest(context=context, actions=actions)
                made = await deciding.decide(await deciding.model("meals"), request)
                reward = liked(context, actions[made.code])
                await hearing.feedback(await hearing.model("meals"), made.decision_id, reward)
            models = [await one.model("meals") for one in (learner, first, second)]
            for _ in range(400):
                if all(model.progress.n_feedback == 40 for model in models):
                    break
                await asyncio.sleep(0.05)
            files = {model.model_file() for model in models}
            assert len(files) == 1
            return files.pop()

    try:
        live = asyncio.run(test())
        store = Store(postgres.url)
        assert replay(store, "meals").model_file() == live
        store.close()
    finally:
        postgres.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    rng = random.Random(5)
    with serving(f"sqlite:///{tmp_path_factory.mktemp('offers')}/log.db") as one:
        for name, reward in (("noise", lambda *_: float(rng.random() < 0.25)), ("signal", liked)):
            spec = {"actions": "features", "exploration": 0.5}
            one.put(f"/models/{name}", json=spec).raise_for_status()
            for _ in range(300):
                context, actions = situation(rng)
                body = {"context": context | {"_private": 1}, "actions": actions, "excluded": [actions[0]["id"]]}
                made = one.post(f"/models/{name}/decide", json=body).json()
                played = next(action for action in actions if action["id"] == made["action"])
                given = {"decision_id": made["decision_id"], "reward": reward(context, played)}
                one.post(f"/models/{name}/feedback", json=given).raise_for_status()
        yield one


def test_policies_are_judged_by_states_that_had_not_learnt_the_round(client):
    values = {one["policy"]: one for one in client.get("/models/noise/off-policy?method=ips").json()["policies"]}
    assert list(values) == ["online", "greedy", "uniform", "baseline"]
    for one in values.values():
        assert one["low"] < 0.25 < one["high"]  # pure noise: every policy is worth .25
    report = client.get("/models/signal/off-policy").json()
    assert report["rounds"] == 300
    values = {one["policy"]: one["value"] for one in report["policies"]}
    assert values["greedy"] > values["online"] > values["uniform"] + 0.1


def test_exported_lines_have_the_features_of_all_actions_and_teach_the_library(client, tmp_path):
    (tmp_path / "log.json").write_text(client.get("/models/signal/export").text)
    rounds = list(iter_dsjson(tmp_path / "log.json", rewards=(0, 1)))
    assert len(rounds) == 300
    for one in rounds:
        assert len(one.offered) == 5
        assert sum(choice.probability for choice in one.offered) == pytest.approx(1, abs=1e-5)
        assert {name.split("=")[0] for choice in one.offered for name in choice.features} == {"taste", "price"}
        assert {name.split("=")[0] for name in one.features} == {"time", "age"}
    bandit = ContextualBandit().learn_rounds(rounds)
    sweet, salty = bandit.predict({"time=noon": 1.0}, [{"taste=sweet": 1.0}, {"taste=salty": 1.0}])
    assert sweet > salty + 0.4


def test_the_table_of_the_log_has_rewards_and_offers(client, tmp_path):
    pl = pytest.importorskip("polars")
    (tmp_path / "log.parquet").write_bytes(client.get("/models/signal/export?format=parquet").content)
    frame = pl.read_parquet(tmp_path / "log.parquet")
    assert frame.height == 300
    assert set(frame["reward"].unique()) == {0.0, 1.0}
    assert len(json.loads(frame["actions"][0])) == 6


def test_vowpal_wabbit_learns_from_the_export(client):
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    text = client.get("/models/signal/export").text
    workspace = vowpalwabbit.Workspace("--cb_explore_adf --dsjson -q :: --epsilon 0.0 --quiet")
    for line in text.splitlines() * 3:
        example = workspace.parse(line, vowpalwabbit.LabelType.CONTEXTUAL_BANDIT)
        workspace.learn(example)
        workspace.finish_example(example)
    right, last = 0, json.loads(line)
    for hour in ("noon", "evening") * 20:
        offered = [{f"taste={taste}": 1.0, "price": 5.0} for taste in ("sweet", "salty")]
        asked = last | {"c": {f"time={hour}": 1.0, "_multi": offered}, "_labelIndex": 0, "_label_Action": 1}
        asked |= {"a": [1, 2], "p": [0.5, 0.5]}
        example = workspace.parse(json.dumps(asked), vowpalwabbit.LabelType.CONTEXTUAL_BANDIT)
        right += int(np.argmax(workspace.predict(example))) == (hour == "evening")
        workspace.finish_example(example)
    workspace.finish()
    assert right == 40
