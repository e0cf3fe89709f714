"""Feedback of actions in high-confidence rounds, and by how much that of less confident ones differs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats
from noisewise.noise import right_and_wrong, two_best

LEAST_OTHERS = 20  # less confident rounds of a group; of fewer, their excess is that of all groups


class GroupCounts(NamedTuple):
    """Flipped feedback in the high-confidence rounds of each group, their number, and the excess of its others.

    `sure_excess` is what is left of the excess two standard errors below, and at least that of all groups.
    """

    hits: Floats
    rounds: Floats
    sure_excess: Floats


def count_by_group(
    values: Floats, confident: NDArray[np.bool_], others: NDArray[np.bool_], groups: Codes, n_groups: int
) -> GroupCounts:
    """Counts of `values` in the confident rounds of each group, and by how much the rate of its others exceeds theirs.

    >>> confident = np.array([True, True, False, False])
    >>> count_by_group(np.array([0.0, 1.0, 1.0, 1.0]), confident, ~confident, np.zeros(4, dtype=int), 1).sure_excess
    array([0.5])
    """

    def tally(weights: Floats, chosen: NDArray[np.bool_]) -> Floats:
        return np.bincount(groups[chosen], weights=weights[chosen], minlength=n_groups).astype(np.float64)

    ones = np.ones(len(values))
    hits, rounds, other_hits, n_others = (tally(w, c) for c in (confident, others) for w in (values, ones))
    pooled = other_hits.sum() / max(n_others.sum(), 1) - hits.sum() / max(rounds.sum(), 1)
    own = other_hits / np.maximum(n_others, 1) - hits / np.maximum(rounds, 1)
    own[(n_others < LEAST_OTHERS) | (rounds == 0)] = 0.0
    error = np.sqrt(0.25 / np.maximum(n_others, 1) + 0.25 / np.maximum(rounds, 1))
    return GroupCounts(hits, rounds, np.maximum(own - 2 * error, max(pooled, 0.0)))


class ConfidentRounds(NamedTuple):
    """Masks of rounds: right and wrong with high confidence, and the others that guessed so."""

    right: NDArray[np.bool_]
    less_right: NDArray[np.bool_]
    wrong: NDArray[np.bool_]
    less_wrong: NDArray[np.bool_]

    @classmethod
    def of(cls, scores: Floats, actions: Codes) -> ConfidentRounds:
        """By the scores of all actions: less right played the best one, less wrong one not among the two best."""
        right, wrong = right_and_wrong(scores, actions)
        own, (best, second) = scores[np.arange(len(actions)), actions], two_best(scores)
        low = own < (second if scores.shape[1] > 2 else best)  # of two actions, one is best
        return cls(right, (own == best) & ~right, wrong, low & ~wrong)
