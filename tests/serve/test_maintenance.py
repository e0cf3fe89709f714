"""`noisewise store`: backups of a store in use, restored into either kind, checked, and compacted."""

import asyncio
import sqlite3

import pytest
from typer.testing import CliRunner

from noisewise.cli import app
from noisewise.serve import Store, maintenance, replay
from serve_app import make, service, situation
from serve_processes import Postgres, has_postgres


def run(*arguments):
    return CliRunner().invoke(app, ["store", *map(str, arguments)])


@pytest.fixture
def filled(tmp_path, rng):
    """The address of a store with a model of 30 rounds and one open decision, and the model's file."""
    url = f"sqlite:///{tmp_path}/log.db"

    async def fill():
        async with service(url) as one:
            model = await make(one, exploration=0.2)
            for x in rng.normal(size=(30, 4)):
                made = await one.decide(model, situation(x))
                await one.feedback(model, made.decision_id, bool(x[0] > 0))
            await one.decide(model, situation([1, 0, 0, 0]))
            during = run("backup", url, tmp_path / "during.db")
            assert during.exit_code == 0, during.output
            return model.model_file()

    return url, asyncio.run(fill())


def replays_to(url, live):
    store = Store(url)
    try:
        return replay(store, "m").model_file() == live
    finally:
        store.close()


def test_a_backup_of_a_store_in_use_is_restored(filled, tmp_path):
    _, live = filled
    url = f"sqlite:///{tmp_path}/restored.db"
    assert run("restore", tmp_path / "during.db", url).exit_code == 0
    assert replays_to(url, live)
    assert "not empty" in str(run("restore", tmp_path / "during.db", url).exception)
    assert "exists" in str(run("backup", url, tmp_path / "during.db").exception)
    assert "no backup" in str(run("restore", tmp_path / "nothing", f"sqlite:///{tmp_path}/x.db").exception)


@pytest.mark.skipif(not has_postgres(), reason="PostgreSQL's programs are not installed here")
def test_a_backup_of_sqlite_is_restored_into_postgres_and_goes_on(filled, tmp_path):
    _, live = filled
    postgres = Postgres()
    try:
        maintenance.restore(tmp_path / "during.db", postgres.url)
        assert replays_to(postgres.url, live)

        async def go_on():
            async with service(postgres.url) as one:
                model = await one.model("m")
                assert model.model_file() == live
                await one.decide(model, situation([1, 0, 0, 0]))
                assert (await make(one, "another")).id > model.id

        asyncio.run(go_on())
        maintenance.backup(postgres.url, tmp_path / "back.db")
        assert maintenance.check(f"sqlite:///{tmp_path}/back.db", replaying=True) == []
    finally:
        postgres.close()


def test_a_sound_store_is_sound_and_faults_are_said(filled, tmp_path):
    url, _ = filled
    assert run("check", url, "--replay").exit_code == 0
    with sqlite3.connect(tmp_path / "log.db") as connection:
        connection.execute("DELETE FROM events WHERE kind = 0 AND position = 3")
        connection.execute("UPDATE snapshots SET data = x'00' WHERE position = (SELECT max(position) FROM snapshots)")
    connection.close()
    result = run("check", url)
    assert result.exit_code == 1
    assert "rows about decisions that are not in the log: 1" in result.output
    assert "a snapshot can't be read" in result.output


def test_a_store_that_is_not_there_is_refused_and_not_made(tmp_path):
    missing, copy = tmp_path / "typo.db", tmp_path / "copy.db"
    for command in (("check", f"sqlite:///{missing}"), ("compact", f"sqlite:///{missing}")):
        assert "there is no log" in str(run(*command).exception)
    assert "there is no log" in str(run("backup", f"sqlite:///{missing}", copy).exception)
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE other (value)").connection.close()
    assert "there is no log" in str(run("restore", tmp_path / "other.db", f"sqlite:///{copy}").exception)
    assert not missing.exists()
    assert not copy.exists()


def test_what_a_database_can_not_do_is_a_sentence_without_the_password(filled, tmp_path):
    url, _ = filled
    (tmp_path / "text").write_text("no database")
    assert "file is not a database" in str(run("restore", tmp_path / "text", f"sqlite:///{tmp_path}/x.db").exception)
    assert "unable to open" in str(run("backup", url, tmp_path / "no folder" / "copy.db").exception)
    refused = str(run("check", "postgresql://ann:secret@127.0.0.1:1/db").exception)
    assert "ann:***@" in refused
    assert "secret" not in refused


def test_a_damaged_file_is_said_to_be_damaged(filled, tmp_path):
    file = tmp_path / "log.db"
    with file.open("r+b") as pages:
        pages.seek(4096 * 2)
        pages.write(b"x" * (file.stat().st_size - 4096 * 4))
    result = run("check", filled[0])
    assert result.exit_code == 1
    assert "the database" in result.output


def test_a_snapshot_that_differs_from_its_log_is_found(filled, tmp_path):
    with sqlite3.connect(tmp_path / "log.db") as connection:
        connection.execute("UPDATE events SET answer = 1 - answer WHERE kind = 1 AND position < 30")
    connection.close()
    assert "differs from its log" in maintenance.check(filled[0], replaying=True)[0]


def test_compaction_leaves_a_log_that_replays_to_the_same_model(filled, tmp_path):
    url, live = filled
    with sqlite3.connect(tmp_path / "log.db") as connection:
        connection.execute("UPDATE events SET time = time - 10 * 86400 WHERE position <= 40")
    connection.close()
    assert run("compact", url, "--keep-days", 5).exit_code == 0
    store = Store(url)
    assert len(store.read()) == 61 - 40 + 1
    store.close()
    assert replays_to(url, live)
    assert maintenance.check(url, replaying=True) == []


def test_a_store_in_use_is_not_compacted(tmp_path):
    url = f"sqlite:///{tmp_path}/log.db"

    async def meanwhile():
        async with service(url):
            with pytest.raises(ValueError, match="stop it first"):
                maintenance.compact(url, 1.0)

    asyncio.run(meanwhile())
