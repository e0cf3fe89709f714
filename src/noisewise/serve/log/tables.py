"""The tables of a service: models, the event log, snapshots, versions and notes."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()
models = sa.Table(
    "models",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, unique=True, nullable=False),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("time", sa.Double, nullable=False),
)
events = sa.Table(
    "events",
    metadata,
    sa.Column("position", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
    sa.Column("model", sa.Integer, nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("decision_id", sa.Text, nullable=False),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("number", sa.BigInteger),
    sa.Column("code", sa.Integer),
    sa.Column("best", sa.Integer),
    sa.Column("probability", sa.Double),
    sa.Column("draw", sa.Double),
    sa.Column("version", sa.BigInteger),
    sa.Column("features", sa.LargeBinary),
    sa.Column("scores", sa.LargeBinary),
    sa.Column("allowed", sa.Text),
    sa.Column("active", sa.SmallInteger),
    sa.Column("answer", sa.SmallInteger),
    sa.Column("person", sa.Text),
    sa.Column("source", sa.SmallInteger),
    sa.Index("one_of_each_kind", "decision_id", "model", "kind", unique=True),
)
snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("model", sa.Integer, primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
versions = sa.Table(  # states to go back to; the one that is a base replaces the log before it
    "versions",
    metadata,
    sa.Column("model", sa.Integer, primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("base", sa.SmallInteger, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
notes = sa.Table("notes", metadata, sa.Column("name", sa.Text, primary_key=True), sa.Column("value", sa.Text))
DELETED = "(deleted)"  # begins the name of a deleted model: no name has parentheses; its number is never given again
