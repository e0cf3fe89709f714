"""The log applier: applies the log in order to all models, stores snapshots, closes decisions by default."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from noisewise.serve.log.events import CHANGE, FEEDBACK, REWARD, Event
from noisewise.serve.log.group_commit import ACCEPTED, Entry, Outcome
from noisewise.serve.log.store import Store
from noisewise.serve.models.kinds import served_model
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.offer_spec import stored_spec
from noisewise.serve.models.open_decisions import OpenDecisions
from noisewise.serve.models.replaying import restored

MAX_REPLAYED = 100_000  # rows of the log that a start may have to read again because of an idle model
THREADS = 4  # models whose slow rows are applied at the same time
AT_ONCE = 0.01  # seconds that the rows of one batch may take on the event loop; what is left is done by a thread
PATIENCE = 0.02  # seconds for which a row waits for a snapshot to be written before it is left to a thread
CLOSE_SECONDS = 2.0  # for what is pending when the process ends
RETRY_SECONDS = 0.2  # after a failure of the store
log = logging.getLogger("noisewise.serve")


class LogApplier:
    """All models of a store, each a deterministic function of its specification and the log.

    Rows are dispatched in the order of the log, by whoever writes or reads them. Most are applied at once; those that
    take long, and what comes after them for the same model, by a thread.
    """

    def __init__(self, store: Store, new_rng: Callable[[], Any] | None = None) -> None:
        self.store = store
        self.models: dict[int, ServedModel] = {}
        self.position = 0
        self.waiting: dict[int, OpenDecisions] = {}  # decisions by model that get a default when the wait is over
        self.saved_at: dict[int, float] = {}
        self.replayed = 1.0  # fraction of the log that has been read at the start
        self._new_rng = new_rng
        self._lock = threading.RLock()  # of the dispatch, which is quick
        self._saved: dict[int, int] = {}
        self._threads = ThreadPoolExecutor(THREADS, "noisewise-learner")
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin at the newest snapshots in the store and read the rest of the log."""
        for number, name, spec in self.store.models():
            self.add(number, name, spec)
        self.position = min((model.position for model in self.models.values()), default=0)
        with self.store.engine.begin() as connection:
            first, last = self.position, self.store.last_position(connection)
        while not self._stopped.is_set() and self.catch_up(pages=1):
            self.replayed = (self.position - first) / max(last - first, 1)
        self.replayed = 1.0

    def stop(self) -> None:
        """Read no more of the log than has been begun."""
        self._stopped.set()

    def finish(self) -> None:
        """Finish what is pending, as far as that is a matter of seconds, and leave the rest."""
        deadline = time.monotonic() + CLOSE_SECONDS
        while self._is_busy() and time.monotonic() < deadline:
            time.sleep(0.01)
        for model in list(self.models.values()):
            model.abandoned = True

    def close(self) -> None:
        """End the threads."""
        self.stop()
        self._threads.shutdown(wait=True)

    def add(self, number: int, name: str, spec: str) -> ServedModel:
        """A model that is in the store."""
        with self._lock:
            if number not in self.models:
                rng_state = self._new_rng() if self._new_rng is not None else None
                model = served_model(number, name, stored_spec(spec), rng_state)
                self.models[number] = restored(model, self.store)
            return self.models[number]

    def committed(self, outcomes: list[Outcome]) -> None:
        """Learn from a batch that has just been written; not if others have written too: the log has it in order."""
        written = [outcome for outcome in outcomes if outcome.status == ACCEPTED]
        written.sort(key=lambda outcome: outcome.event.position)
        until = time.perf_counter() + AT_ONCE
        with self._lock:
            for outcome in written:
                if outcome.event.position != self.position + 1:
                    return
                self._dispatch(outcome.event, outcome.decision or outcome.event, True, time.perf_counter() < until)

    def catch_up(self, pages: int | None = None) -> int:
        """Apply the log up to its end, or some pages of it; the number of rows applied."""
        read = 0
        while pages is None or pages > 0:
            with self.store.lock:  # no batch of this process is between its commit and `committed`
                rows = self.store.read(self.position)
                pairs = self.store.with_decisions(rows)
                with self._lock:
                    for event, decision in pairs:
                        self._dispatch(event, decision, False, False)
            for model in list(self.models.values()):
                if model.pending or model.unwatched:
                    model.drain(self.store)  # another thread may have read what is pending: it is waited for
            if not rows:
                break
            read += len(rows)
            pages = None if pages is None else pages - 1
        return read

    @property
    def lag(self) -> int:
        """Rows of the log that are written and not yet learnt from."""
        return sum(len(model.pending) for model in list(self.models.values()))

    def save_snapshots(self) -> None:
        """Store the state of every model that has changed."""
        with self._lock:
            changed = [one for one in self.models.values() if self._has_changed(one)]
            for model in changed:
                if not model.pending:
                    model.position = self.position  # all rows up to here are applied, though none were its own
        for model in changed:
            data, position = model.to_bytes()
            if model.abandoned and model.unwatched:
                continue  # it is not complete
            self.store.add_snapshot(model.id, position, data)
            self._saved[model.id], self.saved_at[model.id] = position, time.time()

    def close_expired(self, write: Callable[[list[Entry]], None]) -> None:
        """Give decisions whose wait is over their default feedback; through the log, like any other feedback."""
        for model in list(self.models.values()):
            wait_seconds = model.spec.wait_seconds
            if wait_seconds is None:
                self.waiting.pop(model.id, None)
                continue
            if model.id not in self.waiting:
                with self.store.lock, self._lock:
                    self.waiting[model.id] = OpenDecisions.stored(self.store, model.id)
            with self._lock:
                ids = self.waiting[model.id].expired(wait_seconds)
            if ids:
                write([Entry(event) for event in self._closing(model, ids)])

    def forget(self, number: int) -> None:
        """Drop a model that has been deleted."""
        with self._lock:
            self.models.pop(number, None)
            self.waiting.pop(number, None)

    def _closing(self, model: ServedModel, ids: list[str]) -> list[Event]:
        """The feedback that closes decisions: the sum of their rewards if there are any, else the default."""
        rewards: dict[str, float] = {}
        if model.spec.rewards == "sum":
            for row in self.store.about(ids):
                if row.model == model.id and row.kind >= REWARD:
                    rewards[row.decision_id] = rewards.get(row.decision_id, 0.0) + (row.probability or 0.0)
        now = time.time()
        return [Event(0, model.id, FEEDBACK, one, now, **model.closing_fields(rewards.get(one))) for one in ids]

    def _has_changed(self, model: ServedModel) -> bool:
        saved = self._saved.get(model.id, 0)
        return model.position > saved or self.position - saved > MAX_REPLAYED

    def _dispatch(self, event: Event, decision: Event, live: bool, at_once: bool) -> None:
        """Hand a row to its model; the lock is held. A live one is applied at once or by a thread."""
        if event.model not in self.models and not self._is_deleted(event):
            for number, name, spec in self.store.models():
                self.add(number, name, spec)
        self.position = event.position
        model = self.models.get(event.model)
        if model is None:
            return
        if model.id in self.waiting:
            self.waiting[model.id].note(event)
        if event.kind == CHANGE and "deleted" in event.change:
            self.forget(model.id)
        elif at_once and not model.pending and not model.is_slow(event) and model.applying.acquire(timeout=PATIENCE):
            try:
                model.learn(event, decision, self.store)
            finally:
                model.applying.release()
            if len(model.unwatched) > 2 or model.progress.estimates_next or not model.watching.acquire(blocking=False):
                self._schedule(model)
            else:
                try:
                    model.watch()
                finally:
                    model.watching.release()
        else:
            model.pending.append((event, decision))
            if live:
                self._schedule(model)

    def _is_deleted(self, event: Event) -> bool:
        return event.kind == CHANGE and "deleted" in event.change

    def _is_busy(self) -> bool:
        return any(model.pending or model.unwatched for model in list(self.models.values()))

    def _schedule(self, model: ServedModel) -> None:
        if not model.scheduled:
            model.scheduled = True
            self._threads.submit(self._work, model)

    def _work(self, model: ServedModel) -> None:
        """Do what is pending for a model until there is no more; through failures of the store."""
        while True:
            try:
                model.drain(self.store)
            except Exception as error:
                log.warning("model %s can't learn now: %s", model.name, error)
                if self._stopped.wait(RETRY_SECONDS):
                    return
            with self._lock:
                if model.abandoned or not (model.pending or model.unwatched):
                    model.scheduled = False
                    return
