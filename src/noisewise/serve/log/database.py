"""The database of a store by its address: SQLite or PostgreSQL, how connections begin, and how errors are told."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

UNKNOWN_STORE = "is not known; sqlite:///file and postgresql://host/name are"


def connect(url: str) -> sa.Engine:
    """The database at an address such as sqlite:///noisewise.db or postgresql://host/name."""
    try:
        address = sa.make_url(url.replace("postgresql://", "postgresql+psycopg://", 1))
    except (sa.exc.ArgumentError, ValueError):
        raise ValueError(f"the store {UNKNOWN_STORE}") from None  # it may hold a password
    backend = address.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise ValueError(f"the store {without_password(url)!r} {UNKNOWN_STORE}")
    sqlite = backend == "sqlite"
    if sqlite and not address.database:
        raise ValueError("the store needs a file, e.g. sqlite:///noisewise.db: decisions must outlive the process")
    options: dict[str, Any] = {} if sqlite else {"pool_size": 8, "pool_pre_ping": True}
    engine = sa.create_engine(address, hide_parameters=True, **options)  # errors are logged, features are not
    sa.event.listen(engine, "connect", _prepare_sqlite if sqlite else _prepare_postgresql)
    if sqlite:
        sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin explicitly, in `_begin_sqlite`
    for pragma in ("busy_timeout = 20000", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")


def _prepare_postgresql(connection: Any, _record: Any) -> None:
    connection.execute("SET enable_seqscan = off")  # a plan made while the log was short would go on reading all of it
    connection.commit()


def _begin_sqlite(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("noisewise_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def without_password(url: str) -> str:
    """The address of a store, fit to be shown.

    >>> without_password("postgresql://ann:secret@db/noisewise")
    'postgresql://ann:***@db/noisewise'
    """
    address = sa.make_url(url)
    secret = [name for name in address.query if "pass" in name.lower()]
    return address.update_query_dict(dict.fromkeys(secret, "***")).render_as_string(hide_password=True)


def reason_of(error: Exception) -> str:
    """What the database says of an error, in one line.

    >>> reason_of(sa.exc.OperationalError("INSERT", None, Exception("database or disk is full")))
    'database or disk is full'
    """
    return (str(getattr(error, "orig", None) or error) or type(error).__name__).splitlines()[0]
