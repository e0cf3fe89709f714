"""A model of a fixed set of actions, with weights for each: a decision is made from one feature vector."""

from __future__ import annotations

import json
import random
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Floats
from noisewise.online import Decision
from noisewise.serve.log.events import BY_ANNOTATOR, BY_DEFAULT, MISSING, Event, feedback_code
from noisewise.serve.models.changes import use_exploration
from noisewise.serve.models.model import ServedModel
from noisewise.serve.models.progress import Progress, tracked_bytes
from noisewise.serve.models.ranking import STORED_SCORES, Ranked, compact_scores, rank, uniformly
from noisewise.serve.models.recipes import n_bytes, stored_learner
from noisewise.serve.models.rows import row_of, shortened
from noisewise.serve.models.spec import DecideRequest, ModelSpec

UNNAMED, BY_NOBODY = "(unnamed)", "(no answer)"  # annotators of feedback that names none; stored in model states
SLOW_DECISION = 1_000_000  # values of the covariances, all of which are read: a millisecond
ARRAYS = ("table_", "sigma_", "parameters_", "counters_")  # of a learner: what decisions are made with
Question = tuple[Floats, NDArray[np.bool_] | None]


class RowModel(ServedModel):
    """A model whose actions are specified, and whose contexts are feature vectors."""

    spec: ModelSpec
    progress: Progress

    def __init__(self, number: int, name: str, spec: Any, rng_state: NDArray[np.uint64] | None = None) -> None:
        super().__init__(number, name, spec, rng_state)
        self.codes = {action: code for code, action in enumerate(spec.actions)}

    def question(self, request: Any) -> Question:
        """The feature vector of a request, and the mask of the actions that may be played."""
        if not isinstance(request, DecideRequest):
            raise ValueError(f"model {self.name!r} has a fixed set of actions; it needs features, and no context")
        return row_of(request.features, self.spec.features), self.allowed(request.actions, request.excluded)

    def choose(self, question: Question) -> dict[str, Any]:
        """Decide: the fields of the decision in the log; the lock must be held."""
        row, allowed = question
        ranked, version = self.rank(row, allowed)
        return {
            "code": ranked.code,
            "best": ranked.best,
            "probability": ranked.probability,
            "draw": ranked.draw,
            "version": version,
            "features": row.tobytes(),
            "scores": compact_scores(ranked),
            "allowed": None if allowed is None else json.dumps(np.flatnonzero(allowed).tolist()),
        }

    def takes_long(self, question: Question) -> bool:
        """Whether a single decision takes so long that other requests would feel it."""
        return self.is_large

    def action_of(self, decision: Event) -> str | int:
        """The action that a decision played."""
        return self.spec.actions[decision.code or 0]

    def feedback_fields(self, given: Any, annotator: str | None) -> dict[str, Any]:
        """Fields of a row of the log with feedback: right, wrong, or None."""
        if isinstance(given, float | dict):
            raise ValueError(f"model {self.name!r} learns from right or wrong, not from rewards; right is needed")
        return {"answer": feedback_code(given), "source": BY_ANNOTATOR}

    def reward_fields(self, value: float) -> dict[str, Any]:
        """The same of a reward: it is "right" with that probability, which leaves the mean unchanged."""
        value = min(max(value, 0.0), 1.0)
        right = feedback_code(random.random() < value)  # the draw is in the log
        return {"answer": right, "probability": value, "source": BY_ANNOTATOR}

    def closing_fields(self, total: float | None) -> dict[str, Any]:
        """The same when the wait is over: of the sum of the rewards, or, without any, the default."""
        probability = self.spec.default_right if total is None else min(max(total, 0.0), 1.0)
        right = None if probability is None else random.random() < probability  # the draw is in the log
        return {"answer": feedback_code(right), "source": BY_DEFAULT if total is None else BY_ANNOTATOR}

    def rank(self, row: Floats, allowed: NDArray[np.bool_] | None) -> tuple[Ranked, int]:
        """Decide for a row, and the position of the state that decided; the lock must be held.

        A model whose feedback would mislead it decides uniformly, which is the baseline, until it is told more.
        """
        learner, position = self.current
        if self.progress.is_misleading:
            return uniformly(rank(learner, row, allowed, self.rng_state), allowed, self.rng_state), position
        return rank(learner, row, allowed, self.rng_state, STORED_SCORES), position

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

    @property
    def is_large(self) -> bool:
        """Whether a single decision takes so long that other requests would feel it."""
        return bool(self.learner.sigma_.size > SLOW_DECISION)

    def is_slow(self, event: Event) -> bool:
        """Whether applying the next row takes, or waits, so long that other requests would feel it."""
        return self.is_large or super().is_slow(event)  # a large model's lock is held by decisions in threads

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

    def _new_learner(self) -> Any:
        return stored_learner(self.spec)

    def _new_progress(self) -> Progress:
        return Progress(len(self.spec.actions), self.spec.features.width)

    def _standby(self) -> Any:
        made = copy(self.learner)
        for name in ARRAYS:
            setattr(made, name, getattr(self.learner, name).copy())
        return made

    def _use_spec(self) -> None:
        use_exploration(self.learner, self.spec)

    def _note_decision(self, event: Event) -> None:
        self.unwatched.append(partial(self.progress.add_decision, event.code or 0, event.time))

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
                self._teach(made, feedback, annotator)
            except ValueError:
                self.unwatched.append(partial(count, refused=True))  # features of extreme size; refused in every replay
                return
        self.unwatched.append(count)
        if feedback is not None:
            rates = self.estimated_rates(annotator, code)
            seen = row, code, decision.probability or 1.0, bool(feedback), rates, time
            self.unwatched.append(partial(self.progress.add_feedback, *seen))
