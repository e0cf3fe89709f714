"""`audit_multilabel`: which tags are wrong where a row has several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from noisewise._progress import Report, reporting, step
from noisewise._typing import Floats
from noisewise._validation import is_missing
from noisewise.audit.audit import audit_labels
from noisewise.audit.folds import in_columns
from noisewise.audit.probabilities import audit_probabilities
from noisewise.audit.result import LabelAudit
from noisewise.audit.tag_result import TagAudit
from noisewise.embeddings import default_text_encoder
from noisewise.tables import TableEncoder

FEWEST = 5  # rows with a tag, and without it: fewer can't be judged
SEPARATORS = (";", "|", ",", "/", "+")
LEAST_JOINED = 0.05  # of the labels hold the separator
FEWEST_SHARED = 2  # cells in which each tag occurs, on average


def audit_multilabel(
    X: Any,
    Y: Any,
    *,
    tags: Sequence[Any] | None = None,
    separator: str | None = None,
    model: Any = None,
    probabilities: Any = None,
    groups: Any = None,
    cv: Any = None,
    encoder: Any = None,
    progress: bool | Report | None = None,
) -> TagAudit:
    """Find the wrong tags of rows that have several: a tag that should not be there, or one that is missing.

    Every tag is audited as two classes, with it and without it (see `audit_labels` and `audit_probabilities`).

    Parameters
    ----------
    X : array or frame of shape (n, d), or None where there are probabilities
        The rows.
    Y : array of zeros and ones of shape (n, n_tags), or n collections of tags
        The observed tags; a missing cell (None, NaN) is a row without tags.
    tags : sequence, optional
        Names of the columns of Y and of probabilities; by default those of a frame, 0, 1, ..., or the tags in order.
    separator : str, optional
        What joins the tags of a cell, where cells are strings such as "billing;feature".
    model : scikit-learn classifier, optional
        Gives out-of-fold probabilities of each tag.
    probabilities : array of shape (n, n_tags), optional
        Out-of-fold probabilities of each tag, of any model.
    groups, cv : optional
        How rows are held out, as in `audit_labels`.
    encoder : optional
        Embeds columns of text, as in `audit_labels`.
    progress : bool or callable, optional
        Whether to show progress on the screen; by default where a person looks on (a terminal, a notebook) and it takes
        more than two seconds. A function is called with the steps done, and of how many.

    Returns
    -------
    TagAudit

    References
    ----------
    .. [1] Thyagarajan, A., Snorrason, E., Northcutt, C., Mueller, J. (2022). Identifying incorrect annotations in
       multi-label classification data. arXiv:2211.13895.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> observed = [[name for name, x in zip(["left", "up"], row) if x > 0] for row in X]
    >>> row = int(X[:, 0].argmax())
    >>> observed[row] = [tag for tag in observed[row] if tag != "left"]
    >>> audit = audit_multilabel(X, observed)
    >>> int(audit.order[0]) == row
    True
    """
    Y, notes = _cells(Y, separator)
    names, matrix = tag_matrix(Y, tags)
    p = None if probabilities is None else _checked(probabilities, matrix)
    table = np.empty((len(matrix), 0)) if X is None else in_columns(X)
    rows = table
    if p is None:
        if X is None:
            raise ValueError("rows X or probabilities are needed to judge tags")
        encoded = TableEncoder(default_text_encoder() if encoder is None else encoder)
        rows = encoded.fit_transform(table)
        notes += encoded.notes_
        if rows.shape[0] != len(matrix):
            raise ValueError(f"X has {rows.shape[0]} rows, Y has {len(matrix)}; they must be as many")
    audits: dict[Any, LabelAudit] = {}
    with reporting(progress, f"auditing {len(names):,} tags"):
        for k, name in enumerate(names):
            step(k, len(names))
            carriers = int(matrix[:, k].sum())
            if min(carriers, len(matrix) - carriers) < FEWEST:
                notes += (f"tag {name!r} is too rare or too common to judge ({carriers} of {len(matrix)} rows)",)
                continue
            observed = matrix[:, k].astype(np.intp)
            if p is None:
                options = {"groups": groups, "cv": cv, "progress": False}
                audits[name] = audit_labels(rows, observed, model, labels_are="outcomes", **options)
            else:
                two = np.column_stack([1 - p[:, k], p[:, k]])
                audits[name] = audit_probabilities(two, observed, classes=[0, 1], labels_are="outcomes", progress=False)
    if not audits:
        raise ValueError(f"no tag is in {FEWEST} rows or more, and missing in as many; none can be judged")
    return TagAudit(table, names, matrix, audits, notes, separator or SEPARATORS[0])


def _cells(Y: Any, separator: str | None) -> tuple[Any, tuple[str, ...]]:
    """The tags of each row, strings split by the separator, and a note on strings that it seems to be missing for."""
    if hasattr(Y, "shape") and len(Y.shape) == 2:
        return Y, ()
    cells = [] if Y is None else list(Y)
    if separator:
        cells = [split_tags([cell], separator)[0] if isinstance(cell, str) else cell for cell in cells]
        return cells, ()
    found = find_separator(cells)
    if found is None:
        return cells, ()
    return cells, (f"cells look like several tags separated by {found!r}: separator={found!r} splits them",)


def tag_matrix(Y: Any, tags: Sequence[Any] | None = None) -> tuple[list[Any], NDArray[np.bool_]]:
    """Names of the tags, and which rows have them.

    >>> tag_matrix([["a", "b"], [], ["b"]])
    (['a', 'b'], array([[ True,  True],
           [False, False],
           [False,  True]]))
    """
    if hasattr(Y, "columns") and tags is None:
        tags = list(Y.columns)
    if sparse.issparse(Y):
        Y = Y.toarray()
    if hasattr(Y, "shape") and len(Y.shape) == 2:
        cells = np.asarray(Y)
        if not np.isin(cells, [0, 1]).all():
            raise ValueError("Y holds other numbers than 0 and 1; a column for each tag, or lists of tags, would do")
        names = list(range(cells.shape[1])) if tags is None else list(tags)
        if len(names) != cells.shape[1]:
            raise ValueError(f"there are {len(names)} tags and {cells.shape[1]} columns of Y")
        return names, cells.astype(bool)
    given = [_tags_of_cell(row) for row in Y]
    found = {tag for row in given for tag in row}
    names = sorted(found, key=lambda tag: (str(type(tag)), tag)) if tags is None else list(tags)
    if unknown := found - set(names):
        raise ValueError(f"{next(iter(unknown))!r} is a tag of a row and not among tags")
    index = {name: k for k, name in enumerate(names)}
    matrix = np.zeros((len(given), len(names)), dtype=bool)
    for i, row in enumerate(given):
        matrix[i, [index[tag] for tag in row]] = True
    return names, matrix


def _tags_of_cell(cell: Any) -> list[Any]:
    if isinstance(cell, str):
        return [cell] if cell.strip() else []
    if not isinstance(cell, Iterable):
        if is_missing(cell):
            return []
        raise ValueError(f"Y holds {cell!r:.40}; a list of tags for each row is needed, or a column of 0 and 1 a tag")
    return list(cell)


def split_tags(labels: Sequence[Any], separator: str) -> list[list[str]]:
    """The tags of each label; an empty or missing label has none.

    >>> split_tags(["billing; feature", "", None, "billing"], ";")
    [['billing', 'feature'], [], [], ['billing']]
    """
    return [
        [] if is_missing(label) else [tag.strip() for tag in str(label).split(separator) if tag.strip()]
        for label in labels
    ]


def find_separator(labels: Sequence[Any]) -> str | None:
    """The character that seems to join several tags in a label, if there is one.

    Tags recur in other labels, and are fewer than the labels they make.

    >>> find_separator(["billing;feature", "billing", "feature;bug", "bug;billing"])
    ';'
    >>> find_separator(["London, UK", "Paris, FR", "Rome, IT", "Oslo, NO"]) is None
    True
    """
    distinct = {label for label in labels if isinstance(label, str)}
    if not distinct:
        return None
    for separator in SEPARATORS:
        joined = sum(isinstance(label, str) and separator in label for label in labels)
        if joined < LEAST_JOINED * len(labels):
            continue
        cells = [row for row in split_tags(sorted(distinct), separator) if row]
        tags = {tag for row in cells for tag in row}
        shared = sum(map(len, cells)) / max(len(tags), 1)
        if (len(tags) < len(cells) and shared >= FEWEST_SHARED) or {tuple(row) for row in cells if len(row) == 1} >= {
            (tag,) for tag in tags
        }:
            return separator
    return None


def separator_sentence(labels: Sequence[Any]) -> str | None:
    """What to say of labels that look like several tags."""
    separator = find_separator(labels)
    if separator is None:
        return None
    return f"labels look like several tags separated by {separator!r}: --separator {separator!r} audits each tag"


def _checked(probabilities: Any, matrix: NDArray[np.bool_]) -> Floats:
    p = np.asarray(probabilities.to_numpy() if hasattr(probabilities, "to_numpy") else probabilities, dtype=np.float64)
    if p.shape != matrix.shape:
        raise ValueError(f"probabilities have shape {p.shape}, tags {matrix.shape}; they must be the same")
    if not np.isfinite(p).all() or p.min() < 0 or p.max() > 1:
        raise ValueError("probabilities of tags must lie between 0 and 1")
    return p
