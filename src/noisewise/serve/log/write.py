"""Many requests in one transaction: each is checked against the log, numbered, and written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from noisewise.serve.log.events import ANSWER, BY_DEFAULT, DECISION, Event
from noisewise.serve.log.store import Store

UNKNOWN, ACCEPTED, DUPLICATE, LATE = "unknown", "accepted", "duplicate", "late"


class Entry(NamedTuple):
    """A row to be written. `named` says that the client chose the name, which may then be there already."""

    event: Event
    named: bool = False


class Outcome(NamedTuple):
    """What became of an entry: the row that is in the log now, and the decision it is about."""

    status: str
    event: Event
    decision: Event | None


class Prepared(NamedTuple):
    """A transaction ready to be committed; when `commit` returns, the entries are on disk."""

    commit: Callable[[], list[Outcome]]


class LogWriter:
    """Writes batches; remembers positions and numbers for as long as nobody else writes."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.position = 0
        self.numbers: dict[int, int] = {}

    def prepare(self, entries: list[Entry]) -> Prepared:
        """Write all entries into one transaction, which is still to be committed."""
        numbers = dict(self.numbers)
        rows: list[Event] = []
        connection, transaction = self.store.begin()
        try:
            last = self.store.last_position(connection)
            if last != self.position:
                numbers.update(self.store.numbers(connection, self.position))
            asked = {entry.event.decision_id for entry in entries if entry.named or entry.event.kind != DECISION}
            known = {
                (event.model, event.decision_id, event.kind): event for event in self.store.named(connection, asked)
            }
            outcomes = [self._place(entry, known, rows, last, numbers) for entry in entries]
            self.store.append(connection, rows)
        except BaseException:
            connection.close()  # which rolls back
            raise

        def commit() -> list[Outcome]:
            try:
                transaction.commit()
            finally:
                connection.close()
            self.position, self.numbers = last + len(rows), numbers  # only what has been committed is remembered
            return outcomes

        return Prepared(commit)

    def _place(
        self,
        entry: Entry,
        known: dict[tuple[int, str, int], Event],
        rows: list[Event],
        last: int,
        numbers: dict[int, int],
    ) -> Outcome:
        event = entry.event
        model, name, kind = event.model, event.decision_id, event.kind
        decision, earlier = known.get((model, name, DECISION)), known.get((model, name, kind))
        if earlier is not None:
            late = kind == ANSWER and earlier.source == BY_DEFAULT and event.source != BY_DEFAULT
            return Outcome(LATE if late else DUPLICATE, earlier, decision)
        if kind != DECISION and decision is None:
            return Outcome(UNKNOWN, event, None)
        event = event._replace(position=last + len(rows) + 1)
        if kind == DECISION:
            numbers[model] = numbers.get(model, -1) + 1
            event = decision = event._replace(number=numbers[model])
        rows.append(event)
        known[model, name, kind] = event
        return Outcome(ACCEPTED, event, decision)
