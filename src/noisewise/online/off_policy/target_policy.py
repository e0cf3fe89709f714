"""The target policy of off-policy evaluation: its labels, probabilities or a learner, as probabilities of actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noisewise._frames import frame_like
from noisewise._typing import Floats
from noisewise._validation import find_actions, one_column
from noisewise.online.actions.bandit import ContextualBandit
from noisewise.online.logs.feedback_log import FeedbackLog


def target_probabilities(log: FeedbackLog, policy: Any) -> Floats:
    """The policy's probability of every class in every round."""
    if isinstance(policy, ContextualBandit):
        raise ValueError("the policy decides among actions with features; off_policy_action_value values it")
    played = policy.predict(_rows(log, policy)) if hasattr(policy, "predict") else policy
    given = one_column(played) if _lists_labels(played, log.classes) else np.asarray(played)
    shape = len(log), len(log.classes)
    if given.ndim == 1 and len(given) == len(log):
        probabilities = np.zeros(shape)
        probabilities[np.arange(len(log)), find_actions(given, log.classes)] = 1.0
    elif given.shape == shape and given.dtype.kind in "fiub":
        probabilities = given.astype(np.float64)[:, _order(played, log.classes)]
        sums = probabilities.sum(axis=1)
        wrong = ~((probabilities >= 0).all(axis=1) & (np.abs(sums - 1) < 1e-6))
        if wrong.any():
            raise ValueError(f"the policy's probabilities in round {int(np.argmax(wrong)) + 1} do not sum to 1")
    else:
        raise ValueError(
            f"the policy has shape {given.shape}; a label for each of {shape[0]} rounds, or probabilities of shape "
            f"{shape}, are needed"
        )
    _refuse_actions_not_offered(log, probabilities)
    return probabilities


def _lists_labels(played: Any, classes: NDArray[Any]) -> bool:
    """Whether a list holds labels, of which numpy would make others or rows, and not rows of probabilities."""
    if not isinstance(played, list | tuple) or not played:
        return False
    if all(isinstance(one, tuple) for one in played):
        return played[0] in classes.tolist()
    return all(isinstance(one, tuple) or np.ndim(one) == 0 for one in played)


def _rows(log: FeedbackLog, model: Any) -> Any:
    """The rows of the log, in a frame where the model knows its features by name and the log has names for them."""
    if log.feature_names is None or sp.issparse(log.X) or not hasattr(model, "feature_names_in_"):
        return log.X
    return frame_like(dict(zip(log.feature_names, log.X.T)))


def _refuse_actions_not_offered(log: FeedbackLog, probabilities: Floats) -> None:
    codes = {label: code for code, label in enumerate(log.classes.tolist())}
    for number, choices in enumerate(log.offered or ()):
        offered = [codes[choice.action] for choice in choices]
        if offered and probabilities[number, offered].sum() < 1 - 1e-6:
            raise ValueError(f"in round {number + 1} the policy plays actions that were not offered there")


def _order(frame: Any, classes: NDArray[Any]) -> list[int]:
    """For each class the index of its column: by the names of a frame's columns, else as they come."""
    in_order = list(range(len(classes)))
    columns = getattr(frame, "column_names", getattr(frame, "columns", None))  # pyarrow's columns have no names
    if columns is None:
        return in_order
    given, known = list(columns), classes.tolist()
    for names, labels in ((given, known), ([str(name) for name in given], [str(label) for label in known])):
        if set(names) == set(labels) and len(set(labels)) == len(labels):
            return [names.index(label) for label in labels]
    if given == in_order or given == [f"column_{index}" for index in in_order]:  # the names that frames make up
        return in_order
    raise ValueError(
        f"the policy's columns are {given}; they must be the classes {known}, in any order, or have no names"
    )
