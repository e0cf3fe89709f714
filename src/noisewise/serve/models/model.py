"""A served model: a learner, its monitoring and its random state, at a position of the log."""

from __future__ import annotations

import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisewise.persistence import load, save
from noisewise.serve.log.events import CHANGE, DECISION, Event, effective_feedback
from noisewise.serve.log.store import Store
from noisewise.serve.models.changes import changed_spec
from noisewise.serve.models.offer_progress import OfferProgress
from noisewise.serve.models.offer_spec import stored_spec
from noisewise.serve.models.progress import Progress
from noisewise.serve.models.ranking import move_past
from noisewise.serve.models.spec import CommonSpec

SLOW_REFIT = 5_000_000  # multiplications of a refit: some milliseconds, beyond which it leaves the event loop
STATE_PARTS = (Progress, OfferProgress)  # classes of a snapshot that a model file does not know by itself


class ServedModel(ABC):
    """A model at a position of the log; `apply` advances it by one row, deterministically.

    `pending` are rows of the log that are to be learnt from, `unwatched` rounds that `progress` has not counted yet:
    work that would be felt by other requests is left to a thread, which does it in the order of the log. What a
    decision is made from, and how its feedback is learnt, is a matter of the kind of model: `RowModel` or `OfferModel`.
    """

    spec: Any
    progress: Any

    def __init__(self, number: int, name: str, spec: CommonSpec, rng_state: NDArray[np.uint64] | None = None) -> None:
        self.id, self.name = number, name
        self.first_spec = self.spec = spec  # as created; as changed since
        self.learner = self._new_learner()
        self.progress = self._new_progress()
        self.position = 0
        self.lock = threading.Lock()  # between decisions and learning
        self.applying = threading.RLock()  # one thread learns at a time
        self.watching = threading.RLock()  # one thread counts at a time
        self.pending: deque[tuple[Event, Event]] = deque()
        self.unwatched: deque[Callable[[], None]] = deque()
        self.scheduled = False  # whether a thread works on what is pending
        self.abandoned = False  # the process ends: what is pending is left to the next one, which has the log
        self.decision_rate = DecisionRate()
        self._deciding: tuple[Any, int] | None = None  # learner and position while the learner itself is refitted
        self._rng_state = rng_state
        self._draws_as_learner = rng_state is None

    @abstractmethod
    def question(self, request: Any) -> Any:
        """What `choose` takes, of a request that fits the model; others are refused."""

    @abstractmethod
    def choose(self, question: Any) -> dict[str, Any]:
        """Decide: the fields of the decision in the log; the lock must be held."""

    @abstractmethod
    def takes_long(self, question: Any) -> bool:
        """Whether a single decision takes so long that other requests would feel it."""

    @abstractmethod
    def action_of(self, decision: Event) -> str | int:
        """The action that a decision played."""

    @abstractmethod
    def feedback_fields(self, given: Any, annotator: str | None) -> dict[str, Any]:
        """Fields of a row of the log with feedback; what can't be learnt from is refused."""

    @abstractmethod
    def reward_fields(self, value: float) -> dict[str, Any]:
        """The same of a reward that counts by itself; what is beyond the ends counts as the nearer one."""

    @abstractmethod
    def closing_fields(self, total: float | None) -> dict[str, Any]:
        """The same when the wait is over: of the sum of the rewards, or, without any, the default."""

    @property
    @abstractmethod
    def n_bytes(self) -> int:
        """Memory of the model."""

    @abstractmethod
    def _new_learner(self) -> Any: ...

    @abstractmethod
    def _new_progress(self) -> Any: ...

    @abstractmethod
    def _standby(self) -> Any:
        """A copy of the learner to decide with; what decisions do not need is shared."""

    @abstractmethod
    def _note_decision(self, event: Event) -> None:
        """Follow a decision of the log, beyond its number and its draw."""

    @abstractmethod
    def _learn_from(self, event: Event, decision: Event, time: float) -> None:
        """Learn from feedback."""

    @abstractmethod
    def _refit_cost(self) -> int:
        """Multiplications of the refit that the next feedback starts, if it does."""

    @abstractmethod
    def _use_spec(self) -> None:
        """Decide as the specification says from now on."""

    @property
    def rng_state(self) -> NDArray[np.uint64]:
        """Random state of the decisions: a learner process has the model's own, API processes each one of theirs."""
        if self._rng_state is None:
            self._rng_state = self.learner.rng_state_.copy()
        return self._rng_state

    def reset_draws(self) -> None:
        """Draw next what follows the last draw in the log; later draws were not written."""
        self._rng_state = None

    @property
    def current(self) -> tuple[Any, int]:
        """The learner that decides and the position of its state; the lock must be held."""
        return self._deciding or (self.learner, self.position)

    def apply(self, event: Event, decision: Event, store: Store, replaying: bool = False) -> None:
        """Apply the next row of the log; `decision` is the one it is about.

        `replaying` says that the log is read from its beginning, so that what was erased from it has not been learnt.
        """
        self.learn(event, decision, store, replaying)
        self.watch()

    def learn(self, event: Event, decision: Event, store: Store, replaying: bool = False) -> None:
        """The learner's part of `apply`; what `progress` is to count is left in `unwatched`."""
        if event.position <= self.position:
            return
        if event.kind == CHANGE:
            self._change(event, store, replaying)
            return
        if event.kind == DECISION:
            with self.lock:
                self.learner.n_decisions_ = (event.number or 0) + 1
                if event.draw is not None:
                    move_past(self.learner.rng_state_, event.draw)
            self._note_decision(event)
        else:
            about = store.about([event.decision_id]) if decision.active == 0 and event.is_about_decision else []
            feedback = effective_feedback(event, decision, [one for one in about if one.model == self.id])
            if feedback is not None:
                self._learn_from(feedback, decision, event.time)
        self.position = event.position

    def watch(self) -> None:
        """Let `progress` count what has been learnt."""
        with self.watching:
            while self.unwatched and not self.abandoned:
                self.unwatched[0]()
                self.unwatched.popleft()

    def drain(self, store: Store) -> None:
        """Do all that is pending."""
        with self.applying:
            while self.pending and not self.abandoned:
                self.learn(*self.pending[0], store)
                self.pending.popleft()
        self.watch()

    def is_slow(self, event: Event) -> bool:
        """Whether applying the next row takes, or waits, so long that other requests would feel it."""
        return event.kind == CHANGE or (event.is_about_decision and self._refit_cost() > SLOW_REFIT)

    def to_bytes(self) -> tuple[bytes, int]:
        """The state as a model file, and its position."""
        self.watch()  # before learning has to wait
        with self.applying, self.watching:
            self.watch()
            return state_as_bytes(self.learner, self.progress, self.position, self.spec), self.position

    def model_file(self) -> bytes:
        """The learner alone as a model file, which ``noisewise.load`` reads."""
        with self.applying:
            return _saved(self.learner)

    def restore(self, data: bytes) -> None:
        """Go to the state of a model file."""
        state = read_state(data)
        with self.applying, self.watching, self.lock:
            state["learner"].missing = self.learner.missing  # a state of an earlier version may have the spec's value
            self.learner, self.progress, self.position = state["learner"], state["progress"], int(state["position"])
            self.spec = stored_spec(state["spec"]) if "spec" in state else self.first_spec

    def anew(self, spec: CommonSpec) -> Self:
        """A model of the same name that has learnt nothing."""
        return type(self)(self.id, self.name, spec)

    def _change(self, event: Event, store: Store, replaying: bool) -> None:
        """Apply a change of the model itself; decisions are made by the earlier state meanwhile."""
        change = event.change
        self.watch()
        with self.applying, self.watching:
            if "set" in change:
                self.spec = changed_spec(self.spec, change["set"])
                with self.lock:
                    self._use_spec()
            elif not (replaying and "erased" in change):
                other = changed_state(self, store, event, change)
                if other is not None:
                    self._go_to(other, with_draws="imported" in change or "removed before" in change)
            self.position = event.position

    def _go_to(self, other: ServedModel, with_draws: bool) -> None:
        """Take the state of another model, and its random state only if it is of another log: no draw is made twice."""
        with self.lock:
            if with_draws:
                self._rng_state = None if self._draws_as_learner else self._rng_state
            else:
                other.learner.rng_state_[:] = self.learner.rng_state_
                other.learner.n_decisions_ = max(other.learner.n_decisions_, self.learner.n_decisions_)
            self.learner, self.progress, self.spec = other.learner, other.progress, other.spec

    def _teach(self, *rounds: Any) -> None:
        """`learner.learn` with the lock held; during a refit that takes long, a copy goes on deciding."""
        if self._refit_cost() <= SLOW_REFIT:
            with self.lock:
                self.learner.learn(*rounds)
            return
        with self.lock:
            self._deciding = self._standby(), self.position
        try:
            self.learner.learn(*rounds)
        finally:
            with self.lock:
                self._deciding = None

    def _count_feedback(self, by_default: bool, missing: bool, refused: bool = False) -> None:
        self.progress.n_defaults += by_default
        self.progress.n_missing += missing
        self.progress.n_refused += refused


def changed_state(model: ServedModel, store: Store, event: Event, change: dict[str, Any]) -> ServedModel | None:
    """The state that a change asks for: a new one, an earlier one, that of what is left of the log, or None."""
    from noisewise.serve.models.replaying import based, replayed  # which makes models

    if "reset" in change:
        return model.anew(model.spec)
    if "imported" in change:
        return based(model, store)
    if change.get("removed before", 0) > model.position:  # of rows that this process may not have read
        return based(model, store)
    upto = change.get("restored", event.position - 1 if "erased" in change else None)
    return None if upto is None else replayed(store, model.id, model.name, model.first_spec, upto)


def state_as_bytes(learner: Any, progress: Any, position: int, spec: CommonSpec) -> bytes:
    """The parts of a snapshot as a model file."""
    state = {"learner": learner, "progress": progress, "position": position, "spec": spec.model_dump_json()}
    return _saved(state, extra=STATE_PARTS)


def read_state(data: bytes) -> dict[str, Any]:
    """The parts of a snapshot: learner, progress, position and, since models can be changed, spec."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state")
        path.write_bytes(data)
        state: dict[str, Any] = load(path, extra=STATE_PARTS)
    return state


def _saved(model: Any, extra: Any = ()) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        save(model, path, extra=extra)
        return path.read_bytes()


RATE_WINDOW = 10  # seconds: long enough to be steady, short enough to follow the load


class DecisionRate:
    """Decisions per second: a moving average over the last ten full seconds."""

    def __init__(self) -> None:
        self._counts = [0] * RATE_WINDOW
        self._seconds = [0] * RATE_WINDOW

    def count(self, now: float | None = None) -> None:
        """Count one decision."""
        second = int(time.time() if now is None else now)
        index = second % RATE_WINDOW
        if self._seconds[index] != second:
            self._seconds[index], self._counts[index] = second, 0
        self._counts[index] += 1

    def per_second(self, now: float | None = None) -> float:
        """Mean of the full seconds of the window.

        >>> rate = DecisionRate()
        >>> for moment in (100.1, 100.2, 100.9):
        ...     rate.count(moment)
        >>> rate.per_second(101.5)
        0.3
        """
        second = int(time.time() if now is None else now)
        recent = zip(self._seconds, self._counts)
        return sum(count for then, count in recent if second - RATE_WINDOW <= then < second) / RATE_WINDOW
