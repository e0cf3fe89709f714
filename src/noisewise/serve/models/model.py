"""A served model: a learner, its monitoring and its random state, at a position of the log."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Floats
from noisewise.online import Decision, rank_actions
from noisewise.persistence import load, save
from noisewise.serve.log.events import BY_DEFAULT, DECISION, MISSING, Event, effective_feedback
from noisewise.serve.log.store import Store
from noisewise.serve.models.progress import Progress
from noisewise.serve.models.recipes import stored_learner
from noisewise.serve.models.rows import shortened
from noisewise.serve.models.spec import ModelSpec

MAX_SKIPPED = 16  # draws of simultaneous requests for one decision, which is made once
UNNAMED, BY_NOBODY = "(unnamed)", "(no answer)"  # annotators of feedback that names none; stored in model states


class Ranked(NamedTuple):
    """An action with its propensity, and the scores and UCB widths it was chosen by; `draw` is None without one."""

    code: int
    best: int
    probability: float
    draw: float | None
    scores: Floats
    widths: Floats


def rank(learner: Any, row: Floats, allowed: NDArray[np.bool_] | None, rng_state: NDArray[np.uint64]) -> Ranked:
    """Decide as ``learner.decide`` does, with draws from `rng_state`, which advances; the learner is unchanged."""
    before = rng_state.copy()
    code, best, probability, scores, widths = rank_actions(learner, row, allowed, rng_state)
    if code < 0:
        raise ValueError("the scores of this row are not finite; smaller numbers would do")
    draw = None if rng_state[3] == before[3] else next_uniform(before)
    return Ranked(code, best, probability, draw, scores, widths)


def next_uniform(rng_state: NDArray[np.uint64]) -> float:
    """The next number in [0, 1) of numpy's SFC64 stream; `rng_state` advances.

    >>> from noisewise._loops.state import new_rng
    >>> next_uniform(new_rng(0)) == np.random.Generator(np.random.SFC64(0)).random()
    True
    """
    from noisewise._loops.rng import uniform  # compiled: loaded when first needed

    return float(uniform(rng_state))


def move_past(rng_state: NDArray[np.uint64], draw: float) -> None:
    """Advance a stream to just after `draw`; not at all if the draw is of another stream.

    A few draws may have been skipped: a decision that is requested twice at the same time is made once.
    """
    ahead = rng_state.copy()
    for _ in range(MAX_SKIPPED):
        if next_uniform(ahead) == draw:
            rng_state[:] = ahead
            return


class ServedModel:
    """A model at a position of the log; `apply` advances it by one row, deterministically."""

    def __init__(self, number: int, name: str, spec: ModelSpec, rng_state: NDArray[np.uint64] | None = None) -> None:
        self.id, self.name, self.spec = number, name, spec
        self.learner = stored_learner(spec)
        self.progress = Progress(len(spec.actions), spec.features.width)
        self.position = 0
        self.codes = {action: code for code, action in enumerate(spec.actions)}
        self.lock = threading.Lock()  # between decisions and learning
        self.decision_rate = DecisionRate()
        self._rng_state = rng_state

    @property
    def rng_state(self) -> NDArray[np.uint64]:
        """Random state of the decisions: a learner process has the model's own, API processes each one of theirs."""
        if self._rng_state is None:
            self._rng_state = self.learner.rng_state_.copy()
        return self._rng_state

    def reset_draws(self) -> None:
        """Draw next what follows the last draw in the log; later draws were not written."""
        self._rng_state = None

    def rank(self, row: Floats, allowed: NDArray[np.bool_] | None) -> tuple[Ranked, int]:
        """Decide for a row, and the position of the state that decided; the lock must be held."""
        return rank(self.learner, row, allowed, self.rng_state), self.position

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

    def apply(self, event: Event, decision: Event, store: Store) -> None:
        """Apply the next row of the log; `decision` is the one it is about."""
        if event.position <= self.position:
            return
        with self.lock:
            if event.kind == DECISION:
                self.learner.n_decisions_ = (event.number or 0) + 1
                if event.draw is not None:
                    move_past(self.learner.rng_state_, event.draw)
                self.progress.add_decision(event.code or 0, event.time)
            else:
                about = store.about([event.decision_id]) if decision.active == 0 else []
                feedback = effective_feedback(event, decision, [one for one in about if one.model == self.id])
                if feedback is not None:
                    self._learn(feedback, decision, event.time)
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
            state["learner"].missing = self.learner.missing  # a state of an earlier version may have the spec's value
            self.learner, self.progress, self.position = state["learner"], state["progress"], int(state["position"])

    def estimated_rates(self, annotator: str | None, code: int) -> tuple[float, float]:
        """Flip rates (rho0, rho1) of feedback on an action, as estimated now; 0 while there is no estimate."""
        if self.spec.people:
            tracker = getattr(self.learner, "weigher_", None)
            return (0.0, 0.0) if tracker is None else tracker.rates_of(annotator)
        if self.spec.noise is not None:
            return float(self.learner.flip_rates_[code, 0]), float(self.learner.flip_rates_[code, 1])
        found = self.progress.estimate
        if found is None or not found["identified"]:
            return 0.0, 0.0
        return found["false_positive"]["value"], found["false_negative"]["value"]

    def _learn(self, event: Event, decision: Event, time: float) -> None:
        progress, code, row = self.progress, decision.code or 0, decision.row
        feedback = None if event.answer == MISSING else event.answer
        by_default = event.source == BY_DEFAULT
        annotator = (event.person or (BY_NOBODY if by_default else UNNAMED)) if self.spec.people else None
        progress.n_defaults += by_default
        progress.n_missing += feedback is None
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
                self.learner.learn(made, feedback, annotator)
            except ValueError:
                progress.n_refused += 1  # features of extreme size; refused in every replay alike
                return
        if feedback is not None:
            rates = self.estimated_rates(annotator, code)
            progress.add_feedback(row, code, decision.probability or 1.0, bool(feedback), rates, time)


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
