"""Feedback as codes: wrong, right or missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._validation import is_missing
from noisewise.online.learners.decision import check_feedback, check_feedbacks

WRONG, RIGHT, MISSING = 0, 1, 2
N_CODES = 3
MISSING_MODES = ("drop", "no", "auto")


def check_missing(missing: Any) -> None:
    """Refuse what is not a way to treat missing feedback."""
    if missing not in MISSING_MODES:
        raise ValueError(f"missing is {missing!r}; it is 'auto', 'drop' or 'no'")


def read_feedback(feedback: Any, missing: str) -> int:
    """Wrong (0), right (1) or missing (2), where None, NaN and NA are missing, or wrong if `missing` is "no".

    >>> read_feedback(True, "drop"), read_feedback(float("nan"), "drop"), read_feedback(None, "no")
    (1, 2, 0)
    """
    if feedback is not None:
        try:
            return check_feedback(feedback)
        except ValueError:  # only here: testing every number for NaN is slow
            if hasattr(feedback, "__len__") or not is_missing(feedback):
                raise
    return WRONG if missing == "no" else MISSING


def read_feedbacks(feedback: Any, missing: str) -> NDArray[np.int8]:
    """`read_feedback` for each of many rounds."""
    given = np.asarray(feedback)
    if given.ndim != 1:
        return check_feedbacks(feedback)
    absent = np.array([is_missing(value) for value in given.tolist()], dtype=bool)
    if not absent.any():
        return check_feedbacks(feedback)
    codes = np.full(len(given), WRONG if missing == "no" else MISSING, dtype=np.int8)
    codes[~absent] = check_feedbacks(given[~absent].tolist())
    return codes
