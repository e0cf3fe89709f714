"""The store of a service: its event log, models and snapshots; log writes are serialised."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import sqlalchemy as sa

from noisewise.serve.log.database import connect, reason_of, without_password
from noisewise.serve.log.events import DECISION, FEEDBACK, Event
from noisewise.serve.log.log_connection import WRITER_LOCK, LogConnection
from noisewise.serve.log.tables import DELETED, events, metadata, models, notes, snapshots, versions

LEARNER_LOCK = 0x77697365  # key of an advisory lock in PostgreSQL
INSERT_SIZES = (64, 16, 4, 1)  # rows of one insert: few different statements, so that each is prepared once
PROBE_BYTES = 16_384  # written to see whether a store can be written: a few pages of a database

Execute = Callable[[str, Any], Any]  # a statement and its values, as the database's driver takes them


class Store:
    """The tables of a service, at an address such as sqlite:///noisewise.db or postgresql://host/name."""

    def __init__(self, url: str) -> None:
        self.engine = connect(url)
        self.sqlite, self.path = self.engine.name == "sqlite", self.engine.url.database
        self.lock = threading.Lock()  # of this process's writers: none waits for another within the database
        self.log = LogConnection(self.engine)
        self._mark: int | None = None
        placeholder = "?" if self.sqlite else "%s"
        columns, values = ", ".join(Event._fields), ", ".join([placeholder] * len(Event._fields))
        insert = f"INSERT INTO events ({columns}) VALUES "
        self._insert = {n: insert + ", ".join([f"({values})"] * n) for n in INSERT_SIZES}
        self._select = f"SELECT {columns} FROM events WHERE "

    def create(self) -> None:
        """Create the tables that do not exist yet; several processes may do so at once."""
        with self.writing() as connection:
            metadata.create_all(connection)

    def has_log(self) -> bool:
        """Whether there is a log; a file that does not exist is not made."""
        return (not self.sqlite or os.path.exists(self.path or "")) and sa.inspect(self.engine).has_table("events")

    def close(self) -> None:
        """Close all connections."""
        if self._mark is not None:
            os.close(self._mark)
            self._mark = None
        self.log.close()
        self.engine.dispose()

    def acknowledge(self, position: int) -> None:
        """Note beside an SQLite file up to where the log has been acknowledged, so that a log cut short is noticed."""
        if self.sqlite:
            with contextlib.suppress(OSError):  # a full disk: the log itself has been written
                if self._mark is None:
                    self._mark = os.open(f"{self.path}.mark", os.O_CREAT | os.O_WRONLY, 0o600)
                os.pwrite(self._mark, b"%020d\n" % position, 0)

    def acknowledge_all(self) -> None:
        """Note that what is in the log is all there is."""
        with self.engine.begin() as connection:
            last = self.last_position(connection)
        self.acknowledge(last)

    def lost_rows(self) -> int:
        """Acknowledged rows that are no longer in the log: its write-ahead log was cut, or a copy lacks it."""
        try:
            with open(f"{self.path}.mark", "rb") as mark:
                acknowledged = int(mark.read(20) or 0)
        except (OSError, ValueError):
            return 0
        with self.engine.begin() as connection:
            return max(0, acknowledged - self.last_position(connection)) if self.sqlite else 0

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that no other writer overlaps, so that positions are in the order of commits."""
        connecting = self.engine.connect().execution_options
        with self.lock, connecting(noisewise_writes=True) as connection, connection.begin():
            if not self.sqlite:
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (WRITER_LOCK,))
            yield connection

    def append(self, execute: Execute, rows: Sequence[Event]) -> None:
        """Append rows to the log within a transaction, in as few statements as possible."""
        start = 0
        for size in INSERT_SIZES:
            while len(rows) - start >= size:
                execute(self._insert[size], tuple(chain.from_iterable(rows[start : start + size])))
                start += size

    def last_position(self, connection: sa.Connection) -> int:
        """Position of the last row of the log; 0 if it is empty."""
        return connection.execute(sa.select(sa.func.max(events.c.position))).scalar() or 0

    def numbers(self, execute: Execute, after: int) -> dict[int, int]:
        """Number of the last decision of each model that decided after a position."""
        made = f"SELECT model, max(number) FROM events WHERE position > {after} AND kind = {DECISION} GROUP BY model"
        return dict(map(tuple, execute(made, ())))

    def named(self, execute: Execute, ids: Iterable[str]) -> list[Event]:
        """All rows of the log about these decisions."""
        wanted = list(ids)
        if not wanted:
            return []
        query = "decision_id IN (SELECT value FROM json_each(?))" if self.sqlite else "decision_id = ANY(%s)"
        value: Any = json.dumps(wanted) if self.sqlite else wanted
        return [Event._make(row) for row in execute(self._select + query, (value,)).fetchall()]

    def about(self, ids: Iterable[str]) -> list[Event]:
        """The same as `named`, in a read transaction of its own."""
        with self.engine.begin() as connection:
            return self.named(connection.exec_driver_sql, ids)

    def read(self, after: int = 0, limit: int = 1000, model: int | None = None) -> list[Event]:
        """Rows of the log after a position, in order."""
        of_model = "" if model is None else f"AND model = {int(model)} "
        query = f"{self._select}position > {int(after)} {of_model}ORDER BY position LIMIT {int(limit)}"
        with self.engine.begin() as connection:
            return [Event._make(row) for row in connection.exec_driver_sql(query).fetchall()]

    def newest(self, model: int, limit: int) -> list[Event]:
        """The last rows of a model's log, the newest first."""
        query = sa.select(events).where(events.c.model == model).order_by(events.c.position.desc()).limit(limit)
        with self.engine.begin() as connection:
            return [Event._make(row) for row in connection.execute(query)]

    def with_decisions(self, rows: list[Event]) -> list[tuple[Event, Event]]:
        """Rows of the log, each with the decision it is about; itself if it is about none that is in the log."""
        known = {(one.model, one.decision_id): one for one in rows if one.kind == DECISION}
        missing = {
            one.decision_id for one in rows if one.is_about_decision and (one.model, one.decision_id) not in known
        }
        for one in self.about(missing):
            if one.kind == DECISION:
                known[one.model, one.decision_id] = one
        return [(one, known.get((one.model, one.decision_id), one)) for one in rows]

    def open_decisions(self, model: int) -> Iterator[tuple[str, float]]:
        """Ids and times of the decisions of a model that have no feedback, in order."""
        feedback = events.alias()
        same = (feedback.c.model == events.c.model) & (feedback.c.decision_id == events.c.decision_id)
        query = (
            sa.select(events.c.decision_id, events.c.time)
            .outerjoin(feedback, same & (feedback.c.kind == FEEDBACK))
            .where(events.c.model == model, events.c.kind == DECISION, feedback.c.position.is_(None))
            .order_by(events.c.position)
        )
        with self.engine.begin() as connection:
            for row in connection.execute(query):
                yield row.decision_id, row.time

    def add_model(self, name: str, spec: str) -> tuple[int, str]:
        """Number and specification of the model with this name, which is created if there is none."""
        with self.writing() as connection:
            query = sa.select(models.c.id, models.c.spec).where(models.c.name == name)
            found = connection.execute(query).first()
            if found is None:
                connection.execute(models.insert().values(name=name, spec=spec, time=time.time()))
                found = connection.execute(query).one()
            return found.id, found.spec

    def models(self) -> list[tuple[int, str, str]]:
        """Number, name and specification of all models."""
        with self.engine.begin() as connection:
            query = sa.select(models.c.id, models.c.name, models.c.spec).order_by(models.c.id)
            found = connection.execute(query.where(~models.c.name.startswith(DELETED)))
            return [(row.id, row.name, row.spec) for row in found]

    def add_snapshot(self, model: int, position: int, data: bytes) -> None:
        """Store the state of a model after a position; the one before it is kept, older ones are deleted."""
        with self.writing() as connection:
            older = sa.select(snapshots.c.position).where(snapshots.c.model == model)
            kept = sorted(connection.execute(older).scalars())[-1:]
            outdated = snapshots.c.position.not_in(kept)
            connection.execute(snapshots.delete().where(snapshots.c.model == model, outdated))
            if position not in kept:
                connection.execute(snapshots.insert().values(model=model, position=position, data=data))

    def snapshots(self, model: int) -> Iterator[bytes]:
        """Snapshots of a model, the newest first."""
        with self.engine.begin() as connection:
            query = sa.select(snapshots.c.data).where(snapshots.c.model == model)
            yield from connection.execute(query.order_by(snapshots.c.position.desc())).scalars()

    def base(self, model: int) -> Any:
        """The version that replaces the log before its position, if part of the log has been removed."""
        query = sa.select(versions).where(versions.c.model == model, versions.c.base == 1)
        with self.engine.begin() as connection:
            return connection.execute(query).first()

    def decisions_beginning(self, model: int, text: str) -> list[str]:
        """Ids of the decisions of a model that begin with a text."""
        query = sa.select(events.c.decision_id).where(events.c.decision_id.startswith(text, autoescape=True))
        with self.engine.begin() as connection:
            found = connection.execute(query.where(events.c.model == model, events.c.kind == DECISION))
            return list(found.scalars())

    def note(self, name: str) -> str | None:
        """A text that was kept under a name."""
        with self.engine.begin() as connection:
            found: str | None = connection.execute(sa.select(notes.c.value).where(notes.c.name == name)).scalar()
            return found

    def notes(self, beginning: str) -> dict[str, str]:
        """All texts whose names begin so."""
        query = sa.select(notes).where(notes.c.name.startswith(beginning, autoescape=True)).order_by(notes.c.name)
        with self.engine.begin() as connection:
            return {row.name: row.value for row in connection.execute(query)}

    def keep_note(self, name: str, value: str | None) -> None:
        """Keep a text under a name, in place of the one before; None deletes it."""
        with self.writing() as connection:
            connection.execute(notes.delete().where(notes.c.name == name))
            if value is not None:
                connection.execute(notes.insert().values(name=name, value=value))

    def time_range(self, model: int) -> tuple[float, float] | None:
        """Times of the first and last row of a model's log."""
        query = sa.select(sa.func.min(events.c.time), sa.func.max(events.c.time)).where(events.c.model == model)
        with self.engine.begin() as connection:
            low, high = connection.execute(query).one()
            return None if low is None else (low, high)

    def created(self, model: int) -> float:
        """When a model was created."""
        with self.engine.begin() as connection:
            return float(connection.execute(sa.select(models.c.time).where(models.c.id == model)).scalar_one())

    def check(self) -> None:
        """Raise if the store can't be reached."""
        with self.engine.begin() as connection:
            connection.execute(sa.select(sa.literal(1)))

    def check_writing(self) -> None:
        """Raise if the store can't be written: there must be room for a few more rows."""
        self.keep_note("written", "x" * PROBE_BYTES)
        self.keep_note("written", None)


def check_store(url: str) -> None:
    """Raise a ValueError for an address at which no log can be stored."""
    store = Store(url)
    try:
        store.create()
    except sa.exc.SQLAlchemyError as error:
        raise ValueError(f"the store {without_password(url)} can't be used: {reason_of(error)}") from None
    finally:
        store.close()
