"""Data sets from OpenML by pinned id, in the form of the papers, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats
from noisewise.datasets.catalogue import Entry


def fetch(entry: Entry) -> tuple[Floats, Codes]:
    """Download a set; its shape and the size of each class must be those of the catalogue.

    Labels on OpenML go by many names. A class is recognised by its number of rows, and classes of equal size by the
    order of their labels: so the codes are those of the papers' files, and another version of a set can't slip in.
    """
    from sklearn.datasets import fetch_openml

    # liac-arff needs no pandas; the set is kept by the caller, so scikit-learn need not keep it too
    bunch = fetch_openml(data_id=entry.openml, as_frame=False, parser="liac-arff", cache=False)
    X, labels = _as_in_papers(entry, bunch)
    if X.shape != (entry.rows, entry.columns):
        raise ValueError(f"OpenML {entry.openml} gave a table of {X.shape}, not {(entry.rows, entry.columns)}")
    codes = _match_classes(labels, entry)
    return X, 2 * codes - 1 if entry.raetsch else codes


def _as_in_papers(entry: Entry, bunch: Any) -> tuple[Floats, NDArray[Any]]:
    X = np.asarray(bunch.data.toarray() if hasattr(bunch.data, "toarray") else bunch.data, dtype=np.float64)
    labels = np.asarray(bunch.target)
    if labels.shape != X.shape[:1]:
        raise ValueError(f"OpenML {entry.openml} came without one label for each row")
    if entry.name == "mushroom":  # as LIBSVM has it: without the one column that has gaps, one bit for each value
        kept = [column for name, column in zip(bunch.feature_names, X.T, strict=True) if name != "stalk-root"]
        return np.column_stack([column == value for column in kept for value in np.unique(column)]) + 0.0, labels
    for name, categories in bunch.categories.items():
        column = bunch.feature_names.index(name)
        X[:, column] = _decode(X[:, column], categories)
    complete = ~np.isnan(X).any(axis=1)
    X, labels = X[complete], labels[complete]
    if entry.name in ("raetsch_heart", "raetsch_diabetis"):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, labels


def _decode(indices: Floats, categories: list[str]) -> Floats:
    """Numbers stored as categories, from their indices in the list; NaN stays NaN."""
    values = np.array([*categories, "nan"], dtype=np.float64)
    return values[np.where(np.isnan(indices), len(categories), indices).astype(np.intp)]


def _match_classes(labels: NDArray[Any], entry: Entry) -> Codes:
    """The code of each label: the class of the catalogue that has as many rows."""
    found, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if sorted(counts.tolist()) != sorted(entry.counts):
        raise ValueError(f"OpenML {entry.openml} has classes of {counts.tolist()} rows, not {list(entry.counts)}")
    in_order = np.array(sorted(range(len(found)), key=lambda k: (counts[k], _natural(found[k]))))
    codes = np.empty(len(found), dtype=np.intp)
    codes[in_order] = np.argsort(entry.counts, kind="stable")
    return codes[inverse]


def _natural(label: Any) -> tuple[float, str]:
    """Numbers in their own order ("2" before "10"), words in the alphabet's."""
    try:
        return float(label), ""
    except ValueError:
        return np.inf, str(label)
