"""The log applier of the learner process: applies the log in order, stores snapshots, closes decisions by default."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from noisewise.serve.log.events import BY_DEFAULT, FEEDBACK, Event, feedback_code
from noisewise.serve.log.group_commit import ACCEPTED, Entry, Outcome
from noisewise.serve.log.store import Store
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.spec import ModelSpec

MAX_REPLAYED = 100_000  # rows of the log that a start may have to read again because of an idle model
log = logging.getLogger("noisewise.serve")


class LogApplier:
    """All models of a store, each a deterministic function of its specification and the log."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.models: dict[int, ServedModel] = {}
        self.position = 0
        self._lock = threading.RLock()
        self._closed_up_to: dict[int, int] = {}  # log position before which all decisions of a model have feedback
        self._saved: dict[int, int] = {}

    def start(self) -> None:
        """Begin at the newest snapshots in the store and read the rest of the log."""
        for number, name, spec in self.store.models():
            self.add(number, name, spec)
        positions = [model.position for model in self.models.values()]
        self.position = min(positions, default=0)
        self.catch_up()

    def add(self, number: int, name: str, spec: str) -> ServedModel:
        """A model that is in the store."""
        with self._lock:
            if number not in self.models:
                model = ServedModel(number, name, ModelSpec.stored(spec))
                self.models[number] = restored(model, self.store)
            return self.models[number]

    def committed(self, outcomes: list[Outcome]) -> None:
        """Learn from a batch that has just been written, or from the log itself if others have written too."""
        written = [outcome for outcome in outcomes if outcome.status == ACCEPTED]
        if not written:
            return
        with self._lock:
            if written[0].event.position != self.position + 1:
                self.catch_up()
                return
            for outcome in written:
                self._apply(outcome.event, outcome.decision or outcome.event)

    def catch_up(self) -> int:
        """Apply the log up to its end; the number of rows applied."""
        read = 0
        with self._lock:
            while rows := self.store.read(self.position):
                for event, decision in self.store.with_decisions(rows):
                    self._apply(event, decision)
                read += len(rows)
        return read

    def save_snapshots(self) -> None:
        """Store the state of every model that has changed."""
        with self._lock:
            changed = [one for one in self.models.values() if self._has_changed(one)]
            for model in changed:
                model.position = self.position  # all rows up to here are applied, though none were its own
        for model in changed:
            data, position = model.to_bytes()
            self.store.add_snapshot(model.id, position, data)
            self._saved[model.id] = position

    def close_expired(self, write: Callable[[list[Entry]], None]) -> None:
        """Give decisions whose wait is over their default feedback; through the log, like any other feedback."""
        with self._lock:
            waiting = [model for model in self.models.values() if model.spec.wait_seconds is not None]
        for model in waiting:
            before = time.time() - (model.spec.wait_seconds or 0.0)
            found = self.store.decisions_before(model.id, self._closed_up_to.get(model.id, 0), before)
            write([Entry(_default_feedback(model, one)) for one, has_feedback in found if not has_feedback])
            for one, has_feedback in found:
                if not has_feedback:  # it is looked at again until its feedback is in the log
                    break
                self._closed_up_to[model.id] = one.position

    def _has_changed(self, model: ServedModel) -> bool:
        saved = self._saved.get(model.id, 0)
        return model.position > saved or self.position - saved > MAX_REPLAYED

    def _apply(self, event: Event, decision: Event) -> None:
        model = self.models.get(event.model)
        if model is None:
            for number, name, spec in self.store.models():
                self.add(number, name, spec)
            model = self.models[event.model]
        model.apply(event, decision, self.store)
        self.position = event.position


def restored(model: ServedModel, store: Store) -> ServedModel:
    """A model at its newest readable snapshot in the store; at the beginning if there is none."""
    for data in store.snapshots(model.id):
        try:
            model.restore(data)
        except ValueError as error:
            log.warning("a snapshot of model %s can't be read and is skipped: %s", model.name, error)
        else:
            break
    return model


def replay(store: Store, name: str) -> ServedModel:
    """A model rebuilt from the log alone, without snapshots.

    It equals the model that has been learning all the while, bit for bit.
    """
    number, spec = next((number, spec) for number, known, spec in store.models() if known == name)
    model = ServedModel(number, name, ModelSpec.stored(spec))
    position = 0
    while rows := store.read(position, model=number):
        for event, decision in store.with_decisions(rows):
            model.apply(event, decision, store)
        position = rows[-1].position
    return model


def _default_feedback(model: ServedModel, decision: Event) -> Event:
    value = feedback_code(model.spec.default_right)
    return Event(0, model.id, FEEDBACK, decision.decision_id, time.time(), answer=value, source=BY_DEFAULT)
