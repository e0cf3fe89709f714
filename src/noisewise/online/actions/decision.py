"""A decision among actions with features."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from noisewise._typing import Floats
from noisewise.online.actions.joint import Row


class ActionDecision(NamedTuple):
    """An action with features, and all that is needed to learn from its reward, whenever that comes.

    Until then it may be kept anywhere: pickled, in a model file, or as JSON if the action is text or a number
    (``json.dumps(decision._asdict(), default=numpy.ndarray.tolist)``, and ``ActionDecision(**json.loads(text))``).

    Attributes
    ----------
    action : the name of the action played, or its position
    probability : its propensity, the probability with which it was played
    id : the index of the decision among the learner's
    position : the index of the action among those offered
    context, features : columns and values of the context's and the action's features
    probabilities : the propensity of each action that was offered
    group : what the noise of its reward depends on, if that is a feature of the action
    version : how many rounds the learner had learnt from when it decided
    maker : a random number that identifies the learner in memory; it has no influence on decisions
    """

    action: Any
    probability: float
    id: int
    position: int
    context: Any
    features: Any
    probabilities: Floats
    group: Any
    version: int
    maker: int | None = None


new_decision: Callable[[tuple[Any, ...]], ActionDecision] = partial(tuple.__new__, ActionDecision)


def stored_row(row: Any, n_columns: int, whose: str) -> Row:
    """Columns and values as they were in a decision, after any storage; refused if they were damaged there."""
    columns, values = (np.asarray(part) for part in row) if len(row) == 2 else (np.zeros(0), np.zeros(1))
    damaged = columns.ndim != 1 or columns.shape != values.shape or columns.dtype.kind not in "iu"
    if damaged or not columns.size or not 0 <= columns.min() <= columns.max() < n_columns:
        raise ValueError(f"the decision's {whose} is damaged; keep decisions as they are")
    values = values.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        raise ValueError(f"the decision's {whose} holds a value that is not finite; keep decisions as they are")
    return columns.astype(np.int64, copy=False), values
