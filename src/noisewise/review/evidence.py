"""What in a row speaks for the suggested label and what for the observed one, column by column and word by word.

No model is asked: what is shown is a second opinion that a person can check by eye.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise._validation import is_missing
from noisewise.review.compared import ComparedRows

MAD_TO_STD = 1.4826  # of a normal distribution
LEAST_SCALE = 0.05  # of a column's standard deviation; else a class of equal values would give infinite z-scores
MOST_TEXTS = 5000  # of a class, whose words are counted
LEAST_RATIO = 2.0  # of a word's frequencies in two classes; nearer ones tell nothing
WORD = re.compile(r"\w+(?:['’-]\w+)*")


class Evidence(NamedTuple):
    """A column of a row beside two classes; a positive score speaks for the suggested label.

    `suggested` and `observed` say what is usual in the two classes.
    """

    name: str
    value: Any
    score: float
    suggested: str
    observed: str


def robust_z(value: float, members: Floats) -> float:
    """Distance of a value from the median of a class, in robust standard deviations (1.4826 times the MAD).

    >>> robust_z(5.0, np.array([-1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0]))
    2.69...
    """
    median = np.median(members)
    scale = MAD_TO_STD * float(np.median(np.abs(members - median)))
    return float(abs(value - median) / max(scale, LEAST_SCALE))  # columns are standardised


def log_ratio(hits: Sequence[int], totals: Sequence[int]) -> float:
    """Log of the ratio of two frequencies, smoothed by half a row with and half a row without.

    >>> round(log_ratio((9, 1), (9, 9)), 2)
    1.85
    """
    first, second = ((hit + 0.5) / (total + 1) for hit, total in zip(hits, totals, strict=True))
    return float(np.log(first / second))


class Evidences:
    """The columns and words of rows beside the classes of the rows they are compared with."""

    def __init__(self, compared: ComparedRows) -> None:
        self._compared = compared
        self._category = lru_cache(maxsize=256)(self._count_category)
        self._words = lru_cache(maxsize=256)(self._count_words)
        self._column = lru_cache(maxsize=256)(compared.column)

    def columns(self, row: int, suggested: int, observed: int) -> list[Evidence]:
        """The columns of a row but for texts, those first that tell most between the two labels."""
        found = [self._number(name, row, suggested, observed) for name in self._compared.numbers]
        found += [self._frequency(name, row, suggested, observed) for name in self._compared.categories]
        return sorted(found, key=lambda one: -abs(one.score))

    def words(self, name: str, row: int, suggested: int, observed: int) -> list[tuple[str, int]]:
        """A text in parts, each with 1 if it speaks for the suggested label, -1 for the observed one, else 0."""
        value = self._compared.cell(name, row)
        text = "" if value is None else str(value)
        (first, n_first), (second, n_second) = self._words(name, suggested), self._words(name, observed)
        parts: list[tuple[str, int]] = []
        end = 0
        for match in WORD.finditer(text):
            word = match.group().casefold()
            score = log_ratio((first[word], second[word]), (n_first, n_second))
            if abs(score) >= np.log(LEAST_RATIO) and max(first[word], second[word]) > 1:
                parts += [(text[end : match.start()], 0), (match.group(), 1 if score > 0 else -1)]
                end = match.end()
        return [part for part in [*parts, (text[end:], 0)] if part[0]]

    def _number(self, name: str, row: int, suggested: int, observed: int) -> Evidence:
        values = self._compared.numbers[name]
        value = float(values[self._compared.position(row)])
        classes = [self._compared.members(label) for label in (suggested, observed)]
        near = [robust_z(value, values[members]) if len(members) else np.nan for members in classes]
        score = float(np.nan_to_num(near[1] - near[0]))
        usual = [self._quartiles(name, members) for members in classes]
        return Evidence(name, self._compared.cell(name, row), score, *usual)

    def _quartiles(self, name: str, members: Codes) -> str:
        """The middle half of a class, in the units of the table."""
        if not len(members):
            return ""
        order = members[np.argsort(self._compared.numbers[name][members], kind="stable")]
        column = self._column(name)
        low, high = (column[order[round(at * (len(order) - 1))]] for at in (0.25, 0.75))
        return f"{as_text(low)} to {as_text(high)}"

    def _frequency(self, name: str, row: int, suggested: int, observed: int) -> Evidence:
        value = self._compared.cell(name, row)
        counts = [self._category(name, label) for label in (suggested, observed)]
        hits, totals = [count[as_text(value)] for count in counts], [count.total() for count in counts]
        usual = [f"{100 * hit / total:.0f} % of rows" if total else "" for hit, total in zip(hits, totals, strict=True)]
        return Evidence(name, value, log_ratio(hits, totals), *usual)

    def _count_category(self, name: str, label: int) -> Counter[str]:
        column = self._column(name)
        return Counter(as_text(column[i]) for i in self._compared.members(label))

    def _count_words(self, name: str, label: int) -> tuple[Counter[str], int]:
        """In how many texts of a class each word is, and how many texts there are."""
        column = self._column(name)
        members = self._compared.members(label)[:MOST_TEXTS]
        return Counter(word for i in members for word in words_of(column[i])), len(members)


def words_of(text: Any) -> Iterable[str]:
    """The distinct words of a text.

    >>> sorted(words_of("A cat isn't a dog"))
    ['a', 'cat', 'dog', "isn't"]
    """
    return {match.group().casefold() for match in WORD.finditer("" if text is None else str(text))}


def as_text(value: Any) -> str:
    """A value as a person reads it.

    >>> as_text(0.123456789), as_text(None), as_text(1234.0)
    ('0.1235', '', '1234')
    """
    if is_missing(value):
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.10g}"
