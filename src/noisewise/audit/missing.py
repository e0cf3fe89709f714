"""Labels of rows that have none, predicted from the others."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from noisewise._frames import frame_like
from noisewise._validation import is_missing
from noisewise.audit.folds import in_columns
from noisewise.labels import RobustRidgeClassifier
from noisewise.tables import TableEncoder


def predict_labels(X: Any, y: Any, model: Any = None) -> Any:
    """A frame with the predicted label of every row that has none: row, label, probability.

    `model` is a classifier, by default `RobustRidgeClassifier`, which allows for wrong labels among the others.

    >>> X = np.r_[np.arange(20.0), np.arange(100.0, 120.0)][:, None]
    >>> y = ["low"] * 20 + ["high"] * 19 + [None]
    >>> predict_labels(X, y, RobustRidgeClassifier())["label"].to_list()
    ['high']
    """
    table = in_columns(X)
    rows = TableEncoder().fit_transform(table)
    gaps = np.array([is_missing(label) for label in y])
    if len(gaps) != rows.shape[0]:
        raise ValueError(f"X has {rows.shape[0]} rows, y has {len(gaps)} labels; they must be as many")
    chosen = RobustRidgeClassifier() if model is None else model
    known = np.empty(len(gaps) - gaps.sum(), dtype=object)
    known[:] = [label for label, gap in zip(y, gaps) if not gap]
    fitted = chosen.fit(rows[~gaps], np.array(known.tolist()))
    p = fitted.predict_proba(rows[gaps]) if gaps.any() else np.empty((0, len(fitted.classes_)))
    columns = {"row": np.flatnonzero(gaps), "label": fitted.classes_[p.argmax(axis=1)], "probability": p.max(axis=1)}
    return frame_like(columns, nw.from_native(table, pass_through=True))
