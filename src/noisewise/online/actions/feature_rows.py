"""Rows of features: the forms in which they may be given, and sparse rows of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noisewise._typing import Floats
from noisewise.online.learners.rows import check_csr


class Rows(NamedTuple):
    """Rows of features: where each starts, and its columns and values; the first of each is the constant."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Floats

    def row(self, index: int) -> tuple[NDArray[np.int64], Floats]:
        """Columns and values of one row."""
        part = slice(self.starts.item(index), self.starts.item(index + 1))
        return self.columns[part], self.values[part]

    def __len__(self) -> int:
        return len(self.starts) - 1


def as_features(given: Any, whose: str) -> Any:
    """Rows in a form that an index takes: an array or a sparse matrix of two dimensions, or a list of dicts."""
    if isinstance(given, np.ndarray) or sp.issparse(given):
        return _checked_array(given, whose)
    if hasattr(given, "columns"):
        return _records(nw.from_native(given, eager_only=True))
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"the features of the {whose} are {given!r:.40}; a frame, an array, dicts or lists are needed")
    listed = list(given)
    if all(isinstance(one, Mapping) for one in listed):
        return listed
    try:
        made = np.array(listed, dtype=np.float64)
    except (TypeError, ValueError):
        odd = next(one for one in listed if not isinstance(one, Mapping))
        article = "an" if whose == "action" else "a"
        needed = "a dict of features or a row of numbers is needed"
        raise ValueError(f"{article} {whose} is given as {odd!r:.40}; {needed}") from None
    return _checked_array(made, whose)


def _records(frame: nw.DataFrame[Any]) -> list[dict[str, Any]]:
    """Rows of a frame as dicts; what is missing is None, but for NaN among numbers, which may be a mistake."""
    records = frame.rows(named=True)
    for column in frame.iter_columns():
        if not column.dtype.is_float() and column.null_count():
            for index in np.flatnonzero(column.is_null().to_numpy()):
                records[index][column.name] = None
    return records


def _checked_array(array: Any, whose: str) -> Any:
    if array.ndim != 2 or not array.shape[1]:
        raise ValueError(f"the features of the {whose} have shape {array.shape}; a row for each is needed")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"the features of the {whose} are an array of {array.dtype}; numbers are needed, or dicts")
    return array


def dense_rows(array: NDArray[Any]) -> Rows:
    """Rows of an array, its columns behind the constant."""
    n_rows, width = array.shape
    values = np.empty((n_rows, width + 1))
    values[:, 0], values[:, 1:] = 1.0, array
    columns = np.empty((n_rows, width + 1), dtype=np.int64)
    columns[:] = np.arange(width + 1)
    return Rows(np.arange(0, values.size + 1, width + 1), columns.ravel(), values.ravel())


def sparse_rows(matrix: Any) -> Rows:
    """The same of a sparse matrix."""
    rows = check_csr(sp.csr_array(matrix))
    constant = sp.csr_array(np.ones((rows.shape[0], 1)))
    joined = sp.csr_array(sp.hstack([constant, rows], format="csr"))
    joined.sort_indices()
    return Rows(joined.indptr.astype(np.int64), joined.indices.astype(np.int64), joined.data.astype(np.float64))


def joined(rows: Rows, more: Rows) -> Rows:
    """Rows with those of another, constant aside, at their ends."""
    parts = [
        (np.append(columns, further[1:]), np.append(values, also[1:]))
        for (columns, values), (further, also) in ((rows.row(n), more.row(n)) for n in range(len(rows)))
    ]
    starts = np.cumsum([0, *(len(columns) for columns, _ in parts)])
    return Rows(starts, np.concatenate([part for part, _ in parts]), np.concatenate([part for _, part in parts]))
