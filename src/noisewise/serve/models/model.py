"""A served model: a learner, its monitoring and its random state, at a position of the log."""

from __future__ import annotations

import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Floats
from noisewise.online import Decision
from noisewise.persistence import load, save
from noisewise.serve.log.events import BY_DEFAULT, CHANGE, DECISION, MISSING, Event, effective_feedback
from noisewise.serve.log.store import Store
from noisewise.serve.models.changes import changed_spec, use_exploration
from noisewise.serve.models.progress import Progress, tracked_bytes
from noisewise.serve.models.ranking import Ranked, move_past, rank, uniformly
from noisewise.serve.models.recipes import n_bytes, stored_learner
from noisewise.serve.models.rows import shortened
from noisewise.serve.models.spec import ModelSpec

UNNAMED, BY_NOBODY = "(unnamed)", "(no answer)"  # annotators of feedback that names none; stored in model states
SLOW_DECISION = 1_000_000  # values of the covariances, all of which are read: a millisecond
SLOW_REFIT = 5_000_000  # multiplications of a refit: some milliseconds, beyond which it leaves the event loop
ARRAYS = ("table_", "sigma_", "parameters_", "counters_")  # of a learner: what decisions are made with


class ServedModel:
    """A model at a position of the log; `apply` advances it by one row, deterministically.

    `pending` are rows of the log that are to be learnt from, `unwatched` rounds that `progress` has not counted yet:
    work that would be felt by other requests is left to a thread, which does it in the order of the log.
    """

    def __init__(self, number: int, name: str, spec: ModelSpec, rng_state: NDArray[np.uint64] | None = None) -> None:
        self.id, self.name = number, name
        self.first_spec = self.spec = spec  # as created; as changed since
        self.learner = stored_learner(spec)
        self.progress = Progress(len(spec.actions), spec.features.width)
        self.position = 0
        self.codes = {action: code for code, action in enumerate(spec.actions)}
        self.lock = threading.Lock()  # between decisions and learning
        self.applying = threading.RLock()  # one thread learns at a time
        self.watching = threading.RLock()  # one thread counts at a time
        self.pending: deque[tuple[Event, Event]] = deque()
        self.unwatched: deque[Callable[[], None]] = deque()
        self.scheduled = False  # whether a thread works on what is pending
        self.decision_rate = DecisionRate()
        self._deciding: tuple[Any, int] | None = None  # learner and position while the learner itself is refitted
        self._rng_state = rng_state
        self._draws_as_learner = rng_state is None

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

    def rank(self, row: Floats, allowed: NDArray[np.bool_] | None) -> tuple[Ranked, int]:
        """Decide for a row, and the position of the state that decided; the lock must be held.

        A model whose feedback would mislead it decides uniformly, which is the baseline, until it is told more.
        """
        learner, position = self.current
        ranked = rank(learner, row, allowed, self.rng_state)
        if self.progress.is_misleading:
            ranked = uniformly(ranked, allowed, self.rng_state)
        return ranked, position

    def allowed(self, actions: Any, excluded: Any) -> NDArray[np.bool_] | None:
        """Mask of the actions that may be played; None for all."""
        if actions is None and not excluded:
            return None
        allowed = np.full(len(self.codes), actions is None)
        for given, value in ((actions or (), True), (excluded or (), False)):
            for action in given:
                if action not in self.codes:
                    names = shortened(list(map(repr, self.codes)), most=10)
                    raise ValueError(f"there is no action {action!r}; the model has {names}")
                allowed[self.codes[action]] = value
        if not allowed.any():
            raise ValueError("no action is left to choose from; allow at least one")
        return allowed

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
            self.unwatched.append(partial(self.progress.add_decision, event.code or 0, event.time))
        else:
            about = store.about([event.decision_id]) if decision.active == 0 and event.is_about_decision else []
            feedback = effective_feedback(event, decision, [one for one in about if one.model == self.id])
            if feedback is not None:
                self._learn_from(feedback, decision, event.time)
        self.position = event.position

    def watch(self) -> None:
        """Let `progress` count what has been learnt."""
        with self.watching:
            while self.unwatched:
                self.unwatched[0]()
                self.unwatched.popleft()

    def drain(self, store: Store) -> None:
        """Do all that is pending."""
        with self.applying:
            while self.pending:
                self.learn(*self.pending[0], store)
                self.pending.popleft()
        self.watch()

    @property
    def is_large(self) -> bool:
        """Whether a single decision takes so long that other requests would feel it."""
        return bool(self.learner.sigma_.size > SLOW_DECISION)

    def is_slow(self, event: Event) -> bool:
        """Whether applying the next row takes, or waits, so long that other requests would feel it."""
        if self.is_large or event.kind == CHANGE:  # a large model's lock is held by decisions in threads
            return True
        return event.is_about_decision and self._refit_cost() > SLOW_REFIT

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
            self.spec = ModelSpec.stored(state["spec"]) if "spec" in state else self.first_spec

    @property
    def n_bytes(self) -> int:
        """Memory of the model, with what its rate tracker will need."""
        return n_bytes(self.learner) + tracked_bytes(len(self.codes), self.spec.features.width)

    def estimated_rates(self, annotator: str | None, code: int) -> tuple[float, float] | None:
        """Flip rates (rho0, rho1) of feedback on an action, as the learner has them; None where it estimates none."""
        if self.spec.people:
            tracker = getattr(self.learner, "weigher_", None)
            return (0.0, 0.0) if tracker is None else tracker.rates_of(annotator)
        if self.spec.noise is not None:
            return float(self.learner.flip_rates_[code, 0]), float(self.learner.flip_rates_[code, 1])
        return None

    def _change(self, event: Event, store: Store, replaying: bool) -> None:
        """Apply a change of the model itself; decisions are made by the earlier state meanwhile."""
        change = event.change
        self.watch()
        with self.applying, self.watching:
            if "set" in change:
                self.spec = changed_spec(self.spec, change["set"])
                with self.lock:
                    use_exploration(self.learner, self.spec)
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

    def _refit_cost(self) -> int:
        """Multiplications of the refit that the next feedback starts, if it does."""
        tracker, width = getattr(self.learner, "weigher_", None), len(self.learner.table_)
        if tracker is not None and tracker.log is not None and tracker.log.n + 1 >= tracker.next_refit:
            return int(tracker.log.n * width**2 + len(self.codes) * width**3)
        block = getattr(self.learner, "log_", None)
        if block is not None and block["n"] + 1 >= len(block["actions"]):
            return int(block["n"] * width**2 + len(self.codes) * width**3)
        return 0

    def _learn_from(self, event: Event, decision: Event, time: float) -> None:
        code, row = decision.code or 0, decision.row
        feedback = None if event.answer == MISSING else event.answer
        by_default = event.source == BY_DEFAULT
        annotator = (event.person or (BY_NOBODY if by_default else UNNAMED)) if self.spec.people else None
        count = partial(self._count_feedback, by_default, feedback is None)
        dropped = feedback is None and self.spec.missing == "drop" and hasattr(self.learner, "weigher_")
        if not dropped:
            made = Decision(
                self.learner.classes_.item(code),
                decision.probability or 1.0,
                decision.number or 0,
                row,
                code,
                decision.best or 0,
                decision.version or 0,
            )
            try:
                self._learn_one(made, feedback, annotator)
            except ValueError:
                self.unwatched.append(partial(count, refused=True))  # features of extreme size; refused in every replay
                return
        self.unwatched.append(count)
        if feedback is not None:
            rates = self.estimated_rates(annotator, code)
            seen = row, code, decision.probability or 1.0, bool(feedback), rates, time
            self.unwatched.append(partial(self.progress.add_feedback, *seen))

    def _learn_one(self, made: Decision, feedback: int | None, annotator: str | None) -> None:
        """Learn with the lock held; during a refit that takes long, a copy goes on deciding."""
        if self._refit_cost() <= SLOW_REFIT:
            with self.lock:
                self.learner.learn(made, feedback, annotator)
            return
        with self.lock:
            self._deciding = _standby(self.learner), self.position
        try:
            self.learner.learn(made, feedback, annotator)
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
        return ServedModel(model.id, model.name, model.spec)
    if "imported" in change:
        return based(model, store)
    if change.get("removed before", 0) > model.position:  # of rows that this process may not have read
        return based(model, store)
    upto = change.get("restored", event.position - 1 if "erased" in change else None)
    return None if upto is None else replayed(store, model.id, model.name, model.first_spec, upto)


def state_as_bytes(learner: Any, progress: Progress, position: int, spec: ModelSpec) -> bytes:
    """The parts of a snapshot as a model file."""
    state = {"learner": learner, "progress": progress, "position": position, "spec": spec.model_dump_json()}
    return _saved(state, extra=[Progress])


def read_state(data: bytes) -> dict[str, Any]:
    """The parts of a snapshot: learner, progress, position and, since models can be changed, spec."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state")
        path.write_bytes(data)
        state: dict[str, Any] = load(path, extra=[Progress])
    return state


def _standby(learner: Any) -> Any:
    """A copy of a learner to decide with; what decisions do not need is shared."""
    made = copy(learner)
    for name in ARRAYS:
        setattr(made, name, getattr(learner, name).copy())
    return made


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
