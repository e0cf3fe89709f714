"""Vowpal Wabbit's text for contextual bandits: one line a round (--cb), or one line an action (--cb_adf)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from math import isfinite
from typing import Any, NamedTuple

from noisewise.online.logs.feedback_log import FeedbackLog
from noisewise.online.logs.logged_round import Choice, Features, LoggedRound, checked_round, refuse_dropped
from noisewise.online.logs.text import (
    NUMBER,
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
    finite,
    join_name,
    number_in,
    number_of,
    numbered_lines,
    split_name,
    with_feedback,
    write_rounds,
)

BLANKS = " \t"
ReadCost = Callable[[float], float]
UNFIT = re.compile(r"[ \t\r\n|]")


class Line(NamedTuple):
    """A line of text: what comes before the first bar, the tag that may end it, and the features."""

    label: list[str]
    tag: str
    features: Features


def parse_line(text: str) -> Line:
    """A line in its parts; features of value 0 are left out, and those that come twice add up.

    >>> parse_line("2:-1:0.5 'first|user:10 age:3 |city:2")
    Line(label=['2:-1:0.5'], tag='first', features={'user^age': 30.0})
    """
    head, *segments = text.split("|")
    label, tag = _words(head), ""
    if label and segments and (head[-1] not in BLANKS or label[-1].startswith("'")):
        tag = label.pop().removeprefix("'")
        if NUMBER.fullmatch(tag.rpartition(":")[2]) and tag.count(":") == 2:
            raise ValueError(f"{tag!r} touches the bar, which makes it a tag; put a space before the bar")
    features: dict[str, float] = {}
    for segment in segments:
        namespace, scale, tokens = "", 1.0, _words(segment)
        if segment and segment[0] not in BLANKS:
            namespace, mark, weight = tokens.pop(0).partition(":")
            scale = number_in(weight, f"weight of namespace {namespace!r}") if mark else 1.0
        for token in tokens:
            name, value = _parse_feature(token)
            joined = join_name(namespace, name)
            features[joined] = finite(features.get(joined, 0.0) + scale * value, f"value of feature {joined!r}")
    return Line(label, tag, {name: value for name, value in features.items() if value})


def _parse_feature(token: str) -> tuple[str, float]:
    name, mark, value = token.partition(":")
    if not name or (mark and not value) or ":" in value:
        raise ValueError(f"{token!r} is not a feature; name or name:value is needed")
    if not mark:
        return name, 1.0
    if NUMBER.fullmatch(value):
        return name, float(value)
    if value.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise ValueError(f"feature {name!r} is {value}; drop it or fill it in")
    return token, 1.0  # a word: its own feature, as in city:paris


def _words(text: str) -> list[str]:
    return [word for word in re.split(f"[{BLANKS}]", text) if word]


def tag_text(name: str | None) -> str:
    """A tag as it stands before the bar."""
    if name is None:
        return ""
    if not name or UNFIT.search(name):
        raise ValueError(f"{name!r} can't be written as a tag: blanks, bars and nothing at all are not allowed there")
    return f"'{name}"


def features_text(features: Features) -> str:
    """Features after their bars.

    >>> features_text({"a": 1.0, "b": 0.5, "user^age": 30.0})
    '| a b:0.5 |user age:30.0'
    """
    groups: dict[str, list[str]] = {}
    for joined, value in features.items():
        namespace, name = split_name(joined)
        if namespace not in groups:
            groups[namespace] = [_namespace_text(namespace)]
        groups[namespace].append(_feature_text(name, value))
    return " ".join(" ".join(tokens) for tokens in groups.values()) or "|"


def _namespace_text(namespace: str) -> str:
    if UNFIT.search(namespace) or ":" in namespace:
        raise ValueError(f"namespace {namespace!r} can't be written: it has blanks, bars or colons")
    return f"|{namespace}"


def _feature_text(name: str, value: float) -> str:
    token = name if value == 1 else f"{name}:{float(value)!r}"
    if _is_simple(name) and isfinite(value):
        return token
    with suppress(ValueError):
        if not UNFIT.search(name) and _parse_feature(token) == (name, value):
            return token
    raise ValueError(f"feature {name!r} can't be written with value {value}; rename it without blanks, bars and colons")


@lru_cache(maxsize=65536)  # the same names come in every row
def _is_simple(name: str) -> bool:
    return bool(name) and not UNFIT.search(name) and ":" not in name


NO_FEEDBACK = "there is no action:cost:probability"


def read_vw(
    source: Source,
    layout: str = "plain",
    cost: str = "-reward",
    classes: Any = None,
    features: Sequence[str] | int | None = None,
    missing: str = "refuse",
) -> FeedbackLog:
    """Read a log in Vowpal Wabbit's text; `iter_vw` says how, and gives one round after the other.

    `features` names the columns of X; without it they are found (see `FeedbackLog.from_rounds`).

    >>> log = read_vw(["1:-1:0.5 | a b:2", "2:0:0.25 |user age:3"])
    >>> log.feedback.tolist(), log.actions.tolist(), log.feature_names
    ([1, 0], [1, 2], ['a', 'b', 'user^age'])
    """
    return FeedbackLog.from_rounds(iter_vw(source, layout, cost, classes, missing), classes, features)


def iter_vw(
    source: Source,
    layout: str = "plain",
    cost: str = "-reward",
    classes: Any = None,
    missing: str = "refuse",
    rewards: Interval | None = None,
) -> Iterator[LoggedRound]:
    """Rounds of a log in Vowpal Wabbit's text, read line by line.

    Parameters
    ----------
    source : path of a file, packed as gz or not, or an iterable of lines
    layout : "plain" for ``action:cost:probability | features``; "adf" for a block of lines a round, a line for each
        action, perhaps a first line ``shared``, and an empty line after each block
    cost : "-reward" if right costs -1 and wrong 0; "1-reward" if right costs 0 and wrong 1. Other costs are refused.
    classes : the labels in the order of their numbers; by default an action is its number, from 1. In the layout "adf"
        an action is called by its tag, if all have different ones.
    missing : "refuse" or "skip" rounds without feedback
    rewards : interval of the rewards, where any cost may come: the feedback of a round is then its reward, minus the
        cost or 1 minus the cost

    References
    ----------
    .. [1] Vowpal Wabbit, wiki: "Contextual Bandit algorithms" and "Input format",
       https://github.com/VowpalWabbit/vowpal_wabbit/wiki.

    Examples
    --------
    >>> next(iter_vw(["2:1:0.4 | a"], cost="1-reward", classes=["left", "right"]))
    LoggedRound(features={'a': 1.0}, action='right', feedback=0, probability=0.4, offered=(), id=None, dropped=0.0)
    """
    check_options(cost, missing, rewards)
    actions, read = Actions(classes), partial(feedback_of, cost=cost, rewards=rewards)
    if layout == "plain":
        found = _plain_rounds(source, read, actions)
    elif layout == "adf":
        found = _adf_rounds(source, read, actions)
    else:
        raise ValueError(f"layout is {layout!r}; it is 'plain' or 'adf'")
    return with_feedback(found, missing, NO_FEEDBACK)


def write_vw(
    log: FeedbackLog | Iterable[LoggedRound],
    target: Target,
    layout: str = "plain",
    cost: str = "-reward",
    classes: Any = None,
) -> None:
    """Write a log, or rounds as they come, in Vowpal Wabbit's text; read back with the same classes=, it is the same.

    Actions are numbered from 1 in the order of the log's classes, or `classes` for rounds. Rounds' ids become tags.
    In the layout "adf" actions are tagged with their labels; where the log has no features of actions, the label is the
    only one. A path that ends in .gz is packed.

    >>> import sys
    >>> write_vw(FeedbackLog([[0.5, 1.0]], ["b"], [1], [0.25], classes=["a", "b"]), sys.stdout)
    2:-1.0:0.25 | 0:0.5 1
    """
    check_options(cost)
    if layout not in ("plain", "adf"):
        raise ValueError(f"layout is {layout!r}; it is 'plain' or 'adf'")

    def as_text(one: LoggedRound, numbering: Numbering) -> str:
        refuse_dropped(one.dropped, "Vowpal Wabbit's text")
        label_tail = f"{cost_of(one.feedback, cost)!r}:{float(one.probability)!r}"
        return (_plain_text if layout == "plain" else _adf_text)(one, label_tail, numbering)

    write_rounds(log, target, classes, as_text)


def _plain_rounds(source: Source, read: ReadCost, actions: Actions) -> Iterator[tuple[str, LoggedRound | None]]:
    for where, text in numbered_lines(source):
        if not text.strip():
            continue
        with at(where):
            line = parse_line(text)
            parts = [token.split(":") for token in line.label]
            if line.label[:1] == ["shared"]:
                raise ValueError('a line "shared" belongs to layout="adf"')
            for part in parts:
                if not part[0].isdecimal():
                    raise ValueError(f"the action is {part[0]!r}; actions are numbered from 1")
            labels = [actions.numbered(int(part[0])) for part in parts]
            with_cost = [index for index, part in enumerate(parts) if len(part) > 1]
            one = None
            if with_cost:
                feedback, probability = _feedback_and_probability([parts[index] for index in with_cost], read)
                offered = tuple(Choice(label) for label in labels) if len(parts) > 1 else ()
                played = labels[with_cost[0]]
                one = checked_round(line.features, played, feedback, probability, offered, line.tag or None)
        yield where, one


def _adf_rounds(source: Source, read: ReadCost, actions: Actions) -> Iterator[tuple[str, LoggedRound | None]]:
    for where, block in _blocks(source):
        shared = block[0] if block[0].label[:1] == ["shared"] else Line([], "", {})
        lines = block[1:] if block[0] is shared else block
        with at(where):
            if not lines:
                raise ValueError("the round has no actions")
            if any("shared" in line.label for line in lines):
                raise ValueError('"shared" is only for the first line of a round; is an empty line missing?')
            labels = actions.all([line.tag for line in lines])
            parts = [part.split(":") for line in lines for part in line.label]
            one = None
            if parts:
                feedback, probability = _feedback_and_probability(parts, read)
                played = next(label for label, line in zip(labels, lines) if line.label)
                offered = tuple(Choice(label, line.features) for label, line in zip(labels, lines))
                one = checked_round(shared.features, played, feedback, probability, offered, shared.tag or None)
        yield where, one


def _blocks(source: Source) -> Iterator[tuple[str, list[Line]]]:
    """Lines up to each empty one, with where the first of them is."""
    first = ""
    block: list[Line] = []
    for where, text in numbered_lines(source):
        if text.strip():
            first = first if block else where
            with at(where):
                block.append(parse_line(text))
        elif block:
            yield first, block
            block = []
    if block:
        yield first, block


def _feedback_and_probability(parts: list[list[str]], read: ReadCost) -> tuple[float, float]:
    if len(parts) > 1:
        raise ValueError("more than one action has a cost; one action is played in a round")
    if len(parts[0]) != 3:
        raise ValueError(f"the label is {':'.join(parts[0])!r}; action:cost:probability is needed")
    return read(number_in(parts[0][1], "cost")), number_in(parts[0][2], "probability")


def _plain_text(one: LoggedRound, label_tail: str, numbering: Numbering) -> str:
    if any(choice.features for choice in one.offered):
        raise ValueError('the actions have features of their own; layout="adf" has a line for each')
    labels = [choice.action for choice in one.offered] or [one.action]
    words = [f"{number_of(label, numbering)}" + (f":{label_tail}" if label == one.action else "") for label in labels]
    return f"{' '.join(words)} {tag_text(one.id)}{features_text(one.features)}"


def _adf_text(one: LoggedRound, label_tail: str, numbering: Numbering) -> str:
    lines = [f"shared {tag_text(one.id)}{features_text(one.features)}"]
    for choice in choices_of(one, numbering):
        label = f"0:{label_tail} " if choice.action == one.action else ""
        lines.append(f"{label}{tag_text(str(choice.action))}{features_text(choice.features)}")
    return "\n".join(lines) + "\n"
