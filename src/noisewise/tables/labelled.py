"""A table with its label column and, where there is one, its annotator column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from noisewise._validation import listed
from noisewise._words import counted, some_of
from noisewise.tables.read import is_parquet, read_table, scan_table


@dataclass(frozen=True)
class LabelledTable:
    """Features (a polars frame, lazy where asked), labels, who gave them, and groups of rows."""

    features: Any
    labels: list[Any]
    annotators: list[Any] | None = None
    groups: list[Any] | None = None


def read_labelled(
    data: str,
    label: str | None,
    annotator: str | None = None,
    lazy: bool = False,
    say: Callable[[str], None] = lambda sentence: None,
    may_miss: bool = False,
    groups: str | None = None,
    look: Callable[[list[Any]], None] = lambda labels: None,
) -> LabelledTable:
    """Features, labels, annotators and groups from a file (- is stdin); lazily read features come from Parquet alone.

    `look` sees the labels before they are checked, and may refuse them.
    """
    named = list(dict.fromkeys(name for name in (label, annotator, groups) if name is not None))
    frame = scan_table(data) if lazy and is_parquet(data) else read_table(data, say, as_they_are=named)
    names = frame.collect_schema().names()
    if label is None:
        raise ValueError(f"which column holds the labels? add --label NAME; the columns are {listed(names, most=12)}")
    _check_columns(named, names, data)
    if label in (annotator, groups):
        what = "who gave them" if label == annotator else "the groups of rows"
        raise ValueError(f"column {label!r} can't hold both the labels and {what}")
    if len(names) <= len(named):
        only = "one column only" if len(named) == 1 else "no column besides labels, annotators and groups"
        raise ValueError(f"{data} has {only}; a label and at least one feature are needed")
    values = _column(frame, label)
    look(values)
    labels = _checked(values, label, may_miss)
    annotators = (
        None if annotator is None else ["(nobody)" if name is None else name for name in _column(frame, annotator)]
    )
    of_rows = None if groups is None else _column(frame, groups)
    return LabelledTable(frame.drop(named), labels, annotators, of_rows)


def read_tagged(
    data: str, label: str, groups: str | None = None, say: Callable[[str], None] = lambda sentence: None
) -> LabelledTable:
    """Features, and cells of tags as they are; an empty cell is a row without tags."""
    named = [label] if groups is None else [label, groups]
    frame = read_table(data, say, as_they_are=named)
    _check_columns(named, frame.columns, data)
    of_rows = None if groups is None else frame[groups].to_list()
    return LabelledTable(frame.drop(named), frame[label].to_list(), groups=of_rows)


def read_target(
    data: str, target: str, groups: str | None = None, say: Callable[[str], None] = lambda sentence: None
) -> LabelledTable:
    """Features and the numbers of a column, NaN where there is none."""
    import polars

    named = [target] if groups is None else [target, groups]
    frame = read_table(data, say, as_they_are=named[1:])
    _check_columns(named, frame.columns, data)
    column = frame[target]
    if not column.dtype.is_numeric():
        raise ValueError(f"column {target!r} holds {column.dtype}, not numbers; --label audits a column of classes")
    numbers = column.cast(polars.Float64)
    known = numbers.is_finite().fill_null(False)
    if not known.all():
        say(f"{counted(len(known) - known.sum(), 'row', 'have')} no number in column {target!r}: it is predicted")
    of_rows = None if groups is None else frame[groups].to_list()
    filled = [number if there else float("nan") for number, there in zip(numbers, known, strict=True)]
    return LabelledTable(frame.drop(named), filled, groups=of_rows)


def _check_columns(columns: list[str], names: list[str], data: str) -> None:
    for name in columns:
        if name not in names:
            raise ValueError(f"there is no column {name!r} in {data}; {_nearest(name, names)}")


def _column(frame: Any, name: str) -> list[Any]:
    return list(frame.lazy().select(name).collect()[name].to_list())


def _checked(labels: list[Any], name: str, may_miss: bool) -> list[Any]:
    if not labels:
        raise ValueError(f"column {name!r} has no rows; rows are needed")
    missing = [row for row, value in enumerate(labels) if value is None or value != value]
    if missing and not may_miss:
        raise ValueError(
            f"{some_of(len(missing), len(labels), 'row', 'have')} no label in column {name!r}, the first is row "
            f"{missing[0]}; "
            "fill them in, or --missing skip (or predict) leaves these rows out"
        )
    try:
        distinct = len(set(labels))
    except TypeError:
        raise ValueError(
            f"column {name!r} holds lists or records; a label column holds one name or number a row"
        ) from None
    if distinct > max(2, len(labels) / 3):
        raise ValueError(
            f"column {name!r} has {distinct} distinct values in {len(labels)} rows; "
            "a label column has classes, each with three rows or more on average; --target audits a column of numbers"
        )
    return labels


def _nearest(name: str, names: list[str]) -> str:
    by_lower = {other.lower(): other for other in names}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    return f"did you mean {by_lower[near[0]]!r}?" if near else f"the columns are {listed(names, most=12)}"
