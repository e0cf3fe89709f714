"""A time limit that many share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from typing import Any

CHECKS = 10  # within the time limit: so much later, at most, does it take effect


class Deadlines:
    """A time limit for many, by one timer: one for each request would cost as much as to read its head."""

    def __init__(self, seconds: float, expire: Callable[[Any], None]) -> None:
        self.seconds = seconds
        self._expire = expire
        self._since: dict[Hashable, float] = {}  # the longest first
        self._ticks = False

    def start(self, item: Hashable) -> None:
        """Let the time of an item begin, from the event loop."""
        self._since[item] = time.monotonic()
        if not self._ticks:
            self._ticks = True
            asyncio.get_running_loop().call_later(self.seconds / CHECKS, self._tick)

    def stop(self, item: Hashable) -> None:
        """An item was in time."""
        self._since.pop(item, None)

    def longest(self) -> Any:
        """The item whose time began first; None if there is none."""
        return next(iter(self._since), None)

    def _tick(self) -> None:
        before = time.monotonic() - self.seconds
        late = [item for item, since in self._since.items() if since <= before]
        for item in late:
            del self._since[item]
            self._expire(item)
        self._ticks = bool(self._since)
        if self._ticks:
            asyncio.get_running_loop().call_later(self.seconds / CHECKS, self._tick)
