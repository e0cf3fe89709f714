"""Tables as people keep them, made into numbers: mixed columns, gaps, categories, dates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

MOST_CATEGORIES = 50
TEXT_WIDTH = 2**10


@dataclass(frozen=True)
class Table:
    """Rows as numbers, and what was done to get there."""

    rows: Any  # ndarray or CSR, one row an example
    notes: tuple[str, ...]
    columns: tuple[str, ...]


def encode_table(X: Any) -> Table:
    """Numbers for every row: arrays go through, frames column by column; gaps are filled and reported."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return _encode_frame(frame)
    return _encode_array(X)


def _encode_array(X: Any) -> Table:
    if sparse.issparse(X):
        rows = sparse.csr_array(X, dtype=np.float64)
        _refuse_infinite(rows.data)
        return Table(rows, (), _numbered(rows.shape[1]))
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "X holds values that are not numbers; a pandas or polars frame would have them encoded"
        ) from None
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(f"X has shape {rows.shape}; one row an example and at least one column are needed")
    _refuse_infinite(rows)
    gaps = np.isnan(rows).sum(axis=0)
    if not gaps.any():
        return Table(rows, (), _numbered(rows.shape[1]))
    empty = gaps == len(rows)
    filled = SimpleImputer(strategy="median").fit_transform(rows[:, ~empty])
    indicators = np.isnan(rows[:, (gaps > 0) & ~empty]).astype(float)
    note = f"{gaps.sum()} missing values in {np.count_nonzero(gaps)} columns: filled with the median and marked"
    kept = tuple(name for name, dropped in zip(_numbered(rows.shape[1]), empty, strict=True) if not dropped)
    return Table(np.hstack([filled, indicators]), (note,), kept)


def _encode_frame(frame: nw.DataFrame[Any]) -> Table:
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise ValueError("the table is empty; rows and at least one column besides the label are needed")
    notes: list[str] = []
    numbers: dict[str, Any] = {}
    categories: dict[str, Any] = {}
    texts: dict[str, Any] = {}
    for column in frame.columns:
        values = frame[column]
        missing = int(values.is_null().sum())
        if missing == len(values):
            notes.append(f"column {column!r} is empty: left out")
        elif values.dtype.is_numeric() or values.dtype == nw.Boolean:
            numbers[column] = _as_floats(values)
            missing = int(np.isnan(numbers[column]).sum())
            _note_missing(notes, column, missing, "filled with the median and marked")
        elif values.dtype.is_temporal():
            numbers[column] = _as_days(values)
            notes.append(f"column {column!r} holds dates: read as days")
            _note_missing(notes, column, missing, "filled with the median and marked")
        else:
            _sort_strings(values, missing, categories, texts, notes)
    if not (numbers or categories or texts):
        raise ValueError("no column can be used as a feature; the notes were: " + "; ".join(notes))
    return Table(_transform(numbers, categories, texts), tuple(notes), (*numbers, *categories, *texts))


def _sort_strings(
    values: nw.Series[Any], missing: int, categories: dict[str, Any], texts: dict[str, Any], notes: list[str]
) -> None:
    """Strings are categories, text, or names that say nothing about the label."""
    column = values.name
    known = ("" if value is None or value != value else str(value) for value in values.to_list())
    strings = np.array(list(known), dtype=object)
    distinct = len(set(strings.tolist()))
    words = np.mean([len(value.split()) for value in strings])
    if distinct <= MOST_CATEGORIES or distinct <= len(strings) // 5:
        categories[column] = np.where(strings == "", "(missing)", strings)
        _note_missing(notes, column, missing, "kept as a category of their own")
        if distinct > MOST_CATEGORIES:
            notes.append(f"column {column!r} has {distinct} categories: the rarest are put together")
    elif words >= 2:
        texts[column] = strings
        notes.append(f"column {column!r} holds text: its words are hashed into {TEXT_WIDTH} columns")
    else:
        notes.append(f"column {column!r} has {distinct} distinct names in {len(strings)} rows: left out")


def _transform(numbers: dict[str, Any], categories: dict[str, Any], texts: dict[str, Any]) -> Any:
    """All columns side by side, each kind scaled to weigh about the same."""
    blocks: list[Any] = []
    if numbers:
        fill = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
        blocks.append(fill.fit_transform(np.column_stack(list(numbers.values()))))
    if categories:
        table = np.column_stack(list(categories.values())).astype(object)
        encoder = OneHotEncoder(max_categories=MOST_CATEGORIES, sparse_output=len(texts) > 0, handle_unknown="ignore")
        blocks.append(encoder.fit_transform(table))
    for strings in texts.values():
        hashing = HashingVectorizer(n_features=TEXT_WIDTH, alternate_sign=False, norm="l2")
        blocks.append(hashing.fit_transform(strings))
    return sparse.csr_array(sparse.hstack(blocks)) if texts else np.hstack(blocks)


def _as_floats(values: nw.Series[Any]) -> Any:
    floats = np.asarray(values.cast(nw.Float64).to_numpy(), dtype=np.float64)
    _refuse_infinite(floats, values.name)
    return floats


def _as_days(values: nw.Series[Any]) -> Any:
    days = values.to_numpy().astype("datetime64[ms]")
    return np.where(np.isnat(days), np.nan, days.astype(np.int64) / 86_400_000.0)


def _refuse_infinite(values: Any, name: str | None = None) -> None:
    if np.isinf(values).any():
        where = "X" if name is None else f"column {name!r}"
        raise ValueError(f"{where} holds infinite values; replace them by large numbers or leave them empty")


def _note_missing(notes: list[str], column: str, missing: int, done: str) -> None:
    if missing:
        notes.append(f"column {column!r} has {missing} missing values: {done}")


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(n))
