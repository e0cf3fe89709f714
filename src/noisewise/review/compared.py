"""Rows under review and the rows they are compared with, of any kind of table."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from noisewise._frames import frame_like
from noisewise._typing import Codes, Floats
from noisewise._validation import one_column
from noisewise.audit import LabelAudit, features_of, pictures_of
from noisewise.embeddings import SUFFIXES, embed_images
from noisewise.tables import CategoryColumn, NumberColumn, TableEncoder, TextColumn

MOST_VALUES = 10**7  # rows times columns in memory to compare with; of larger tables a random sample is taken
MOST_PICTURES = 1000  # to compare with; they are read when the first row is asked for
FEW = 10  # distinct numbers that are compared by their frequency, as categories are


class ComparedRows:
    """The rows under review, and those that probably carry their label rightly, to compare them with.

    Parameters
    ----------
    audit : LabelAudit
    rows : array of int
        The rows under review.
    random_state : int
        For the sample of a large table.
    """

    def __init__(self, audit: LabelAudit, rows: Codes, random_state: int = 0) -> None:
        others = np.setdiff1d(np.flatnonzero(audit.probability >= 0.5), rows)
        most = MOST_PICTURES if audit.images is not None else max(1, MOST_VALUES // _n_columns(audit.X))
        self.sampled = len(others) > most
        if self.sampled:
            others = np.random.default_rng(random_state).choice(others, most, replace=False)
        self.rows = np.union1d(rows, others)  # in the order of the table: row numbers are known by it
        self.labels = audit.observed[self.rows]
        self._position = {int(row): i for i, row in enumerate(self.rows)}
        self._trusted = audit.probability[self.rows] >= 0.5
        self._table = _taken(audit.X, self.rows)
        self._audit = audit

    def position(self, row: int) -> int:
        """Where a row of the table is in the arrays here."""
        return self._position[row]

    def members(self, label: int) -> Codes:
        """Positions of the rows that carry a label, probably rightly."""
        return np.flatnonzero(self._trusted & (self.labels == label))

    def nearest(self, row: int, label: int, most: int = 3) -> list[int]:
        """The rows of the table nearest to a row among those that carry a label, probably rightly."""
        here, members = self.position(row), self.members(label)
        members = members[members != here]
        if self.points is None or not len(members):
            return []
        distances = _distances(self.points[members], self.points[[here]])
        return [int(self.rows[i]) for i in members[np.argsort(distances, kind="stable")[:most]]]

    def pictures(self, rows: list[int], side: int = 160) -> list[str] | None:
        """Pictures of rows as data URIs, of at most so many pixels a side; None where rows are no pictures."""
        return pictures_of(self._audit, np.array(rows, dtype=np.intp), side)

    @cached_property
    def are_pixels(self) -> bool:
        """Whether the columns are the pixels of small pictures, and nothing to read."""
        return self._audit.images is None and self.pictures(self.rows[:1].tolist()) is not None

    @cached_property
    def names(self) -> list[str]:
        """Columns that a person can read: all of a frame or a dense array, none of pixels or sparse rows."""
        if self.are_pixels or self._table is None or sparse.issparse(self._table):
            return []
        if isinstance(self._table, nw.DataFrame):
            return list(self._table.columns)
        return [f"x{j}" for j in range(self._table.shape[1])]

    def column(self, name: str) -> list[Any]:
        """The values of a column, by position."""
        if isinstance(self._table, nw.DataFrame):
            return list(self._table.get_column(name).to_list())
        return list(self._table[:, self.names.index(name)].tolist())

    def cell(self, name: str, row: int) -> Any:
        """A value of a row."""
        i = self.position(row)
        if isinstance(self._table, nw.DataFrame):
            return self._table.get_column(name)[i]
        return self._table[i, self.names.index(name)].item()

    @cached_property
    def _encoder(self) -> TableEncoder | None:
        try:
            return TableEncoder().fit(nw.to_native(self._table, pass_through=True))
        except ValueError:  # no column tells anything: names of files, say
            return None

    @cached_property
    def _kinds(self) -> dict[str, Any]:
        """Columns of a frame and how they are encoded, but for paths of pictures: folders may tell the labels."""
        kinds = {} if not self.names or self._encoder is None else self._encoder.columns_ or {}
        return {name: kind for name, kind in kinds.items() if not self._is_path(name)}

    def _is_path(self, name: str) -> bool:
        return str(self.cell(name, int(self.rows[0]))).lower().endswith(SUFFIXES)

    @cached_property
    def _encoded(self) -> Any:
        """The columns as numbers, standardised unless they are pixels or sparse; None where there are none."""
        if self._table is None or self._encoder is None:
            return None
        rows = self._encoder.encode(nw.to_native(self._table, pass_through=True))
        if isinstance(self._table, nw.DataFrame) or self.are_pixels or sparse.issparse(rows):
            return rows
        scale = rows.std(axis=0)
        return (rows - rows.mean(axis=0)) / np.where(scale > 0, scale, 1)

    @cached_property
    def points(self) -> Any:
        """The rows as points, of which some are near each other; None where nothing is known of them."""
        if self._audit.images is None:
            return self._encoded
        try:
            return embed_images(self._audit.images[self.rows].tolist())
        except ValueError:  # a file is gone
            return None

    @cached_property
    def numbers(self) -> dict[str, Floats]:
        """Columns of many distinct numbers (dates and times among them), standardised."""
        found = {name: _dense(self._encoded[:, [j]]) for name, j in self._number_positions().items()}
        return {name: values for name, values in found.items() if len(np.unique(values)) > FEW}

    @cached_property
    def categories(self) -> list[str]:
        """Columns of categories, some of which occur twice, or of few distinct numbers."""
        named = [name for name, column in self._kinds.items() if isinstance(column, CategoryColumn)]
        named = [name for name in named if len(set(self.column(name))) < len(self.rows)]
        return named + [name for name in self._number_positions() if name not in self.numbers]

    @cached_property
    def texts(self) -> list[str]:
        """Columns of text."""
        return [name for name, column in self._kinds.items() if isinstance(column, TextColumn)]

    @cached_property
    def unused(self) -> list[str]:
        """Columns without information about labels, such as identifiers."""
        used = {*self.numbers, *self.categories, *self.texts}
        return [name for name in self.names if name not in used]

    def _number_positions(self) -> dict[str, int]:
        """Where the standardised numbers of a column are among the encoded columns."""
        if not isinstance(self._table, nw.DataFrame):
            return {name: j for j, name in enumerate(self.names)}
        found, start = {}, 0
        for name, column in ((self._encoder and self._encoder.columns_) or {}).items():
            if isinstance(column, NumberColumn):
                found[name] = start
            start += column.width
        return found


def _taken(X: Any, rows: Codes) -> Any:
    """These rows of a table in memory: a narwhals frame, an array or CSR rows; None where there is no table."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows.tolist()]
    if sparse.issparse(X):
        return sparse.csr_array(X)[rows]
    if not isinstance(frame, nw.LazyFrame) and np.asarray(X).dtype.kind in "biuf":
        return np.asarray(X, dtype=np.float64)[rows] if X.shape[1] else None  # probabilities come without rows
    columns = {name: one_column(values) for name, values in features_of(X, rows).items()}  # a lazy frame, or texts
    return nw.from_native(frame_like(columns))


def _n_columns(X: Any) -> int:
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return max(1, len(frame.collect_schema()))
    return max(1, int(np.ceil(X.nnz / X.shape[0]))) if sparse.issparse(X) else max(1, np.asarray(X).shape[1])


def _dense(column: Any) -> Floats:
    return np.asarray(column.toarray() if sparse.issparse(column) else column, dtype=np.float64).ravel()


def _distances(points: Any, point: Any) -> Floats:
    """Squared Euclidean distances of rows, dense or sparse, to one row."""
    if not sparse.issparse(points):
        return np.asarray(np.square(points - point).sum(axis=1), dtype=np.float64)
    squares = np.asarray(points.multiply(points).sum(axis=1)).ravel()
    return np.asarray(squares - 2 * _dense(points @ point.T), dtype=np.float64)
