"""What the log holds: decisions, answers and activations, one row each."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from noisewise._typing import Floats

DECISION, ANSWER, ACTIVATION = range(3)  # kinds
WRONG, RIGHT, NONE = range(3)  # answers
_names = random.Random(os.urandom(32))  # asking the system each time would cost more than the decision
os.register_at_fork(after_in_child=lambda: _names.seed(os.urandom(32)))
BY_PERSON, BY_DEFAULT = range(2)  # who answered


class Event(NamedTuple):
    """One row of the log; what does not apply to its kind is None.

    `position` orders the whole log, `number` the decisions of a model. `version` is the log position of the state that
    decided; `features` are the row's bytes, `scores` those of all scores and then all widths.
    """

    position: int
    model: int
    kind: int
    decision_id: str
    time: float
    number: int | None = None
    code: int | None = None
    best: int | None = None
    probability: float | None = None
    draw: float | None = None
    version: int | None = None
    features: bytes | None = None
    scores: bytes | None = None
    allowed: str | None = None
    active: int | None = None
    answer: int | None = None
    person: str | None = None
    source: int | None = None

    @property
    def row(self) -> Floats:
        """The features of a decision."""
        return np.frombuffer(self.features or b"", dtype="<f8").copy()

    @property
    def right(self) -> bool | None:
        """The answer as people say it."""
        return None if self.answer in (NONE, None) else self.answer == RIGHT


def counted_answer(event: Event, decision: Event, about: Iterable[Event]) -> Event | None:
    """The answer that counts once a row of the log is there, if it makes one count.

    A decision that waits to be activated counts when it is both activated and answered, in whichever order; `about` are
    the rows about it.
    """
    if event.kind == DECISION:
        return None
    if decision.active != 0:
        return event if event.kind == ANSWER else None
    earlier = {one.kind: one for one in (event, *about) if one.position <= event.position}
    return earlier.get(ANSWER) if ACTIVATION in earlier else None


def new_id() -> str:
    """A name for a decision that nobody else gives; later ones sort after earlier ones."""
    return f"{time.time_ns() // 1_000_000:012x}{_names.getrandbits(64):016x}"
