"""A test on a log without exploration: is exactly one action right in each round, or may several be, or none?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.noise import two_best

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
