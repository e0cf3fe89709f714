"""How far the pooled ridge itself errs: the disagreement of two fits to halves of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._numerics.row_hash import row_hashes
from noisewise._numerics.threads import threads_for
from noisewise._typing import Codes, Floats
from noisewise._validation import generator
from noisewise.labels.ridge.landmarks import default_landmarks
from noisewise.labels.ridge.pooled_fit import CHOICE_ROWS, FIT_ROWS, fit_pooled_ridge

SPLIT_ROWS = 4000  # of small tables, halves are drawn several times, so that so many rows are fitted
# of the hashes, one for each draw: odd, so that different rows keep different hashes
FACTORS = np.array(
    [1, 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53], np.uint64
)


def disagreement_of_halves(
    X: Any,
    codes: Codes,
    n_classes: int,
    weights: Floats,
    n_landmarks: int | None = None,
    random_state: Any = None,
    modes: Callable[[Any, Codes, Any, Floats], Codes] | None = None,
) -> tuple[float, int]:
    """Fraction of rows to which two fits, each to half of the rows, give different classes; and of how many rows.

    Both score a row without its own label. Halves are drawn by the hashes of the rows, the same in any order of the
    rows, and hold half of each class; of small tables, the mean of several draws is taken. Rows of weight 0 are left
    out. Where another model has a say, `modes` gives the classes: from the rows and labels of a half, the rows to score
    and their scores by the ridge.
    """
    rng = generator(0 if random_state is None else random_state)
    some = rng.permutation(np.flatnonzero(weights))[:FIT_ROWS]
    rows, labels = X[some], codes[some]
    hashes = row_hashes(rows, exact=True)
    scored = np.argsort(hashes, kind="stable")[:CHOICE_ROWS]
    most = n_landmarks or default_landmarks(X.shape[1], n_classes)
    differ = []
    for factor in FACTORS[: max(SPLIT_ROWS // len(some), 1) if modes is None else 1]:
        first = _half_of_each_class(hashes * factor, labels)
        with threads_for(len(some)):
            fits = [fit_pooled_ridge(rows[half], labels[half], n_classes, most, rng) for half in (first, ~first)]
            scores = [fit.leave_one_out_scores(rows[scored], labels[scored]) for fit in fits]
        if modes is None:
            one, other = (of_half.argmax(axis=1) for of_half in scores)
        else:
            halves = zip((first, ~first), scores)
            one, other = (modes(rows[half], labels[half], rows[scored], of_half) for half, of_half in halves)
        differ.append(float(np.mean(one != other)))
    return float(np.mean(differ)), len(scored)


def _half_of_each_class(hashes: NDArray[np.uint64], codes: Codes) -> NDArray[np.bool_]:
    """Every other row of the order by class, then hash.

    >>> _half_of_each_class(np.array([5, 3, 9, 1], dtype=np.uint64), np.array([0, 0, 1, 1]))
    array([False,  True, False,  True])
    """
    chosen = np.zeros(len(codes), dtype=bool)
    chosen[np.lexsort((hashes, codes))[::2]] = True
    return chosen
