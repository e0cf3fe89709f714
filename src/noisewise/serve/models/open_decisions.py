"""Decisions without feedback, and when their wait is over."""

from __future__ import annotations

import time

from noisewise.serve.log.events import DECISION, FEEDBACK, Event
from noisewise.serve.log.store import Store


class OpenDecisions:
    """Decisions without feedback, with the time of a clock that is never set at which each was made.

    The wall clock may be set: a decision still waits no longer than it has to, counted from when it was first seen.
    """

    def __init__(self) -> None:
        self.made: dict[str, float] = {}  # by id, in the order of the log

    @classmethod
    def stored(cls, store: Store, model: int) -> OpenDecisions:
        """Those that the log of a model has."""
        found = cls()
        found.made = {name: _since(made) for name, made in store.open_decisions(model)}
        return found

    def note(self, event: Event) -> None:
        """Follow the log."""
        if event.kind == DECISION:
            self.made[event.decision_id] = _since(event.time)
        elif event.kind == FEEDBACK:
            self.made.pop(event.decision_id, None)

    def expired(self, wait_seconds: float | None) -> list[str]:
        """Ids of the decisions whose wait is over."""
        if wait_seconds is None:
            return []
        before = time.monotonic() - wait_seconds
        return [name for name, made in self.made.items() if made <= before]


def _since(made: float) -> float:
    """A time of the wall clock on the monotonic one; what lies in the future is now."""
    return time.monotonic() - max(0.0, time.time() - made)
