"""Retention: versions of models whose log is kept for some days, and the removal of what is older."""

from __future__ import annotations

import time

from noisewise.serve.log import lifecycle as rows
from noisewise.serve.log.store import Store
from noisewise.serve.models.model import ServedModel

AUTOMATIC = "automatic"  # the note of versions that nobody asked for
MOST_VERSIONS = 10  # with the same note; then the oldest goes
SECONDS_A_DAY = 86_400.0
VERSIONS_A_PERIOD = 8  # automatic versions within the days for which a log is kept


def keep_retention(store: Store, models: list[ServedModel]) -> int:
    """Store automatic versions of models whose log is kept for some days, and remove what is older; how many rows."""
    removed = 0
    for model in models:
        if model.spec.keep_days is not None:
            period = SECONDS_A_DAY * model.spec.keep_days
            versions = rows.list_versions(store, model.id)
            if time.time() - max((one.time for one in versions), default=0.0) > period / VERSIONS_A_PERIOD:
                store_version(store, model, AUTOMATIC)
            removed += remove_older(store, model.id, time.time() - period)
    return removed


def remove_older(store: Store, model: int, before: float) -> int:
    """Remove the log up to the newest version from before a time, if there is one; how many rows."""
    forbidden = rows.restored_ranges(store, model)
    old = [
        one.position
        for one in rows.list_versions(store, model)
        if one.time < before and not one.base and not any(low <= one.position < high for low, high in forbidden)
    ]
    return rows.remove_before(store, model, max(old), before) if old else 0


def store_version(store: Store, model: ServedModel, note: str) -> int:
    """Store the present state of a model as a version; its position."""
    data, position = model.to_bytes()
    rows.add_version(store, model.id, position, data, note, MOST_VERSIONS)
    return position
