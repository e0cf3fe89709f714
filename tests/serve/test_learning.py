"""Learning through the service is learning in the library, bit for bit, and so is replaying its log."""

import asyncio

import numpy as np
import pytest

from noisewise import load, save
from noisewise.noise import FlipMatrix
from noisewise.online import recipes
from noisewise.serve import ModelSpec, Store, replay
from serve_app import make, service, settled, situation

ACTIONS = ["a", "b", "c"]
NOISE = {"false_positive": 0.1, "false_negative": 0.2}
CASES = {
    "linucb": ({"exploration": 0.1}, lambda: recipes.linucb(classes=ACTIONS, exploration=0.1, random_state=5)),
    "ucwl": ({"recipe": "ucwl"}, lambda: recipes.ucwl(classes=ACTIONS, random_state=5)),
    "known noise": (
        {"recipe": "rcnbf", "noise": NOISE, "exploration": 0.2},
        lambda: recipes.rcnbf(classes=ACTIONS, gamma=0.2, noise=FlipMatrix.binary(0.1, 0.2), random_state=5),
    ),
    "estimated noise": (
        {"recipe": "ucwl", "noise": "estimate", "options": {"block": 100}},
        lambda: recipes.corrected_ucwl(classes=ACTIONS, block=100, random_state=5),
    ),
    "missing feedback": (
        {"missing": "auto"},
        lambda: recipes.linucb(classes=ACTIONS, missing="auto", random_state=5),
    ),
    "annotators": ({"people": True}, lambda: recipes.linucb(classes=ACTIONS, random_state=5)),
}


def as_file(model, folder):
    save(model, folder / "library.nw")
    return (folder / "library.nw").read_bytes()


@pytest.mark.parametrize("case", CASES)
def test_the_service_learns_what_the_library_learns(case, tmp_path, rng):
    spec, make_learner = CASES[case]
    learner, url = make_learner(), f"sqlite:///{tmp_path}/log.db"
    X, late = rng.normal(size=(120, 4)), []

    async def run():
        async with service(url) as one:
            model = await make(one, seed=5, **spec)
            for number, x in enumerate(X):
                made, known = await one.decide(model, situation(x)), learner.decide(x)
                assert (ACTIONS[made.code], made.probability) == (known.action, known.probability)
                right = bool(np.argmax(x[:3]) == made.code) if rng.random() < 0.8 else None
                if right is None and case != "missing feedback":
                    right = bool(rng.random() < 0.5)
                late.append((made, known, right))
                if number % 3 == 2:  # feedback comes late and out of order
                    for earlier in rng.permutation(len(late)):
                        made, known, right = late[earlier]
                        annotator = f"annotator {known.id % 4}" if case == "annotators" else None
                        await one.feedback(model, made.decision_id, right, annotator)
                        learner.learn(known, right, annotator)
                    late.clear()
                    await settled(model)
            return model.model_file()

    live = asyncio.run(run())
    assert live == as_file(learner, tmp_path)
    store = Store(url)
    assert replay(store, "m").model_file() == live
    store.close()


def test_a_restarted_service_goes_on_with_the_same_bits(tmp_path, rng):
    learner, url = recipes.linucb(classes=ACTIONS, exploration=0.2, random_state=1), f"sqlite:///{tmp_path}/log.db"

    async def run(rows):
        async with service(url) as one:
            model = await make(one, exploration=0.2, seed=1)
            for x in rows:
                made, known = await one.decide(model, situation(x)), learner.decide(x)
                assert (ACTIONS[made.code], made.number) == (known.action, known.id)
                await one.feedback(model, made.decision_id, made.code == 0)
                learner.learn(known, made.code == 0)
            return model.model_file()

    for rows in np.split(rng.normal(size=(60, 4)), 3):
        live = asyncio.run(run(rows))
    assert live == as_file(learner, tmp_path)


def test_a_stored_model_that_would_be_refused_now_learns_as_it_did(tmp_path, rng):
    """With people, missing="auto" used to drop missing feedback; its snapshots have the value of the specification."""
    learner, url = recipes.linucb(classes=ACTIONS, random_state=5), f"sqlite:///{tmp_path}/log.db"
    spec = {"actions": ACTIONS, "features": {"count": 4}, "seed": 5, "people": True, "missing": "auto"}
    store = Store(url)
    store.create()
    store.add_model("m", ModelSpec.model_validate(spec).model_dump_json())

    async def run(rows):
        async with service(url) as one:
            model = await one.model("m")
            for x in rows:
                made, known = await one.decide(model, situation(x)), learner.decide(x)
                right = bool(np.argmax(x[:3]) == made.code) if rng.random() < 0.8 else None
                await one.feedback(model, made.decision_id, right, f"annotator {known.id % 4}")
                learner.learn(known, right, f"annotator {known.id % 4}")
            live = model.model_file()
            model.learner.missing = "auto"
            return live

    for rows in np.split(rng.normal(size=(60, 4)), 3):
        live = asyncio.run(run(rows))
    assert live == as_file(learner, tmp_path)
    again = replay(store, "m")
    assert again.model_file() == live
    assert again.progress.n_refused == 0 < again.progress.n_missing
    store.close()


def test_concurrent_requests_are_committed_in_groups_and_replay_to_the_same_bits(tmp_path, rng):
    url = f"sqlite:///{tmp_path}/log.db"

    async def run():
        async with service(url) as one:
            model = await make(one, exploration=0.3)

            async def client(rows):
                for x in rows:
                    made = await one.decide(model, situation(x))
                    await one.feedback(model, made.decision_id, bool(x[0] > 0))

            await asyncio.gather(*(client(rows) for rows in rng.normal(size=(20, 4, 4))))
            assert one.committer.batches < 80  # of 160 entries
            return model.model_file(), model.progress.n_decisions, model.progress.n_feedback

    live, decisions, feedback = asyncio.run(run())
    assert (decisions, feedback) == (80, 80)
    store = Store(url)
    assert replay(store, "m").model_file() == live
    store.close()


def test_the_downloaded_file_is_the_learner(tmp_path, rng):
    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            model = await make(one)
            for x in rng.normal(size=(20, 4)):
                made = await one.decide(model, situation(x))
                await one.feedback(model, made.decision_id, bool(x[0] > 0))
            return model.model_file(), model.learner

    data, learner = asyncio.run(run())
    (tmp_path / "model.nw").write_bytes(data)
    X = rng.normal(size=(5, 4))
    assert np.array_equal(load(tmp_path / "model.nw").decision_function(X), learner.decision_function(X))


def test_a_second_learner_process_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("noisewise.serve.models.service.LOCK_TIMEOUT", 0.1)

    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db"):
            with pytest.raises(ValueError, match="--role api"):
                async with service(f"sqlite:///{tmp_path}/log.db"):
                    pass

    asyncio.run(run())


def test_an_api_process_follows_the_log_as_the_learner_process_does(tmp_path, rng):
    url = f"sqlite:///{tmp_path}/log.db"

    async def run():
        async with service(url, state_seconds=0.1) as learner, service(url, role="api") as api:
            model = await make(learner)
            same = await api.model("m")
            for x in np.abs(rng.normal(size=(30, 4))):
                made = await api.decide(same, situation(x))
                await api.feedback(same, made.decision_id, made.code == 2)
            for _ in range(300):
                if same.progress.n_feedback == model.progress.n_feedback == 30:
                    break
                await asyncio.sleep(0.05)
            assert same.progress.n_feedback == model.progress.n_feedback == 30
            assert same.model_file() == model.model_file()
            position = same.position
            assert (await api.decide(same, situation([1, 1, 1, 1]))).version == position

    asyncio.run(run())
