"""The service without its web address: models by name, decisions, answers, and the threads that learn and save."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections import Counter
from typing import Any

import numpy as np

from noisewise.serve.api.schemas import DecideRequest, ModelSpec
from noisewise.serve.log.events import ACTIVATION, ANSWER, BY_PERSON, DECISION, NONE, RIGHT, WRONG, Event, new_id
from noisewise.serve.log.group_commit import Committer
from noisewise.serve.log.locks import LearnerLock
from noisewise.serve.log.store import Store
from noisewise.serve.log.write import UNKNOWN, Entry, LogWriter, Outcome
from noisewise.serve.models.learner import LogLearner, restored
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.rank import fresh_chance
from noisewise.serve.models.recipes import new_learner
from noisewise.serve.models.rows import row_of
from noisewise.serve.settings import Settings

TURN = 0.2  # seconds between two looks at what other processes have done
PATIENCE = 15.0  # seconds to wait for the lock of a process that has just died
log = logging.getLogger("noisewise.serve")


class Missing(LookupError):
    """There is no model or decision of this name."""


class Conflict(ValueError):
    """A model of this name is there already and is another one."""


class Service:
    """Decisions and answers through the log; see `Settings` for the parts a process may play."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.store)
        self.learner = None if settings.role == "api" else LogLearner(self.store)
        self.lock = LearnerLock(self.store)
        self.counts: Counter[tuple[str, str]] = Counter()  # (model, what became of an answer)
        self.learning = False
        self.models: dict[str, ServedModel] = {}
        self.committer = Committer(LogWriter(self.store), self._committed, self._failed)
        self._stop = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="noisewise-keeper", daemon=True)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read the log and begin; blocks until decisions can be made."""
        self.store.create()
        warm_up()
        if self.settings.role == "all":
            deadline = time.monotonic() + PATIENCE
            while not self.lock.acquire():
                if time.monotonic() > deadline:
                    raise ValueError("another process learns from this store; start this one with --role api")
                time.sleep(TURN)
            self._begin_to_learn()
        self.committer.start(loop)
        self._keeper.start()

    async def close(self) -> None:
        """Write what is waiting, keep the states, and let another process learn."""
        self._stop.set()
        await self.committer.close()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        if self._keeper.is_alive():
            self._keeper.join()
        if self.learning and self.learner is not None:
            self.learner.save_states()
        self.lock.release()
        self.store.close()

    async def model(self, name: str) -> ServedModel:
        """A model by its name."""
        found = self.models.get(name)
        if found is None:
            await asyncio.to_thread(self._look_for_models)
            found = self.models.get(name)
        if found is None:
            raise Missing(f"there is no model {name!r}; PUT /models/{name} makes one")
        return found

    async def all_models(self) -> list[ServedModel]:
        """All models, in the order they were made."""
        await asyncio.to_thread(self._look_for_models)
        return sorted(self.models.values(), key=lambda model: model.id)

    async def create(self, name: str, spec: ModelSpec) -> tuple[ServedModel, bool]:
        """Make a model, or give back the one that is the same; whether it is new."""
        known = name in self.models
        text = spec.model_dump_json()
        await asyncio.to_thread(new_learner, spec)  # refuse what can't be made before it is in the store
        _, kept = await asyncio.to_thread(self.store.add_model, name, text)
        if kept != text:
            raise Conflict(f"a different model {name!r} is there already; choose another name")
        return await self.model(name), not known

    async def decide(self, model: ServedModel, request: DecideRequest, active: bool = True) -> Event:
        """Decide, and answer when the decision is in the log."""
        row = row_of(request.features, model.spec.features)
        allowed = model.allowed(request.actions, request.excluded)
        while not model.lock.acquire(blocking=False):  # it is being saved; let others go on meanwhile
            await asyncio.sleep(0.001)  # never held across a turn of the loop, which takes it too
        try:
            ranked, version = model.rank(row, allowed)
        finally:
            model.lock.release()
        event = Event(
            0,
            model.id,
            DECISION,
            request.decision_id or new_id(),
            time.time(),
            None,
            ranked.code,
            ranked.best,
            ranked.probability,
            ranked.draw,
            version,
            row.tobytes(),
            np.concatenate([ranked.scores, ranked.widths]).tobytes(),
            None if allowed is None else json.dumps(np.flatnonzero(allowed).tolist()),
            int(active),
        )
        outcome = await self.committer.submit(Entry(event, named=request.decision_id is not None))
        model.pace.tick(event.time)
        return outcome.event

    async def feedback(
        self, model: ServedModel, decision_id: str, right: bool | None, person: str | None = None
    ) -> Outcome:
        """Take an answer, and say what became of it when it is in the log."""
        answer = NONE if right is None else RIGHT if right else WRONG
        event = Event(0, model.id, ANSWER, decision_id, time.time(), answer=answer, person=person, source=BY_PERSON)
        return await self._about(model, event)

    async def activate(self, model: ServedModel, decision_id: str) -> Outcome:
        """Count a decision from now on that was made to wait for it."""
        return await self._about(model, Event(0, model.id, ACTIVATION, decision_id, time.time()))

    async def decision(self, model: ServedModel, decision_id: str) -> dict[int, Event]:
        """All rows of the log about a decision, by their kind."""
        rows = await asyncio.to_thread(self.store.about, [decision_id])
        found = {row.kind: row for row in rows if row.model == model.id}
        if DECISION not in found:
            raise Missing(f"model {model.name!r} has made no decision {decision_id!r}")
        return found

    async def _about(self, model: ServedModel, event: Event) -> Outcome:
        outcome = await self.committer.submit(Entry(event))
        self.counts[model.name, outcome.status] += 1
        if outcome.status == UNKNOWN:
            raise Missing(f"model {model.name!r} has made no decision {event.decision_id!r}")
        return outcome

    def _begin_to_learn(self) -> None:
        assert self.learner is not None
        self.learner.start()
        self.learning = True
        self._name_models()

    def _committed(self, outcomes: list[Outcome]) -> None:
        if self.learning and self.learner is not None:
            try:
                self.learner.committed(outcomes)
            except Exception:
                log.exception("the log could not be followed; trying again")

    def _failed(self, error: Exception) -> None:
        log.error("a batch could not be written: %s", error)
        for model in list(self.models.values()):
            if self.settings.role == "all":
                with model.lock:
                    model.forget_draws()

    def _keep(self) -> None:
        """Follow the log and keep states, as long as the process lives; the store may come and go."""
        next_save, next_sweep = time.monotonic() + self.settings.state_seconds, 0.0
        while not self._stop.wait(TURN):
            try:
                if self.learner is None:
                    self._read_states()
                    continue
                leads = self.lock.acquire()
                if leads and not self.learning:
                    self._begin_to_learn()
                if self.learning:
                    self.learner.catch_up()
                    self._name_models()
                if leads and time.monotonic() >= next_sweep:
                    self.learner.close_unanswered(self.committer.leave)
                    next_sweep = time.monotonic() + 1.0
                if leads and time.monotonic() >= next_save:
                    began = time.monotonic()
                    self.learner.save_states()
                    spent = time.monotonic() - began
                    next_save = time.monotonic() + max(self.settings.state_seconds, 20 * spent)
            except Exception as error:
                log.warning("the store can't be followed now: %s", error)

    def _read_states(self) -> None:
        newest = self.store.snapshot_positions()
        for model in list(self.models.values()):
            if newest.get(model.id, 0) > model.position:
                restored(model, self.store)

    def _look_for_models(self) -> None:
        for number, name, spec in self.store.models():
            if self.learner is not None:
                self.learner.add(number, name, spec)
            elif name not in self.models:
                model = ServedModel(number, name, ModelSpec.model_validate_json(spec), fresh_chance())
                self.models[name] = restored(model, self.store)
        self._name_models()

    def _name_models(self) -> None:
        if self.learner is not None:
            self.models.update({model.name: model for model in list(self.learner.models.values())})


def warm_up() -> Any:
    """Have the compiled loops at hand, so that the first decision does not wait for them."""
    spec = ModelSpec.model_validate({"actions": [0, 1], "features": {"count": 2}})
    learner = new_learner(spec)
    return learner.learn(learner.decide(np.array([1.0, 0.0])), 1)
