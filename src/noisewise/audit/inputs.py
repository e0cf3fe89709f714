"""Rows and labels that do not go together, or are something else than rows and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes

SUM_TOLERANCE = 0.02  # of probabilities, which may be in half precision


def check_length(n_rows: int, observed: Codes) -> None:
    """Refuse rows and labels that are not as many."""
    if n_rows != len(observed):
        raise ValueError(f"X has {n_rows} rows, y has {len(observed)} labels; they must be as many")


def refuse_amounts(labels: NDArray[Any]) -> None:
    """Refuse labels that are numbers with decimals, which are no classes.

    >>> refuse_amounts(np.array([0.0, 1.0]))
    """
    if labels.dtype.kind != "f":
        return
    amounts = labels[np.isfinite(labels) & (labels != np.round(labels))]
    if amounts.size:
        raise ValueError(
            f"y holds numbers with decimals, as {amounts.flat[0]:g}, which are no classes; audit_targets audits numbers"
        )


def pairing_notes(X: Any, y: Any) -> tuple[str, ...]:
    """A note on a pandas X and y whose indices are the same in another order."""
    rows: Any = getattr(X, "index", None)
    labels: Any = getattr(y, "index", None)
    if not (hasattr(rows, "equals") and hasattr(labels, "equals")):  # a list has an index of another kind
        return ()
    if rows.equals(labels) or len(rows.symmetric_difference(labels)):
        return ()
    return (
        "X and y have the same index in another order: they are matched by position; y.loc[X.index] puts them in order",
    )


def notes_on_probabilities(X: Any, observed: Codes, n_classes: int) -> tuple[str, ...]:
    """A note on rows that are the class probabilities of a model, or their logarithms.

    A model of these rows predicts the observed labels so well that no flips can be told from classes that overlap.
    """
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or X.ndim != 2 or X.shape[1] != n_classes:
        return ()
    p = np.exp(X.astype(np.float64)) if X.max(initial=-np.inf) <= SUM_TOLERANCE else X
    if p.min(initial=1) < 0 or not (np.abs(p.sum(axis=1) - 1) < SUM_TOLERANCE).all():
        return ()
    if (p.argmax(axis=1) == observed).mean() < 0.5:  # shares of something else
        return ()
    return ("the rows look like the class probabilities of a model: audit_probabilities(X, y) reads them better",)


def check_names(X: Any) -> None:
    """Refuse a pandas frame with two columns of one name."""
    names: Any = None if hasattr(X, "lazy") else getattr(X, "columns", None)  # polars refuses them itself
    if not getattr(names, "is_unique", True):
        twice = names[names.duplicated()][0]
        raise ValueError(f"X has two columns called {twice!r}; every column needs a name of its own")
