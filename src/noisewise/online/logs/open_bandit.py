"""Logged feedback in the format of Open Bandit Pipeline: a dict of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from noisewise._validation import check_number, known_classes
from noisewise.online.logs.feedback_log import FeedbackLog
from noisewise.online.logs.logged_round import refuse_dropped
from noisewise.online.logs.text import MOST_ACTIONS

NEEDED = ("n_actions", "context", "action", "reward", "pscore")


def from_open_bandit(bandit_feedback: Mapping[str, Any], classes: Any = None) -> FeedbackLog:
    """A log from the dict of Open Bandit Pipeline; a reward of 1 is right, 0 is wrong, others are refused.

    Keys without a field in a log (position, action_context, expected_reward, pi_b, ...) are kept in `extra`.

    References
    ----------
    .. [1] Saito, Y., Aihara, S., Matsutani, M., Narita, Y. (2021). Open Bandit Dataset and Pipeline: towards realistic
       and reproducible off-policy evaluation. NeurIPS Datasets and Benchmarks.

    Examples
    --------
    >>> logged = {"n_rounds": 2, "n_actions": 3, "context": [[1.0], [2.0]], "action": [2, 0], "reward": [1, 0],
    ...           "pscore": [0.5, 0.2], "position": None}
    >>> log = from_open_bandit(logged)
    >>> log.actions.tolist(), log.classes.tolist(), log.probabilities.tolist()
    ([2, 0], [0, 1, 2], [0.5, 0.2])
    """
    if not isinstance(bandit_feedback, Mapping):
        raise ValueError(f"the feedback is {bandit_feedback!r:.60}; a dict with {', '.join(NEEDED)} is needed")
    absent = [key for key in NEEDED if bandit_feedback.get(key) is None]
    if absent:
        raise ValueError(f"{', '.join(absent)} missing in the feedback; needed are {', '.join(NEEDED)}")
    n_actions, codes = bandit_feedback["n_actions"], np.asarray(bandit_feedback["action"])
    check_number("n_actions", n_actions, _is_count, f"it is a whole number from 2 to {MOST_ACTIONS:,}")
    labels = np.arange(int(n_actions)) if classes is None else known_classes(None, classes)
    if len(labels) != n_actions:
        raise ValueError(f"classes has {len(labels)} labels; n_actions is {n_actions}")
    if codes.ndim != 1:
        raise ValueError(f"action has shape {codes.shape}; one action for each round is needed, not a slate of them")
    if codes.dtype.kind not in "iu" or (codes.size and not 0 <= codes.min() <= codes.max() < n_actions):
        raise ValueError(f"action must hold whole numbers from 0 to {n_actions - 1}, as n_actions says")
    rounds = bandit_feedback.get("n_rounds", len(codes))
    if rounds != len(codes):
        raise ValueError(f"n_rounds is {rounds}, but there are {len(codes)} actions")
    extra = {key: value for key, value in bandit_feedback.items() if key not in (*NEEDED, "n_rounds")}
    context, reward, pscore = (bandit_feedback[key] for key in ("context", "reward", "pscore"))
    return FeedbackLog(context, labels[codes], reward, pscore, labels, extra=extra)


def _is_count(n_actions: Any) -> bool:
    return bool(2 <= n_actions <= MOST_ACTIONS and n_actions == int(n_actions))


def to_open_bandit(log: FeedbackLog) -> dict[str, Any]:
    """The dict that Open Bandit Pipeline takes; actions are indices into the log's classes, X is made dense."""
    if log.dropped is not None:
        refuse_dropped(float(log.dropped.max()), "the dict of Open Bandit Pipeline")
    return {
        "position": None,
        **(log.extra or {}),
        "n_rounds": len(log),
        "n_actions": len(log.classes),
        "context": log.X.toarray() if sp.issparse(log.X) else log.X.copy(),
        "action": log.codes,
        "reward": log.feedback.astype(np.int64),
        "pscore": log.probabilities.copy(),
    }
