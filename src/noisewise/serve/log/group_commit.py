"""Group commit: requests that arrive while one transaction is being synced to disk share the next one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from noisewise.serve.log.events import (
    BY_ANNOTATOR,
    BY_DEFAULT,
    CHANGE,
    DECISION,
    FEEDBACK,
    MAX_REWARDS,
    MISSING,
    REWARD,
    SECOND_FEEDBACK,
    Event,
)
from noisewise.serve.log.store import Store

UNKNOWN, ACCEPTED, DUPLICATE, LATE = "unknown", "accepted", "duplicate", "late"
MAX_BATCH = 512  # entries of one transaction: a sync of a few milliseconds
REWARDS = range(REWARD, REWARD + MAX_REWARDS)
MAX_QUEUED = 20_000  # entries; beyond, clients are told to try again


class Busy(Exception):
    """The queue for the log is full."""


class Unwritten(Exception):
    """The log could not be written; the entry may or may not be in it."""


class Entry(NamedTuple):
    """A row to be written. `named` says that the client chose the decision id, which may be in the log already.

    `reopens` says that it may be feedback after missing feedback, which left the decision open; `early` that its
    decision may follow it: it is then kept as a reward, and becomes feedback when the decision is written.
    """

    event: Event
    named: bool = False
    reopens: bool = False
    early: bool = False


class Outcome(NamedTuple):
    """Status of an entry, the row that is in the log now, and the decision it is about."""

    status: str
    event: Event
    decision: Event | None


class LogWriter:
    """Writes batches of entries: each is checked against the log, numbered, and written once.

    The last position and the decision numbers are cached as long as no other process writes.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.position = 0
        self.numbers: dict[int, int] = {}

    def prepare(self, entries: list[Entry]) -> Callable[[], list[Outcome]]:
        """Write all entries into one transaction; the function that commits it returns when they are on disk."""
        numbers = dict(self.numbers)
        rows: list[Event] = []
        store, log = self.store, self.store.log
        try:
            last = log.begin()
            if last != self.position:
                numbers.update(store.numbers(log.execute, self.position))
            ids = {entry.event.decision_id for entry in entries if entry.named or entry.event.kind != DECISION}
            known = {(event.model, event.decision_id, event.kind): event for event in store.named(log.execute, ids)}
            outcomes = [self._resolve(entry, known, rows, last, numbers) for entry in entries]
            if known:
                outcomes += [_early_feedback(one, known, rows, last) for one in list(rows) if _came_early(one, known)]
            store.append(log.execute, rows)
        except BaseException:
            log.close()  # which rolls back
            raise

        def commit() -> list[Outcome]:
            try:
                log.commit()
            except BaseException:
                log.close()
                raise
            self.position, self.numbers = last + len(rows), numbers  # only what has been committed is cached
            store.acknowledge(self.position)
            return outcomes

        return commit

    def _resolve(
        self,
        entry: Entry,
        known: dict[tuple[int, str, int], Event],
        rows: list[Event],
        last: int,
        numbers: dict[int, int],
    ) -> Outcome:
        """The outcome of an entry; one that is accepted is numbered and added to `rows` and `known`."""
        event = entry.event
        model, decision_id, kind = event.model, event.decision_id, event.kind
        if kind == CHANGE:
            return Outcome(ACCEPTED, _append(event, rows, last), None)
        if kind == REWARD:
            return _resolve_reward(event, known, rows, last)
        decision, earlier = known.get((model, decision_id, DECISION)), known.get((model, decision_id, kind))
        if kind == FEEDBACK and earlier is not None:
            earlier = known.get((model, decision_id, SECOND_FEEDBACK), earlier)
            if entry.reopens and _was_missing(earlier) and event.answer != MISSING:
                event, kind, earlier = event._replace(kind=SECOND_FEEDBACK), SECOND_FEEDBACK, None
        if earlier is not None:
            late = kind == FEEDBACK and earlier.source == BY_DEFAULT and event.source != BY_DEFAULT
            return Outcome(LATE if late else DUPLICATE, earlier, decision)
        if kind != DECISION and decision is None:
            if entry.early:
                return _resolve_reward(event._replace(kind=REWARD), known, rows, last)
            return Outcome(UNKNOWN, event, None)
        if kind == DECISION:
            numbers[model] = numbers.get(model, -1) + 1
            event = event._replace(number=numbers[model], position=last + len(rows) + 1)
            rows.append(event)
        else:
            event = _append(event, rows, last)
        known[model, decision_id, kind] = event
        return Outcome(ACCEPTED, event, event if kind == DECISION else decision)


def _append(event: Event, rows: list[Event], last: int) -> Event:
    """Give an event its position in the log and add it to the rows to be written."""
    event = event._replace(position=last + len(rows) + 1)
    rows.append(event)
    return event


def _resolve_reward(event: Event, known: dict[tuple[int, str, int], Event], rows: list[Event], last: int) -> Outcome:
    """A reward of a decision, which may have several and may follow them; after its feedback it is too late."""
    model, decision_id = event.model, event.decision_id
    decision, closing = known.get((model, decision_id, DECISION)), known.get((model, decision_id, FEEDBACK))
    if closing is not None:
        return Outcome(LATE, closing, decision)
    kind = next((kind for kind in REWARDS if (model, decision_id, kind) not in known), None)
    if kind is None:
        return Outcome(DUPLICATE, event, decision)
    event = _append(event._replace(kind=kind), rows, last)
    known[model, decision_id, kind] = event
    return Outcome(ACCEPTED, event, decision or event)


def _came_early(event: Event, known: dict[tuple[int, str, int], Event]) -> bool:
    """Whether a decision that is being written has had its reward already, as feedback that needs no other."""
    reward = known.get((event.model, event.decision_id, REWARD)) if event.kind == DECISION else None
    return reward is not None and reward.answer is not None


def _early_feedback(decision: Event, known: dict[tuple[int, str, int], Event], rows: list[Event], last: int) -> Outcome:
    """The earliest reward of a decision that came before it, as its feedback."""
    reward = known[decision.model, decision.decision_id, REWARD]
    event = _append(reward._replace(kind=FEEDBACK), rows, last)
    known[event.model, event.decision_id, FEEDBACK] = event
    return Outcome(ACCEPTED, event, decision)


def _was_missing(feedback: Event) -> bool:
    """Whether an annotator has said that there is no feedback; a default when the wait is over closes a decision."""
    return feedback.answer == MISSING and feedback.source == BY_ANNOTATOR


Queued = tuple[Entry, "asyncio.Future[Outcome]"]


class GroupCommit:
    """Queues entries while a transaction is being synced, and writes them in the next one.

    For SQLite the event loop prepares the transaction and only the sync runs in a thread: more work there would mean
    contention for the GIL. Where it would have to wait (for PostgreSQL, other processes, or other threads that write),
    the thread does both.

    `committed` is called with the outcomes of each batch, in the order of the log, before any future is resolved;
    `failed` when a batch could not be written. `alone` says that no other process writes to the store.
    """

    def __init__(
        self,
        writer: LogWriter,
        committed: Callable[[list[Outcome]], None],
        failed: Callable[[Exception], None],
        alone: bool = True,
    ) -> None:
        self.writer = writer
        self.committed = committed
        self.failed = failed
        self.batches = self.failures = 0
        self.last_error: Exception | None = None  # of the last write, if it failed
        self._prepares = alone and writer.store.sqlite
        self._queue: deque[Queued] = deque()
        self._flushing = False
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = ThreadPoolExecutor(1, "noisewise-log")

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Accept entries from now on."""
        self._loop = loop

    def submit(self, entry: Entry) -> asyncio.Future[Outcome]:
        """Queue an entry from the event loop; the future is done when it is on disk."""
        if self._loop is None or self._closed or len(self._queue) >= MAX_QUEUED:
            raise Busy("the log has more to write than it can take; try again in a moment")
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._queue.append((entry, future))
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)
        return future

    def write_now(self, entries: list[Entry]) -> None:
        """Write entries that no request waits for, from any thread but the event loop's."""
        for start in range(0, len(entries), MAX_BATCH):
            with self.writer.store.lock:
                try:
                    outcomes = self.writer.prepare(entries[start : start + MAX_BATCH])()
                except Exception as error:
                    self._note(error)
                    return
                self._note(outcomes)

    async def close(self) -> None:
        """Write what is queued, and accept no more."""
        self._closed = True
        while self._flushing:
            await asyncio.sleep(0.005)
        self._thread.shutdown(wait=True)

    @property
    def queued(self) -> int:
        """Entries not yet written."""
        return len(self._queue)

    @property
    def alive(self) -> bool:
        """Whether entries are accepted."""
        return self._loop is not None and not self._closed

    def _flush(self) -> None:
        """Write one batch; what is queued meanwhile is the next one."""
        assert self._loop is not None
        if not self._queue:
            self._flushing = False
            return
        batch = [self._queue.popleft() for _ in range(min(len(self._queue), MAX_BATCH))]
        entries = [entry for entry, _ in batch]
        lock = self.writer.store.lock
        if self._prepares and lock.acquire(blocking=False):
            try:
                commit = self.writer.prepare(entries)
            except Exception as error:
                self._finish(batch, error)
                return
            written = self._loop.run_in_executor(self._thread, commit)
        else:
            written = self._loop.run_in_executor(self._thread, self._locked_write, entries)
        written.add_done_callback(lambda done: self._finish(batch, done.exception() or done.result()))

    def _locked_write(self, entries: list[Entry]) -> list[Outcome]:
        self.writer.store.lock.acquire()  # released by `_finish`, when the learner has the batch
        return self.writer.prepare(entries)()

    def _finish(self, batch: list[Queued], result: Any) -> None:
        """Hand a batch to the learner, resolve its futures, and write the next one."""
        try:
            self._note(result)
        finally:
            self.writer.store.lock.release()
        results: list[Any] = result
        if isinstance(result, BaseException):
            results = [Unwritten("the log can't be written now; ask again with the same decision_id")] * len(batch)
        for (_, future), one in zip(batch, results):
            if not future.done():  # a client may have gone
                future.set_exception(one) if isinstance(one, Exception) else future.set_result(one)
        self._flush()

    def _note(self, result: Any) -> None:
        """Tell the learner, or whoever waits to learn, how a batch ended."""
        if isinstance(result, BaseException):
            self.failures += 1
            self.last_error = result  # type: ignore[assignment]
            self.failed(result)  # type: ignore[arg-type]
        else:
            self.batches += 1
            self.last_error = None
            self.committed(result)
