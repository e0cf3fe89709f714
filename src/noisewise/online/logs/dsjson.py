"""DSJSON: a decision, its feedback and the propensities of all actions in a line of JSON, as Personalizer logs them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from sys import float_info
from typing import Any

import numpy as np

from noisewise.online.logs.feedback_log import FeedbackLog
from noisewise.online.logs.logged_round import Choice, Features, LoggedRound, checked_round
from noisewise.online.logs.text import (
    Actions,
    Interval,
    Numbering,
    Source,
    Target,
    at,
    check_options,
    choices_of,
    cost_of,
    feedback_of,
    join_name,
    numbered_lines,
    split_name,
    with_feedback,
    write_rounds,
)

MAX_FLOAT = float_info.max  # integers in JSON may be larger


def is_skipped(event: dict[str, Any]) -> bool:
    """Whether nothing is to be learnt from an event, as from one whose action was never shown."""
    skip = event.get("_skipLearn")
    if skip is not None and not isinstance(skip, bool):
        raise ValueError(f"_skipLearn is {skip!r:.40}; it is true or false")
    return bool(skip)


def event_round(
    event: dict[str, Any], cost: str, actions: Actions, rewards: Interval | None = None
) -> LoggedRound | None:
    """The round of an event; None if it has no decision, or no feedback to it."""
    labels = {name.lower(): value for name, value in event.items() if name.startswith("_label")}
    context = event.get("c")
    if not isinstance(context, dict) or "_label_cost" not in labels:
        return None
    if "_slots" in context:
        raise ValueError("_slots hold several decisions in one line; only lines with one decision can be read")
    offered = context.get("_multi")
    if not isinstance(offered, list) or not offered or not all(isinstance(one, dict) for one in offered):
        raise ValueError("_multi, the list of actions, is missing in c")
    order, propensities = _numbers(event, "a"), _numbers(event, "p")
    played = _played(labels, order, len(offered))
    probability = labels.get("_label_probability", propensities[0] if propensities else None)
    if probability is None:
        raise ValueError("_label_probability is missing: how likely was the action?")
    known = dict(zip(order, propensities)) if len(order) == len(propensities) == len(offered) else {}
    if known and (sorted(known) != list(range(1, len(offered) + 1)) or not all(0 <= one <= 1 for one in propensities)):
        raise ValueError("a must hold the number of each action once, from 1, and p a probability for each")
    names = actions.all([str(one.get("_tag", "")) for one in offered])
    choices = tuple(
        Choice(name, _flat(one), known.get(position))
        for position, (name, one) in enumerate(zip(names, offered), start=1)
    )
    shared = _flat({name: value for name, value in context.items() if name != "_multi"})
    feedback = feedback_of(_number(labels["_label_cost"], "_label_cost"), cost, rewards)
    probability = _number(probability, "_label_probability")
    given, dropped = event.get("EventId"), event.get("pdrop")
    identifier = None if given is None else str(given)
    dropped = 0.0 if dropped is None else _number(dropped, "pdrop")
    return checked_round(shared, names[played - 1], feedback, probability, choices, identifier, dropped)


def _played(labels: dict[str, Any], order: list[float], n_offered: int) -> int:
    """The number of the action, from 1; where it is given twice, it must be the same."""
    given_numbers = {_number(labels["_labelindex"], "_labelIndex") + 1} if "_labelindex" in labels else set()
    if "_label_action" in labels:
        given_numbers.add(_number(labels["_label_action"], "_label_Action"))
    given_numbers = given_numbers or set(order[:1])
    if len(given_numbers) != 1:
        raise ValueError("_labelIndex (from 0) and _label_Action (from 1) must say which action was played, and agree")
    number = given_numbers.pop()
    if number not in range(1, n_offered + 1):
        raise ValueError(f"action {number:g} was played, of {n_offered} in _multi")
    return int(number)


def _numbers(event: dict[str, Any], key: str) -> list[float]:
    given = event.get(key) or []
    if not isinstance(given, list):
        raise ValueError(f"{key} is {given!r}, not a list")
    return [_number(one, key) for one in given]


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_FLOAT:
        raise ValueError(f"{what} is {value!r:.40}, not a number")
    return value


def _flat(item: dict[str, Any]) -> Features:
    features: dict[str, float] = {}
    for namespace, name, value in _leaves(item, ""):
        joined = join_name(namespace, name)
        features[joined] = _number(
            features.get(joined, 0.0) + _number(value, f"feature {joined!r}"), f"feature {joined!r}"
        )
    return {name: value for name, value in features.items() if value}


def _leaves(item: dict[str, Any], namespace: str) -> Iterator[tuple[str, str, float]]:
    for name, value in item.items():
        inner = f"{namespace}.{name}" if namespace else name
        if name.startswith("_") or value is None:
            continue
        if isinstance(value, dict):
            yield from _leaves(value, inner)
        elif isinstance(value, list):
            for index, part in enumerate(value):
                yield from _leaves(part if isinstance(part, dict) else {str(index): part}, inner)
        elif isinstance(value, str):
            yield namespace, f"{name}={value}", 1.0
        else:
            yield namespace, name, float(value) if isinstance(value, bool) else value


def read_dsjson(
    source: Source,
    cost: str = "-reward",
    classes: Any = None,
    features: Sequence[str] | int | None = None,
    missing: str = "refuse",
) -> FeedbackLog:
    """Read a log of DSJSON lines; `iter_dsjson` says how, and gives one round after the other.

    >>> line = '{"_label_cost": -1, "_label_probability": 0.8, "_labelIndex": 1, "EventId": "e1", "a": [2, 1], '
    >>> line += '"c": {"user": {"age": 30, "city": "Rome"}, "_multi": [{"_tag": "x"}, {"_tag": "y"}]}, "p": [0.8, 0.2]}'
    >>> log = read_dsjson([line])
    >>> log.actions.tolist(), log.feature_names, log.ids
    (['y'], ['user^age', 'user^city=Rome'], ['e1'])
    """
    log = FeedbackLog.from_rounds(iter_dsjson(source, cost, classes, missing), classes, features)
    if log.dropped is not None:
        warnings.warn(
            f"{np.count_nonzero(log.dropped)} of {len(log)} rounds stand for others that were dropped (pdrop): "
            "off_policy_value counts them so; learn_logged does from log.repeated()",
            UserWarning,
            stacklevel=2,
        )
    return log


def iter_dsjson(
    source: Source,
    cost: str = "-reward",
    classes: Any = None,
    missing: str = "refuse",
    rewards: Interval | None = None,
) -> Iterator[LoggedRound]:
    """Rounds of a log of DSJSON lines, read line by line.

    Objects in the context are namespaces (objects in objects are joined by dots), numbers and ``true`` are features,
    and a word makes the feature ``name=word``. Names that begin with an underscore are left out, as Vowpal Wabbit does.
    So are lines with ``"_skipLearn": true``. ``pdrop``, the probability with which such a line was left out of the log,
    becomes `dropped`.

    Parameters
    ----------
    source : path of a file, packed as gz or not, or an iterable of lines
    cost : "-reward" if right costs -1 and wrong 0, as Personalizer has it; "1-reward" if right costs 0 and wrong 1
    classes : the labels in the order of their numbers; by default an action is its number, from 1. An action is called
        by its ``_tag``, if all have different ones.
    missing : "refuse" or "skip" lines without a decision or its feedback
    rewards : interval of the rewards, where any cost may come: the feedback of a round is then its reward, minus the
        cost or 1 minus the cost

    References
    ----------
    .. [1] Vowpal Wabbit, wiki: "DSJson format", https://github.com/VowpalWabbit/vowpal_wabbit/wiki.
    """
    check_options(cost, missing, rewards)
    found = _rounds(source, cost, Actions(classes), rewards)
    return with_feedback(found, missing, "there is no decision (c) with a _label_cost")


def write_dsjson(
    log: FeedbackLog | Iterable[LoggedRound], target: Target, cost: str = "-reward", classes: Any = None
) -> None:
    """Write a log, or rounds as they come, as DSJSON lines; read back with the same classes=, it is the same.

    Probabilities of actions that were not played are written where the log has them for the whole round.

    >>> import sys
    >>> from noisewise.online import Choice
    >>> write_dsjson([LoggedRound({"age": 30.0}, "y", 1, 0.8, (Choice("x"), Choice("y")))], sys.stdout)
    {"_label_cost": -1.0, "_label_probability": 0.8, "_label_Action": 2, "_labelIndex": 1, "o": [{"v": 1}],
     "Version": "1", "a": [2], "c": {"age": 30.0, "_multi": [{"_tag": "x"}, {"_tag": "y"}]}, "p": [0.8]}
    """
    check_options(cost)

    def as_text(one: LoggedRound, numbering: Numbering) -> str:
        return json.dumps(_event(one, cost, numbering), ensure_ascii=False, allow_nan=False)

    write_rounds(log, target, classes, as_text)


def _rounds(
    source: Source, cost: str, actions: Actions, rewards: Interval | None = None
) -> Iterator[tuple[str, LoggedRound | None]]:
    for where, text in numbered_lines(source):
        if not text.strip():
            continue
        with at(where):
            try:
                event = json.loads(text)
            except ValueError as error:
                raise ValueError(f"this is not JSON: {error}") from None
            except RecursionError:
                raise ValueError("objects lie too deep in each other to be read") from None
            if not isinstance(event, dict):
                raise ValueError("a line must hold an object, {...}")
            skipped = is_skipped(event)
            one = None if skipped else event_round(event, cost, actions, rewards)
        if not skipped:
            yield where, one


def _event(one: LoggedRound, cost: str, numbering: Numbering) -> dict[str, Any]:
    choices = choices_of(one, numbering)
    index = [choice.action for choice in choices].index(one.action)
    identity = {} if one.id is None else {"EventId": one.id}
    order, propensities = [index + 1], [one.probability]
    if all(choice.probability is not None for choice in choices):
        others = [number for number in range(1, len(choices) + 1) if number != index + 1]
        order += sorted(others, key=lambda number: -float(choices[number - 1].probability or 0))
        propensities = [float(choices[number - 1].probability or 0) for number in order]
    multi = [{"_tag": str(choice.action), **_nested(choice.features)} for choice in choices]
    return {
        "_label_cost": cost_of(one.feedback, cost),
        "_label_probability": float(one.probability),
        "_label_Action": index + 1,
        "_labelIndex": index,
        "o": [{"v": one.feedback, **identity}],
        "Version": "1",
        **identity,
        "a": order,
        "c": {**_nested(one.features), "_multi": multi},
        "p": propensities,
        **({"pdrop": float(one.dropped)} if one.dropped else {}),
    }


def _nested(features: Features) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for joined, value in features.items():
        namespace, name = split_name(joined)
        group = nested.setdefault(namespace, {}) if namespace else nested
        if name.startswith("_") or namespace.startswith("_"):
            raise ValueError(f"feature {joined!r} begins with _, which Vowpal Wabbit's JSON leaves out; rename it")
        if not isinstance(group, dict) or name in group:
            raise ValueError(f"{joined!r} is a feature and a namespace at once; rename one of them")
        group[name] = float(value)
    return nested
