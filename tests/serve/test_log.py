"""The log: group commit, failures, and unreadable snapshots."""

import asyncio

import pytest
import sqlalchemy as sa

from noisewise.serve import Store
from noisewise.serve.log.events import DECISION, FEEDBACK, Event, new_id
from noisewise.serve.log.group_commit import ACCEPTED, DUPLICATE, UNKNOWN, Entry, LogWriter, Unwritten
from noisewise.serve.log.store import INSERT_SIZES
from serve_app import make, service, situation


@pytest.fixture
def store(tmp_path):
    one = Store(f"sqlite:///{tmp_path}/log.db")
    one.create()
    yield one
    one.close()


def decision(name, model=1):
    return Entry(Event(0, model, DECISION, name, 1.0, code=0, best=0, probability=1.0, active=1), named=True)


def feedback(name, model=1):
    return Entry(Event(0, model, FEEDBACK, name, 2.0, answer=1, source=0))


@pytest.mark.parametrize("size", [1, 3, 4, 21, sum(INSERT_SIZES), 200])
def test_batches_of_any_size_are_numbered_in_order(store, size):
    writer = LogWriter(store)
    for start in (0, size):
        writer.prepare([decision(f"d{start + index}") for index in range(size)])()
    rows = store.read(limit=1000)
    assert [row.position for row in rows] == list(range(1, 2 * size + 1))
    assert [row.number for row in rows] == list(range(2 * size))
    assert [row.decision_id for row in rows] == [f"d{index}" for index in range(2 * size)]


def test_two_writers_alternate(store):
    first, second = LogWriter(store), LogWriter(store)
    for batch in range(6):
        writer = (first, second)[batch % 2]
        writer.prepare([decision(f"{batch}-{model}", model) for model in (1, 2)])()
    rows = store.read()
    assert [row.position for row in rows] == list(range(1, 13))
    assert [row.number for row in rows if row.model == 2] == list(range(6))


def test_a_batch_knows_its_own_entries(store):
    batch = [feedback("d"), decision("d"), feedback("d"), feedback("d"), decision("d")]
    outcomes = LogWriter(store).prepare(batch)()
    assert [one.status for one in outcomes] == [UNKNOWN, ACCEPTED, ACCEPTED, DUPLICATE, DUPLICATE]
    assert len(store.read()) == 2


def test_synced_writing_is_on(store):
    with store.engine.begin() as connection:
        assert connection.execute(sa.text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(sa.text("PRAGMA synchronous")).scalar() == 2


def test_a_failed_write_is_reported_and_nothing_is_learnt(tmp_path, monkeypatch, caplog):
    async def run():
        async with service(f"sqlite:///{tmp_path}/log.db") as one:
            model = await make(one, exploration=0.5)
            made = await one.decide(model, situation([1, 0, 0, 0]))
            with monkeypatch.context() as broken:
                broken.setattr(Store, "append", lambda *_: (_ for _ in ()).throw(OSError("no space left")))
                with pytest.raises(Unwritten, match="ask again with the same decision_id"):
                    await one.feedback(model, made.decision_id, True)
                with pytest.raises(Unwritten):
                    await one.decide(model, situation([0, 1, 0, 0]))
            assert (model.progress.n_decisions, model.progress.n_feedback) == (1, 0)
            await one.feedback(model, made.decision_id, True)
            again = await one.decide(model, situation([0, 1, 0, 0]))
            assert again.number == 1
            return model.model_file()

    assert asyncio.run(run())
    assert "no space left" in caplog.text


def test_unreadable_snapshots_are_skipped(tmp_path, caplog):
    url = f"sqlite:///{tmp_path}/log.db"

    async def run(check):
        async with service(url) as one:
            model = await make(one)
            made = await one.decide(model, situation([1, 2, 3, 4]))
            await one.feedback(model, made.decision_id, True)
            check(model)

    asyncio.run(run(lambda model: None))
    store = Store(url)
    with store.writing() as connection:
        connection.execute(sa.text("UPDATE snapshots SET data = :data"), {"data": b"nonsense"})
    store.close()

    def check(model):
        assert model.progress.n_feedback == 2

    asyncio.run(run(check))
    assert "is skipped" in caplog.text


def test_decision_ids_sort_by_time():
    ids = [new_id() for _ in range(5)]
    assert len(set(ids)) == 5
    assert [one[:12] for one in ids] == sorted(one[:12] for one in ids)
