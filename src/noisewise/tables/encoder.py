"""`TableEncoder`: numeric features from tables with mixed columns, missing values, categories, dates and text."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from noisewise._words import counted
from noisewise.embeddings import WORDS
from noisewise.tables.columns import Column, NumberColumn, learn_column

MOST_ALIKE = 3  # columns with the same note that are still listed one by one
Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numeric features from a mixed table; arrays pass through, with missing values imputed.

    Missing numbers are imputed by the median, with an indicator column, and standardised; dates and times become days
    and hours, categories are one-hot encoded, text is hashed by words. Strings of which nearly all are numbers, ISO
    dates or times are parsed, the others count as missing. Columns without information (empty, constant, names that
    differ in every row, row numbers, lists) are left out. `notes_` says what was done. Lazy frames are fitted one
    column at a time.

    Parameters
    ----------
    text_encoder : optional
        Embeds columns of text, see `noisewise.embeddings.embed_texts`; by default their words are hashed.

    Examples
    --------
    >>> import polars as pl
    >>> encoder = TableEncoder().fit(pl.DataFrame({"size": [1.0, None, 3.0], "kind": ["a", "b", "a"]}))
    >>> encoder.notes_
    ("column 'size' has 1 missing value: filled with the median and marked",)
    >>> encoder.transform(pl.DataFrame({"size": [2.0], "kind": ["c"]}))
    array([[ 0.        , -0.70710678,  0.        ,  0.        ]])
    """

    columns_: dict[str, Column] | None
    gaps_: Any
    notes_: tuple[str, ...]

    def __init__(self, text_encoder: Any = WORDS):
        self.text_encoder = text_encoder

    def fit(self, X: Any, y: Any = None, run: Callable[..., Iterable[Any]] = map) -> TableEncoder:
        """Find types, medians, scales and categories; `run` is `map`, or a parallel replacement of it."""
        frame = _as_frame(X)
        self.columns_, self.gaps_, self.notes_ = None, None, ()
        if frame is None:
            self._fit_array(_as_array(X))
            return self
        names = frame.collect_schema().names()
        learnt = list(run(partial(_learn, frame.to_native(), self.text_encoder), names))
        notes = _sentences([(name, note) for name, (_, some) in zip(names, learnt, strict=True) for note in some])
        self.columns_ = {name: column for name, (column, _) in zip(names, learnt, strict=True) if column is not None}
        if not self.columns_:
            raise ValueError("no column can be used as a feature: " + "; ".join(notes))
        self.notes_ = notes
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to a table and encode its rows: an array, or CSR where there is text."""
        return self.fit(X).encode(X)

    def transform(self, X: Any) -> Any:
        """Encode a table with the same columns; a warning names values that can't be parsed and count as missing."""
        rows = self.encode(X)
        frame = _as_frame(X)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.select(*self.columns_ or ()).collect()
        if frame is not None:
            columns = (self.columns_ or {}).items()
            numbers = [(name, column) for name, column in columns if isinstance(column, NumberColumn)]
            for note in _sentences(
                [(name, note) for name, one in numbers for note in one.unread(frame.get_column(name))]
            ):
                warnings.warn(note, RuntimeWarning, stacklevel=2)
        return rows

    def encode(self, X: Any) -> Any:
        """Encode a table without the warnings of `transform` (for the table of `fit`, `notes_` has them)."""
        check_is_fitted(self, "columns_")
        frame = _as_frame(X)
        if (frame is None) != (self.columns_ is None):
            raise ValueError("the encoder was fitted on a frame or an array, and is given the other")
        if self.columns_ is None or frame is None:
            rows = _as_array(X)
            return rows if self.gaps_ is None else self.gaps_.transform(rows)
        known = frame.collect_schema().names()
        missing = [name for name in self.columns_ if name not in known]
        if missing:
            raise ValueError(f"the table has no column {missing[0]!r}, which was there when the encoder was fitted")
        if isinstance(frame, nw.LazyFrame):
            frame = frame.select(*self.columns_).collect()
        return _joined(frame, self.columns_)

    @property
    def width_(self) -> int:
        """Number of encoded columns of a frame."""
        return sum(column.width for column in (self.columns_ or {}).values())

    def _fit_array(self, rows: Any) -> None:
        from sklearn.impute import SimpleImputer

        if hasattr(rows, "tocsr") or not (gaps := np.isnan(rows).sum(axis=0)).any():
            return
        self.notes_ = (
            f"{counted(gaps.sum(), 'missing value')} in {counted(np.count_nonzero(gaps), 'column')}: "
            "filled with the median and marked",
        )
        self.gaps_ = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True).fit(rows)


def _sentences(notes: list[tuple[str, str]]) -> tuple[str, ...]:
    """A sentence for each column, or one for many columns with the same note."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for name, note in notes:
        without_number = re.sub(r"^(has|holds) [\d,]+ ", r"\1 ", note)
        alike.setdefault(re.sub(r"\bvalue\b", "values", without_number), []).append((name, note))
    sentences: list[str] = []
    for common, group in alike.items():
        if len(group) <= MOST_ALIKE:
            sentences += [f"column {name!r} {note}" for name, note in group]
        else:
            some = ", ".join(repr(name) for name, _ in group[:MOST_ALIKE])
            sentences.append(f"each of {len(group)} columns ({some}, ...) {common}")
    return tuple(sentences)


def _learn(table: Any, text_encoder: Any, name: str) -> tuple[Column | None, list[str]]:
    frame = nw.from_native(table)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.select(name).collect()
    return learn_column(frame.get_column(name), text_encoder)


def _joined(frame: nw.DataFrame[Any], columns: dict[str, Column]) -> Any:
    """The encoded columns side by side: an array, or CSR where there is text."""
    if any(column.sparse for column in columns.values()):
        from scipy import sparse

        parts = [column.encode(frame.get_column(name)) for name, column in columns.items()]
        return sparse.csr_array(sparse.hstack(parts))
    rows = np.empty((frame.shape[0], sum(column.width for column in columns.values())))
    start = 0
    for name, column in columns.items():
        rows[:, start : start + column.width] = column.encode(frame.get_column(name))
        start += column.width
    return rows


def _as_frame(X: Any) -> Frame | None:
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return None
    if not frame.collect_schema().names() or (isinstance(frame, nw.DataFrame) and frame.shape[0] == 0):
        raise ValueError("the table is empty; rows and at least one column besides the label are needed")
    return frame


def _as_array(X: Any) -> Any:
    if hasattr(X, "tocsr"):
        from scipy import sparse

        rows = sparse.csr_array(X, dtype=np.float64)
        _refuse_infinite(rows.data)
        return rows
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "X holds values that are not numbers; a pandas or polars frame would have them encoded"
        ) from None
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(f"X has shape {rows.shape}; one row an example and at least one column are needed")
    _refuse_infinite(rows)
    return rows


def _refuse_infinite(values: Any) -> None:
    if np.isinf(values).any():
        raise ValueError("X holds infinite values; replace them by large numbers or leave them empty")
