"""The one who learns: applies the log in order, keeps states in the store, and closes decisions nobody answered."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from noisewise.serve.api.schemas import ModelSpec
from noisewise.serve.log.events import ANSWER, BY_DEFAULT, DECISION, NONE, RIGHT, WRONG, Event
from noisewise.serve.log.store import Store
from noisewise.serve.log.write import ACCEPTED, Entry, Outcome
from noisewise.serve.models.model import ServedModel

LONG_AGO = 100_000  # rows of the log: a start need not read more than that again, for the sake of an idle model
log = logging.getLogger("noisewise.serve")


class LogLearner:
    """All models, as the log makes them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.models: dict[int, ServedModel] = {}
        self.position = 0
        self._lock = threading.RLock()
        self._swept: dict[int, int] = {}  # how far decisions without an answer have been closed
        self._saved: dict[int, int] = {}

    def start(self) -> None:
        """Begin at the newest states in the store and read the rest of the log."""
        for number, name, spec in self.store.models():
            self.add(number, name, spec)
        positions = [model.position for model in self.models.values()]
        self.position = min(positions, default=0)
        self.catch_up()

    def add(self, number: int, name: str, spec: str) -> ServedModel:
        """A model that is in the store."""
        with self._lock:
            if number not in self.models:
                self.models[number] = restored(
                    ServedModel(number, name, ModelSpec.model_validate_json(spec)), self.store
                )
            return self.models[number]

    def committed(self, outcomes: list[Outcome]) -> None:
        """Learn from what has just been written, or from the log itself where others have written too."""
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
        """Apply the log up to its end; how many rows there were."""
        read = 0
        with self._lock:
            while rows := self.store.read(self.position):
                for event, decision in with_decisions(rows, self.store):
                    self._apply(event, decision)
                read += len(rows)
        return read

    def save_states(self) -> None:
        """Keep the state of every model that has moved."""
        with self._lock:
            moved = [one for one in self.models.values() if self._has_moved(one)]
            for model in moved:
                model.position = self.position  # it has seen all rows up to here, though none were its own
        for model in moved:
            data, position = model.to_bytes()
            self.store.add_snapshot(model.id, position, data)
            self._saved[model.id] = position

    def close_unanswered(self, leave: Callable[[list[Entry]], None]) -> None:
        """Give decisions whose wait is over their default answer; through the log, like any other answer."""
        with self._lock:
            waiting = [model for model in self.models.values() if model.spec.wait_seconds is not None]
        for model in waiting:
            before = time.time() - (model.spec.wait_seconds or 0.0)
            found = self.store.unanswered(model.id, self._swept.get(model.id, 0), before)
            leave([Entry(_default_answer(model, one)) for one, answered in found if not answered])
            for one, answered in found:
                if not answered:  # it is looked at again, until its answer is in the log
                    break
                self._swept[model.id] = one.position

    def _has_moved(self, model: ServedModel) -> bool:
        saved = self._saved.get(model.id, 0)
        return model.position > saved or self.position - saved > LONG_AGO

    def _apply(self, event: Event, decision: Event) -> None:
        model = self.models.get(event.model)
        if model is None:
            for number, name, spec in self.store.models():
                self.add(number, name, spec)
            model = self.models[event.model]
        model.apply(event, decision, self.store)
        self.position = event.position


def restored(model: ServedModel, store: Store) -> ServedModel:
    """A model at its newest state in the store that can be read; at the beginning if there is none."""
    for data in store.snapshots(model.id):
        try:
            model.restore(data)
        except ValueError as error:
            log.warning("a state of model %s can't be read and is passed over: %s", model.name, error)
        else:
            break
    return model


def with_decisions(rows: list[Event], store: Store) -> list[tuple[Event, Event]]:
    """Rows of the log, each with the decision it is about."""
    known = {(one.model, one.decision_id): one for one in rows if one.kind == DECISION}
    elsewhere = {one.decision_id for one in rows if (one.model, one.decision_id) not in known}
    for one in store.about(elsewhere):
        if one.kind == DECISION:
            known[one.model, one.decision_id] = one
    return [(one, known[one.model, one.decision_id]) for one in rows]


def replay(store: Store, name: str) -> ServedModel:
    """A model made anew from the log alone, without the states in the store.

    It equals the model that has been learning all the while, bit for bit.
    """
    number, spec = next((number, spec) for number, known, spec in store.models() if known == name)
    model = ServedModel(number, name, ModelSpec.model_validate_json(spec))
    position = 0
    while rows := store.read(position, model=number):
        for event, decision in with_decisions(rows, store):
            model.apply(event, decision, store)
        position = rows[-1].position
    return model


def _default_answer(model: ServedModel, decision: Event) -> Event:
    default = model.spec.default_right
    answer = NONE if default is None else RIGHT if default else WRONG
    return Event(0, model.id, ANSWER, decision.decision_id, time.time(), answer=answer, source=BY_DEFAULT)
