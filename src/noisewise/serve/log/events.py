"""Rows of the event log: decisions, feedback, activations, rewards to be aggregated, and changes of a model."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from noisewise._typing import Floats

# kinds of events; of each a decision has one: feedback that follows missing feedback is a kind of its own
DECISION, FEEDBACK, ACTIVATION, SECOND_FEEDBACK = range(4)
CHANGE = 4  # of the model itself: its id is of no decision, `allowed` holds the change as JSON
REWARD, MAX_REWARDS = 16, 256  # the n-th reward of a decision is of kind REWARD + n; feedback is made of them later
WRONG, RIGHT, MISSING, GRADED = range(4)  # values of feedback; of a graded one, the reward says which
BY_ANNOTATOR, BY_DEFAULT = range(2)  # sources of feedback
_ids = random.Random(os.urandom(32))  # a system call for each id would cost more than the decision
os.register_at_fork(after_in_child=lambda: _ids.seed(os.urandom(32)))


class Event(NamedTuple):
    """One row of the log, with the database columns as fields; what does not apply to its kind is None.

    `position` orders the whole log, `number` the decisions of a model. `version` is the log position of the state that
    decided and `probability` the propensity of the played action; `features` are the row's bytes, `scores` those of
    all scores and then all confidence widths (of many actions only some, see `compact_scores`). `answer` is the
    feedback, `person` the annotator who gave it. A reward's value is in `probability`, a change in `allowed`.

    A decision of a model of offers has the request in `allowed`, the position of the action in it as its `code`, what
    was played as JSON in `features`, and in `scores` means, standard deviations and propensities as float32; `source`
    says whether it brought features that were new.
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
        """The feature vector of a decision."""
        return np.frombuffer(self.features or b"", dtype="<f8").copy()

    @property
    def right(self) -> bool | None:
        """The feedback as a truth value; None if it is missing, or between right and wrong."""
        return self.answer == RIGHT if self.answer in (WRONG, RIGHT) else None

    @property
    def change(self) -> dict[str, Any]:
        """What a row of kind CHANGE changes."""
        return dict(json.loads(self.allowed or "{}"))

    @property
    def is_about_decision(self) -> bool:
        """Whether the row makes its decision feedback that may be learnt from."""
        return self.kind in (FEEDBACK, ACTIVATION, SECOND_FEEDBACK)

    def allowed_codes(self, n_actions: int) -> list[int]:
        """Codes of the actions that a decision could play."""
        return list(range(n_actions)) if self.allowed is None else list(json.loads(self.allowed))


def change_event(model: int, change: dict[str, Any]) -> Event:
    """A row of the log that changes a model itself."""
    return Event(0, model, CHANGE, new_id(), time.time(), allowed=json.dumps(change))


def feedback_code(right: bool | None) -> int:
    """The stored value of feedback."""
    return MISSING if right is None else RIGHT if right else WRONG


def effective_feedback(event: Event, decision: Event, about: Iterable[Event]) -> Event | None:
    """The feedback that is to be learnt from once `event` is in the log, if any.

    A decision with deferred activation is learnt from when it has been activated and has feedback, in either order;
    `about` are the rows about it.
    """
    if not event.is_about_decision:
        return None
    if decision.active != 0:
        return event if event.kind in (FEEDBACK, SECOND_FEEDBACK) else None
    earlier = {one.kind: one for one in (event, *about) if one.position <= event.position}
    return last_feedback(earlier) if ACTIVATION in earlier else None


def last_feedback(rows: dict[int, Event]) -> Event | None:
    """The feedback that counts, of the rows about a decision by their kind."""
    return rows.get(SECOND_FEEDBACK) or rows.get(FEEDBACK)


def new_id() -> str:
    """A unique decision id; ids sort by the time they were made."""
    return f"{time.time_ns() // 1_000_000:012x}{_ids.getrandbits(64):016x}"
