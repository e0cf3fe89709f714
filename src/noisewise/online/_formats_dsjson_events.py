"""One event of a DSJSON log, as a round."""

from __future__ import annotations

from collections.abc import Iterator
from sys import float_info
from typing import Any

from noisewise.online._formats import Actions, feedback_of, join_name
from noisewise.online._logged_round import Choice, Features, LoggedRound, checked_round

LARGEST = float_info.max  # whole numbers in JSON may be larger


def is_skipped(event: dict[str, Any]) -> bool:
    """Whether nothing is to be learnt from an event, as from one whose action was never shown."""
    skip = event.get("_skipLearn")
    if skip is not None and not isinstance(skip, bool):
        raise ValueError(f"_skipLearn is {skip!r:.40}; it is true or false")
    return bool(skip)


def event_round(event: dict[str, Any], cost: str, actions: Actions) -> LoggedRound | None:
    """The round of an event; None if it has no decision, or no answer to it."""
    labels = {name.lower(): value for name, value in event.items() if name.startswith("_label")}
    context = event.get("c")
    if not isinstance(context, dict) or "_label_cost" not in labels:
        return None
    if "_slots" in context:
        raise ValueError("_slots hold several decisions in one line; only lines with one decision can be read")
    offered = context.get("_multi")
    if not isinstance(offered, list) or not offered or not all(isinstance(one, dict) for one in offered):
        raise ValueError("_multi, the list of actions, is missing in c")
    order, chances = _numbers(event, "a"), _numbers(event, "p")
    played = _played(labels, order, len(offered))
    probability = labels.get("_label_probability", chances[0] if chances else None)
    if probability is None:
        raise ValueError("_label_probability is missing: how likely was the action?")
    known = dict(zip(order, chances)) if len(order) == len(chances) == len(offered) else {}
    if known and (sorted(known) != list(range(1, len(offered) + 1)) or not all(0 <= one <= 1 for one in chances)):
        raise ValueError("a must hold the number of each action once, from 1, and p a probability for each")
    names = actions.all([str(one.get("_tag", "")) for one in offered])
    choices = tuple(
        Choice(name, _flat(one), known.get(place)) for place, (name, one) in enumerate(zip(names, offered), start=1)
    )
    shared = _flat({name: value for name, value in context.items() if name != "_multi"})
    feedback = feedback_of(_number(labels["_label_cost"], "_label_cost"), cost)
    probability = _number(probability, "_label_probability")
    given, dropped = event.get("EventId"), event.get("pdrop")
    identifier = None if given is None else str(given)
    dropped = 0.0 if dropped is None else _number(dropped, "pdrop")
    return checked_round(shared, names[played - 1], feedback, probability, choices, identifier, dropped)


def _played(labels: dict[str, Any], order: list[float], n_offered: int) -> int:
    """The number of the action, from 1; where it is given twice, it must be the same."""
    said = {_number(labels["_labelindex"], "_labelIndex") + 1} if "_labelindex" in labels else set()
    if "_label_action" in labels:
        said.add(_number(labels["_label_action"], "_label_Action"))
    said = said or set(order[:1])
    if len(said) != 1:
        raise ValueError("_labelIndex (from 0) and _label_Action (from 1) must say which action was played, and agree")
    number = said.pop()
    if number not in range(1, n_offered + 1):
        raise ValueError(f"action {number:g} was played, of {n_offered} in _multi")
    return int(number)


def _numbers(event: dict[str, Any], key: str) -> list[float]:
    given = event.get(key) or []
    if not isinstance(given, list):
        raise ValueError(f"{key} is {given!r}, not a list")
    return [_number(one, key) for one in given]


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
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
            for place, part in enumerate(value):
                yield from _leaves(part if isinstance(part, dict) else {str(place): part}, inner)
        elif isinstance(value, str):
            yield namespace, f"{name}={value}", 1.0
        else:
            yield namespace, name, float(value) if isinstance(value, bool) else value
