"""One column of a table made into numbers: what it holds is found once, later rows are read the same way."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from noisewise._inputs import Floats

MOST_CATEGORIES = 50
TEXT_WIDTH = 2**10
LEAST_COUNTED = 20  # rows; 1, 2, 3 may be measured
MISSING = "(missing)"
OBJECTS: dict[str, tuple[type, ...]] = {
    "date": (datetime.date,),
    "time": (datetime.time,),
    "duration": (datetime.timedelta,),
    "nested": (list, tuple, set, frozenset, dict, np.ndarray),
}


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, dates, times or durations: gaps filled with the median and marked, everything standardised."""

    reading: str
    median: float
    gaps: float  # share of rows without a value; none, and there is no mark
    center: float
    scale: float
    sparse: ClassVar[bool] = False

    @classmethod
    def of(cls, values: nw.Series[Any], reading: str) -> NumberColumn:
        """Learn the median of what is there, mean and deviation of what is filled in."""
        numbers = READINGS[reading](values)
        missing = np.isnan(numbers)
        median = float(np.median(numbers[~missing]))
        numbers[missing] = median
        return cls(reading, median, float(missing.mean()), float(numbers.mean()), float(numbers.std()) or 1.0)

    @property
    def width(self) -> int:
        """How many columns of numbers it becomes."""
        return 2 if self.gaps else 1

    def encode(self, values: nw.Series[Any]) -> Floats:
        """The standardised values and, where there were gaps to learn from, the standardised mark of a gap."""
        numbers = READINGS[self.reading](values)
        missing = np.isnan(numbers)
        filled = (np.where(missing, self.median, numbers) - self.center) / self.scale
        if not self.gaps:
            return filled[:, None]
        return np.column_stack([filled, (missing - self.gaps) / np.sqrt(self.gaps * (1 - self.gaps))])


@dataclass(frozen=True)
class CategoryColumn:
    """Names, one column of zeros and ones for each; the rarest together, unknown ones nothing."""

    spread: Any
    sparse: ClassVar[bool] = False

    @classmethod
    def of(cls, strings: NDArray[Any]) -> CategoryColumn:
        """Learn the names."""
        from sklearn.preprocessing import OneHotEncoder

        spread = OneHotEncoder(max_categories=MOST_CATEGORIES, sparse_output=False, handle_unknown="ignore")
        return cls(spread.fit(strings[:, None]))

    @property
    def width(self) -> int:
        """How many columns of numbers it becomes."""
        return len(self.spread.get_feature_names_out())

    def encode(self, values: nw.Series[Any]) -> Floats:
        """Ones where the row has the name."""
        return np.asarray(self.spread.transform(as_strings(values)[:, None]))


@dataclass(frozen=True)
class TextColumn:
    """Text, its words hashed."""

    width: int = TEXT_WIDTH
    sparse: ClassVar[bool] = True

    def encode(self, values: nw.Series[Any]) -> Any:
        """How often each word is there, in CSR rows of length one."""
        from sklearn.feature_extraction.text import HashingVectorizer

        hashing = HashingVectorizer(n_features=self.width, alternate_sign=False, norm="l2")
        return hashing.transform(as_strings(values))


Column = NumberColumn | CategoryColumn | TextColumn


def learn_column(values: nw.Series[Any]) -> tuple[Column | None, list[str]]:
    """What a column holds (None if it says nothing about the rows), and what there is to note about it."""
    reading = _reading(values)
    if reading == "nested":
        return None, ["holds lists or records: left out"]
    missing = int(np.isnan(READINGS[reading](values)).sum()) if reading else int(values.is_null().sum())
    if missing == len(values):
        return None, ["is empty: left out"]
    return _learn_numbers(values, reading, missing) if reading else _learn_names(values, missing)


def _counts(numbers: Floats) -> bool:
    """Whether numbers go up row by row, with gaps where some rows have been taken out."""
    return bool(np.all(np.diff(numbers) > 0) and numbers[-1] - numbers[0] < 2 * len(numbers))


def _learn_numbers(values: nw.Series[Any], reading: str, missing: int) -> tuple[Column | None, list[str]]:
    if not missing:
        numbers = READINGS[reading](values)
        if not np.ptp(numbers):
            return None, ["is the same in every row: left out"]
        if values.dtype.is_integer() and len(numbers) >= LEAST_COUNTED and _counts(numbers):
            return None, ["counts the rows: left out"]  # in a sorted table it would know the labels
    notes = [] if reading == "number" else [f"holds {READ_AS[reading]}"]
    missing_notes = _note_missing(missing, "filled with the median and marked")
    return NumberColumn.of(values, reading), notes + missing_notes


def _learn_names(values: nw.Series[Any], missing: int) -> tuple[Column | None, list[str]]:
    strings = as_strings(values)
    distinct = len(set(strings.tolist()))
    if distinct == 1:
        return None, ["is the same in every row: left out"]
    if distinct <= MOST_CATEGORIES or distinct <= len(strings) // 5:
        notes = _note_missing(missing, "kept as a category of their own")
        if distinct > MOST_CATEGORIES:
            notes.append(f"has {distinct} categories: the rarest are put together")
        return CategoryColumn.of(strings), notes
    if np.mean([len(value.split()) for value in strings]) >= 2:
        return TextColumn(), [f"holds text: its words are hashed into {TEXT_WIDTH} columns"]
    return None, [f"has {distinct} distinct names in {len(strings)} rows: left out"]


def _reading(values: nw.Series[Any]) -> str:
    """How the values become numbers ("" for names): by their type or, in a column of objects, by the first value."""
    kind = values.dtype
    if kind.is_nested():
        return "nested"
    if kind.is_numeric() or kind == nw.Boolean:
        return "number"
    if kind.is_temporal():
        return {nw.Duration: "duration", nw.Time: "time"}.get(kind.base_type(), "date")
    first = next((value for value in values.to_list() if value is not None), None) if kind == nw.Object else None
    return next((reading for reading, types in OBJECTS.items() if isinstance(first, types)), "")


def _numbers(values: nw.Series[Any]) -> Floats:
    floats = np.array(values.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if np.isinf(floats).any():
        raise ValueError(
            f"column {values.name!r} holds infinite values; replace them by large numbers or leave them empty"
        )
    return floats


def _days(values: nw.Series[Any]) -> Floats:
    days = np.asarray(values.to_numpy()).astype("datetime64[ms]")
    return np.where(np.isnat(days), np.nan, days.astype(np.int64) / 86_400_000.0)


def _durations(values: nw.Series[Any]) -> Floats:
    spans = np.asarray(values.to_numpy()).astype("timedelta64[ms]")
    return np.where(np.isnat(spans), np.nan, spans.astype(np.int64) / 86_400_000.0)


def _hours(values: nw.Series[Any]) -> Floats:
    times = [
        (np.nan,) * 3 if t is None else (t.hour, t.minute, t.second + t.microsecond / 1e6) for t in values.to_list()
    ]
    return np.array(times, dtype=np.float64) @ [1, 1 / 60, 1 / 3600]


READINGS = {"number": _numbers, "date": _days, "time": _hours, "duration": _durations}
READ_AS = {
    "date": "dates: read as days",
    "time": "times of day: read as hours",
    "duration": "durations: read as days",
}


def as_strings(values: nw.Series[Any]) -> NDArray[Any]:
    """Names of categories, words of texts; what is missing has a name of its own."""
    known = [MISSING if value is None or value != value or value == "" else str(value) for value in values.to_list()]
    return np.array(known, dtype=object)


def _note_missing(missing: int, done: str) -> list[str]:
    return [f"has {missing} missing values: {done}"] if missing else []
