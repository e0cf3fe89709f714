"""Decisions per second, of late."""

from __future__ import annotations

import time

SECONDS = 10


class Pace:
    """Counts what happens in each of the last ten seconds."""

    def __init__(self) -> None:
        self._counts = [0] * SECONDS
        self._seconds = [0] * SECONDS

    def tick(self, now: float | None = None) -> None:
        """Count one."""
        second = int(time.time() if now is None else now)
        place = second % SECONDS
        if self._seconds[place] != second:
            self._seconds[place], self._counts[place] = second, 0
        self._counts[place] += 1

    def now(self, now: float | None = None) -> float:
        """Mean of the seconds that are over.

        >>> pace = Pace()
        >>> for moment in (100.1, 100.2, 100.9):
        ...     pace.tick(moment)
        >>> pace.now(101.5)
        0.3
        """
        second = int(time.time() if now is None else now)
        recent = zip(self._seconds, self._counts)
        return sum(count for then, count in recent if second - SECONDS <= then < second) / SECONDS
