"""Memory in time: how long a round is remembered, and when it was."""

from __future__ import annotations

import re
import time as clock
from datetime import datetime
from math import isfinite
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise.online.learners.decision import NUMBER_TYPES

SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def memory_in_seconds(memory: Any) -> float | None:
    """The seconds of a memory in time; None if it counts rounds, or is for ever.

    >>> memory_in_seconds("7d"), memory_in_seconds("1.5 h"), memory_in_seconds(1000)
    (604800.0, 5400.0, None)
    """
    if not isinstance(memory, str):
        return None
    found = re.fullmatch(rf"\s*(\d+\.?\d*|\.\d+)\s*({'|'.join(SECONDS)})\s*", memory)
    if found is None or not float(found[1]):
        raise ValueError(
            f"memory is {memory!r:.40}; it is a number of rounds, or a time such as '7d', '12h' or '30min'"
        )
    return float(found[1]) * SECONDS[found[2]]


def seconds_of(time: Any) -> float:
    """When a round was, in seconds since 1970: a number of them, a date and time, or None for now.

    >>> seconds_of(12), seconds_of(np.datetime64("1970-01-01T00:01"))
    (12.0, 60.0)
    """
    if time is None:
        return clock.time()
    if isinstance(time, np.datetime64):
        time = float(time.astype("datetime64[us]").astype(np.int64)) / 1e6 if not np.isnat(time) else np.nan
    elif isinstance(time, datetime):
        time = time.timestamp()
    if not isinstance(time, NUMBER_TYPES) or not isfinite(time):
        raise ValueError(f"the time is {time!r:.40}; seconds since 1970 are needed, or a date and time")
    return float(time)


def elapsed_since(latest: float | None, times: Floats, memory: float) -> Floats:
    """Time since the latest round, in units of the memory; below 0 for rounds that come late."""
    start = float(times.min()) if latest is None else latest
    return np.asarray((times - start) / memory)
