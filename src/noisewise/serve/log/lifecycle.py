"""Changes of the log itself: versions of a model, retention, erasing a person, deleting a model.

Each is one transaction that ends with a row of its own, so that positions are never given twice, and so that every
process that follows the log notices.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import sqlalchemy as sa

from noisewise.serve.log.events import CHANGE, DECISION, FEEDBACK, Event, change_event
from noisewise.serve.log.store import Store
from noisewise.serve.log.tables import DELETED, events, models, snapshots, versions


class Version(NamedTuple):
    """A state that a model can go back to; a base replaces the log before its position."""

    position: int
    time: float
    note: str
    base: bool


def list_versions(store: Store, model: int) -> list[Version]:
    """Versions of a model, the oldest first."""
    columns = versions.c.position, versions.c.time, versions.c.note, versions.c.base
    query = sa.select(*columns).where(versions.c.model == model).order_by(versions.c.position)
    with store.engine.begin() as connection:
        return [Version(row.position, row.time, row.note, bool(row.base)) for row in connection.execute(query)]


def version_data(store: Store, model: int, position: int) -> bytes | None:
    """The state of a version, if there is one at this position."""
    query = sa.select(versions.c.data).where(versions.c.model == model, versions.c.position == position)
    with store.engine.begin() as connection:
        found: bytes | None = connection.execute(query).scalar()
        return found


def add_version(store: Store, model: int, position: int, data: bytes, note: str, most: int) -> None:
    """Store a version; of those with the same note the oldest are deleted when there are more than `most`."""
    with store.writing() as connection:
        own = versions.c.model == model
        if connection.execute(sa.select(versions.c.position).where(own, versions.c.position == position)).first():
            return
        _insert_version(connection, model, position, note, data, base=False)
        same = sa.select(versions.c.position).where(own, versions.c.note == note, versions.c.base == 0)
        outdated = sorted(connection.execute(same).scalars())[:-most]
        connection.execute(versions.delete().where(own, versions.c.position.in_(outdated)))


def import_state(store: Store, model: int, state: Any, note: str) -> int:
    """Let a model go on from a state of another store; `state` gives the bytes at a position and a next decision."""
    with store.writing() as connection:
        position = _append(store, connection, model, {"imported": note})
        number = connection.execute(sa.select(sa.func.max(events.c.number)).where(events.c.model == model)).scalar()
        connection.execute(versions.update().where(versions.c.model == model).values(base=0))
        _insert_version(connection, model, position, note, state(position, 0 if number is None else number + 1), True)
        connection.execute(snapshots.delete().where(snapshots.c.model == model))
    return position


def remove_before(store: Store, model: int, position: int, before: float) -> int:
    """Make a version the base, and remove the rows that are no longer needed; how many.

    A decision stays as long as rows about it follow, or while it has no feedback and is younger than `before`.
    """
    with store.writing() as connection:
        _append(store, connection, model, {"removed before": position})
        own, later, feedback = events.c.model == model, events.alias(), events.alias()
        same_id = (later.c.model == model) & (later.c.decision_id == events.c.decision_id)
        needed = sa.exists().where(same_id, later.c.position > position)
        answered = sa.exists().where(
            feedback.c.model == model, feedback.c.decision_id == events.c.decision_id, feedback.c.kind == FEEDBACK
        )
        old = (events.c.position <= position) & ~needed & (answered | (events.c.time < before))
        removed = connection.execute(events.delete().where(own, old))
        connection.execute(versions.update().where(versions.c.model == model).values(base=0))
        chosen = (versions.c.model == model) & (versions.c.position == position)
        connection.execute(versions.update().where(chosen).values(base=1))
        connection.execute(versions.delete().where(versions.c.model == model, versions.c.position < position))
    return int(removed.rowcount)


def restored_ranges(store: Store, model: int) -> list[tuple[int, int]]:
    """Positions that were gone back to, and those of the rows that say so: between them no base may lie."""
    query = sa.select(events).where(events.c.model == model, events.c.kind == CHANGE)
    with store.engine.begin() as connection:
        rows = [Event._make(row) for row in connection.execute(query)]
    return [(int(row.change["restored"]), row.position) for row in rows if "restored" in row.change]


def erase_person(store: Store, model: int, person: str) -> int:
    """Remove all feedback of a person and every state that has learnt from it; the number of rows removed.

    What is left of the log is replayed by every process, as if the feedback had never been given. A base goes too:
    then only the log since it is left.
    """
    with store.writing() as connection:
        if store.sqlite:
            connection.exec_driver_sql("PRAGMA secure_delete = ON")  # not only unlinked, but overwritten
        own = (events.c.model == model) & (events.c.person == person)
        found: int = connection.execute(sa.select(sa.func.count()).select_from(events).where(own)).scalar_one()
        if found:
            connection.execute(events.delete().where(own, events.c.kind != DECISION))
            connection.execute(snapshots.delete().where(snapshots.c.model == model))
            connection.execute(versions.delete().where(versions.c.model == model))
            _append(store, connection, model, {"erased": found})
    if store.sqlite and found:
        with store.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return found


def delete_model(store: Store, model: int) -> None:
    """Remove a model and its log; its number is not given again, and one row is left that says so."""
    with store.writing() as connection:
        position = _append(store, connection, model, {"deleted": True})
        connection.execute(events.delete().where(events.c.model == model, events.c.position < position))
        for table in (snapshots, versions):
            connection.execute(table.delete().where(table.c.model == model))
        gone = models.update().where(models.c.id == model)
        connection.execute(gone.values(name=f"{DELETED} {model}", spec="{}"))


def _append(store: Store, connection: sa.Connection, model: int, change: dict[str, Any]) -> int:
    position = store.last_position(connection) + 1
    store.append(connection.exec_driver_sql, [change_event(model, change)._replace(position=position)])
    return position


def _insert_version(connection: sa.Connection, model: int, position: int, note: str, data: bytes, base: bool) -> None:
    row = {"model": model, "position": position, "time": time.time(), "note": note, "base": int(base), "data": data}
    connection.execute(versions.insert().values(**row))
