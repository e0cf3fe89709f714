"""Which item to ask about next, and whom: the expected gain of one more label.

With posterior q of an item's true class and an annotator's confusion matrix T, a label l comes with probability
m_l = sum_k q_k T[k, l] and makes the posterior q_k T[k, l] / m_l. A label drawn from a posterior q is right with
probability sum_k q_k^2; its expected rise, sum_l sum_k (q_k T[k, l])^2 / m_l - sum_k q_k^2, is never negative, and
zero only where the answer says nothing.

References
----------
.. [1] Howard, R. A. (1966). Information value theory. IEEE Transactions on Systems Science and Cybernetics 2.
.. [2] Goh, H. W., Mueller, J. (2023). ActiveLab: active learning with re-labeling by multiple annotators. ICLR
   Workshop on Trustworthy ML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise._validation import check_number
from noisewise.labels import indices_of

if TYPE_CHECKING:
    from noisewise.audit.annotation_result import AnnotationAudit

CANDIDATES = 2000  # items compared at least: those of whose true label least is known
PER_QUESTION = 4  # and so many for each question


def expected_gain(posterior: Floats, flips: Floats) -> Floats:
    """Expected rise of the probability that a label drawn from the posterior is right, by one label of an annotator.

    >>> expected_gain(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    array([0.32, 0.  ])
    """
    after = posterior**2 @ flips**2 / np.maximum(posterior @ flips, np.finfo(np.float64).tiny)
    return np.asarray(np.maximum(after.sum(axis=1) - np.sum(posterior**2, axis=1), 0).round(12))


def choose_questions(
    audit: AnnotationAudit, budget: int, annotators: Any, each: int | None
) -> tuple[Codes, Codes, Floats]:
    """Items, annotators and gains of the best questions, most gain first; one question an item."""
    check_number("budget", budget, lambda n: n >= 1 and n == int(n), "one question or more can be asked")
    if each is not None:
        check_number("each", each, lambda n: n >= 1, "an annotator can be asked one question or more")
    who = _available(audit, annotators)
    impurity = 1 - np.sum(audit.posterior**2, axis=1)
    rows = np.argsort(-impurity, kind="stable")[: max(CANDIDATES, PER_QUESTION * budget)]
    gains = np.stack([expected_gain(audit.posterior[rows], audit.annotators.flips[a]) for a in who], axis=1)
    gains[_asked(audit, rows, who)] = -1
    open_items, left = np.ones(len(rows), dtype=bool), np.full(len(who), len(rows) if each is None else each)
    chosen: list[tuple[int, int]] = []
    for pair in np.argsort(-gains, axis=None, kind="stable"):
        row, annotator = divmod(int(pair), len(who))
        if len(chosen) == budget or gains[row, annotator] < 0:
            break
        if open_items[row] and left[annotator]:
            chosen.append((row, annotator))
            open_items[row], left[annotator] = False, left[annotator] - 1
    items, asked = np.array(chosen, dtype=np.intp).reshape(-1, 2).T
    return rows[items], who[asked], gains[items, asked]


def _available(audit: AnnotationAudit, annotators: Any) -> Codes:
    if annotators is None:
        return np.arange(len(audit.annotators))
    try:
        return indices_of(np.array(list(annotators), dtype=object), audit.annotators.names)
    except KeyError as error:
        raise ValueError(f"nobody is called {error.args[0]!r} among the annotators") from None


def _asked(audit: AnnotationAudit, rows: Codes, who: Codes) -> Any:
    """Which of the annotators have labelled which of the items."""
    given = audit.annotations
    row_of, column_of = np.full(len(audit.items), -1), np.full(len(audit.annotators), -1)
    row_of[rows], column_of[who] = np.arange(len(rows)), np.arange(len(who))
    pairs = row_of[given.item_codes], column_of[given.annotator_codes]
    asked = np.zeros((len(rows), len(who)), dtype=bool)
    known = (pairs[0] >= 0) & (pairs[1] >= 0)
    asked[pairs[0][known], pairs[1][known]] = True
    return asked
