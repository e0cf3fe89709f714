"""A table with its label column and, where there is one, its annotator column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from noisewise._validation import listed
from noisewise.tables.read import is_parquet, read_table, scan_table


@dataclass(frozen=True)
class LabelledTable:
    """Features (a polars frame, lazy where asked), labels, and who gave them."""

    features: Any
    labels: list[Any]
    annotators: list[Any] | None = None


def read_labelled(
    data: str,
    label: str | None,
    annotator: str | None = None,
    lazy: bool = False,
    say: Callable[[str], None] = lambda sentence: None,
    may_miss: bool = False,
) -> LabelledTable:
    """Features, labels and annotators from a file (- is stdin); lazily read features come from Parquet alone."""
    named = [name for name in (label, annotator) if name is not None]
    frame = scan_table(data) if lazy and is_parquet(data) else read_table(data, say, as_they_are=named)
    names = frame.collect_schema().names()
    if label is None:
        raise ValueError(f"which column holds the labels? add --label NAME; the columns are {listed(names, most=12)}")
    columns = [label] if annotator is None else [label, annotator]
    _check_columns(columns, names, data)
    if annotator == label:
        raise ValueError(f"column {label!r} can't hold both the labels and who gave them")
    if len(names) <= len(columns):
        only = "one column only" if annotator is None else "no column besides labels and annotators"
        raise ValueError(f"{data} has {only}; a label and at least one feature are needed")
    labels = _checked(_column(frame, label), label, may_miss)
    annotators = (
        None if annotator is None else ["(nobody)" if name is None else name for name in _column(frame, annotator)]
    )
    return LabelledTable(frame.drop(columns), labels, annotators)


def read_tagged(data: str, label: str, say: Callable[[str], None] = lambda sentence: None) -> LabelledTable:
    """Features, and cells of tags as they are; an empty cell is a row without tags."""
    frame = read_table(data, say, as_they_are=[label])
    _check_columns([label], frame.columns, data)
    return LabelledTable(frame.drop(label), frame[label].to_list())


def read_target(data: str, target: str, say: Callable[[str], None] = lambda sentence: None) -> LabelledTable:
    """Features and the numbers of a column; rows without a number are left out, and said so."""
    import polars

    frame = read_table(data, say)
    _check_columns([target], frame.columns, data)
    column = frame[target]
    if not column.dtype.is_numeric():
        raise ValueError(f"column {target!r} holds {column.dtype}, not numbers; --label audits a column of classes")
    known = column.is_not_null() & column.cast(polars.Float64).is_finite().fill_null(False)
    if not known.all():
        say(f"{len(known) - known.sum()} rows without a number in column {target!r} are left out")
        frame = frame.filter(known)
    return LabelledTable(frame.drop(target), frame[target].to_list())


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
            f"{len(missing)} of {len(labels)} rows have no label in column {name!r}, the first is row {missing[0]}; "
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
