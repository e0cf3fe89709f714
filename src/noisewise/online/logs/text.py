"""Reading and writing of log files: lines, costs, names of features and actions, rounds without feedback."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from math import isfinite
from pathlib import Path
from typing import IO, Any

from noisewise._files import replace_files
from noisewise._validation import known_classes
from noisewise.online.logs.feedback_log import FeedbackLog
from noisewise.online.logs.logged_round import Choice, LoggedRound

Source = str | os.PathLike[str] | Iterable[str]
Target = str | os.PathLike[str] | IO[str]
Interval = tuple[float, float]
Numbering = dict[Any, int] | None  # of each label in a file: its position, from 1, among the classes
COSTS = {"-reward": (0.0, -1.0), "1-reward": (1.0, 0.0)}  # cost of wrong, and of right
MOST_ACTIONS = 1_000_000  # without classes=, all numbers up to the largest are labels
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def numbered_lines(source: Source) -> Iterator[tuple[str, str]]:
    """Lines without line breaks, each with its position in words; from a path (gz or not) or an iterable of lines."""
    if not isinstance(source, str | os.PathLike):
        for number, line in enumerate(source, start=1):
            yield f"line {number}", line.rstrip("\r\n")
        return
    path, number = Path(source), 0
    with path.open("rb") as start:
        packed = start.read(2) == b"\x1f\x8b"
    opened: Any = gzip.open if packed else open
    with opened(path, "rt", encoding="utf-8-sig") as file:
        try:
            for number, line in enumerate(file, start=1):
                yield f"{path.name}, line {number}", line.rstrip("\r\n")
        except UnicodeDecodeError:
            raise ValueError(f"{path.name}, after line {number}: this is not UTF-8 text") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(
                f"{path.name}, after line {number}: the gz file is cut short or damaged: {error}"
            ) from None


def write_lines(lines: Iterable[str], target: Target) -> None:
    """Write lines to a path, packed if it ends in .gz, or to an open text file."""
    if not isinstance(target, str | os.PathLike):
        if not hasattr(target, "writelines"):
            raise ValueError(f"a log is written to a path or an open file, not to {target!r:.40}")
        target.writelines(line + "\n" for line in lines)
        return
    path = Path(target)

    def write(part: str) -> None:
        with open(part, "wb") as raw, _packed(raw, path) as file:
            for line in lines:
                file.write((line + "\n").encode())

    replace_files({path: write})


def _packed(raw: IO[bytes], path: Path) -> Any:
    # a fixed time and no name: the same log gives the same bytes
    return gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else nullcontext(raw)


def write_rounds(
    log: FeedbackLog | Iterable[LoggedRound],
    target: Target,
    classes: Any,
    as_text: Callable[[LoggedRound, Numbering], str],
) -> None:
    """Write the rounds of a log, or rounds as they come, each as a text; errors say in which round they happened."""
    known = log.classes if isinstance(log, FeedbackLog) else None if classes is None else known_classes(None, classes)
    numbering = None if known is None else {label: number for number, label in enumerate(known.tolist(), start=1)}

    def lines() -> Iterator[str]:
        for number, one in enumerate(log.rounds() if isinstance(log, FeedbackLog) else log, start=1):
            with at(f"round {number}"):
                text = as_text(one, numbering)
            yield text

    write_lines(lines(), target)


@contextmanager
def at(where: str) -> Iterator[None]:
    """Errors say where in the file they happened."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def cost_of(feedback: float, cost: str) -> float:
    """The cost of a reward; of wrong (0) or right (1) above all.

    >>> cost_of(1, "-reward"), cost_of(1, "1-reward"), cost_of(0.25, "1-reward")
    (-1.0, 0.0, 0.75)
    """
    return COSTS[cost][0] - feedback


def feedback_of(value: Any, cost: str, rewards: Interval | None = None) -> float:
    """Wrong (0) or right (1) from a cost; with an interval of rewards, the reward.

    >>> feedback_of(-1, "-reward"), feedback_of(-0.5, "-reward", rewards=(0, 1))
    (1, 0.5)
    """
    wrong, right = COSTS[cost]
    if rewards is not None:
        low, high = rewards
        reward = float(wrong - value)
        if not low <= reward <= high:
            raise ValueError(f"the cost is {value:g}, a reward of {reward:g}; it lies between {low:g} and {high:g}")
        return reward
    if value not in (wrong, right):
        other = next(name for name in COSTS if name != cost)
        hint = f"; for costs of 0 and {COSTS[other][0] + COSTS[other][1]:g} pass cost={other!r}"
        hint += ", and for any others the interval of the rewards, such as rewards=(0, 1)"
        raise ValueError(f"the cost is {value}; with cost={cost!r}, {right:g} is right and {wrong:g} is wrong{hint}")
    return int(value == right)


def check_options(cost: str, missing: str = "refuse", rewards: Interval | None = None) -> None:
    """Refuse unknown conventions for costs, rewards, and rounds without feedback."""
    pair = isinstance(rewards, tuple | list) and len(rewards) == 2
    if rewards is not None and not (pair and rewards[0] < rewards[1]):
        raise ValueError(f"rewards is {rewards!r:.40}; it is an interval such as (0, 1), or None for right and wrong")
    if cost not in COSTS:
        raise ValueError(f"cost is {cost!r}; it is '-reward' (right -1, wrong 0) or '1-reward' (right 0, wrong 1)")
    if missing not in ("refuse", "skip"):
        raise ValueError(f"missing is {missing!r}; it is 'refuse' or 'skip'")


def join_name(namespace: str, name: str) -> str:
    """One name for a feature of a namespace.

    >>> join_name("user", "age"), join_name("", "age")
    ('user^age', 'age')
    """
    if "^" in namespace:
        raise ValueError(f"namespace {namespace!r} contains ^, which here divides namespace and feature")
    return f"{namespace}^{name}" if namespace or "^" in name else name


def split_name(name: str) -> tuple[str, str]:
    """Namespace and feature of a name; the inverse of `join_name`."""
    namespace, mark, feature = name.partition("^")
    if name.startswith("^") and "^" not in feature:
        raise ValueError(f"feature {name!r} begins with ^, and would be read as {feature!r}; rename it")
    return (namespace, feature) if mark else ("", name)


def number_in(text: str, what: str) -> float:
    """A plain number in a file."""
    if not NUMBER.fullmatch(text):
        raise ValueError(f"the {what} is {text!r}, not a number")
    return finite(float(text), what)


def finite(value: float, what: str) -> float:
    """Refuse what overflows, as 1e999 does, or a sum of large values."""
    if not isfinite(value):
        raise ValueError(f"the {what} is {value}, too large for a number")
    return value


class Actions:
    """Actions by their number or name in a file: the labels themselves, or those of `classes`."""

    def __init__(self, classes: Any) -> None:
        self.classes = None if classes is None else known_classes(None, classes)
        self.by_name = {} if self.classes is None else {str(label): label for label in self.classes.tolist()}

    def numbered(self, number: int) -> Any:
        """The label of an action numbered from 1."""
        if not 1 <= number <= (MOST_ACTIONS if self.classes is None else len(self.classes)):
            most = f" to {MOST_ACTIONS:,}" if self.classes is None else f" to {len(self.classes)}, as classes has"
            raise ValueError(f"the action is {number}; actions are numbered from 1{most}")
        return number if self.classes is None else self.classes.item(number - 1)

    def named(self, name: str) -> Any:
        """The label of an action that is called by its name."""
        if self.classes is None:
            return int(name) if name.isdecimal() and str(int(name)) == name else name
        if name not in self.by_name:
            raise ValueError(f"the action {name!r} is not among classes={self.classes.tolist()}")
        return self.by_name[name]

    def all(self, tags: list[str]) -> list[Any]:
        """Labels of a round's actions: by their tags if all have different ones, else by their position."""
        if len(set(tags)) == len(tags) and all(tags):
            return [self.named(tag) for tag in tags]
        return [self.numbered(position) for position in range(1, len(tags) + 1)]


def number_of(action: Any, numbering: Numbering) -> int:
    """The number of an action in a file."""
    if numbering is None and isinstance(action, int) and action > 0:
        return action
    if numbering is None or action not in numbering:
        raise ValueError(f"the action is {action!r}; to number it, pass classes=, all labels in order")
    return numbering[action]


def choices_of(one: LoggedRound, numbering: Numbering) -> tuple[Choice, ...]:
    """The actions on offer; if all were, each with its name as its only feature."""
    if one.offered:
        return one.offered
    if numbering is None:
        raise ValueError("the round does not say which actions were offered; pass classes=, all labels in order")
    return tuple(Choice(label, {join_name("action", str(label)): 1.0}) for label in numbering)


def with_feedback(
    found: Iterable[tuple[str, LoggedRound | None]], missing: str, what_is_missing: str
) -> Iterator[LoggedRound]:
    """The rounds with feedback; those without are refused or skipped."""
    for where, one in found:
        if one is not None:
            yield one
        elif missing == "refuse":
            hint = 'no feedback was logged; missing="skip" leaves such rounds out'
            raise ValueError(f"{where}: {what_is_missing}: {hint}")
