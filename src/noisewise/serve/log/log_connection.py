"""The connection that writes the log, by the database's own driver: a layer above it took longer than the database."""

from __future__ import annotations

import contextlib
from typing import Any

import sqlalchemy as sa

WRITER_LOCK = 0x6E6F6973  # key of an advisory lock in PostgreSQL: one process writes at a time
BEGIN_SQLITE = "BEGIN IMMEDIATE"
LAST_POSITION = "SELECT max(position) FROM events"
# one round trip; each statement sees what was committed before it, so the last one what other writers have written
BEGIN_POSTGRESQL = f"BEGIN; SELECT pg_advisory_xact_lock({WRITER_LOCK}); {LAST_POSITION}"


class LogConnection:
    """One transaction at a time on a connection that stays open, and is opened anew when it has failed.

    All of it is called with the lock of the store's writers held, from any thread.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._sqlite = engine.dialect.name == "sqlite"
        self._connection: Any = None
        self._pooled: Any = None

    def begin(self) -> int:
        """Begin a transaction that no other writer overlaps; the last position of the log."""
        if self._connection is not None:
            try:
                return self._begin()
            except Exception:  # the database was restarted, perhaps; nothing has been written yet
                self.close()
        pooled = self._engine.raw_connection()
        self._connection = pooled.driver_connection
        pooled.detach()  # from the pool, for good
        self._pooled = pooled  # which would close the connection if it were collected
        if not self._sqlite:
            self._connection.autocommit = True  # transactions begin explicitly
        return self._begin()

    def execute(self, statement: str, values: Any = ()) -> Any:
        """Execute a statement; the rows it returns."""
        return self._connection.execute(statement, values)

    def commit(self) -> None:
        """Commit the transaction."""
        self.execute("COMMIT")

    def close(self) -> None:
        """Close the connection, which rolls back what has not been committed."""
        if self._connection is not None:
            with contextlib.suppress(Exception):  # it may be why it is closed
                self._connection.close()
            self._connection = self._pooled = None

    def _begin(self) -> int:
        if self._sqlite:
            self.execute(BEGIN_SQLITE)
            found = self.execute(LAST_POSITION)
        else:
            found = self._connection.execute(BEGIN_POSTGRESQL)
            while found.nextset():
                pass
        return found.fetchone()[0] or 0
