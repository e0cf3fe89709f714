"""The service without HTTP: models by name, decisions, feedback, and the threads that learn and save."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections import Counter
from typing import Any

import numpy as np

from noisewise._loops.state import new_rng
from noisewise.serve.log.events import ACTIVATION, BY_ANNOTATOR, DECISION, FEEDBACK, Event, feedback_code, new_id
from noisewise.serve.log.group_commit import UNKNOWN, Entry, GroupCommit, LogWriter, Outcome
from noisewise.serve.log.locks import LearnerLock
from noisewise.serve.log.store import Store
from noisewise.serve.models.log_applier import LogApplier, restored
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.recipes import new_learner
from noisewise.serve.models.rows import row_of
from noisewise.serve.models.spec import DecideRequest, ModelSpec
from noisewise.serve.settings import Settings

POLL_SECONDS = 0.2  # between two reads of what other processes have written
LOCK_TIMEOUT = 15.0  # seconds to wait for the lock of a process that has just died
log = logging.getLogger("noisewise.serve")


class NotFound(LookupError):
    """There is no model or decision of this name."""


class Conflict(ValueError):
    """A model of this name exists and has another specification."""


class Service:
    """Decisions and feedback through the log; see `Settings` for the roles of a process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.store)
        self.applier = None if settings.role == "api" else LogApplier(self.store)
        self.lock = LearnerLock(self.store)
        self.counts: Counter[tuple[str, str]] = Counter()  # (model, status of the feedback)
        self.learning = False
        self.models: dict[str, ServedModel] = {}
        self.committer = GroupCommit(LogWriter(self.store), self._committed, self._failed)
        self._stop = threading.Event()
        self._follower = threading.Thread(target=self._follow, name="noisewise-follower", daemon=True)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read the log and start the threads; blocks until decisions can be made."""
        self.store.create()
        warm_up()
        if self.settings.role == "all":
            deadline = time.monotonic() + LOCK_TIMEOUT
            while not self.lock.acquire():
                if time.monotonic() > deadline:
                    raise ValueError("another process learns from this store; start this one with --role api")
                time.sleep(POLL_SECONDS)
            self._start_learning()
        self.committer.start(loop)
        self._follower.start()

    async def close(self) -> None:
        """Write what is queued, store snapshots, and let another process learn."""
        self._stop.set()
        await self.committer.close()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        if self._follower.is_alive():
            self._follower.join()
        if self.learning and self.applier is not None:
            self.applier.save_snapshots()
        self.lock.release()
        self.store.close()

    async def model(self, name: str) -> ServedModel:
        """A model by its name."""
        found = self.models.get(name)
        if found is None:
            await asyncio.to_thread(self._load_models)
            found = self.models.get(name)
        if found is None:
            raise NotFound(f"there is no model {name!r}; PUT /models/{name} makes one")
        return found

    async def all_models(self) -> list[ServedModel]:
        """All models, in the order they were created."""
        await asyncio.to_thread(self._load_models)
        return sorted(self.models.values(), key=lambda model: model.id)

    async def create(self, name: str, spec: ModelSpec) -> tuple[ServedModel, bool]:
        """Create a model, or return the existing one with the same specification; whether it is new."""
        known = name in self.models
        await asyncio.to_thread(new_learner, spec)  # refuse an impossible specification before it is stored
        _, text = await asyncio.to_thread(self.store.add_model, name, spec.model_dump_json())
        stored = ModelSpec.stored(text)
        if stored != spec.model_copy(update={"revision": stored.revision}):  # an earlier model stays what it is
            raise Conflict(f"a different model {name!r} is there already; choose another name")
        return await self.model(name), not known

    async def decide(self, model: ServedModel, request: DecideRequest, active: bool = True) -> Event:
        """Decide, and return when the decision is in the log."""
        row = row_of(request.features, model.spec.features)
        allowed = model.allowed(request.actions, request.excluded)
        while not model.lock.acquire(blocking=False):  # it is being saved; other requests go on meanwhile
            await asyncio.sleep(0.001)  # never held across an await: the event loop takes it too
        try:
            ranked, version = model.rank(row, allowed)
        finally:
            model.lock.release()
        event = Event(
            position=0,  # given by the log writer, as is the number
            model=model.id,
            kind=DECISION,
            decision_id=request.decision_id or new_id(),
            time=time.time(),
            code=ranked.code,
            best=ranked.best,
            probability=ranked.probability,
            draw=ranked.draw,
            version=version,
            features=row.tobytes(),
            scores=np.concatenate([ranked.scores, ranked.widths]).tobytes(),
            allowed=None if allowed is None else json.dumps(np.flatnonzero(allowed).tolist()),
            active=int(active),
        )
        outcome = await self.committer.submit(Entry(event, named=request.decision_id is not None))
        model.decision_rate.count(event.time)
        return outcome.event

    async def feedback(
        self, model: ServedModel, decision_id: str, right: bool | None, annotator: str | None = None
    ) -> Outcome:
        """Record feedback on a decision, and return its outcome when it is in the log."""
        value, now = feedback_code(right), time.time()
        event = Event(0, model.id, FEEDBACK, decision_id, now, answer=value, person=annotator, source=BY_ANNOTATOR)
        return await self._submit(model, Entry(event, reopens=model.spec.reopens))

    async def activate(self, model: ServedModel, decision_id: str) -> Outcome:
        """Activate a decision with deferred activation."""
        return await self._submit(model, Entry(Event(0, model.id, ACTIVATION, decision_id, time.time())))

    async def decision(self, model: ServedModel, decision_id: str) -> dict[int, Event]:
        """All rows of the log about a decision, by their kind."""
        rows = await asyncio.to_thread(self.store.about, [decision_id])
        found = {row.kind: row for row in rows if row.model == model.id}
        if DECISION not in found:
            raise NotFound(f"model {model.name!r} has made no decision {decision_id!r}")
        return found

    async def _submit(self, model: ServedModel, entry: Entry) -> Outcome:
        outcome = await self.committer.submit(entry)
        self.counts[model.name, outcome.status] += 1
        if outcome.status == UNKNOWN:
            raise NotFound(f"model {model.name!r} has made no decision {entry.event.decision_id!r}")
        return outcome

    def _start_learning(self) -> None:
        assert self.applier is not None
        self.applier.start()
        self.learning = True
        self._index_models()

    def _committed(self, outcomes: list[Outcome]) -> None:
        if self.learning and self.applier is not None:
            try:
                self.applier.committed(outcomes)
            except Exception:
                log.exception("the log could not be followed; trying again")

    def _failed(self, error: Exception) -> None:
        log.error("a batch could not be written: %s", error)
        for model in list(self.models.values()):
            if self.settings.role == "all":
                with model.lock:
                    model.reset_draws()

    def _follow(self) -> None:
        """Follow the log and store snapshots until the process ends, through failures of the store."""
        next_save, next_expiry = time.monotonic() + self.settings.state_seconds, 0.0
        while not self._stop.wait(POLL_SECONDS):
            try:
                if self.applier is None:
                    self._read_snapshots()
                    continue
                holds_lock = self.lock.acquire()
                if holds_lock and not self.learning:
                    self._start_learning()
                if self.learning:
                    self.applier.catch_up()
                    self._index_models()
                if holds_lock and time.monotonic() >= next_expiry:
                    self.applier.close_expired(self.committer.write_now)
                    next_expiry = time.monotonic() + 1.0
                if holds_lock and time.monotonic() >= next_save:
                    began = time.monotonic()
                    self.applier.save_snapshots()
                    spent = time.monotonic() - began
                    next_save = time.monotonic() + max(self.settings.state_seconds, 20 * spent)
            except Exception as error:
                log.warning("the store can't be followed now: %s", error)

    def _read_snapshots(self) -> None:
        newest = self.store.snapshot_positions()
        for model in list(self.models.values()):
            if newest.get(model.id, 0) > model.position:
                restored(model, self.store)

    def _load_models(self) -> None:
        for number, name, spec in self.store.models():
            if self.applier is not None:
                self.applier.add(number, name, spec)
            elif name not in self.models:
                model = ServedModel(number, name, ModelSpec.stored(spec), new_rng())
                self.models[name] = restored(model, self.store)
        self._index_models()

    def _index_models(self) -> None:
        if self.applier is not None:
            self.models.update({model.name: model for model in list(self.applier.models.values())})


def warm_up() -> Any:
    """Load or compile the loops, so that the first decision does not wait for them."""
    spec = ModelSpec.model_validate({"actions": [0, 1], "features": {"count": 2}})
    learner = new_learner(spec)
    return learner.learn(learner.decide(np.array([1.0, 0.0])), 1)
