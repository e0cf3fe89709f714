"""Encoding of one column: its type is inferred once, later rows are encoded the same way."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Floats
from noisewise._validation import is_missing
from noisewise._words import counted
from noisewise.embeddings import TEXT_WIDTH, WORDS, embed_texts, hashed_words
from noisewise.tables.parse_strings import PARSERS, is_gap, reading_of, unread_note

MOST_CATEGORIES = 50  # one-hot columns; the rarest categories share one
LEAST_COUNTED = 20  # rows of consecutive integers that are taken for row numbers; fewer may be measurements
MISSING = "(missing)"
EMPTY = "is empty: left out"
OBJECTS: dict[str, tuple[type, ...]] = {
    "date": (datetime.date,),
    "time": (datetime.time,),
    "duration": (datetime.timedelta,),
    "nested": (list, tuple, set, frozenset, dict, np.ndarray),
}


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, dates, times or durations: median imputation with a missing indicator, standardised."""

    reading: str
    median: float
    gaps: float  # fraction of missing values; if 0, there is no indicator column
    center: float
    scale: float
    sparse: ClassVar[bool] = False

    @classmethod
    def of(cls, numbers: Floats, reading: str) -> NumberColumn:
        """Median of the values that are there; mean and standard deviation after imputation."""
        missing = np.isnan(numbers)
        median = float(np.median(numbers[~missing]))
        filled = np.where(missing, median, numbers)
        return cls(reading, median, float(missing.mean()), float(filled.mean()), float(filled.std()) or 1.0)

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return 2 if self.gaps else 1

    def encode(self, values: nw.Series[Any]) -> Floats:
        """The standardised values and, if any were missing in fit, the standardised missing indicator."""
        numbers = as_numbers(values, self.reading)
        missing = np.isnan(numbers)
        filled = (np.where(missing, self.median, numbers) - self.center) / self.scale
        if not self.gaps:
            return filled[:, None]
        return np.column_stack([filled, (missing - self.gaps) / np.sqrt(self.gaps * (1 - self.gaps))])

    def unread(self, values: nw.Series[Any]) -> list[str]:
        """A note on values that are not missing and yet can't be parsed."""
        return note_unread(values, as_numbers(values, self.reading), self.reading)


@dataclass(frozen=True)
class CategoryColumn:
    """Categories, one-hot encoded; the rarest share a column, unknown ones are all zeros."""

    one_hot: Any
    sparse: ClassVar[bool] = False

    @classmethod
    def of(cls, strings: NDArray[Any]) -> CategoryColumn:
        """Find the categories."""
        from sklearn.preprocessing import OneHotEncoder

        one_hot = OneHotEncoder(max_categories=MOST_CATEGORIES, sparse_output=False, handle_unknown="ignore")
        return cls(one_hot.fit(strings[:, None]))

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.one_hot.get_feature_names_out())

    def encode(self, values: nw.Series[Any]) -> Floats:
        """One-hot rows."""
        return np.asarray(self.one_hot.transform(as_strings(values)[:, None]))


@dataclass(frozen=True)
class TextColumn:
    """Text: bag of words, hashed."""

    width: int = TEXT_WIDTH
    sparse: ClassVar[bool] = True

    def encode(self, values: nw.Series[Any]) -> Any:
        """Word counts as CSR rows of unit length."""
        return hashed_words(as_strings(values), self.width)


@dataclass(frozen=True)
class EmbeddedTextColumn:
    """Text: embedded by an encoder."""

    encoder: Any  # its name, or the encoder itself
    width: int
    sparse: ClassVar[bool] = False

    def encode(self, values: nw.Series[Any]) -> NDArray[np.floating[Any]]:
        """Embeddings."""
        return np.asarray(embed_texts(as_strings(values), self.encoder))


Column = NumberColumn | CategoryColumn | TextColumn | EmbeddedTextColumn


def learn_column(values: nw.Series[Any], text_encoder: Any = WORDS) -> tuple[Column | None, list[str]]:
    """The encoding of a column (None if it carries no information), and notes on it."""
    reading = _reading(values)
    if reading == "nested":
        return None, ["holds lists or records: left out"]
    if reading:
        return _learn_numbers(values, as_numbers(values, reading), reading)
    missing = int(values.is_null().sum())
    return (None, [EMPTY]) if missing == len(values) else _learn_strings(values, missing, text_encoder)


def _counts(numbers: Floats) -> bool:
    """Whether integers increase row by row, as row numbers do, also after some rows were removed."""
    whole = np.all(numbers == np.rint(numbers))
    return bool(whole and np.all(np.diff(numbers) > 0) and numbers[-1] - numbers[0] < 2 * len(numbers))


def _learn_numbers(values: nw.Series[Any], numbers: Floats, reading: str) -> tuple[Column | None, list[str]]:
    known = numbers[~np.isnan(numbers)]
    missing = len(numbers) - len(known)
    if not len(known):
        return None, [EMPTY]
    if not missing and not np.ptp(known):
        return None, ["is the same in every row: left out"]
    if reading == "number" and not values.dtype.is_float() and len(known) >= LEAST_COUNTED and _counts(known):
        return None, ["counts the rows: left out"]  # in a table sorted by label it would leak the labels
    notes = [f"holds {READ_AS[reading]}"] if reading in READ_AS else []
    notes += note_unread(values, numbers, reading) + _note_missing(missing, "filled with the median and marked")
    return NumberColumn.of(numbers, reading), notes


def _learn_strings(values: nw.Series[Any], missing: int, text_encoder: Any) -> tuple[Column | None, list[str]]:
    strings = as_strings(values)
    distinct = len(set(strings.tolist()))
    if distinct == 1:
        return None, ["is the same in every row: left out"]
    if _are_categories(strings):
        notes = _note_missing(missing, "kept as a category of their own")
        if distinct > MOST_CATEGORIES:
            notes.append(f"has {distinct} categories: the rarest are put together")
        return CategoryColumn.of(strings), notes
    if np.mean([len(value.split()) for value in strings]) >= 2:
        return _learn_text(strings, text_encoder)
    return None, [f"has {distinct} distinct names in {len(strings)} rows: left out"]


def _learn_text(strings: NDArray[Any], encoder: Any) -> tuple[Column, list[str]]:
    if isinstance(encoder, str) and encoder == WORDS:
        return TextColumn(), [f"holds text: its words are hashed into {TEXT_WIDTH} columns"]
    width = embed_texts(strings[:1], encoder).shape[1]
    name = encoder if isinstance(encoder, str) else getattr(encoder, "__name__", type(encoder).__name__)
    return EmbeddedTextColumn(encoder, width), [f"holds text: embedded by {name} in {width} columns"]


def _reading(values: nw.Series[Any]) -> str:
    """Parser of the values ("" for categories and text), from the dtype or from the values themselves."""
    kind = values.dtype
    if kind.is_nested():
        return "nested"
    if kind == nw.Boolean:
        return "flag"
    if kind.is_numeric():
        return "number"
    if kind.is_temporal():
        return {nw.Duration: "duration", nw.Time: "time"}.get(kind.base_type(), "date")
    if kind not in (nw.String, nw.Object):
        return ""  # a categorical dtype
    entries = values.to_list()
    first = next((value for value in entries if value is not None), None) if kind == nw.Object else None
    found = next((reading for reading, types in OBJECTS.items() if isinstance(first, types)), "")
    return found or reading_of(entries, lambda: _are_categories(as_strings(values)))


def _are_categories(strings: NDArray[Any]) -> bool:
    distinct = len(set(strings.tolist()))
    return distinct <= MOST_CATEGORIES or distinct <= len(strings) // 5


def _is_native(values: nw.Series[Any], reading: str) -> bool:
    """Whether the dtype of a column is that of the reading already."""
    kind = values.dtype
    if reading in ("number", "flag"):
        return kind.is_numeric() or kind == nw.Boolean
    return kind.base_type() in {"date": (nw.Date, nw.Datetime), "duration": (nw.Duration,)}.get(reading, ())


def as_numbers(values: nw.Series[Any], reading: str) -> Floats:
    """The values as floats, NaN where missing; cast by dtype where possible, else parsed one by one."""
    if not _is_native(values, reading):
        numbers = np.array([PARSERS[reading](value) for value in values.to_list()], dtype=np.float64)
    elif reading in SPANS:
        spans = np.asarray(values.to_numpy()).astype(SPANS[reading])
        numbers = np.where(np.isnat(spans), np.nan, spans.astype(np.int64) / 86_400_000.0)
    else:
        numbers = np.array(values.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if np.isinf(numbers).any():
        raise ValueError(
            f"column {values.name!r} holds infinite values; replace them by large numbers or leave them empty"
        )
    return numbers


def note_unread(values: nw.Series[Any], numbers: Floats, reading: str) -> list[str]:
    """A note on values that are not missing and yet could not be parsed."""
    gone = [] if _is_native(values, reading) else np.flatnonzero(np.isnan(numbers)).tolist()
    entries = values.to_list() if gone else []
    odd = Counter(str(entries[row]) for row in gone if not is_gap(entries[row]))
    return [unread_note(odd, NOUNS[reading])] if odd else []


SPANS = {"date": "datetime64[ms]", "duration": "timedelta64[ms]"}
NOUNS = {"number": "numbers", "flag": "truth values", "date": "dates", "time": "times", "duration": "durations"}
READ_AS = {
    "date": "dates: read as days",
    "time": "times of day: read as hours",
    "duration": "durations: read as days",
}


def as_strings(values: nw.Series[Any]) -> NDArray[Any]:
    """Values as strings; missing ones are a category of their own."""
    known = [MISSING if is_missing(value) or value == "" else str(value) for value in values.to_list()]
    return np.array(known, dtype=object)


def _note_missing(missing: int, done: str) -> list[str]:
    return [f"has {counted(missing, 'missing value')}: {done}"] if missing else []
