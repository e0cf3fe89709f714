"""What an audit says of ordered classes: mistakes near the true class, and far from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise._numerics.em import joint_counts
from noisewise._typing import Codes, Floats
from noisewise._validation import listed
from noisewise._words import counted

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit

NEAR = 1  # steps; mistakes beyond are far
MOST_SENTENCES = 5


def in_order(ordered: Any, classes: NDArray[Any]) -> Codes:
    """Indices of the classes from low to high.

    >>> in_order(["low", "mid", "high"], np.array(["high", "low", "mid"])).tolist()
    [1, 2, 0]
    """
    known = classes.tolist()
    if ordered is True:
        if not all(isinstance(label, int | float) for label in known):
            raise ValueError(f"ordered=True is for numbers; the order of {listed(known)} must be given, low to high")
        return np.argsort(classes, kind="stable")
    if isinstance(ordered, str) or not hasattr(ordered, "__iter__"):
        raise ValueError(f"ordered is {ordered!r:.60}; a list of the classes from low to high, or True, would do")
    names = list(ordered)
    unknown = [label for label in known if label not in names]
    if unknown or len(set(names)) < len(names):
        what = f"leaves out {listed(unknown)}" if unknown else "names a class twice"
        raise ValueError(f"ordered {what}; every class is needed, once, from low to high")
    return np.array([known.index(label) for label in names if label in known], dtype=np.intp)


def steps_of(audit: LabelAudit) -> Codes:
    """How many steps the suggested label of each row is above the observed one; below zero, under it."""
    return np.asarray(np.argmax(audit.posterior, axis=1) - audit.observed)


def wrong_by_steps(audit: LabelAudit) -> Floats:
    """Expected number of wrong labels that are 1, 2, ... steps from the true one."""
    counts = joint_counts(audit.posterior, audit.observed)
    steps = np.abs(np.subtract.outer(np.arange(len(counts)), np.arange(len(counts))))
    return np.asarray(np.bincount(steps.ravel(), counts.ravel())[1:], dtype=np.float64)


def order_summary(audit: LabelAudit) -> dict[str, float]:
    """Expected number of wrong labels that are near the true one, and far from it."""
    counts = wrong_by_steps(audit)
    return {"near": round(float(counts[:NEAR].sum()), 1), "far": round(float(counts[NEAR:].sum()), 1)}


def order_sentences(audit: LabelAudit) -> list[str]:
    """How many mistakes are near and far, and the most frequent far ones."""
    found = order_summary(audit)
    sentences = [f"near mistakes, one step from the true class: about {counted(found['near'], 'row')}"]
    sentences.append(f"far mistakes, two steps or more: about {counted(found['far'], 'row')}")
    far = np.flatnonzero((np.abs(steps_of(audit)) > NEAR) & (audit.probability < 0.5))
    pairs, rows = np.unique(
        np.column_stack([np.argmax(audit.posterior[far], axis=1), audit.observed[far]]), axis=0, return_counts=True
    )
    for index in np.argsort(-rows, kind="stable")[:MOST_SENTENCES]:
        true, label = audit.classes[pairs[index, 0]], audit.classes[pairs[index, 1]]
        first = far[(audit.suggested[far] == true) & (audit.classes[audit.observed[far]] == label)][0]
        many = f"in {rows[index]:,} rows, such as row {first}" if rows[index] > 1 else f"in row {first}"
        sentences.append(f"far: {true} is labelled {label} {many}")
    return sentences
