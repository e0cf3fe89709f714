"""How far annotators agree beyond chance."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from noisewise._typing import Floats
from noisewise.labels.crowd.annotations import read_annotations
from noisewise.noise import Estimate

SCALES = ("nominal", "ordinal", "interval")


def krippendorff_alpha(
    items: Any, annotators: Any = None, labels: Any = None, missing: Any = None, scale: str = "nominal"
) -> Estimate:
    """Agreement of annotators on a scale where 1 is perfect and 0 is chance (Krippendorff's alpha).

    Gaps are welcome: items with fewer than two answers say nothing and are left out. The result is a float with
    `interval`, where it lies with 90 % probability, from leaving out one item at a time.

    Parameters
    ----------
    items, annotators, labels, missing
        As for `majority_vote`.
    scale : {"nominal", "ordinal", "interval"}
        What a disagreement costs: any the same, by the ranks between, or by the square of the difference of numbers.

    Examples
    --------
    >>> print(krippendorff_alpha([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]))
    0.5333 (-0.477 to 1)
    """
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}; it must be one of {', '.join(SCALES)}")
    annotations = read_annotations(items, annotators, labels, missing)
    votes = annotations.votes()
    votes = votes[votes.sum(axis=1) >= 2]
    if not len(votes):
        raise ValueError("no item has two answers; agreement needs items that two or more annotators have labelled")
    totals = votes.sum(axis=0)
    if np.count_nonzero(totals) < 2:
        only = annotations.classes.tolist()[int(totals.argmax())]
        raise ValueError(f"all answers are {only!r}: with one class, agreement can't be told from chance")
    costs = disagreement_costs(scale, annotations.classes, totals)
    within = np.einsum("ij,jk,ik->i", votes, costs, votes) / (votes.sum(axis=1) - 1)
    alpha = float(_alpha(within.sum(), totals[None], costs)[0])
    reach = float(-ndtri(0.05)) * jackknife_error(within, votes, costs)
    return Estimate(alpha, max(alpha - reach, -1.0), min(alpha + reach, 1.0))


def disagreement_costs(scale: str, classes: Any, totals: Floats) -> Floats:
    """Cost of calling an item by one class where another annotator calls it by another.

    >>> disagreement_costs("interval", np.array([1, 2, 4]), np.ones(3))
    array([[0., 1., 9.],
           [1., 0., 4.],
           [9., 4., 0.]])
    """
    if scale == "nominal":
        return 1 - np.eye(len(totals))
    if scale == "ordinal":
        ranks = np.cumsum(totals) - totals / 2  # the answers between two classes, half of each of the two included
        return np.asarray((ranks[:, None] - ranks) ** 2)
    try:
        values = classes.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("the interval scale needs numbers as labels; the others take any") from None
    return np.asarray((values[:, None] - values) ** 2)


def jackknife_error(within: Floats, votes: Floats, costs: Floats) -> float:
    """Standard error of alpha, from its values with each item left out in turn."""
    if len(votes) < 2:
        return float("inf")
    left = _alpha(within.sum() - within, votes.sum(axis=0) - votes, costs)
    return float(np.sqrt((len(left) - 1) * np.var(left)))


def _alpha(within: Any, totals: Floats, costs: Floats) -> Floats:
    """One minus observed by expected disagreement, for each row of totals; 1 where no disagreement is possible."""
    answers = totals.sum(axis=1)
    expected = np.einsum("ij,jk,ik->i", totals, costs, totals) / np.maximum(answers - 1, 1)
    return np.asarray(np.where(expected > 0, 1 - within / np.where(expected > 0, expected, 1), 1.0))
