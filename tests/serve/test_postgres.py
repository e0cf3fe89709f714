"""The same service over a real PostgreSQL."""

import asyncio
import time

import pytest

from noisewise import save
from noisewise.online.recipes import linucb
from noisewise.serve import Store, replay
from noisewise.serve.log.group_commit import Unwritten
from noisewise.serve.log.locks import LearnerLock
from serve_app import make, service, situation
from serve_processes import Postgres, has_postgres

pytestmark = pytest.mark.skipif(not has_postgres(), reason="PostgreSQL's programs are not installed here")


@pytest.fixture(scope="module")
def postgres():
    one = Postgres()
    yield one
    one.close()


def test_learning_over_postgres_is_learning_in_the_library(postgres, tmp_path, rng):
    learner = linucb(classes=["a", "b", "c"], exploration=0.2, random_state=2)

    async def run():
        async with service(postgres.url) as one:
            model = await make(one, "library", exploration=0.2, seed=2)
            for x in rng.normal(size=(40, 4)):
                made, known = await one.decide(model, situation(x)), learner.decide(x)
                assert (made.code, made.probability, made.number) == (known.code, known.probability, known.id)
                await one.feedback(model, made.decision_id, bool(x[0] > 0))
                learner.learn(known, bool(x[0] > 0))
            return model.model_file()

    live = asyncio.run(run())
    save(learner, tmp_path / "library.nw")
    assert (tmp_path / "library.nw").read_bytes() == live
    store = Store(postgres.url)
    assert replay(store, "library").model_file() == live
    store.close()


def test_a_decision_is_looked_up_by_its_index_in_a_short_log_too(postgres):
    store = Store(postgres.url)
    store.create()
    with store.engine.begin() as connection:
        made = connection.exec_driver_sql(f"EXPLAIN {store._select} decision_id = ANY(%s)", (["a", "b"],))
        plan = "\n".join(made.scalars())
    store.close()
    assert "one_of_each_kind" in plan
    assert "Seq Scan" not in plan


def test_api_processes_and_a_learner_process_share_a_log(postgres, rng):
    async def run():
        async with (
            service(postgres.url, role="learner", state_seconds=0.1) as learner,
            service(postgres.url, role="api") as first,
            service(postgres.url, role="api") as second,
        ):
            await make(first, "shared", exploration=0.2)
            for x in rng.normal(size=(20, 4)):
                made = await first.decide(await first.model("shared"), situation(x))
                await second.feedback(await second.model("shared"), made.decision_id, bool(x[0] > 0))
            parts = [await one.model("shared") for one in (learner, first, second)]
            for _ in range(400):
                if all(model.progress.n_feedback == 20 for model in parts):
                    break
                await asyncio.sleep(0.05)
            files = {model.model_file() for model in parts}
            assert len(files) == 1
            return files.pop()

    live = asyncio.run(run())
    store = Store(postgres.url)
    assert replay(store, "shared").model_file() == live
    store.close()


def test_one_learner_at_a_time(postgres):
    store = Store(postgres.url)
    first, second = LearnerLock(store), LearnerLock(store)
    assert first.acquire()
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()
    store.close()


def test_a_killed_postgres_is_waited_for(postgres, caplog):
    async def run():
        async with service(postgres.url) as one:
            model = await make(one, "patient")
            await one.decide(model, situation([1, 0, 0, 0], decision_id="before"))
            await asyncio.to_thread(postgres.kill)
            with pytest.raises(Unwritten):
                await one.decide(model, situation([1, 0, 0, 0], decision_id="meanwhile"))
            await asyncio.to_thread(postgres.start)
            made = await one.decide(model, situation([1, 0, 0, 0], decision_id="meanwhile"))
            assert (made.number, model.progress.n_decisions) == (1, 2)

    asyncio.run(run())
    assert "could not be written" in caplog.text


def test_an_api_process_decides_with_a_state_less_than_two_seconds_old(postgres, rng):
    async def run():
        async with (
            service(postgres.url, role="learner") as learner,
            service(postgres.url, role="api") as first,
            service(postgres.url, role="api") as second,
        ):
            spec = {"actions": list(range(10)), "features": {"count": 784}, "options": {"covariance": "full"}}
            writing, ages = await make(first, "large", **spec), []
            following = await second.model("large")
            await first.decide(writing, situation(rng.normal(size=784)))  # loops are compiled, states are read
            await asyncio.sleep(1)
            for x in rng.normal(size=(10, 784)):
                made = await first.decide(writing, situation(x))
                given = await first.feedback(writing, made.decision_id, bool(x[0] > 0))
                began = time.monotonic()
                while following.position < given.event.position:
                    await asyncio.sleep(0.01)
                ages.append(time.monotonic() - began)
            assert max(ages) < 2, ages
            assert learner.following

    asyncio.run(run())
