"""Probabilities as they are given: arrays or frames of one model or several, and labels as indices of their columns."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from noisewise._typing import Codes
from noisewise._validation import check_binary_or_more, encode_labels, find_actions, known_classes, listed, one_column

SUM_TOLERANCE = 0.02  # half precision adds up to one no better than this
UNNAMED = re.compile(r"(column_)?\d+")  # columns as pandas and polars call them where nobody has


def read_probabilities(
    probabilities: Any, y: Any, classes: Any
) -> tuple[list[NDArray[Any]], NDArray[Any], Codes, tuple[str, ...]]:
    """Arrays of probabilities, the classes of their columns, each label as an index of these, and notes."""
    given = _given(probabilities)
    arrays, notes = _arrays(given)
    n_columns = arrays[0].shape[1]
    if classes is None:
        classes = _column_names(given, y)
    if classes is None and (categories := _categories(y, n_columns)) is not None:
        classes, note = _order_of_categories(categories, y, arrays[0])
        notes += note
    names, codes = _codes(y, classes, n_columns)
    if classes is None and (other := _other_names(given)) and not _are_indices(one_column(y), n_columns):
        warnings.warn(
            f"the columns {listed(other)} are not named by the labels: they are taken in the sorted order of the "
            f"labels, {listed(names.tolist())}; classes= (--classes) gives another",
            stacklevel=3,
        )
    return arrays, names, codes, notes


def excess_agreement(modes: Codes, codes: Codes, n_classes: int) -> float:
    """Fraction of labels that a model predicts, beyond what it would by chance: the numerator of Cohen's kappa.

    >>> excess_agreement(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 2)
    0.5
    """
    frequencies = [np.bincount(one, minlength=n_classes) / len(codes) for one in (modes, codes)]
    return float(np.mean(modes == codes) - frequencies[0] @ frequencies[1])


def _given(probabilities: Any) -> list[Any]:
    """What was given, of one model or several, as a list."""
    if isinstance(probabilities, list | tuple | Mapping) and not len(probabilities):
        raise ValueError("the list of probabilities is empty; an array, or a list of one or more, is needed")
    if isinstance(probabilities, Mapping):
        probabilities = list(probabilities.values())
    several = isinstance(probabilities, list | tuple) and len(probabilities) and np.ndim(probabilities[0]) == 2
    return list(probabilities) if several or np.ndim(probabilities) == 3 else [probabilities]


def _arrays(given: list[Any]) -> tuple[list[NDArray[Any]], tuple[str, ...]]:
    """The arrays as probabilities, with a note where logits were given."""
    checked = [_checked(one) for one in given]
    shapes = {array.shape for array, _ in checked}
    if len(shapes) > 1:
        raise ValueError(
            f"the arrays of probabilities have shapes {sorted(shapes)}; one row for each label is needed in all"
        )
    logits = any(were_logits for _, were_logits in checked)
    return [array for array, _ in checked], (("logits were given, and normalised to probabilities",) if logits else ())


def _checked(given: Any) -> tuple[NDArray[Any], bool]:
    """One array as probabilities that sum to one, and whether it held logits."""
    array = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
    if array.dtype == object and array.ndim == 2 and hasattr(given, "columns"):
        array = np.column_stack([_numbers(given[name], name) for name in given.columns])
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ValueError(
            f"probabilities have {_kind(given, array)}; an array of numbers with a row for each label and a column for "
            "each class is needed"
        )
    if array.shape[1] < 2:
        raise ValueError(f"probabilities have {array.shape[1]} column; two classes or more are needed")
    if not len(array):
        raise ValueError("there are no rows of probabilities")
    array = array.astype(np.float32 if array.dtype.itemsize <= 4 else np.float64, copy=False)
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"probabilities hold NaN or infinity, first in row {int(np.argmin(finite))}; drop or fill these rows"
        )
    total = array.sum(axis=1)
    off = np.abs(total - 1)
    if array.min() < 0:
        if off.max() > SUM_TOLERANCE:
            return np.asarray(softmax(array, axis=1)), True
        if array.min() < -SUM_TOLERANCE:
            row = int(array.min(axis=1).argmin())
            raise ValueError(
                f"row {row} of the probabilities sums to 1 and holds {array[row].min():.3g}; none is negative"
            )
        array = np.maximum(array, 0)  # below zero by rounding
        total = array.sum(axis=1)
    if off.max() > SUM_TOLERANCE:
        row = int(np.argmax(off))
        raise ValueError(
            f"probabilities of a row must sum to 1; row {row} sums to {total[row]:.3g} (per cent, several labels for "
            "one row, or scores? predict_proba of one classifier, logits with some below 0, or a softmax would do)"
        )
    return np.asarray(array / total[:, None]), False


def _codes(y: Any, classes: Any, n_columns: int) -> tuple[NDArray[Any], Codes]:
    """The classes in the order of the columns, and each label as an index of them."""
    labels = one_column(y)
    if classes is not None:
        names = known_classes(None, classes)
        if len(names) != n_columns:
            raise ValueError(f"there are {len(names)} classes and {n_columns} columns of probabilities")
        codes = find_actions(labels, names, "label")
    elif _are_indices(labels, n_columns):
        names, codes = np.arange(n_columns), labels.astype(np.intp)
    else:
        names, codes = encode_labels(y)
    check_binary_or_more(names[np.unique(codes)])
    if len(names) != n_columns:
        cure = "one for each class is needed" if len(names) > n_columns else "name their classes (classes=, --classes)"
        found = listed(names.tolist())
        raise ValueError(f"y has {len(names)} labels ({found}) and probabilities have {n_columns} columns; {cure}")
    return names, codes


def _are_indices(labels: NDArray[Any], n_columns: int) -> bool:
    """Whether labels may be the indices of the columns."""
    return bool(labels.dtype.kind in "iu" and len(labels) and labels.min() >= 0 and labels.max() < n_columns)


def _categories(y: Any, n_columns: int) -> list[Any] | None:
    """The categories of a pandas Categorical or a polars Enum, where there is one for each column."""
    categories: Any = getattr(getattr(y, "dtype", None), "categories", None)
    names = categories.to_list() if hasattr(categories, "to_list") else []
    return names if len(names) == n_columns else None


def _order_of_categories(categories: list[Any], y: Any, array: NDArray[Any]) -> tuple[list[Any], tuple[str, ...]]:
    """The classes in the order of the categories, unless their default order agrees better with the labels; a note.

    Classifiers of scikit-learn sort the labels whatever the order of the categories is.
    """
    try:
        default, default_codes = _codes(y, None, len(categories))
    except ValueError:  # some classes have no row
        return categories, ()
    if default.tolist() == categories:
        return categories, ()
    codes, modes = _codes(y, categories, len(categories))[1], array.argmax(axis=1)
    if len(codes) == len(modes):
        by_categories, by_default = (excess_agreement(modes, each, len(categories)) for each in (codes, default_codes))
        if by_default > by_categories:
            return default.tolist(), (
                "the columns are in the sorted order of the labels, with which they agree better than with the order "
                "of the categories of y",
            )
    return categories, ("the columns are taken in the order of the categories of y",)


def _column_names(given: list[Any], y: Any) -> list[Any] | None:
    """The labels that the columns of frames are named by, in their order; None where a label is not among them."""
    frames = [list(one.columns) for one in given if hasattr(one, "columns")]
    names = named_by(frames[0], set(one_column(y).tolist())) if frames else None
    if names is not None and any(other != frames[0] for other in frames):
        raise ValueError("the frames of probabilities have different columns; the same classes in one order are needed")
    return names


def named_by(columns: Sequence[Any], labels: set[Any]) -> list[Any] | None:
    """The label that each column is named by: itself, as text, or as text within what all columns begin and end with.

    >>> named_by(["p_one", "p_two"], {"two", "one"}), named_by(["P(2)", "P(1)", "P(0)"], {0, 1})
    (['one', 'two'], [2, 1, 0])
    >>> named_by(["first", "second"], {"one", "two"})
    """
    if labels <= set(columns):
        return list(columns)
    by_text = {str(label): label for label in labels}
    whole = all(isinstance(label, int) for label in labels)
    for texts in _within([str(column) for column in columns]):
        if by_text.keys() <= set(texts) and len(set(texts)) == len(texts):
            others = [int(text) if whole and text.isdecimal() else text for text in texts]
            return [by_text.get(text, other) for text, other in zip(texts, others, strict=True)]
    return None


def _within(texts: list[str]) -> Iterator[list[str]]:
    """Texts without some of what all of them begin and end with, the least first."""
    most_after = _n_shared([text[::-1] for text in texts])
    for before in range(_n_shared(texts) + 1):
        for after in range(most_after + 1):
            yield [text[before : len(text) - after] for text in texts]


def _n_shared(texts: list[str]) -> int:
    """The number of characters that all texts begin with."""
    first, last = min(texts), max(texts)
    return next((i for i, (one, other) in enumerate(zip(first, last)) if one != other), min(len(first), len(last)))


def _other_names(given: list[Any]) -> list[Any]:
    """The names of a frame's columns, where somebody has named them."""
    frames = [list(one.columns) for one in given if hasattr(one, "columns")]
    return [] if not frames or all(UNNAMED.fullmatch(str(name)) for name in frames[0]) else frames[0]


def _numbers(column: Any, name: Any) -> NDArray[np.float64]:
    """A column of a frame of mixed or nullable types, if it holds numbers."""
    try:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} of the probabilities holds something else than numbers") from None


def _kind(given: Any, array: NDArray[Any]) -> str:
    """What an array of something else is, in words; what no array can be made of by its type."""
    if array.ndim == 0:
        return f"the type {type(given).__name__}"
    return f"shape {array.shape} and type {array.dtype}"
