"""Validation of arguments: rows, labels of any kind, actions by name, numbers, random states."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from numbers import Real
from reprlib import repr as shortened
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from noisewise._typing import Codes, Floats, RandomState


def generator(rng: RandomState = None) -> np.random.Generator:
    """A numpy generator from a seed, a generator, an old RandomState or None."""
    if isinstance(rng, np.random.RandomState):
        return np.random.default_rng(rng.randint(np.iinfo(np.int32).max))
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        sentence = f"{rng!r:.60} is no random state; a whole number from 0 on, a numpy generator or None is"
        raise ValueError(sentence) from None


def check_number(name: str, value: Any, fits: Callable[[Any], bool], wanted: str) -> None:
    """Refuse a parameter that is no number, or not one that fits.

    >>> check_number("gamma", 2, lambda rate: 0 <= rate <= 1, "it is a rate, between 0 and 1")
    Traceback (most recent call last):
    ValueError: gamma is 2; it is a rate, between 0 and 1
    """
    if not isinstance(value, Real) or not fits(value):
        raise ValueError(f"{name} is {value if isinstance(value, Real) else repr(value)}; {wanted}")


@contextmanager
def naming_columns(X: Any) -> Iterator[None]:
    """Say which column of a frame is to blame where its rows can't be made numbers."""
    try:
        yield
    except (TypeError, ValueError) as error:
        frame = nw.from_native(X, pass_through=True)
        columns = frame.iter_columns() if isinstance(frame, nw.DataFrame) else ()
        dates = isinstance(error, TypeError)  # alone they are numbers, beside other columns not
        name = next((column.name for column in columns if not _is_of_numbers(column, dates)), None)
        if name is None:
            raise
        raise ValueError(
            f"column {name!r} does not hold numbers; noisewise.tables.TableEncoder, as the first step of a pipeline, "
            "makes numbers of such columns"
        ) from error


def _is_of_numbers(column: nw.Series[Any], refuse_dates: bool) -> bool:
    try:
        np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return not (refuse_dates and column.dtype.is_temporal())


def check_weights(sample_weight: Any, X: Any) -> Floats:
    """Weights as an array, one for each row, none of them negative, not all zero."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(X.shape[0], float(weights))
    if weights.shape != (X.shape[0],) or not np.isfinite(weights).all():
        raise ValueError(
            f"sample_weight has shape {weights.shape}; one finite weight for each of {X.shape[0]} rows is needed"
        )
    if weights.min(initial=0) < 0:
        raise ValueError("sample_weight holds negative weights; a weight counts rows, so zero is the least")
    if not weights.any():
        raise ValueError("sample_weight must contain at least one non-zero number")
    return weights


def encode_labels(y: Any) -> tuple[NDArray[Any], Codes]:
    """Sorted classes, and each label's code (its index among them); labels may be any hashables.

    >>> encode_labels(["b", "a", "b"])
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    labels = one_column(y)
    if (bounds := _bounds(labels)) and labels.size > 2 * (bounds[1] - bounds[0] + 1):
        shifted = _from_zero(labels, bounds[0])
        present = np.bincount(shifted) > 0
        codes = shifted if present.all() else (np.cumsum(present) - 1)[shifted]
        return (np.flatnonzero(present) + bounds[0]).astype(labels.dtype), codes
    _refuse_missing(labels)
    if labels.dtype.kind == "S":  # bytes are hashables; scikit-learn refuses arrays of them
        labels = labels.astype(object)
    if labels.dtype == object and not all(isinstance(label, str) for label in labels):
        return _encode_hashables(labels)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.intp, copy=False)


def find_labels(y: Any, classes: NDArray[Any]) -> Codes:
    """Each label's code, its index among known classes; a label that is not among them is an error."""
    labels = one_column(y)
    if (bounds := _bounds(labels)) and (known := _bounds(classes)) and known[0] <= bounds[0] <= bounds[1] <= known[1]:
        by_number = np.full(known[1] - known[0] + 1, -1, dtype=np.intp)
        by_number[_from_zero(classes, known[0])] = np.arange(len(classes))
        codes = _from_zero(labels, known[0])
        if np.array_equal(by_number, np.arange(len(by_number))):
            return codes
        codes = by_number[codes]
        if codes.min() >= 0:
            return codes
    _refuse_missing(labels)
    codes_of = {label: code for code, label in enumerate(classes.tolist())}
    try:
        return np.array([codes_of[label] for label in labels.tolist()], dtype=np.intp)
    except (KeyError, TypeError) as error:
        raise ValueError(f"label {error.args[0]!r} was not seen in fit; known are {listed(classes.tolist())}") from None


def check_binary_or_more(classes: NDArray[Any]) -> None:
    """Refuse labels of one class only."""
    if len(classes) == 0:
        raise ValueError("there are no labels; rows with two or more classes are needed")
    if len(classes) < 2:
        raise ValueError(f"the labels have 1 class only ({classes.tolist()[0]!r}); two or more classes are needed")


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT, or pandas' NA, whose comparison with itself has no truth value.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0)
    (True, True, False)
    """
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _bounds(labels: NDArray[Any]) -> tuple[int, int] | None:
    """Minimum and maximum of integers in a range small enough for counting instead of sorting; else None."""
    if labels.dtype.kind not in "iu" or not labels.size:
        return None
    low, high = int(labels.min()), int(labels.max())
    return (low, high) if high - low < 10_000 and low > -(2**62) and high < 2**62 else None


def _from_zero(labels: NDArray[Any], low: int) -> Codes:
    numbers = labels.astype(np.intp)
    if low:
        numbers -= low
    return numbers


def one_column(y: Any) -> NDArray[Any]:
    """Labels or names as an array of one dimension, each of its own kind.

    >>> one_column([1, "a"]).tolist(), one_column([("a", 1), ("b", 2)]).shape
    ([1, 'a'], (2,))
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if isinstance(y, str):
        raise ValueError(f"y is {y!r}; the labels themselves are needed, one for each row, not the name of a column")
    if isinstance(y, list | tuple) and any(isinstance(label, tuple) for label in y):
        labels = np.empty(len(y), dtype=object)
        labels[:] = y  # numpy would take tuples for rows
        return labels
    labels = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if (
        isinstance(y, list | tuple)
        and labels.dtype.kind in "US"
        and not all(isinstance(label, str | bytes) for label in y)
    ):
        labels = np.array(y, dtype=object)  # numpy would make strings of [1, "a"]
    return labels if labels.ndim == 1 else np.asarray(column_or_1d(labels, warn=True))


def _refuse_missing(labels: NDArray[Any]) -> None:
    if labels.dtype.kind == "f":
        missing = ~np.isfinite(labels)
    elif labels.dtype.kind in "mM":
        missing = np.isnat(labels)
    elif labels.dtype == object:
        missing = np.array([is_missing(label) for label in labels], dtype=bool)
    else:
        return
    if missing.any():
        raise ValueError(
            f"labels are missing (NaN, None) or infinite in {missing.sum()} of {len(labels)} rows, "
            f"the first in row {int(np.argmax(missing))}; drop these rows or fill them in"
        )


def sorted_distinct(values: list[Any], what: str) -> list[Any]:
    """Distinct hashables in order; those that cannot be compared are sorted by type and representation."""
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError as error:
        raise ValueError(f"{what} must be hashable (strings, numbers, tuples, ...): {error}") from None
    try:
        distinct.sort()
    except TypeError:
        distinct.sort(key=lambda value: (type(value).__name__, repr(value)))
    return distinct


def _encode_hashables(labels: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    distinct = sorted_distinct(labels.tolist(), "labels")
    if all(type(label) in (int, float, np.int64, np.float64) for label in distinct):
        check_classification_targets(np.array(labels.tolist()))
        return encode_labels(np.array(labels.tolist()))
    classes = np.empty(len(distinct), dtype=object)
    classes[:] = distinct
    return classes, find_labels(list(labels), classes)


def listed(names: Sequence[Any], most: int = 8) -> str:
    """The first names of a list, for a message.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def known_classes(n_classes: int | None, classes: Sequence[Any] | None) -> NDArray[Any]:
    """The labels to choose from: 0, 1, ... or those given, in the order given.

    >>> known_classes(None, ["b", "a"])
    array(['b', 'a'], dtype='<U1')
    """
    if (n_classes is None) == (classes is None):
        raise ValueError("give either n_classes=, for labels 0, 1, ..., or classes=, the labels themselves")
    if classes is None:
        if not isinstance(n_classes, int | np.integer) or n_classes < 2:
            raise ValueError(f"n_classes is {n_classes!r}; a whole number is needed, two or more")
        return np.arange(n_classes)
    given = getattr(classes, "tolist", lambda: classes)()
    if isinstance(given, str | bytes | Set) or not isinstance(given, Collection):  # a set has no order
        raise ValueError(f"classes is {classes!r:.60}; a list of labels such as text or numbers is needed")
    labels = list(given)
    for label in labels:
        check_label(label, "classes", labels)
    if len(set(labels)) != len(labels) or len(labels) < 2:
        raise ValueError(f"classes is {labels!r}; two or more different labels are needed")
    if all(isinstance(label, str) for label in labels) or all(type(label) is int for label in labels):
        return np.array(labels)
    known = np.empty(len(labels), dtype=object)
    known[:] = labels
    return known


def check_label(label: Any, name: str, given: Any) -> None:
    """Refuse what names no class, in what was given under a name.

    >>> check_label("cat", "classes", ["cat", "dog"])
    """
    try:
        hash(label)
    except TypeError:
        sentence = f"{name} is {given!r:.60}; text, numbers and other values that do not change can be labels"
        raise ValueError(sentence) from None
    if is_missing(label):
        raise ValueError(f"{name} is {given!r:.60}; a missing value is no label")


def row_numbers(rows: Any, n: int) -> Codes:
    """Rows of a table of `n`, given by their numbers or as a mask of all rows.

    >>> row_numbers([2, 0], 3), row_numbers([False, False, True], 3)
    (array([2, 0]), array([2]))
    """
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(given)
    if given.size and (given.ndim != 1 or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n):
        raise ValueError(f"rows is {rows!r:.60}; numbers of rows below {n}, or a mask of all {n} rows, would do")
    return given.ravel().astype(np.intp)


def find_actions(given: Any, classes: NDArray[Any], what: str = "action") -> Codes:
    """Each action's index among the classes; one that does not exist is refused by its name.

    >>> find_actions(["b", "b"], np.array(["a", "b"]))
    array([1, 1])
    """
    try:
        return find_labels(given, classes)
    except ValueError:  # looked at only here, because many actions are found more quickly than looked at one by one
        actions = given.tolist() if hasattr(given, "tolist") else given
        if isinstance(actions, str) or not isinstance(actions, Iterable):
            raise ValueError(f"one {what} for each row is needed, not {given!r:.60}") from None
        known = set(classes.tolist())
        for one in actions:
            if not _is_among(one, known):
                names = shortened(classes.tolist())
                raise ValueError(f"the {what} {one!r:.60} is not among the classes {names}") from None
        raise


def _is_among(label: Any, known: set[Any]) -> bool:
    try:
        return label in known
    except TypeError:  # a list, say, is no label
        return False
