"""DSJSON: a decision, its answer and the probabilities of all actions in a line of JSON, as Personalizer logs them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from noisewise.online._formats import (
    Actions,
    Numbers,
    Source,
    Target,
    answered,
    at,
    check_options,
    choices_of,
    cost_of,
    numbered_lines,
    numbers_of,
    rounds_of,
    split_name,
    write_lines,
)
from noisewise.online._formats_dsjson_events import event_round, is_skipped
from noisewise.online._logged_round import Features, LoggedRound
from noisewise.online._logs import FeedbackLog


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
    source: Source, cost: str = "-reward", classes: Any = None, missing: str = "refuse"
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
    missing : "refuse" or "skip" lines without a decision or its answer
    """
    check_options(cost, missing)
    found = _rounds(source, cost, Actions(classes))
    return answered(found, missing, "there is no decision (c) with a _label_cost")


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
    write_lines(_lines(rounds_of(log), cost, numbers_of(log, classes)), target)


def _rounds(source: Source, cost: str, actions: Actions) -> Iterator[tuple[str, LoggedRound | None]]:
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
            one = None if skipped else event_round(event, cost, actions)
        if not skipped:
            yield where, one


def _lines(rounds: Iterable[LoggedRound], cost: str, numbers: Numbers) -> Iterator[str]:
    for number, one in enumerate(rounds, start=1):
        with at(f"round {number}"):
            text = json.dumps(_event(one, cost, numbers), ensure_ascii=False, allow_nan=False)
        yield text


def _event(one: LoggedRound, cost: str, numbers: Numbers) -> dict[str, Any]:
    choices = choices_of(one, numbers)
    place = [choice.action for choice in choices].index(one.action)
    identity = {} if one.id is None else {"EventId": one.id}
    order, chances = [place + 1], [one.probability]
    if all(choice.probability is not None for choice in choices):
        others = [number for number in range(1, len(choices) + 1) if number != place + 1]
        order += sorted(others, key=lambda number: -float(choices[number - 1].probability or 0))
        chances = [float(choices[number - 1].probability or 0) for number in order]
    multi = [{"_tag": str(choice.action), **_nested(choice.features)} for choice in choices]
    return {
        "_label_cost": cost_of(one.feedback, cost),
        "_label_probability": float(one.probability),
        "_label_Action": place + 1,
        "_labelIndex": place,
        "o": [{"v": one.feedback, **identity}],
        "Version": "1",
        **identity,
        "a": order,
        "c": {**_nested(one.features), "_multi": multi},
        "p": chances,
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
