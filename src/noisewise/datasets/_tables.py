"""Tables as people keep them, made into numbers: mixed columns, gaps, categories, dates, text."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from noisewise._inputs import Floats

MOST_CATEGORIES = 50
TEXT_WIDTH = 2**10
MISSING = "(missing)"


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numbers for every row of a mixed table; arrays go through, with gaps filled.

    Numbers are filled with the median where they are missing (and marked so) and standardised, dates read as days,
    categories spread out, text hashed by words. Columns that say nothing, empty or different in every row, are left
    out. `notes_` says what was done.

    Examples
    --------
    >>> import polars as pl
    >>> encoder = TableEncoder().fit(pl.DataFrame({"size": [1.0, None, 3.0], "kind": ["a", "b", "a"]}))
    >>> encoder.notes_
    ("column 'size' has 1 missing values: filled with the median and marked",)
    >>> encoder.transform(pl.DataFrame({"size": [2.0], "kind": ["c"]}))
    array([[ 0.        , -0.70710678,  0.        ,  0.        ]])
    """

    kinds_: dict[str, str] | None
    numbers_: Any
    categories_: Any

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn medians, scales and categories."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from a table and give its rows as an array, or as CSR where there is text."""
        frame = _as_frame(X)
        notes: list[str] = []
        if frame is None:
            rows = _as_array(X)
            self.kinds_ = None
            blocks = self._fit_array(rows, notes)
        else:
            self.kinds_ = _kinds(frame, notes)
            blocks = self._fit_frame(frame)
        self.notes_ = tuple(notes)
        return blocks

    def transform(self, X: Any) -> Any:
        """Rows of another table with the same columns."""
        check_is_fitted(self, "kinds_")
        frame = _as_frame(X)
        if (frame is None) != (self.kinds_ is None):
            raise ValueError("the encoder was fitted on a frame or an array, and is given the other")
        if self.kinds_ is None:
            rows = _as_array(X)
            return rows if self.numbers_ is None else self.numbers_.transform(rows)
        assert frame is not None
        missing = [name for name in self.kinds_ if name not in frame.columns]
        if missing:
            raise ValueError(f"the table has no column {missing[0]!r}, which was there when the encoder was fitted")
        return _joined(
            None if self.numbers_ is None else self.numbers_.transform(self._numbers(frame)),
            None if self.categories_ is None else self.categories_.transform(self._strings(frame, "category")),
            [_hashed(column) for column in self._strings(frame, "text").T],
        )

    def _fit_array(self, rows: Any, notes: list[str]) -> Any:
        from sklearn.impute import SimpleImputer

        self.numbers_, self.categories_ = None, None
        if hasattr(rows, "tocsr") or not (gaps := np.isnan(rows).sum(axis=0)).any():
            return rows
        notes.append(
            f"{gaps.sum()} missing values in {np.count_nonzero(gaps)} columns: filled with the median and marked"
        )
        self.numbers_ = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        return self.numbers_.fit_transform(rows)

    def _fit_frame(self, frame: nw.DataFrame[Any]) -> Any:
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        assert self.kinds_ is not None
        kinds = set(self.kinds_.values())
        self.numbers_, self.categories_ = None, None
        numbers = categories = None
        if kinds & {"number", "date"}:
            self.numbers_ = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
            numbers = self.numbers_.fit_transform(self._numbers(frame))
        if "category" in kinds:
            self.categories_ = OneHotEncoder(
                max_categories=MOST_CATEGORIES, sparse_output="text" in kinds, handle_unknown="ignore"
            )
            categories = self.categories_.fit_transform(self._strings(frame, "category"))
        return _joined(numbers, categories, [_hashed(column) for column in self._strings(frame, "text").T])

    def _numbers(self, frame: nw.DataFrame[Any]) -> Floats:
        kinds = self.kinds_ or {}
        readers = {"number": _as_floats, "date": _as_days}
        return np.column_stack(
            [readers[kind](frame.get_column(name)) for name, kind in kinds.items() if kind in readers]
        )

    def _strings(self, frame: nw.DataFrame[Any], wanted: str) -> NDArray[Any]:
        columns = [_as_strings(frame.get_column(name)) for name, kind in (self.kinds_ or {}).items() if kind == wanted]
        return np.column_stack(columns).astype(object) if columns else np.empty((frame.shape[0], 0), dtype=object)


def _as_frame(X: Any) -> nw.DataFrame[Any] | None:
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    if frame.shape[0] == 0 or frame.shape[1] == 0:
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


def _kinds(frame: nw.DataFrame[Any], notes: list[str]) -> dict[str, str]:
    """What each column holds: numbers, dates, categories or text; columns that say nothing are left out."""
    found = {name: _kind(frame.get_column(name), notes) for name in frame.columns}
    kinds = {name: kind for name, kind in found.items() if kind}
    if not kinds:
        raise ValueError("no column can be used as a feature: " + "; ".join(notes))
    return kinds


def _kind(values: nw.Series[Any], notes: list[str]) -> str:
    name, numeric = values.name, values.dtype.is_numeric() or values.dtype == nw.Boolean
    missing = int(np.isnan(_as_floats(values)).sum()) if numeric else int(values.is_null().sum())
    if missing == len(values):
        notes.append(f"column {name!r} is empty: left out")
        return ""
    if numeric or values.dtype.is_temporal():
        if not numeric:
            notes.append(f"column {name!r} holds dates: read as days")
        _note_missing(notes, name, missing, "filled with the median and marked")
        return "number" if numeric else "date"
    strings = _as_strings(values)
    distinct = len(set(strings.tolist()))
    if distinct <= MOST_CATEGORIES or distinct <= len(strings) // 5:
        _note_missing(notes, name, missing, "kept as a category of their own")
        if distinct > MOST_CATEGORIES:
            notes.append(f"column {name!r} has {distinct} categories: the rarest are put together")
        return "category"
    if np.mean([len(value.split()) for value in strings]) >= 2:
        notes.append(f"column {name!r} holds text: its words are hashed into {TEXT_WIDTH} columns")
        return "text"
    notes.append(f"column {name!r} has {distinct} distinct names in {len(strings)} rows: left out")
    return ""


def _as_floats(values: nw.Series[Any]) -> Floats:
    floats = np.asarray(values.cast(nw.Float64).to_numpy(), dtype=np.float64)
    _refuse_infinite(floats, values.name)
    return floats


def _as_days(values: nw.Series[Any]) -> Floats:
    days = values.to_numpy().astype("datetime64[ms]")
    return np.where(np.isnat(days), np.nan, days.astype(np.int64) / 86_400_000.0)


def _as_strings(values: nw.Series[Any]) -> NDArray[Any]:
    known = [MISSING if value is None or value != value or value == "" else str(value) for value in values.to_list()]
    return np.array(known, dtype=object)


def _hashed(strings: NDArray[Any]) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(n_features=TEXT_WIDTH, alternate_sign=False, norm="l2").transform(strings)


def _joined(numbers: Any, categories: Any, texts: list[Any]) -> Any:
    """All columns side by side: an array, or CSR where there is text."""
    blocks = [block for block in (numbers, categories, *texts) if block is not None]
    if not texts:
        return np.hstack(blocks)
    from scipy import sparse

    return sparse.csr_array(sparse.hstack(blocks))


def _refuse_infinite(values: Any, name: str | None = None) -> None:
    if np.isinf(values).any():
        where = "X" if name is None else f"column {name!r}"
        raise ValueError(f"{where} holds infinite values; replace them by large numbers or leave them empty")


def _note_missing(notes: list[str], column: str, missing: int, done: str) -> None:
    if missing:
        notes.append(f"column {column!r} has {missing} missing values: {done}")
