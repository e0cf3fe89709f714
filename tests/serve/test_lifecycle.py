"""A model is changed, reset, rolled back, exported, imported, forgotten and deleted; its log still replays to it."""

import asyncio
import time

import numpy as np
import pytest

from noisewise.serve import Store, replay
from noisewise.serve.models import lifecycle, retention
from noisewise.serve.models.changes import SpecChange
from noisewise.serve.models.service import Conflict, Full, NotFound
from serve_app import make, service, serving, situation

SPEC = {"actions": ["a", "b", "c"], "features": {"count": 4}, "exploration": 0.1}


def run(tmp_path, test, **settings):
    async def inside():
        async with service(f"sqlite:///{tmp_path}/log.db", **settings) as one:
            return await test(one)

    return asyncio.run(inside())


async def rounds(one, model, n, rng, person=None):
    for x in rng.normal(size=(n, 4)):
        made = await one.decide(model, situation(x))
        await one.feedback(model, made.decision_id, bool(x[made.code] > 0), person)


def test_exploration_can_be_changed_and_replays(tmp_path, rng):
    async def test(one):
        model = await make(one, exploration=0.0)
        await rounds(one, model, 10, rng)
        await lifecycle.update(one, model, SpecChange(exploration=1.0))
        await rounds(one, model, 30, rng)
        probabilities = {row.probability for row in one.store.read() if row.code is not None}
        assert probabilities == {1.0, 1 / 3}
        assert replay(one.store, "m").model_file() == model.model_file()
        return model.model_file()

    async def again(one):
        model = await one.model("m")
        assert model.spec.exploration == 1.0
        assert (await make(one, exploration=0.0)).id == model.id  # the PUT that made it is still fine
        return model.model_file()

    assert run(tmp_path, test) == run(tmp_path, again)


def test_a_reset_model_has_learnt_nothing_and_goes_on(tmp_path, rng):
    async def test(one):
        model = await make(one)
        fresh = model.learner.decision_function(np.ones((1, 4))).copy()
        await rounds(one, model, 20, rng)
        await lifecycle.reset(one, model)
        assert model.progress.n_feedback == 0
        assert np.array_equal(model.learner.decision_function(np.ones((1, 4))), fresh)
        await rounds(one, model, 20, rng)
        assert model.progress.n_feedback == 20
        assert replay(one.store, "m").model_file() == model.model_file()

    run(tmp_path, test)


def test_rolling_back_restores_the_state_of_that_position(tmp_path, rng):
    async def test(one):
        model = await make(one, exploration=0.2)
        await rounds(one, model, 20, rng)
        weights, position = model.learner._weights().copy(), model.position
        await rounds(one, model, 20, rng)
        assert not np.array_equal(model.learner._weights(), weights)
        await lifecycle.roll_back(one, model, position)
        assert np.array_equal(model.learner._weights(), weights)
        assert model.progress.n_feedback == 20
        await rounds(one, model, 10, rng)
        assert model.progress.n_feedback == 30
        draws = [row.draw for row in one.store.read() if row.draw is not None]
        assert len(set(draws)) == len(draws)  # none is made twice
        assert replay(one.store, "m").model_file() == model.model_file()
        with pytest.raises(ValueError, match="is not in the log"):
            await lifecycle.roll_back(one, model, model.position + 1)

    run(tmp_path, test)


def test_a_version_is_gone_back_to_without_a_replay(tmp_path, rng):
    async def test(one):
        model = await make(one)
        await rounds(one, model, 10, rng)
        position = await lifecycle.save_version(one, model)
        weights = model.learner._weights().copy()
        await rounds(one, model, 10, rng)
        await lifecycle.roll_back(one, model, position)
        assert np.array_equal(model.learner._weights(), weights)

    run(tmp_path, test)


@pytest.mark.parametrize("people", [False, True])
def test_an_erased_person_has_never_taught_the_model(tmp_path, rng, people):
    async def test(one):
        model, other = await make(one, people=people), await make(one, "other", people=people)
        for x in rng.normal(size=(30, 4)):
            made = await one.decide(model, situation(x))
            same = await one.decide(other, situation(x, actions=[model.spec.actions[made.code]]))
            for person in ("ann", "ben"):
                if (x[0] > 0) == (person == "ann"):
                    await one.feedback(model, made.decision_id, bool(x[1] > 0), person)
                    if person == "ann":
                        await one.feedback(other, same.decision_id, bool(x[1] > 0), person)
        assert await lifecycle.erase_person(one, model, "ben", forget_base=False) > 5
        assert np.allclose(model.learner._weights(), other.learner._weights())
        assert model.progress.n_feedback == other.progress.n_feedback
        assert replay(one.store, "m").model_file() == model.model_file()
        await rounds(one, model, 5, rng)
        assert await lifecycle.erase_person(one, model, "nobody", forget_base=False) == 0
        return model.model_file()

    async def again(one):
        return (await one.model("m")).model_file()

    live = run(tmp_path, test)
    assert run(tmp_path, again) == live
    assert b"ben" not in (tmp_path / "log.db").read_bytes()


def test_a_log_that_was_removed_replays_from_where_it_ends(tmp_path, rng):
    async def test(one):
        model = await make(one, exploration=0.2)
        await rounds(one, model, 20, rng)
        await one.decide(model, situation([1, 0, 0, 0], decision_id="open"))
        assert await lifecycle.remove_log(one, model) > 40
        with pytest.raises(NotFound):
            await one.feedback(model, "open", True)
        await rounds(one, model, 20, rng)
        assert model.progress.n_feedback == 40
        assert replay(one.store, "m").model_file() == model.model_file()
        with pytest.raises(Conflict, match="forget_base"):
            await lifecycle.erase_person(one, model, "ann", forget_base=False)
        return model.model_file()

    async def again(one):
        return (await one.model("m")).model_file()

    assert run(tmp_path, test) == run(tmp_path, again)


def test_retention_removes_what_is_old_and_no_longer_needed(tmp_path, rng):
    async def test(one):
        model = await make(one, keep_days=1.0)
        await rounds(one, model, 10, rng)
        for name in ("answered later", "never answered"):
            await one.decide(model, situation([1, 0, 0, 0], decision_id=name))
        assert retention.keep_retention(one.store, [model]) == 0  # a version is stored, nothing is a day old
        await rounds(one, model, 10, rng)
        await one.feedback(model, "answered later", True)
        before = len(one.store.read())
        removed = retention.remove_older(one.store, model.id, time.time() + 1)
        assert removed == 21
        assert len(one.store.read()) == before - removed + 1
        one.follow_now()
        await rounds(one, model, 5, rng)
        assert replay(one.store, "m").model_file() == model.model_file()
        with pytest.raises(NotFound):
            await one.feedback(model, "never answered", True)

    run(tmp_path, test)


def test_a_deleted_model_is_gone_and_its_name_free(tmp_path, rng):
    async def test(one):
        model, other = await make(one), await make(one, "other")
        await rounds(one, other, 5, rng)
        await rounds(one, model, 10, rng)
        await lifecycle.delete(one, model)
        with pytest.raises(NotFound):
            await one.model("m")
        again = await make(one, features={"count": 2})
        assert again.id != model.id
        assert again.progress.n_decisions == 0
        await one.decide(again, situation([1, 2]))
        await rounds(one, other, 5, rng)
        assert replay(one.store, "other").model_file() == other.model_file()
        positions = [row.position for row in one.store.read()]
        assert positions == sorted(set(positions))

    run(tmp_path, test)

    async def after(one):
        assert sorted(one.models) == ["m", "other"]

    run(tmp_path, after)


def test_an_exported_model_goes_on_in_another_service(tmp_path, rng):
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()

    async def export(one):
        model = await make(one, exploration=0.1)
        await rounds(one, model, 20, rng)
        return model.to_bytes()[0], model.learner._weights().copy()

    data, weights = run(tmp_path / "first", export)

    async def bring_in(one):
        other = await make(one, "other", seed=5)
        await rounds(one, other, 3, rng)
        model = await lifecycle.import_model(one, "m", data)
        assert np.array_equal(model.learner._weights(), weights)
        await rounds(one, model, 10, rng)
        assert (model.progress.n_feedback, model.progress.n_refused) == (30, 0)
        assert replay(one.store, "m").model_file() == model.model_file()
        with pytest.raises(Conflict, match="another specification"):
            await lifecycle.import_model(one, "other", data)
        with pytest.raises(ValueError, match="no exported model"):
            await lifecycle.import_model(one, "m", b"nothing of the kind")
        return model.model_file()

    async def again(one):
        return (await one.model("m")).model_file()

    assert run(tmp_path / "second", bring_in) == run(tmp_path / "second", again)


def test_models_are_limited_in_number_and_memory(tmp_path):
    async def test(one):
        for number in range(3):
            await make(one, f"m{number}")
        with pytest.raises(Full, match="--max-models is 3"):
            await make(one, "m3")
        await make(one, "m2")  # it is there

    run(tmp_path, test, max_models=3)

    async def large(one):
        with pytest.raises(Full, match="diagonal"):
            await make(one, "large", features={"count": 200})

    run(tmp_path, large, max_bytes=1_000_000)


def test_the_calls_of_the_lifecycle(tmp_path):
    with serving(f"sqlite:///{tmp_path}/log.db") as client:
        client.put("/models/m", json=SPEC).raise_for_status()
        for person in ("ann", "ben") * 5:
            made = client.post("/models/m/decide", json={"features": [1, 2, 3, 4]}).json()
            body = {"decision_id": made["decision_id"], "right": person == "ann", "person": person}
            client.post("/models/m/feedback", json=body).raise_for_status()
        assert client.patch("/models/m", json={"exploration": 0.5}).status_code == 200
        assert client.get("/models/m").json()["exploration"]["share"] == 0.5
        assert client.patch("/models/m", json={"actions": ["x", "y"]}).status_code == 422
        versions = client.post("/models/m/versions").json()
        assert [one["note"] for one in versions["versions"]] == ["by hand"]
        state = client.get("/models/m/state").content
        assert client.post("/models/m/reset").json()["counts"]["answers"] == 0
        back = client.post("/models/m/rollback", json={"position": versions["position"]}).json()
        assert back["counts"]["answers"] == 10
        assert client.put("/models/copy/state", content=state).json()["counts"]["answers"] == 10
        assert client.delete("/models/m/people/ben").json() == {"removed": 5}
        assert client.delete("/models/m/log").json()["removed"] > 10
        assert client.delete("/models/m").status_code == 204
        assert client.get("/models/m").status_code == 404
        assert [one["name"] for one in client.get("/models").json()["models"]] == ["copy"]
    store = Store(f"sqlite:///{tmp_path}/log.db")
    assert [name for _, name, _ in store.models()] == ["copy"]
    store.close()


def test_the_service_keeps_the_retention_of_its_models(tmp_path, rng, monkeypatch):
    monkeypatch.setattr("noisewise.serve.models.service.RETENTION_SECONDS", 0.1)

    async def test(one):
        model = await make(one, keep_days=1e-5)  # a second
        await rounds(one, model, 10, rng)
        for _ in range(400):
            if one.store.base(model.id) is not None and len(one.store.read()) < 20:
                break
            await asyncio.sleep(0.05)
        assert len(one.store.read()) < 20
        await rounds(one, model, 10, rng)
        for _ in range(400):  # rows that follow a removal are read from the log
            if model.progress.n_feedback == 20:
                break
            await asyncio.sleep(0.05)
        assert model.progress.n_feedback == 20
        assert replay(one.store, "m").model_file() == model.model_file()

    run(tmp_path, test)
