"""Feedback of actions or annotators in high-confidence rounds, with intervals that include overlapping classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats
from noisewise.noise import (
    RIGHT_OVERLAP,
    SELECTION_ERROR,
    WRONG_OVERLAP,
    proportion_interval,
    right_and_wrong,
    two_best,
)

LARGEST_GROUP_EXCESS = 0.1  # in units of 1 - rho0 - rho1: half of that for all rounds, whose heads may be smaller
LEAST_OTHERS = 20  # less confident rounds of a group; of fewer, their excess is that of all groups


class GroupCounts(NamedTuple):
    """Flipped feedback in the high-confidence rounds of each group, their number, and the excess of its others.

    `sure_excess` is what is left of it two standard errors below, and at least that of all groups.
    """

    hits: Floats
    rounds: Floats
    excess: Floats
    sure_excess: Floats

    @property
    def rates(self) -> Floats:
        """Fractions of flipped feedback."""
        return np.asarray(self.hits / np.maximum(self.rounds, 1))

    def limits(self, added: Floats) -> tuple[Floats, Floats]:
        """95 % confidence limits, where up to `added` of each rate is no flips, but wrong guesses."""
        low, high = proportion_interval(self.rates, self.rounds / SELECTION_ERROR**2)
        return np.maximum(low - added, 0), high


def count_by_group(
    values: Floats, confident: NDArray[np.bool_], others: NDArray[np.bool_], groups: Codes, n_groups: int
) -> GroupCounts:
    """Counts of `values` in the confident rounds of each group, and by how much the rate of its others exceeds theirs.

    >>> confident = np.array([True, True, False, False])
    >>> count_by_group(np.array([0.0, 1.0, 1.0, 1.0]), confident, ~confident, np.zeros(4, dtype=int), 1).excess
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
    return GroupCounts(hits, rounds, *(np.maximum(each, max(pooled, 0.0)) for each in (own, own - 2 * error)))


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


def annotator_limits(
    scores: Floats,
    actions: Codes,
    feedback: Floats,
    annotators: Codes,
    signal: Floats,
    targets: Floats,
    weights: Floats,
) -> Floats | None:
    """Limits of the 95 % intervals of each annotator's rates [rho0, rho1], of shape (2, 2, n_annotators).

    The excess of the less confident rounds is that of all annotators, by their unbiased `targets`; it moves the rates
    of an annotator by their signal, 1 - rho0 - rho1. None: classes overlap too much for any rate.
    """
    masks, both = ConfidentRounds.of(scores, actions), []
    for values, goals, confident, others, part in (
        (feedback, targets, masks.wrong, masks.less_wrong, WRONG_OVERLAP),
        (1 - feedback, 1 - targets, masks.right, masks.less_right, RIGHT_OVERLAP),
    ):
        means = [
            float(weights[mask] @ goals[mask]) / max(float(weights[mask].sum()), 1e-12) for mask in (confident, others)
        ]
        excess = min(max(means[1] - means[0], 0.0), 1.0)
        if part == RIGHT_OVERLAP and excess > LARGEST_GROUP_EXCESS:
            return None
        low, high = count_by_group(values, confident, others, annotators, len(signal)).limits(np.zeros(len(signal)))
        moved = part * excess * signal
        both.append((np.maximum(low - np.maximum(moved, 0), 0), np.minimum(high - np.minimum(moved, 0), 1)))
    return np.stack(both, axis=1)
