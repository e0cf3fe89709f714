"""Care of a store from outside the service: backup, restore, check and compaction."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from noisewise._words import counted
from noisewise.serve.log import lifecycle
from noisewise.serve.log.database import reason_of, without_password
from noisewise.serve.log.events import ACTIVATION, DECISION, FEEDBACK, SECOND_FEEDBACK
from noisewise.serve.log.locks import LearnerLock
from noisewise.serve.log.store import Store
from noisewise.serve.log.tables import events, metadata, snapshots
from noisewise.serve.models.kinds import served_model
from noisewise.serve.models.model import read_state
from noisewise.serve.models.offer_spec import stored_spec
from noisewise.serve.models.replaying import replayed

PAGE = 1000  # rows copied at a time
COMPACTED = "compacted"


def backup(url: str, file: str | Path) -> int:
    """Copy a store, which may be in use, to a new SQLite file: one consistent moment of it. The number of events."""
    path = Path(file)
    if path.exists():
        raise ValueError(f"{path} exists; a backup is written to a new file")
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    with _existing(url) as source, closing(Store(f"sqlite:///{unfinished}")) as target:
        rows = _copy(source, target)
    os.replace(unfinished, path)
    return rows


def restore(file: str | Path, url: str) -> int:
    """Copy a backup into an empty store, of either kind; the number of events."""
    if not Path(file).is_file():
        raise ValueError(f"there is no backup {file}")
    with _existing(f"sqlite:///{file}") as source, closing(Store(url)) as target:
        target.create()
        with target.engine.begin() as connection:
            for table in metadata.sorted_tables:
                if connection.execute(sa.select(sa.func.count()).select_from(table)).scalar():
                    raise ValueError("the store is not empty; a backup is restored into a new one")
        rows = _copy(source, target)
        target.acknowledge_all()  # an earlier file of this name may have had more
        return rows


def check(url: str, replaying: bool = False) -> list[str]:
    """What is wrong with a store, a sentence each; with `replaying`, whether each snapshot equals its log too."""
    found: list[str] = []
    with _existing(url) as store:
        try:
            store.create()
            found += _log_faults(store)
            for number, name, text in store.models():
                found += [f"model {name}: {fault}" for fault in _model_faults(store, number, name, text, replaying)]
        except sa.exc.DatabaseError as error:
            found.append(f"the database can't be read to its end: {reason_of(error)}")
    return found


def compact(url: str, keep_days: float | None = None) -> int:
    """Remove the log that is older, with states that stand for it, and give the room back; how many rows.

    Nothing else may use the store meanwhile.
    """
    removed = 0
    with _existing(url) as store, _alone(store):
        store.create()
        if keep_days is not None:
            before = time.time() - 86_400 * keep_days
            removed = sum(_remove_older(store, *model, before) for model in store.models())
        if store.sqlite:
            with store.engine.connect() as connection:
                connection.exec_driver_sql("COMMIT")  # VACUUM needs to be alone
                connection.exec_driver_sql("VACUUM")
    return removed


@contextmanager
def _existing(url: str) -> Iterator[Store]:
    """A store that is there already; what its database, or that of a copy, can't do is said in a sentence."""
    shown = without_password(url)
    with closing(Store(url)) as store:
        try:
            if not store.has_log():
                raise ValueError(f"there is no log of a service in {shown}")
            yield store
        except sa.exc.DatabaseError as error:
            raise ValueError(f"this can't be done with {shown}: {reason_of(error)}") from None


@contextmanager
def _alone(store: Store) -> Iterator[None]:
    """No service uses the store meanwhile."""
    lock = LearnerLock(store)
    if not lock.acquire():
        raise ValueError("a service uses this store; stop it first, or set keep_days of its models")
    try:
        yield
    finally:
        lock.release()


def _copy(source: Store, target: Store) -> int:
    target.create()
    level: dict[str, Any] = {} if source.sqlite else {"isolation_level": "REPEATABLE READ"}
    rows = 0
    with source.engine.connect().execution_options(**level) as reading, target.writing() as writing:
        known = set(sa.inspect(reading).get_table_names())
        for table in metadata.sorted_tables:
            if table.name not in known:
                continue  # an earlier version did not have it
            for page in reading.execution_options(yield_per=PAGE).execute(sa.select(table)).mappings().partitions():
                writing.execute(table.insert(), [dict(row) for row in page])
                rows += len(page) if table is events else 0
        if not target.sqlite:
            writing.exec_driver_sql("SELECT setval(pg_get_serial_sequence('models', 'id'), max(id)) FROM models")
    return rows


def _log_faults(store: Store) -> Iterator[str]:
    if store.sqlite:
        with store.engine.begin() as connection:
            verdict = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
        if verdict != "ok":
            yield f"the database file is damaged: {verdict}"
    lost = store.lost_rows()
    if lost:
        gone = counted(lost, "acknowledged row", "are")
        yield f"the last {gone} missing: the file was copied without its -wal, or that was cut"
    decisions, about = events.alias(), (FEEDBACK, ACTIVATION, SECOND_FEEDBACK)
    made = sa.exists().where(
        decisions.c.decision_id == events.c.decision_id,
        decisions.c.model == events.c.model,
        decisions.c.kind == DECISION,
    )
    query = sa.select(sa.func.count()).select_from(events).where(events.c.kind.in_(about), ~made)
    numbers = sa.select(events.c.model, events.c.number).where(events.c.kind == DECISION)
    twice = numbers.group_by(events.c.model, events.c.number).having(sa.func.count() > 1)
    with store.engine.begin() as connection:
        orphans = connection.execute(query).scalar()
        repeated = len(connection.execute(twice).all())
    if orphans:
        yield f"rows about decisions that are not in the log: {orphans}"
    if repeated:
        yield f"decision numbers that were given twice: {repeated}"


def _model_faults(store: Store, number: int, name: str, text: str, replaying: bool) -> Iterator[str]:
    for index, data in enumerate(store.snapshots(number)):
        try:
            state = read_state(data)
        except ValueError as error:
            yield f"a snapshot can't be read ({error}); the log has all that is needed"
            continue
        if replaying and index == 0:
            position = int(state["position"])
            fresh = replayed(store, number, name, stored_spec(text), upto=position)
            stored = served_model(number, name, stored_spec(text))
            stored.restore(data)
            if fresh.model_file() != stored.model_file():
                yield f"the snapshot at position {position} differs from its log; without it, a start replays the log"


def _remove_older(store: Store, number: int, name: str, text: str, before: float) -> int:
    """Store the state at the last row before a time, and remove the log up to it."""
    query = sa.select(sa.func.max(events.c.position)).where(events.c.model == number, events.c.time < before)
    with store.engine.begin() as connection:
        last = connection.execute(query).scalar()
    forbidden = lifecycle.restored_ranges(store, number)
    if last is None or any(low <= last < high for low, high in forbidden):
        return 0
    base = store.base(number)
    if base is not None and base.position >= last:
        return 0
    data, position = replayed(store, number, name, stored_spec(text), upto=last).to_bytes()
    lifecycle.add_version(store, number, position, data, COMPACTED, most=1)
    with store.writing() as connection:
        connection.execute(snapshots.delete().where(snapshots.c.model == number, snapshots.c.position < position))
    return lifecycle.remove_before(store, number, position, before)
