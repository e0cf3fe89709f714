"""Leader election: one learner process at a time, by a lock that is released when the process dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Any

import sqlalchemy as sa

from noisewise.serve.log.store import LEARNER_LOCK, Store


class LearnerLock:
    """The lock of the learner process of a store: an advisory lock in PostgreSQL, a locked file beside SQLite's."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._file: int | None = None
        self._connection: sa.Connection | None = None

    def acquire(self) -> bool:
        """Take the lock if it is free, or still hold it."""
        return self._acquire_file() if self.store.sqlite else self._acquire_advisory()

    def release(self) -> None:
        """Release the lock, so that another process may learn."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self._connection is not None:
            with contextlib.suppress(sa.exc.DBAPIError):
                self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def _acquire_file(self) -> bool:
        if self._file is not None:
            return True
        file = os.open(f"{self.store.path}.learner", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        self._file = file
        return True

    def _acquire_advisory(self) -> bool:
        try:
            if self._connection is not None:
                self._query("SELECT 1")  # the lock goes with the connection
                return True
            self._connection = self.store.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            if self._query("SELECT pg_try_advisory_lock(%s)", LEARNER_LOCK):
                return True
        except sa.exc.DBAPIError:
            pass
        self.release()
        return False

    def _query(self, query: str, *values: Any) -> Any:
        assert self._connection is not None
        return self._connection.exec_driver_sql(query, values).scalar()
