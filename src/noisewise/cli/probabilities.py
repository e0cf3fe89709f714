"""Files of `noisewise audit --probabilities`: arrays of predicted probabilities, labels, names of classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from noisewise.cli.talk import say

if TYPE_CHECKING:
    from noisewise.audit import LabelAudit

ARRAYS = (".npy", ".npz")
NAMED = "p_"  # how the arrays of probabilities in an npz file are called, where it holds others too


class Files(NamedTuple):
    """What is audited: files of probabilities, and where the labels and the rows come from."""

    probabilities: list[str]
    labels: str | None
    classes: str | None
    data: list[str]
    label: str | None
    annotator: str | None


def audit_files(files: Files, labels_are: Any, as_written: bool = False) -> LabelAudit:
    """The audit of the probabilities in these files; with `as_written`, of the labels that the table holds."""
    from noisewise.audit import audit_probabilities
    from noisewise.tables import read_labelled

    more, rows = split_files(files.data, files.label)
    if (files.labels is None) == (rows is None):
        raise ValueError(
            "the labels come from --labels y.npy, or from a column of the rows, data.csv --label y; give one of them"
        )
    arrays = [array for name in [*files.probabilities, *more] for array in read_probabilities(name)]
    X = annotators = None
    if rows is not None:
        table = read_labelled(rows, files.label, files.annotator, say=say)
        X, labels, annotators = table.features, table.labels, table.annotators
    else:
        if files.annotator is not None:
            raise ValueError("--annotator names a column of a data file; add data.csv --label NAME instead of --labels")
        labels = read_labels(str(files.labels), len(arrays[0]))
    names: list[Any] | None = None
    if files.classes is not None:
        names, named = named_labels(labels, read_names(files.classes))
        if as_written and named != list(labels):
            raise ValueError(
                f"column {files.label!r} holds indices, and a review puts in what it holds; leave --classes out"
            )
        labels = named
    return audit_probabilities(arrays, labels, classes=names, labels_are=labels_are, X=X, annotators=annotators)


def split_files(data: Sequence[str], label: str | None) -> tuple[list[str], str | None]:
    """Files named without an option: probabilities of more models and, where a label column is named, one of rows."""
    if label is None:
        return list(data), None
    rows = [name for name in data if Path(name).suffix.lower() not in ARRAYS]
    if len(rows) != 1:
        behind = "; tables of more models go behind --probabilities each" if rows else ""
        raise ValueError(f"--label {label} names a column of one data file; {len(rows)} are given{behind}")
    return [name for name in data if name != rows[0]], rows[0]


def read_probabilities(name: str) -> list[Any]:
    """The arrays of a file: npy; npz with one array, or those called p_...; or a table, a column for each class."""
    if Path(name).suffix.lower() not in ARRAYS:
        return [_table(name)]
    arrays = _load(name)
    if len(arrays) > 1:
        arrays = {key: array for key, array in arrays.items() if key.startswith(NAMED)}
    if not arrays:
        raise ValueError(
            f"{name} holds several arrays, none of them called {NAMED}...; one array, or such names, would do"
        )
    for array in arrays.values():
        if array.ndim not in (2, 3):
            raise ValueError(
                f"{name} holds an array of shape {array.shape}; probabilities have a row for each label and a column "
                "for each class"
            )
    return [one for array in arrays.values() for one in (array if array.ndim == 3 else [array])]


def read_labels(name: str, n_rows: int) -> Any:
    """The labels of so many rows in a file: npy; npz with one array, or one called y; or a table of one column.

    Where such a table is one label short and its header is a label too, it has no header.
    """
    if Path(name).suffix.lower() in ARRAYS:
        arrays = _load(name)
        if len(arrays) > 1 and "y" not in arrays:
            raise ValueError(f"{name} holds several arrays, none of them called y; one array of labels is needed")
        labels = _text(arrays.get("y", next(iter(arrays.values()))))
        return labels[:, 0] if labels.shape[1:] == (1,) else labels
    from noisewise.tables import read_table

    frame = read_table(name, say)
    if frame.width != 1:
        raise ValueError(f"{name} has {frame.width} columns; one column of labels is needed (or data.csv --label NAME)")
    labels, header = frame.to_series().to_list(), frame.columns[0]
    number = _number(header)
    first = [label for label in set(labels) if header == str(label) or (number is not None and number == label)]
    if first and len(labels) == n_rows - 1:
        say(f"{name} has no header: its first line is taken for a label")
        return [first[0], *labels]
    return labels


def read_names(name: str) -> list[str]:
    """Names of the classes, one a line, in the order of the columns of probabilities."""
    lines = Path(name).read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip()]


def named_labels(labels: Any, names: list[str]) -> tuple[list[Any], list[Any]]:
    """Labels by these names: they are the names themselves, also as numbers, or their indices.

    >>> named_labels([1, 0], ["cat", "dog"]), named_labels([7, 5], ["5", "7", "9"])
    ((['cat', 'dog'], ['dog', 'cat']), ([5, 7, '9'], [7, 5]))
    """
    given = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    by_text = {str(label): label for label in given}
    indices = all(isinstance(label, int) and 0 <= label < len(names) for label in given)
    if indices and not by_text.keys() <= set(names):
        return list(names), [names[label] for label in given]
    return [by_text.get(name, name) for name in names], given


def _table(name: str) -> Any:
    """A table of probabilities, as pandas writes it too, with a first column that counts the rows, which is left out.

    Without a header, as NumPy writes it, its first line is a row.
    """
    from noisewise.tables import read_table

    frame = read_table(name, say, may_lack_header=True)
    if frame.width > 2 and frame.height > 1 and frame.to_series().to_list() == list(range(frame.height)):
        say(f"the first column of {name} counts the rows: left out")
        frame = frame.drop(frame.columns[0])
    return frame


def _number(text: str) -> float | None:
    """The finite number that a text is; None if it is another text."""
    import math

    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _text(labels: Any) -> Any:
    """Labels as they are, bytes as text.

    >>> import numpy as np
    >>> _text(np.array([b"cat"])).tolist()
    ['cat']
    """
    import numpy as np

    return np.char.decode(labels, "utf-8") if labels.dtype.kind == "S" else labels


def _load(name: str) -> dict[str, Any]:
    """Arrays of an npy or npz file, by name."""
    import zipfile

    import numpy as np

    try:
        loaded = np.load(name, allow_pickle=False)
        arrays = dict(loaded) if hasattr(loaded, "files") else {"": loaded}
    except FileNotFoundError:
        raise ValueError(f"there is no file {name!r}") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        why = "it holds Python objects, or is no array" if "pickle" in str(error) else error
        raise ValueError(
            f"{name} can't be read as an array ({why}); numbers or text are needed, as "
            "numpy.save(name, values.astype(str)) writes them"
        ) from None
    if not arrays:
        raise ValueError(f"{name} holds no array")
    return arrays
