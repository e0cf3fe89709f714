"""Feedback of high-confidence rounds and of less confident ones, and the number of right actions that it implies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats
from noisewise.noise import right_and_wrong, two_best

LEAST_OTHERS = 20  # less confident rounds of a group; of fewer, their excess is that of all groups
N_MARGINS, N_BEST = 6, 4  # cells of rows by quantiles of the best action's margin and of its score
LEAST_TESTED_SIGNAL = 0.1  # |1 - rho0 - rho1| of an annotator; the feedback of others is left out
# Chosen on pendigits and segment (and digits and shuttle with one right action), of logs whose classes do not overlap:
# with one right action the excess is at most .08, the deficit .07; with several the excess is .03 to .64, below .1 in 2
# of 32 logs; with none in a third of the rounds the deficit is .10 to .27
LARGEST_EXCESS, LARGEST_DEFICIT = 0.1, 0.12
SEVERAL = (
    "the rates are not identified: where two actions score alike, both have the feedback of right ones, "
    "so that several actions may be right for a row, as with adverts"
)
NONE = (
    "the rates are not identified: on many rows neither of the two best actions has the feedback of a right one, "
    "so that none may be right for a row, as with adverts"
)


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


class ImpliedRight(NamedTuple):
    """By how much the implied number of right actions is above 1, and that of the two best below 1, as row means."""

    excess: float
    deficit: float

    @property
    def several(self) -> bool:
        """Whether more than one action may be right."""
        return self.excess > LARGEST_EXCESS

    @property
    def none(self) -> bool:
        """Whether no action may be right."""
        return self.deficit > LARGEST_DEFICIT


def implied_right_actions(scores: Floats, actions: Codes, feedback: Floats, rho0: Floats, rho1: Floats) -> ImpliedRight:
    """The number of right actions that the feedback implies, in cells of rows that look alike to the learner.

    The rates `rho0` and `rho1` are those of each round. P(right) of the best action of a cell is the mean of the
    unbiased targets (f - rho0) / (1 - rho0 - rho1), weighted by their precision, in the rounds that played it, and
    that of the second best in those that played the second best: a UCB learner does where their scores are alike. With
    exactly one right action the two sum to at most 1, and to little less unless classes are confused with several
    others. Deviations count from one standard error on.

    The scores must be those the learner plays by. A second best action that a sharper learner would play for a reason
    is right more often than its score tells.

    >>> scores = np.tile([0.9, 0.9, 0.0], (4000, 1)) + np.random.default_rng(0).normal(scale=0.1, size=(4000, 3))
    >>> actions, nobody_errs = np.arange(4000) % 2, np.zeros(4000)
    >>> implied_right_actions(scores, actions, np.ones(4000), nobody_errs, nobody_errs).several
    True
    >>> implied_right_actions(scores, actions, 1.0 * (actions == 0), nobody_errs, nobody_errs).several
    False
    """
    signal = 1 - rho0 - rho1
    weights = np.where(np.abs(signal) > LEAST_TESTED_SIGNAL, np.square(signal), 0.0)
    weighted = np.where(weights > 0, (feedback - rho0) * signal, 0.0)
    own, (best, second) = scores[np.arange(len(actions)), actions], two_best(scores)
    cells = _quantile_bins(best - second, N_MARGINS) * N_BEST + _quantile_bins(best, N_BEST)
    n_cells = N_MARGINS * N_BEST
    p_right, variance = np.zeros(n_cells), np.zeros(n_cells)
    for played in (own == best, (own == second) & (own < best)):
        precision = np.bincount(cells[played], weights[played], n_cells)
        mean = np.bincount(cells[played], weighted[played], n_cells) / np.maximum(precision, 1e-9)
        p_right += np.minimum(mean, 1.0)
        variance += 0.25 / np.maximum(precision, 1e-9)  # of feedback at most 1/4; a cell without any tells nothing
    fractions, error = np.bincount(cells, minlength=n_cells) / len(cells), np.sqrt(variance)
    above, below = (np.maximum(each - error, 0.0) for each in (p_right - 1, 1 - p_right))
    return ImpliedRight(float(fractions @ above), float(fractions @ below))


def _quantile_bins(values: Floats, n_bins: int) -> Codes:
    """Bins of as many values each, by rank.

    >>> _quantile_bins(np.array([0.3, 0.1, 0.2, 0.4]), 2)
    array([1, 0, 0, 1])
    """
    bins = np.empty(len(values), dtype=np.int64)
    bins[np.argsort(values, kind="stable")] = np.arange(len(values)) * n_bins // max(len(values), 1)
    return bins
