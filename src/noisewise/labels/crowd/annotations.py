"""Labels by several annotators, from long or wide tables, as integer codes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noisewise._typing import Codes
from noisewise._validation import is_missing, sorted_distinct

LONG_COLUMNS = {"item": ("item", "items"), "annotator": ("annotator", "annotators"), "label": ("label", "labels")}
MOST_RATES = 300_000_000  # entries of all confusion matrices: with more, labels are measurements, not classes


@dataclass(frozen=True, eq=False)
class Annotations:
    """Labels as codes: entry i says that annotator ``annotator_codes[i]`` labelled item ``item_codes[i]``.

    Names are sorted, and a code is an index into them; items and annotators without any label are kept.
    """

    items: NDArray[Any]
    annotators: NDArray[Any]
    classes: NDArray[Any]
    item_codes: Codes
    annotator_codes: Codes
    label_codes: Codes

    def __post_init__(self) -> None:
        n_rates = len(self.annotators) * len(self.classes) ** 2
        if n_rates > MOST_RATES:
            raise ValueError(
                f"{len(self.classes)} classes and {len(self.annotators)} annotators make {n_rates:.1e} flip rates; "
                "the labels look like measurements: put them into classes first"
            )

    def counts(self) -> Any:
        """Number of times each annotator gave each item each label: CSR of shape (items, annotators * classes)."""
        shape = (len(self.items), len(self.annotators) * len(self.classes))
        columns = self.annotator_codes * len(self.classes) + self.label_codes
        return sp.csr_array((np.ones(len(columns)), (self.item_codes, columns)), shape=shape)

    def votes(self) -> NDArray[np.float64]:
        """Number of labels of each class for each item, of shape (items, classes)."""
        cells = self.item_codes * len(self.classes) + self.label_codes
        totals = np.bincount(cells, minlength=len(self.items) * len(self.classes))
        return totals.reshape(len(self.items), len(self.classes)).astype(np.float64)

    def vote_proportions(self) -> NDArray[np.float64]:
        """Proportions of the votes of each item; where there are none, those of all items."""
        votes = self.votes()
        votes[votes.sum(axis=1) == 0] = votes.sum(axis=0)
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def as_one_annotator(self) -> Annotations:
        """The same labels as if one annotator had given them all."""
        return replace(self, annotators=np.array(["all"]), annotator_codes=np.zeros_like(self.annotator_codes))

    def added(self, more: Annotations) -> Annotations:
        """These labels and more of them, with all names sorted."""
        names, codes = [], []
        fields = {"items": "item_codes", "annotators": "annotator_codes", "classes": "label_codes"}
        for field, column in fields.items():
            old, new = getattr(self, field), getattr(more, field)
            names.append(encode_names([*old.tolist(), *new.tolist()])[0])
            known = indices_of(old, names[-1])[getattr(self, column)]
            codes.append(np.concatenate([known, indices_of(new, names[-1])[getattr(more, column)]]))
        return Annotations(*names, *codes)


def read_annotations(items: Any, annotators: Any = None, labels: Any = None, missing: Any = None) -> Annotations:
    """Labels from three columns, from a long frame, or from a wide frame or array.

    Parameters
    ----------
    items : sequence of names, frame or 2-D array
        With `annotators` and `labels`: the item of each label. Alone: a frame with columns item, annotator and label;
        or a wide frame or array, one row an item and one column an annotator. A wide frame's items are named by its
        column "item" if it has one, else by a pandas index, else they are numbered.
    annotators, labels : sequences, as long as `items`
    missing : label, optional
        A label that stands for a missing one, besides None, NaN and the frame libraries' own missing values.

    Examples
    --------
    >>> wide = read_annotations([["cat", "dog", None], ["dog", None, "dog"]])
    >>> wide.annotator_codes, wide.classes[wide.label_codes]
    (array([0, 1, 0, 2]), array(['cat', 'dog', 'dog', 'dog'], dtype='<U3'))
    """
    if (annotators is None) != (labels is None):
        absent = "annotators" if annotators is None else "labels"
        raise ValueError(f"{absent} are missing: give items, annotators and labels, or one frame with all of them")
    if annotators is not None:
        return _from_columns(items, annotators, labels, missing)
    frame = nw.from_native(items, pass_through=True, eager_only=True)
    if not isinstance(frame, nw.DataFrame):
        return read_wide(items, missing)
    long = _long_columns(frame.columns)
    if long is not None:
        item, annotator, label = map(frame.get_column, long)
        return _from_columns(item, annotator, label, missing)
    return read_wide(items, missing)


def read_wide(table: Any, missing: Any = None, numbered: bool = False) -> Annotations:
    """Labels from a frame or array with a row for each item and a column for each annotator.

    With `numbered`, items are named 0, 1, ... whatever the frame's index, and each column is an annotator's.
    """
    frame = nw.from_native(table, pass_through=True, eager_only=True)
    if not isinstance(frame, nw.DataFrame):
        return _from_wide(_table(table), None, None, missing)
    named = None if numbered else next((name for name in LONG_COLUMNS["item"] if name in frame.columns), None)
    index = table.index.tolist() if hasattr(table, "index") and not numbered else None
    annotators = [name for name in frame.columns if name != named]
    if not annotators:
        raise ValueError("the frame has no column of labels; a wide frame has one column for each annotator")
    columns = np.empty((len(frame), len(annotators)), dtype=object)
    for column, name in enumerate(annotators):
        columns[:, column] = frame.get_column(name).to_list()  # frame[0] would be its first row
    return _from_wide(columns, frame.get_column(named).to_list() if named else index, annotators, missing)


def encode_names(values: Any) -> tuple[NDArray[Any], Codes]:
    """Distinct values, sorted, and the index of each value among them; they may be any hashables.

    >>> encode_names(["b", "a", "b"])
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    column = _column(values)
    if column.dtype != object:
        names, codes = np.unique(column, return_inverse=True)
        return names, codes.astype(np.intp, copy=False)
    entries = column.tolist()
    distinct = sorted_distinct(entries, "names and labels")
    codes_of = dict(zip(distinct, range(len(distinct)), strict=True))
    names = np.array(distinct) if set(map(type, distinct)) == {str} else _column(distinct)
    return names, np.fromiter(map(codes_of.__getitem__, entries), dtype=np.intp, count=len(entries))


def indices_of(names: NDArray[Any], among: NDArray[Any]) -> Codes:
    """Index of each name among others; KeyError if one is not there."""
    known = dict(zip(among.tolist(), range(len(among)), strict=True))
    return np.fromiter(map(known.__getitem__, names.tolist()), dtype=np.intp, count=len(names))


def missing_mask(labels: NDArray[Any], missing: Any = None) -> NDArray[np.bool_]:
    """Where a label is missing: None, NaN, NA, or the label that stands for it."""
    if labels.dtype.kind == "f":
        gaps = np.isnan(labels)
    elif labels.dtype.kind in "mM":
        gaps = np.isnat(labels)
    elif labels.dtype == object and not set(map(type, labels.tolist())) <= {str, int, bool, tuple}:
        gaps = np.fromiter(map(is_missing, labels.tolist()), dtype=np.bool_, count=len(labels))
    else:
        gaps = np.zeros(len(labels), dtype=np.bool_)
    if missing is not None and labels.dtype == object:
        gaps |= np.array([label == missing for label in labels.tolist()], dtype=np.bool_)
    elif missing is not None:
        gaps |= labels == missing
    return np.asarray(gaps)


def _from_columns(items: Any, annotators: Any, labels: Any, missing: Any) -> Annotations:
    columns = [_column(values) for values in (items, annotators, labels)]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"items, annotators and labels have lengths {lengths[0]}, {lengths[1]} and {lengths[2]}; "
            "each label needs one of each"
        )
    for name, column in (("items", columns[0]), ("annotators", columns[1])):
        gaps = missing_mask(column)
        if gaps.any():
            raise ValueError(f"{gaps.sum()} of the {name} are missing, the first in row {int(np.argmax(gaps))}")
    (item_names, items), (annotator_names, annotators) = encode_names(columns[0]), encode_names(columns[1])
    return _without_missing(item_names, annotator_names, items, annotators, columns[2], missing)


def _from_wide(table: NDArray[Any], names: Any, annotators: Any, missing: Any) -> Annotations:
    n_items, n_annotators = table.shape
    item_names, rows = encode_names(np.arange(n_items) if names is None else names)
    annotator_names, columns = encode_names(np.arange(n_annotators) if annotators is None else annotators)
    item_codes, annotator_codes = np.repeat(rows, n_annotators), np.tile(columns, n_items)
    return _without_missing(item_names, annotator_names, item_codes, annotator_codes, table.ravel(), missing)


def _without_missing(
    items: Any, annotators: Any, item_codes: Codes, annotator_codes: Codes, labels: NDArray[Any], missing: Any
) -> Annotations:
    given = ~missing_mask(labels, missing)
    if not given.any():
        raise ValueError("there is no label at all: every label is missing")
    classes, codes = encode_names(labels[given] if given.all() else _as_integers(labels[given]))
    return Annotations(items, annotators, classes, item_codes[given], annotator_codes[given], codes)


def _as_integers(labels: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as integers: a missing value beside them makes them floats in many tables."""
    if labels.dtype == object and set(map(type, labels.tolist())) <= {int, float}:
        labels = labels.astype(np.float64)
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.rint(labels)).all():
        return labels.astype(np.int64)
    return labels


def _column(values: Any) -> NDArray[Any]:
    """A flat array; tuples stay tuples, and strings become objects, which hash faster."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        column = values
    else:
        native = nw.from_native(values, pass_through=True, series_only=True)
        entries = native.to_list() if isinstance(native, nw.Series) else list(values)
        kinds = set(map(type, entries))
        if len(kinds) == 1 and kinds <= {int, bool, float}:
            return np.array(entries)
        column = np.empty(len(entries), dtype=object)
        column[:] = entries
    if column.ndim != 1:
        raise ValueError(f"a column has shape {column.shape}; it must be flat")
    return column.astype(object) if column.dtype.kind in "US" else column


def _table(values: Any) -> NDArray[Any]:
    table = values if isinstance(values, np.ndarray) else np.array([list(row) for row in values], dtype=object)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"a wide table has one row an item and one column an annotator; its shape is {table.shape}")
    return table


def _long_columns(columns: list[str]) -> list[str] | None:
    """Names of the item, annotator and label columns, if all three are there."""
    lowered = {str(name).lower(): name for name in columns}
    found = [next((lowered[name] for name in names if name in lowered), None) for names in LONG_COLUMNS.values()]
    return [name for name in found if name is not None] if None not in found else None
