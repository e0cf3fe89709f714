"""The audit told by row, by class and by annotator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit

SMALL_CLASS = 5
NINETY_PERCENT = 1.645


def columns_of_rows(audit: LabelAudit, rows: Codes) -> dict[str, NDArray[Any]]:
    """Row, observed, suggested and the probability that the observed label is right."""
    return {
        "row": rows,
        "observed": audit.classes[audit.observed[rows]],
        "suggested": audit.suggested[rows],
        "probability": audit.probability[rows],
    }


def columns_by_class(audit: LabelAudit) -> dict[str, NDArray[Any]]:
    """One entry a class: how many rows carry it, how many of them are wrong, and what these most often are."""
    k = len(audit.classes)
    carriers = np.bincount(audit.observed, minlength=k)
    truth = np.zeros((k, k))
    np.add.at(truth, audit.observed, audit.posterior)
    wrong = carriers - np.diag(truth)
    np.fill_diagonal(truth, -1)
    return {
        "label": audit.classes,
        "rows": carriers,
        "expected_wrong": wrong,
        "share": wrong / np.maximum(carriers, 1),
        "most_often": audit.classes[np.argmax(truth, axis=1)],
    }


def columns_by_annotator(audit: LabelAudit) -> dict[str, NDArray[Any]]:
    """One entry an annotator, the worst first; a few labels say little, which the interval shows."""
    people, of_row = np.unique(np.asarray(audit.annotators), return_inverse=True)
    wrong = 1 - audit.probability
    labels = np.bincount(of_row)
    expected = np.bincount(of_row, wrong)
    share = expected / labels
    # a beta posterior under one doubtful and nine good labels of a stranger, widened by what the rows leave open
    mean = (expected + 1) / (labels + 10)
    spread = np.sqrt(mean * (1 - mean) / (labels + 11) + np.bincount(of_row, wrong * (1 - wrong)) / labels**2)
    order = np.argsort(-mean, kind="stable")
    columns = {
        "annotator": people,
        "labels": labels,
        "expected_wrong": expected,
        "share": share,
        "low": np.clip(mean - NINETY_PERCENT * spread, 0, 1),
        "high": np.clip(mean + NINETY_PERCENT * spread, 0, 1),
    }
    return {name: values[order] for name, values in columns.items()}


def is_small(observed: Codes, n_classes: int) -> NDArray[np.bool_]:
    """Which classes have too few rows to judge."""
    return np.bincount(observed, minlength=n_classes) < SMALL_CLASS


def small_classes(classes: NDArray[Any], observed: Codes) -> tuple[str, ...]:
    """A plain word about classes with too few rows to judge."""
    counts = np.bincount(observed, minlength=len(classes))
    small = [f"{classes[k]!s} ({counts[k]})" for k in np.flatnonzero(is_small(observed, len(classes)))]
    if not small:
        return ()
    return (f"classes with fewer than {SMALL_CLASS} rows are too small to judge: {', '.join(small)}",)


def alike_classes(classes: NDArray[Any]) -> tuple[str, ...]:
    """A plain word about classes whose names differ in case or spaces only.

    >>> alike_classes(np.array(["bug", "Bug ", "feature"]))
    ("labels 'bug' and 'Bug ' differ in case or spaces only: one class, perhaps?",)
    """
    groups: dict[str, list[str]] = {}
    for name in classes.tolist():
        if isinstance(name, str):
            groups.setdefault(" ".join(name.casefold().split()), []).append(repr(name))
    return tuple(
        f"labels {', '.join(names[:-1])} and {names[-1]} differ in case or spaces only: one class, perhaps?"
        for names in groups.values()
        if len(names) > 1
    )
