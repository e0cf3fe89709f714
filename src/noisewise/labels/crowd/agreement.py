"""Inter-annotator agreement: Krippendorff's alpha."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from noisewise._typing import Floats
from noisewise.labels.crowd.annotations import read_annotations
from noisewise.noise import Estimate

SCALES = ("nominal", "ordinal", "interval")
TAIL = 0.05  # of a 90 % interval


def krippendorff_alpha(
    items: Any, annotators: Any = None, labels: Any = None, missing: Any = None, scale: str = "nominal"
) -> Estimate:
    """Krippendorff's alpha, ``1 - observed / expected disagreement``: 1 is perfect agreement, 0 that of random labels.

    Labels may be missing; items with fewer than two labels are not counted. The result is a float with `interval`, a
    90 % confidence interval by the jackknife over items.

    Parameters
    ----------
    items, annotators, labels, missing
        As for `majority_vote`.
    scale : {"nominal", "ordinal", "interval"}
        Difference function: 0 or 1, squared difference of ranks, or squared difference of numbers.

    Examples
    --------
    >>> print(krippendorff_alpha([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]))
    0.5333 (-0.477 to 1)

    References
    ----------
    .. [1] Krippendorff, K. (2004). Content analysis: an introduction to its methodology. 2nd ed., Sage, chapter 11.
    """
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}; it must be one of {', '.join(SCALES)}")
    annotations = read_annotations(items, annotators, labels, missing)
    votes = annotations.votes()
    votes = votes[votes.sum(axis=1) >= 2]
    if not len(votes):
        raise ValueError("no item has two labels; agreement needs items that two or more annotators have labelled")
    totals = votes.sum(axis=0)
    if np.count_nonzero(totals) < 2:
        only = annotations.classes.tolist()[int(totals.argmax())]
        raise ValueError(f"all labels are {only!r}: with one class, agreement has no meaning")
    costs = disagreement_costs(scale, annotations.classes, totals)
    within = np.einsum("ij,jk,ik->i", votes, costs, votes) / (votes.sum(axis=1) - 1)
    alpha = float(_alpha(within.sum(), totals[None], costs)[0])
    half_width = float(-ndtri(TAIL)) * jackknife_error(within, votes, costs)
    return Estimate(alpha, max(alpha - half_width, -1.0), min(alpha + half_width, 1.0))


def disagreement_costs(scale: str, classes: Any, totals: Floats) -> Floats:
    """Difference function of alpha: squared distance of two labels of one item.

    >>> disagreement_costs("interval", np.array([1, 2, 4]), np.ones(3))
    array([[0., 1., 9.],
           [1., 0., 4.],
           [9., 4., 0.]])
    """
    if scale == "nominal":
        return 1 - np.eye(len(totals))
    if scale == "ordinal":
        ranks = np.cumsum(totals) - totals / 2  # labels between two classes, half of each of the two included
        return np.asarray((ranks[:, None] - ranks) ** 2)
    try:
        values = classes.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("the interval scale needs numbers as labels; the others take any") from None
    return np.asarray((values[:, None] - values) ** 2)


def jackknife_error(within: Floats, votes: Floats, costs: Floats) -> float:
    """Standard error of alpha by the jackknife over items."""
    if len(votes) < 2:
        return float("inf")
    left = _alpha(within.sum() - within, votes.sum(axis=0) - votes, costs)
    return float(np.sqrt((len(left) - 1) * np.var(left)))


def _alpha(within: Any, totals: Floats, costs: Floats) -> Floats:
    """One minus observed by expected disagreement, for each row of totals; 1 where no disagreement is possible."""
    n_labels = totals.sum(axis=1)
    expected = np.einsum("ij,jk,ik->i", totals, costs, totals) / np.maximum(n_labels - 1, 1)
    return np.asarray(np.where(expected > 0, 1 - within / np.where(expected > 0, expected, 1), 1.0))
