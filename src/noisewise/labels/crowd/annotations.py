"""Who called what by which label: long and wide tables read into codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noisewise._typing import Codes

LONG_COLUMNS = {"item": ("item", "items"), "annotator": ("annotator", "annotators"), "label": ("label", "labels")}
MOST_RATES = 300_000_000  # rates of all annotators: beyond this the labels are numbers, not classes


@dataclass(frozen=True, eq=False)
class Annotations:
    """Answers as codes: entry i says that annotator ``who[i]`` called item ``what[i]`` by class ``answer[i]``.

    Names are sorted and stand at the place that is their code; items and annotators without any answer keep theirs.
    """

    items: NDArray[Any]
    annotators: NDArray[Any]
    classes: NDArray[Any]
    what: Codes
    who: Codes
    answer: Codes

    def __post_init__(self) -> None:
        n_rates = len(self.annotators) * len(self.classes) ** 2
        if n_rates > MOST_RATES:
            raise ValueError(
                f"{len(self.classes)} classes and {len(self.annotators)} annotators make {n_rates:.1e} flip rates; "
                "the labels look like measurements: put them into classes first"
            )

    def counts(self) -> Any:
        """How often each item got each answer of each annotator: CSR of shape (items, annotators * classes)."""
        shape = (len(self.items), len(self.annotators) * len(self.classes))
        columns = self.who * len(self.classes) + self.answer
        return sp.csr_array((np.ones(len(self.what)), (self.what, columns)), shape=shape)

    def votes(self) -> NDArray[np.float64]:
        """How often each item was called by each class, shape (items, classes)."""
        cells = self.what * len(self.classes) + self.answer
        totals = np.bincount(cells, minlength=len(self.items) * len(self.classes))
        return totals.reshape(len(self.items), len(self.classes)).astype(np.float64)

    def of_one(self) -> Annotations:
        """The same answers as if one annotator had given them all."""
        everybody = np.array(["everybody"])
        return Annotations(self.items, everybody, self.classes, self.what, np.zeros_like(self.who), self.answer)

    def added(self, more: Annotations) -> Annotations:
        """These answers and more of them, with all names in order."""
        names, codes = [], []
        for field, column in (("items", "what"), ("annotators", "who"), ("classes", "answer")):
            old, new = getattr(self, field), getattr(more, field)
            names.append(encode_names([*old.tolist(), *new.tolist()])[0])
            parts = places(old, names[-1])[getattr(self, column)], places(new, names[-1])[getattr(more, column)]
            codes.append(np.concatenate(parts))
        return Annotations(*names, *codes)


def read_annotations(items: Any, annotators: Any = None, labels: Any = None, missing: Any = None) -> Annotations:
    """Answers from three columns, from a long frame, or from a wide frame or array.

    Parameters
    ----------
    items : sequence of names, frame or 2-D array
        With `annotators` and `labels`: the item of each answer. Alone: a frame with columns item, annotator and label;
        or a wide frame or array, one row an item and one column an annotator. A wide frame's items are named by its
        column "item" if it has one, else by a pandas index, else they are numbered.
    annotators, labels : sequences, as long as `items`
    missing : label, optional
        A label that means "no answer"; None, NaN and the frame libraries' own gaps always mean it.

    Examples
    --------
    >>> wide = read_annotations([["cat", "dog", None], ["dog", None, "dog"]])
    >>> wide.who, wide.classes[wide.answer]
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
    """Answers from a frame or array with a row for each item and a column for each annotator.

    With `numbered`, items are called 0, 1, ... whatever the frame calls them, and each column is an annotator's.
    """
    frame = nw.from_native(table, pass_through=True, eager_only=True)
    if not isinstance(frame, nw.DataFrame):
        return _from_wide(_table(table), None, None, missing)
    named = None if numbered else next((name for name in LONG_COLUMNS["item"] if name in frame.columns), None)
    index = table.index.tolist() if hasattr(table, "index") and not numbered else None
    people = [name for name in frame.columns if name != named]
    if not people:
        raise ValueError("the frame has no column of answers; a wide frame has one column for each annotator")
    columns = np.empty((len(frame), len(people)), dtype=object)
    for place, name in enumerate(people):
        columns[:, place] = frame.get_column(name).to_list()  # frame[0] would be its first row
    return _from_wide(columns, frame.get_column(named).to_list() if named else index, people, missing)


def encode_names(values: Any) -> tuple[NDArray[Any], Codes]:
    """Distinct values in order, and each value's place among them; they may be any hashables.

    >>> encode_names(["b", "a", "b"])
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    column = _column(values)
    if column.dtype != object:
        names, codes = np.unique(column, return_inverse=True)
        return names, codes.astype(np.intp, copy=False)
    entries = column.tolist()
    try:
        distinct = list(dict.fromkeys(entries))
    except TypeError as error:
        raise ValueError(f"names and labels must be hashable (strings, numbers, tuples, ...): {error}") from None
    try:
        distinct.sort()
    except TypeError:
        distinct.sort(key=lambda name: (type(name).__name__, repr(name)))
    places = dict(zip(distinct, range(len(distinct)), strict=True))
    names = np.array(distinct) if set(map(type, distinct)) == {str} else _column(distinct)
    return names, np.fromiter(map(places.__getitem__, entries), dtype=np.intp, count=len(entries))


def places(names: NDArray[Any], among: NDArray[Any]) -> Codes:
    """Where each name stands among others; all of them must be there."""
    known = dict(zip(among.tolist(), range(len(among)), strict=True))
    return np.fromiter(map(known.__getitem__, names.tolist()), dtype=np.intp, count=len(names))


def is_missing(labels: NDArray[Any], missing: Any = None) -> NDArray[np.bool_]:
    """Where there is no answer: None, NaN, NA, or the label that stands for it."""
    if labels.dtype.kind == "f":
        gaps = np.isnan(labels)
    elif labels.dtype.kind in "mM":
        gaps = np.isnat(labels)
    elif labels.dtype == object and not set(map(type, labels.tolist())) <= {str, int, bool, tuple}:
        gaps = np.fromiter(map(_is_gap, labels.tolist()), dtype=np.bool_, count=len(labels))
    else:
        gaps = np.zeros(len(labels), dtype=np.bool_)
    if missing is not None and labels.dtype == object:
        gaps |= np.array([label == missing for label in labels.tolist()], dtype=np.bool_)
    elif missing is not None:
        gaps |= labels == missing
    return np.asarray(gaps)


def _is_gap(label: Any) -> bool:
    # NA of pandas says neither yes nor no to a comparison, so it is known by its name
    return label is None or type(label).__name__ in ("NAType", "NaTType") or label != label


def _from_columns(items: Any, annotators: Any, labels: Any, missing: Any) -> Annotations:
    columns = [_column(values) for values in (items, annotators, labels)]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"items, annotators and labels have lengths {lengths[0]}, {lengths[1]} and {lengths[2]}; "
            "each answer needs one of each"
        )
    for name, column in (("items", columns[0]), ("annotators", columns[1])):
        gaps = is_missing(column)
        if gaps.any():
            raise ValueError(f"{gaps.sum()} of the {name} are missing, the first in row {int(np.argmax(gaps))}")
    (item_names, what), (annotator_names, who) = encode_names(columns[0]), encode_names(columns[1])
    return _answered(item_names, annotator_names, what, who, columns[2], missing)


def _from_wide(table: NDArray[Any], names: Any, people: Any, missing: Any) -> Annotations:
    n_items, n_people = table.shape
    item_names, places = encode_names(np.arange(n_items) if names is None else names)
    annotator_names, columns = encode_names(np.arange(n_people) if people is None else people)
    what, who = np.repeat(places, n_people), np.tile(columns, n_items)
    return _answered(item_names, annotator_names, what, who, table.ravel(), missing)


def _answered(items: Any, annotators: Any, what: Codes, who: Codes, labels: NDArray[Any], missing: Any) -> Annotations:
    given = ~is_missing(labels, missing)
    if not given.any():
        raise ValueError("there is no answer at all: every label is missing")
    answers = labels[given] if given.all() else _whole(labels[given])
    classes, codes = encode_names(answers)
    return Annotations(items, annotators, classes, what[given], who[given], codes)


def _whole(answers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as such: a gap beside them turns them into floats in many tables."""
    if answers.dtype == object and set(map(type, answers.tolist())) <= {int, float}:
        answers = answers.astype(np.float64)
    if answers.dtype.kind == "f" and np.isfinite(answers).all() and (answers == np.rint(answers)).all():
        return answers.astype(np.int64)
    return answers


def _column(values: Any) -> NDArray[Any]:
    """A flat array; tuples stay what they are, and strings become objects, which are found faster."""
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
        raise ValueError(f"a column of answers has shape {column.shape}; it must be flat")
    return column.astype(object) if column.dtype.kind in "US" else column


def _table(values: Any) -> NDArray[Any]:
    table = values if isinstance(values, np.ndarray) else np.array([list(row) for row in values], dtype=object)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"a wide table has one row an item and one column an annotator; its shape is {table.shape}")
    return table


def _long_columns(columns: list[str]) -> list[str] | None:
    """The names of item, annotator and label columns, if all three are there."""
    lowered = {str(name).lower(): name for name in columns}
    found = [next((lowered[name] for name in names if name in lowered), None) for names in LONG_COLUMNS.values()]
    return [name for name in found if name is not None] if None not in found else None
