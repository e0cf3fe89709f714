"""Decisions, the history of a stream, and checks of feedback and propensities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Floats

BOOLEAN_TYPES = (bool, np.bool_)
NUMBER_TYPES = (int, float, np.integer, np.floating)


class Decision(NamedTuple):
    """An action and all that is needed to learn from its feedback, whenever that comes.

    Until then it may be kept anywhere: pickled, in a model file, or as JSON if the action is text or a number
    (``json.dumps(decision._asdict(), default=numpy.ndarray.tolist)``, and ``Decision(**json.loads(text))``).

    Attributes
    ----------
    action : the label played
    probability : its propensity, the probability with which it was played
    id : the index of the decision among the learner's
    features : a copy of the row; for a sparse row its column indices and values
    code, best : the action and the greedy action, as indices into the classes
    version : how many rounds the learner had learnt from when it decided
    maker : a random number that identifies the learner in memory; it has no influence on decisions
    """

    action: Any
    probability: float
    id: int
    features: Any
    code: int
    best: int
    version: int
    maker: int | None = None


new_decision: Callable[[tuple[Any, ...]], Decision] = partial(tuple.__new__, Decision)  # from its fields, quickly


@dataclass(frozen=True)
class History:
    """What happened in a stream: labels played, feedback observed, where the label was not the true one."""

    actions: NDArray[Any]
    feedback: NDArray[np.int8]
    mistakes: NDArray[np.bool_]
    probabilities: Floats

    @property
    def mistake_rate(self) -> float:
        """Fraction of rounds in which the played label was not the true one."""
        return float(self.mistakes.mean()) if len(self.mistakes) else 0.0

    def __len__(self) -> int:
        return len(self.mistakes)


def check_feedback(feedback: Any) -> int:
    """Right or wrong as 1 or 0; anything else is refused."""
    if type(feedback) in BOOLEAN_TYPES:  # the common case: comparing numpy's with a number takes a microsecond
        return 1 if feedback else 0
    if isinstance(feedback, NUMBER_TYPES) and feedback in (0, 1):
        return int(feedback)
    raise ValueError(f"feedback is {feedback!r}; it must be 1 or True (right) or 0 or False (wrong)")


def check_feedbacks(feedback: Any) -> NDArray[np.int8]:
    """The same for many rounds."""
    given = np.asarray(feedback)
    if given.ndim != 1:
        raise ValueError(f"feedback has shape {given.shape}; one value for each row is needed")
    if given.dtype.kind not in "biuf":
        return np.array([check_feedback(value) for value in given.tolist()], dtype=np.int8)
    wrong = ~np.isin(given, (0, 1))
    if wrong.any():
        check_feedback(given[np.argmax(wrong)].item())
    return given.astype(np.int8)


def check_probabilities(probabilities: Any) -> Floats:
    """Probabilities above 0 and at most 1."""
    try:
        given = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"probabilities is {probabilities!r:.60}; numbers above 0 and at most 1 are needed") from None
    wrong = ~((given > 0) & (given <= 1))
    if wrong.any():
        raise ValueError(
            f"a probability is {np.atleast_1d(given)[np.atleast_1d(wrong)][0]}; what was played had a probability "
            "above 0 and at most 1"
        )
    return given


def round_probabilities(probabilities: Any, n_rounds: int) -> Floats:
    """A probability for each round: as given, or one that holds for all."""
    given = check_probabilities(probabilities)
    if given.shape not in ((), (n_rounds,)):
        raise ValueError(
            f"probabilities has shape {given.shape}; one for each of {n_rounds} rounds, or one for all, is needed"
        )
    return np.full(n_rounds, given)
