"""Logged feedback in the format of Open Bandit Pipeline: a dict of arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from noisewise._typing import Floats
from noisewise._validation import check_number, known_classes
from noisewise.online.logs.feedback_log import FeedbackLog
from noisewise.online.logs.logged_round import Choice, Features, LoggedRound, checked_round, refuse_dropped
from noisewise.online.logs.text import MOST_ACTIONS

SLOT = "slot="  # how `ContextualBandit` names the feature of a slot
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
    labels, codes = _labels_and_codes(bandit_feedback, classes)
    extra = {key: value for key, value in bandit_feedback.items() if key not in (*NEEDED, "n_rounds")}
    context, reward, pscore = (bandit_feedback[key] for key in ("context", "reward", "pscore"))
    return FeedbackLog(context, labels[codes], reward, pscore, labels, extra=extra)


def _labels_and_codes(bandit_feedback: Mapping[str, Any], classes: Any) -> tuple[Any, Any]:
    """The names of the actions, and those that were played, after the dict was checked."""
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
    return labels, codes


def _is_count(n_actions: Any) -> bool:
    return bool(2 <= n_actions <= MOST_ACTIONS and n_actions == int(n_actions))


def iter_open_bandit(
    bandit_feedback: Mapping[str, Any], classes: Any = None, rewards: tuple[float, float] = (0.0, 1.0)
) -> Iterator[LoggedRound]:
    """The rounds of a dict of Open Bandit Pipeline with the features of its actions (`action_context`).

    For `ContextualBandit.learn_rounds` and `off_policy_action_value`. All actions are on offer in every round; features
    are named by the number of their column. From the second position of a slate on, the slot is a feature of the
    context, as `ContextualBandit.decide` has it. `pi_b` gives the propensities of all actions, where it is there.

    Examples
    --------
    >>> logged = {"n_actions": 2, "context": [[1.0, 0.5]], "action": [1], "reward": [0.3], "pscore": [0.5],
    ...           "position": [1], "action_context": [[3.0], [4.0]]}
    >>> one = next(iter_open_bandit(logged))
    >>> one.features, one.action, one.feedback, one.offered[1].features
    ({'0': 1.0, '1': 0.5, 'slot=2': 1.0}, 1, 0.3, {'0': 4.0})
    """
    labels, codes = _labels_and_codes(bandit_feedback, classes)
    contexts = _table(bandit_feedback, "context", len(codes))
    actions = _table(bandit_feedback, "action_context", len(labels))
    given, pscores = (np.asarray(bandit_feedback[key], dtype=np.float64) for key in ("reward", "pscore"))
    low, high = rewards
    if given.shape != codes.shape or pscores.shape != codes.shape or not ((given >= low) & (given <= high)).all():
        raise ValueError(f"each round needs a pscore and a reward between {low:g} and {high:g} (rewards=)")
    positions = bandit_feedback.get("position")
    positions = np.zeros(len(codes), dtype=np.int64) if positions is None else np.asarray(positions)
    policy = bandit_feedback.get("pi_b")
    own = [_named(row) for row in actions]
    names = labels.tolist()

    def one_round(n: int) -> LoggedRound:
        slot = int(positions[n])
        features = _named(contexts[n]) | ({f"{SLOT}{slot + 1}": 1.0} if slot else {})
        propensities = [None] * len(names) if policy is None else np.asarray(policy[n])[:, slot].tolist()
        offered = tuple(map(Choice, names, own, propensities))
        return checked_round(features, names[codes[n]], float(given[n]), float(pscores[n]), offered, None)

    return map(one_round, range(len(codes)))


def _table(bandit_feedback: Mapping[str, Any], key: str, n_rows: int) -> Floats:
    table = np.asarray(bandit_feedback.get(key), dtype=np.float64)
    if table.ndim != 2 or len(table) != n_rows or not np.isfinite(table).all():
        raise ValueError(f"{key} has shape {table.shape}; {n_rows} rows of finite numbers are needed")
    return table


def _named(row: Floats) -> dict[str, float]:
    return {str(column): value for column, value in enumerate(row.tolist()) if value}


def to_open_bandit(log: FeedbackLog | Iterable[LoggedRound]) -> dict[str, Any]:
    """The dict that Open Bandit Pipeline takes; actions are indices into the log's classes, X is made dense.

    Rounds with features of actions must all have the same actions on offer. Their features are `action_context`; which
    column is which feature, and the names of the actions, are under `context_names`, `action_context_names` and
    `actions`.
    """
    if not isinstance(log, FeedbackLog):
        return _of_rounds(list(log))
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


def _of_rounds(rounds: list[LoggedRound]) -> dict[str, Any]:
    if not rounds or not rounds[0].offered:
        raise ValueError("rounds with the actions that were on offer are needed, as a log in ADF layout has them")
    offered = {choice.action: choice.features for choice in rounds[0].offered}
    actions = list(offered)
    slots, policy = [], []
    for one in rounds:
        refuse_dropped(one.dropped, "the dict of Open Bandit Pipeline")
        if {choice.action: choice.features for choice in one.offered} != offered or one.action not in offered:
            raise ValueError(
                "the actions on offer, or their features, change from round to round; Open Bandit Pipeline has one "
                "action_context for all"
            )
        slots.append(next((int(name[len(SLOT) :]) for name in one.features if name.startswith(SLOT)), 1))
        propensities = {choice.action: choice.probability for choice in one.offered}
        policy.append([propensities[action] for action in actions])
    contexts = [{name: one.features[name] for name in one.features if not name.startswith(SLOT)} for one in rounds]
    context_names, context = _dense(contexts)
    action_names, action_context = _dense(offered.values())
    found: dict[str, Any] = {
        "n_rounds": len(rounds),
        "n_actions": len(actions),
        "context": context,
        "action_context": action_context,
        "action": np.array([actions.index(one.action) for one in rounds]),
        "position": np.array(slots) - 1 if max(slots) > 1 else None,
        "reward": np.array([one.feedback for one in rounds]),
        "pscore": np.array([one.probability for one in rounds]),
        "actions": actions,
        "context_names": context_names,
        "action_context_names": action_names,
    }
    if max(slots) == 1 and not any(None in row for row in policy):
        found["pi_b"] = np.array(policy)[:, :, None]
    return found


def _dense(records: Collection[Features]) -> tuple[list[str], Floats]:
    """Names of the columns, numbered ones in their order, and the values."""
    names = sorted({name for record in records for name in record}, key=lambda name: (len(name) * name.isdigit(), name))
    return names, np.array([[record.get(name, 0.0) for name in names] for record in records])
