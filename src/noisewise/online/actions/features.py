"""The column of each feature of contexts and actions, new ones as they come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary
from zlib import crc32

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noisewise._typing import Floats
from noisewise.online.actions.feature_rows import Rows, dense_rows, joined, sparse_rows
from noisewise.online.learners.decision import BOOLEAN_TYPES, NUMBER_TYPES

NUMBER, CATEGORY = "number", "category"
MOST_COLUMNS = 1 << 17  # of one side; further features share them by their hash, so that memory stays bounded
Checkpoint = tuple[int, int, int, int | None]
KINDS = "numbers, words, True or False, and lists or dicts of these are features"


class FixedRecord(dict[str, Any]):
    """Features by name that nobody changes, so that the row they make is known without a look at them."""


@dataclass(eq=False)
class FeatureIndex:
    """The column of each feature of contexts, or of actions: a new one has the next, or that of its hash.

    A number is a feature by its name, a word makes the feature ``name=word``. What comes in arrays is named by the
    number of its column.

    >>> index = FeatureIndex("context")
    >>> index.rows([{"age": 30, "city": "Rome"}, {"city": "Oslo"}]).columns.tolist(), list(index.columns)
    ([0, 1, 2, 0, 3], ['age', 'city=Rome', 'city=Oslo'])
    """

    whose: str
    hash_bits: int | None = None
    columns: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)  # of each name as it was given: number or category
    numeric: list[bool] = field(default_factory=lambda: [False])  # of each column; the constant is the first
    width: int | None = None  # of arrays

    def __post_init__(self) -> None:
        if self.hash_bits is not None:
            self.numeric = [False] + [True] * (2**self.hash_bits - 1)

    @property
    def n_columns(self) -> int:
        """How many columns there are, with the constant."""
        return len(self.numeric)

    def checkpoint(self) -> Checkpoint:
        """What `restore` takes back to the present state."""
        return len(self.columns), len(self.kinds), len(self.numeric), self.width

    def restore(self, checkpoint: Checkpoint) -> None:
        """Forget what came after a checkpoint; if that was used since, `forget_known` must follow."""
        n_columns, n_kinds, n_numeric, self.width = checkpoint
        while len(self.columns) > n_columns:
            self.columns.popitem()
        while len(self.kinds) > n_kinds:
            self.kinds.popitem()
        del self.numeric[n_numeric:]

    def forget_known(self) -> None:
        """Look up all columns anew."""
        for remembered in (KNOWN, RECORDS):
            remembered.pop(self, None)

    def rows(self, given: Any, categories: Sequence[str] | None = None, names: Sequence[Any] | None = None) -> Rows:
        """Any form of features as rows, with a further category each if given; what is refused leaves no trace.

        Rows that have `names` are encoded once, as long as a name stands for the same features.
        """
        if not isinstance(given, list) and (isinstance(given, np.ndarray) or sp.issparse(given)):
            rows = self._array_rows(given)
            if categories is None:
                return rows
            return joined(rows, self._named_rows([{}] * len(rows), categories))
        if names is not None and isinstance(names[0], str):
            return self._remembered_rows(given, categories, names)
        return self._named_rows(given, categories)

    def _remembered_rows(self, records: Any, categories: Sequence[str] | None, names: Sequence[Any]) -> Rows:
        """Rows of named features, those that were the same before as they were; all anew if one has a new feature."""
        known = RECORDS.setdefault(self, {})
        parts: list[Any] = [known.get(name) for name in names]
        for number, record in enumerate(records):
            part = parts[number]
            if part is not None and part[0] is record:
                continue
            if part is None or part[0] != record:
                before = self.checkpoint()
                row = self._named_rows([record], None if categories is None else [categories[number]])
                if self.checkpoint() != before:
                    self.restore(before)
                    return self._named_rows(records, categories)
                part = dict(record), row.columns, row.values
            if type(record) is FixedRecord:
                part = record, *part[1:]
            parts[number] = part
            if all(type(value) in FLAT for value in record.values()):
                known[names[number]] = part
        if len(known) > MOST_RECORDS:
            known.clear()
        starts = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(part[1]) for part in parts], out=starts[1:])
        return Rows(starts, np.concatenate([part[1] for part in parts]), np.concatenate([part[2] for part in parts]))

    def _array_rows(self, array: Any) -> Rows:
        width = array.shape[1]
        if self.width is None and (self.columns or self.hash_bits is not None):
            why = "are hashed by name" if self.hash_bits is not None else "had names before"
            raise ValueError(f"the features of the {self.whose} {why}; an array has no names, a frame or dicts have")
        if self.width not in (None, width):
            raise ValueError(f"the {self.whose} has {width} features; it had {self.width} before")
        rows = sparse_rows(array) if sp.issparse(array) else dense_rows(array)
        if not np.isfinite(np.vdot(rows.values, rows.values)):
            raise ValueError(f"a feature of the {self.whose} is NaN, infinite or too large; drop it or fill it in")
        if self.width is None:
            self.width = width
            names = [str(column) for column in range(width)]
            self.columns.update(zip(names, range(1, width + 1)))
            self.kinds.update(dict.fromkeys(names, NUMBER))
            self.numeric.extend([True] * width)
        return rows

    def _named_rows(self, records: Iterable[Mapping[Any, Any]], categories: Sequence[str] | None) -> Rows:
        gathered, starts = _Gathered(self), [0]
        for number, record in enumerate(records):
            gathered.add(0, 1.0)
            gathered.take(record, "")
            if categories is not None:
                gathered.add(gathered.column(categories[number], CATEGORY), 1.0)
            starts.append(len(gathered.columns))
        rows = Rows(np.array(starts), np.array(gathered.columns, dtype=np.int64), gathered.finite_values())
        if not np.isfinite(np.vdot(rows.values, rows.values)):
            raise ValueError(f"the features of the {self.whose} are too large; their squares overflow")
        if len(self.kinds) < MOST_COLUMNS:
            self.kinds.update(gathered.kinds)
        self.columns.update(gathered.new)
        self.numeric.extend(gathered.numeric)
        return rows


# columns of numbers and of words that an index knows, by name, found without a check; they are no part of its state
KNOWN: WeakKeyDictionary[FeatureIndex, tuple[dict[str, int], dict[str, dict[str, int]]]] = WeakKeyDictionary()

# rows of records by their names, with the record, which may be another one the next time
RECORDS: WeakKeyDictionary[FeatureIndex, dict[str, tuple[Any, NDArray[np.int64], Floats]]] = WeakKeyDictionary()
MOST_RECORDS = 4_000  # that are remembered: some ten megabytes
FLAT = (float, int, bool, str, type(None))  # types of values that can't change by themselves


class _Gathered:
    """Rows of named features in the making, and what the index does not know yet."""

    def __init__(self, index: FeatureIndex) -> None:
        self.index = index
        self.numbers, self.words = KNOWN.setdefault(index, ({}, {}))
        self.new: dict[str, int] = {}
        self.kinds: dict[str, str] = {}
        self.numeric: list[bool] = []
        self.columns: list[int] = []
        self.values: list[Any] = []

    def add(self, column: int, value: Any) -> None:
        """One feature of the present row."""
        self.columns.append(column)
        self.values.append(value)

    def column(self, name: str, kind: str) -> int:
        """The column of a feature."""
        index = self.index
        known = index.columns.get(name)
        if known is None:
            known = self.new.get(name)
        if known is None and (index.hash_bits is not None or index.n_columns + len(self.new) >= MOST_COLUMNS):
            return 1 + crc32(name.encode()) % (index.n_columns - 1)
        if known is None:
            known = self.new[name] = index.n_columns + len(self.new)
            self.numeric.append(kind == NUMBER)
        return known

    def take(self, record: Mapping[Any, Any], prefix: str) -> None:
        """All features of a record; objects and lists in it are namespaces."""
        numbers, words = self.numbers, self.words
        for key, value in record.items():
            name, kind = f"{prefix}{key}", type(value)
            if kind is float or kind is int or kind is bool:
                column = numbers.get(name)
                if column is not None:
                    self.columns.append(column)
                    self.values.append(value)
                    continue
            elif kind is str and name in words:
                column = words[name].get(value)
                if column is not None:
                    self.columns.append(column)
                    self.values.append(1.0)
                    continue
            self.take_one(key, name, value, prefix)

    def take_one(self, key: Any, name: str, value: Any, prefix: str) -> None:
        """One feature that may not be known yet."""
        if isinstance(value, NUMBER_TYPES + BOOLEAN_TYPES):
            self.check_kind(name, NUMBER, value)
            column = self.column(name, NUMBER)
            self.add(column, value)
            if name in self.index.columns:
                self.numbers[name] = column
        elif isinstance(value, str):
            self.check_kind(name, CATEGORY, value)
            column = self.column(f"{name}={value}", CATEGORY)
            self.add(column, 1.0)
            if f"{name}={value}" in self.index.columns:
                self.words.setdefault(name, {})[value] = column
        elif isinstance(value, Mapping):
            self.take(value, f"{name}^")
        elif isinstance(value, list | tuple | np.ndarray):
            for number, part in enumerate(value):
                if isinstance(part, Mapping):
                    self.take(part, f"{name}^")
                else:
                    self.take({key if isinstance(part, str) else f"{key}^{number}": part}, prefix)
        elif value is not None:
            raise ValueError(f"feature {name!r} of the {self.index.whose} is a {type(value).__name__}; {KINDS}")

    def finite_values(self) -> Floats:
        """All values; one that is not finite is refused by name."""
        try:
            values = np.array(self.values, dtype=np.float64)
        except OverflowError:
            raise ValueError(f"a feature of the {self.index.whose} is too large for a number") from None
        if np.isfinite(values).all():
            return values
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        names = {column: name for name, column in (self.index.columns | self.new).items()}
        name = names.get(self.columns[at], "(hashed)")
        raise ValueError(f"feature {name!r} of the {self.index.whose} is {values[at]}; drop it or fill it in")

    def check_kind(self, name: str, kind: str, value: Any) -> None:
        """Refuse a feature that was of another kind before."""
        known = self.index.kinds.get(name) or self.kinds.setdefault(name, kind)
        if known != kind:
            raise ValueError(f"feature {name!r} of the {self.index.whose} is {value!r:.40}; it was a {known} before")
