"""Decisions per second, of late."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Floats
from noisewise.online import Decision
from noisewise.online.rates.per_annotator import posterior_rates
from noisewise.persistence import load, save
from noisewise.serve.api.schemas import ModelSpec
from noisewise.serve.log.events import BY_DEFAULT, DECISION, NONE, Event, counted_answer
from noisewise.serve.log.store import Store
from noisewise.serve.models.progress import Progress
from noisewise.serve.models.rank import Ranked, move_past, rank
from noisewise.serve.models.recipes import kept_learner

UNNAMED, NOBODY = "(unnamed)", "(no answer)"  # people of answers that name none


class ServedModel:
    """A model at a position of the log; `apply` takes it to the next one, the same way every time."""

    def __init__(self, number: int, name: str, spec: ModelSpec, chance: NDArray[np.uint64] | None = None) -> None:
        self.id, self.name, self.spec = number, name, spec
        self.learner = kept_learner(spec)
        self.progress = Progress(len(spec.actions), spec.features.width)
        self.position = 0
        self.codes = {action: code for code, action in enumerate(spec.actions)}
        self.lock = threading.Lock()  # between who decides and who learns
        self.pace = Pace()
        self._own_chance = chance

    @property
    def chance(self) -> NDArray[np.uint64]:
        """The stream that decisions draw from: a process that learns has the model's own, others each one of theirs."""
        if self._own_chance is None:
            self._own_chance = self.learner.rng_state_.copy()
        return self._own_chance

    def forget_draws(self) -> None:
        """Draw next what the log says comes next; earlier draws were not written."""
        self._own_chance = None

    def rank(self, row: Floats, allowed: NDArray[np.bool_] | None) -> tuple[Ranked, int]:
        """Decide for a row, and the position of the state that decided; the lock must be held."""
        return rank(self.learner, row, allowed, self.chance), self.position

    def allowed(self, actions: Any, excluded: Any) -> NDArray[np.bool_] | None:
        """Which actions may be played."""
        if actions is None and not excluded:
            return None
        allowed = np.full(len(self.codes), actions is None)
        for given, value in ((actions or (), True), (excluded or (), False)):
            for action in given:
                if action not in self.codes:
                    raise ValueError(f"there is no action {action!r}; the model has {self._some_actions()}")
                allowed[self.codes[action]] = value
        if not allowed.any():
            raise ValueError("no action is left to choose from; allow at least one")
        return allowed

    def apply(self, event: Event, decision: Event, store: Store) -> None:
        """Take in the next row of the log; `decision` is the one it is about."""
        if event.position <= self.position:
            return
        with self.lock:
            if event.kind == DECISION:
                self.learner.n_decisions_ = (event.number or 0) + 1
                if event.draw is not None:
                    move_past(self.learner.rng_state_, event.draw)
                self.progress.decided(event.code or 0, event.time)
            else:
                about = self._rows_about(event.decision_id, store) if decision.active == 0 else []
                answer = counted_answer(event, decision, about)
                if answer is not None:
                    self._learn(answer, decision, event.time)
            self.position = event.position

    def to_bytes(self) -> tuple[bytes, int]:
        """The state as a model file, and its position."""
        with self.lock:
            state = {"learner": self.learner, "progress": self.progress, "position": self.position}
            return _saved(state, extra=[Progress]), self.position

    def model_file(self) -> bytes:
        """The learner alone as a model file, which ``noisewise.load`` reads."""
        with self.lock:
            return _saved(self.learner)

    def restore(self, data: bytes) -> None:
        """Go to the state of a model file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "state")
            path.write_bytes(data)
            state = load(path, extra=[Progress])
        with self.lock:
            state["learner"].missing = self.learner.missing  # an older state may have it as it is in the description
            self.learner, self.progress, self.position = state["learner"], state["progress"], int(state["position"])

    def believed(self, person: str | None, code: int) -> tuple[float, float]:
        """Flip rates of an answer, as far as they are known now."""
        people = getattr(self.learner, "weigher_", None)
        if self.spec.people:
            if people is None or not people.settled or person not in people.codes:
                return 0.0, 0.0
            place = people.codes[person]
            wrong, right = posterior_rates(people.evidence[place : place + 1], people.prior)
            return float(wrong[0]), float(right[0])
        if self.spec.noise is not None:
            return float(self.learner.flip_rates_[code, 0]), float(self.learner.flip_rates_[code, 1])
        found = self.progress.estimate
        if found is None or not found["identified"]:
            return 0.0, 0.0
        return found["false_positive"]["value"], found["false_negative"]["value"]

    def _learn(self, event: Event, decision: Event, time: float) -> None:
        progress, code, row = self.progress, decision.code or 0, decision.row
        answer = None if event.answer == NONE else event.answer
        person = (event.person or (NOBODY if event.source == BY_DEFAULT else UNNAMED)) if self.spec.people else None
        progress.defaults += event.source == BY_DEFAULT
        progress.missing += answer is None
        silent = answer is None and self.spec.missing == "drop" and hasattr(self.learner, "weigher_")
        if not silent:
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
                self.learner.learn(made, answer, person)
            except ValueError:
                progress.refused += 1  # a row this far from all others; the same in every replay
                return
        if answer is not None:
            rates = self.believed(person, code)
            progress.heard(row, code, decision.probability or 1.0, bool(answer), rates, time)

    def _rows_about(self, decision_id: str, store: Store) -> list[Event]:
        return [one for one in store.about([decision_id]) if one.model == self.id]

    def _some_actions(self, most: int = 10) -> str:
        names = [repr(action) for action in list(self.codes)[:most]]
        return ", ".join(names) + (f" and {len(self.codes) - most} more" if len(self.codes) > most else "")


def _saved(model: Any, extra: Any = ()) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        save(model, path, extra=extra)
        return path.read_bytes()


SECONDS = 10


class Pace:
    """Counts what happens in each of the last ten seconds."""

    def __init__(self) -> None:
        self._counts = [0] * SECONDS
        self._seconds = [0] * SECONDS

    def tick(self, now: float | None = None) -> None:
        """Count one."""
        second = int(time.time() if now is None else now)
        place = second % SECONDS
        if self._seconds[place] != second:
            self._seconds[place], self._counts[place] = second, 0
        self._counts[place] += 1

    def now(self, now: float | None = None) -> float:
        """Mean of the seconds that are over.

        >>> pace = Pace()
        >>> for moment in (100.1, 100.2, 100.9):
        ...     pace.tick(moment)
        >>> pace.now(101.5)
        0.3
        """
        second = int(time.time() if now is None else now)
        recent = zip(self._seconds, self._counts)
        return sum(count for then, count in recent if second - SECONDS <= then < second) / SECONDS
