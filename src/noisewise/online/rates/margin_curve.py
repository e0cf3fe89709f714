"""Flip rates of actions or annotators, where the probability that an action is right is a logistic curve of its margin.

The margin of a round is the score of its action less the highest of the others. Feedback is positive with probability
rho0 + (1 - rho0 - rho1) p(margin): rho0 and 1 - rho1 are the levels it tends to. Where classes overlap, p is far from 0
and 1 at the margins that occur, and the intervals of the rates are as wide as the curves that fit allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp, softmax

from noisewise._typing import Codes, Floats
from noisewise.noise import SELECTION_ERROR, two_best

Grid = tuple[Floats, Floats]  # values of both rates
N_BINS = 24  # of the margins of a group, with as many rounds each
LEAST_ROUNDS = 50  # of a group with a curve of its own; with fewer its rates may be anything
# Rounds that played it as the best action, and part of an equal fraction of all such rounds: with fewer, the action may
# hardly ever be right, and rho1 may be anything
LEAST_GUESSES, LEAST_PART = 20, 0.2
# Curves expit(offset + slope * margin), whose slope is `less` times as steep where the margin is negative: there the
# tail is longer. The prior was chosen on pendigits, segment, vehicle, optdigits and generated classes.
OFFSETS = np.linspace(-1.5, 2.5, 9)
SLOPES = np.log([2.0, 3.0, 4.2, 6.0, 8.5, 12.0, 17.0])
LESS = np.log([0.2, 0.35, 0.6, 1.0])
PRIOR_MEANS, PRIOR_DEVIATIONS = (0.5, np.log(7.0), np.log(0.6)), (1.0, 0.6, 0.5)
CURVES = np.stack([each.ravel() for each in np.meshgrid(OFFSETS, SLOPES, LESS, indexing="ij")])
LOG_PRIOR = sum(
    -0.5 * np.square((values - mean) / deviation)
    for values, mean, deviation in zip(CURVES, PRIOR_MEANS, PRIOR_DEVIATIONS)
)
LARGEST_LOGIT, LEVELS_PER_UNIT = 7.0, 10  # probabilities are rounded to these logits: the likelihood is one product
P_RIGHT = expit(np.arange(-LARGEST_LOGIT * LEVELS_PER_UNIT, LARGEST_LOGIT * LEVELS_PER_UNIT + 1) / LEVELS_PER_UNIT)
EVERY_RATE = np.linspace(0, 0.98, 25), np.linspace(0, 0.98, 25)
NEGLIGIBLE = 1e-4  # posterior probability outside of the finer grid; weight of a curve that is left out
FINER_FROM = 100  # rounds of an annotator; the posterior of fewer is wide
# 1 - rho0 - rho1 of an action, below the 0 it may be: an interval that ends there would miss rates at its end
LEAST_SIGNAL = -0.05  # annotators may have any
CURVE_GROUPS = 20  # annotators, those with most feedback, that decide on the curve they have in common
WRONG_PLATEAU = 0.02  # fraction of the actions far behind the best that may be right all the same
# Of the wrong best guesses, the part that may stay wrong however large their margin, and the fraction of wrong best
# guesses beyond which they can't be told from flips: of a curve for each action, and of a common one, known better
RIGHT_PLATEAU, SHARED_RIGHT_PLATEAU = 1.0, 0.2
LARGEST_WRONG, LARGEST_SHARED_WRONG = 0.09, 0.15
OVERLAP = (
    "the rates are not identified: {:.0%} of the regression's best guesses seem to be wrong, because X tells the right "
    "action of too few rows, so that flipped feedback can't be told from wrong guesses; the interval of false_negative "
    "is an upper limit"
)


class RatesByMargin(NamedTuple):
    """Posterior means of both rates of each group, (2, n_groups), and limits of their 95 % intervals, (2, 2, n_groups).

    `wrong_guesses` is the fitted fraction of best guesses that are wrong, the mean over groups; `reason` says why rates
    are not identified, if they are not.
    """

    rates: Floats
    limits: Floats
    wrong_guesses: float
    reason: str


def signed_margins(scores: Floats, actions: Codes) -> Floats:
    """Score of the played action less the highest of the others.

    >>> signed_margins(np.array([[0.1, 0.75, 0.5], [0.1, 0.75, 0.5]]), np.array([1, 2]))
    array([ 0.25, -0.25])
    """
    own, (best, second) = scores[np.arange(len(actions)), actions], two_best(scores)
    return np.asarray(own - np.where(own == best, second, best))


def bin_by_margin(margins: Floats, feedback: Floats, groups: Codes, n_groups: int, shared: bool = False) -> Floats:
    """Mean margin, positive feedback and number of rounds in bins of each group, of shape (n_groups, 24, 3).

    The bins have as many rounds each: of a group, or of all groups if they are `shared`.

    >>> bin_by_margin(np.array([0.5, -0.5]), np.array([1.0, 0.0]), np.array([0, 0]), 1)[0, [0, 12]].tolist()
    [[-0.5, 0.0, 1.0], [0.5, 1.0, 1.0]]
    """
    order = np.lexsort((margins, np.zeros(len(groups)) if shared else groups))
    sizes = np.array([len(groups)]) if shared else np.bincount(groups, minlength=n_groups)
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = np.concatenate([np.arange(n) * N_BINS // max(n, 1) for n in sizes])
    cells, n_cells = groups * N_BINS + ranks, n_groups * N_BINS
    margin, hits, rounds = (np.bincount(cells, each, n_cells) for each in (margins, feedback, np.ones(len(groups))))
    return np.stack([margin / np.maximum(rounds, 1), hits, rounds], axis=1).reshape(n_groups, N_BINS, 3)


def rates_by_margin(bins: Floats, shared: bool = False) -> RatesByMargin:
    """Rates of each group from its binned rounds, by a curve for each group, or one that is `shared` by all.

    The four parameters of a curve with both its levels are those of a psychometric function with a guess and a lapse
    rate [1]_. Its prior is normal in the offset and the logarithms of both slopes, that of the rates uniform; all are
    summed over a grid. As in [1]_, intervals are widened by the goodness of fit: the log-likelihood is divided by
    Pearson's statistic per degree of freedom, if that is more than one.

    A part of the fitted fraction of wrong best guesses may be wrong at any margin, and widens the interval of rho1;
    where that fraction is beyond a limit, rho1 has no lower one.

    References
    ----------
    .. [1] Wichmann, F. A., Hill, N. J. (2001). The psychometric function: I. Fitting, sampling, and goodness of fit.
       Perception & Psychophysics 63(8), 1293-1313.

    Examples
    --------
    >>> margins = np.linspace(-1, 1, 10_000)
    >>> expected = 0.1 + (1 - 0.1 - 0.3) * expit(6 * margins)
    >>> feedback = (np.random.default_rng(0).random(10_000) < expected).astype(float)
    >>> found = rates_by_margin(bin_by_margin(margins, feedback, np.zeros(10_000, dtype=int), 1))
    >>> bool((found.limits[0, :, 0] < [0.1, 0.3]).all() and ([0.1, 0.3] < found.limits[1, :, 0]).all())
    True
    """
    counts = [BinnedRounds.of(group) for group in bins]
    posteriors = _with_one_curve(counts) if shared else [_with_own_curve(group) for group in counts]
    rates = np.array([posterior.rates for posterior in posteriors]).T
    limits = np.array([posterior.limits for posterior in posteriors]).transpose(2, 1, 0)
    played = np.array([group.rounds.sum() for group in counts])
    fitted = [posterior.wrong_guesses(group) for posterior, group in zip(posteriors, counts)]
    wrong, guesses = np.array(fitted).T
    some = guesses > 0
    overall = float(np.average(wrong[some], weights=guesses[some] if shared else None)) if some.any() else 1.0
    signal = 1 - rates.sum(axis=0)
    plateau = SHARED_RIGHT_PLATEAU * overall if shared else RIGHT_PLATEAU * np.maximum(wrong, overall)
    added = np.stack([WRONG_PLATEAU * signal, plateau * signal])
    limits -= np.stack([np.maximum(added, 0), np.minimum(added, 0)])
    reason = OVERLAP.format(overall) if overall > (LARGEST_SHARED_WRONG if shared else LARGEST_WRONG) else ""
    if reason:
        limits[:, 1] = np.where(signal > 0, np.stack([np.zeros(len(signal)), limits[1, 1]]), [[0.0], [1.0]])
    if not shared:
        limits[:, :, played < LEAST_ROUNDS] = [[[0.0]], [[1.0]]]
        rarely_best = guesses < max(LEAST_GUESSES, LEAST_PART * guesses.mean())
        limits[:, 1, rarely_best] = [[0.0], [1.0]]
    return RatesByMargin(rates, np.clip(limits, 0, 1), overall, reason)


class BinnedRounds(NamedTuple):
    """Mean margin, positive feedback and rounds in each bin of a group, and the level of probability there by curve."""

    margins: Floats
    hits: Floats
    rounds: Floats
    levels: Codes

    @classmethod
    def of(cls, bins: Floats) -> BinnedRounds:
        """Of the bins of one group."""
        margins, hits, rounds = bins.T
        offset, slope, less = CURVES[0][:, None], np.exp(CURVES[1])[:, None], np.exp(CURVES[2])[:, None]
        logits = offset + slope * np.where(margins < 0, less, 1.0) * margins
        levels = np.rint((np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT) + LARGEST_LOGIT) * LEVELS_PER_UNIT).astype(int)
        return cls(margins, hits, rounds, levels)

    def log_likelihood(self, grid: Grid, curves: Codes | slice = slice(None)) -> Floats:
        """Of each curve and each pair of rates of the grid; shape (n_curves, n_pairs)."""
        levels, n_levels = self.levels[curves], len(P_RIGHT)
        n_curves = len(levels)
        cells = (np.arange(n_curves)[:, None] * n_levels + levels).ravel()
        positive, negative = (
            np.bincount(cells, np.tile(each, n_curves), n_curves * n_levels).reshape(n_curves, n_levels)
            for each in (self.hits, self.rounds - self.hits)
        )
        log_positive, log_negative = _every_rate() if grid is EVERY_RATE else _log_probabilities(grid)
        return np.asarray(positive @ log_positive + negative @ log_negative)

    def residuals(self, curve: int, rho0: float, rho1: float) -> tuple[Floats, Floats]:
        """Positive feedback beyond what is expected of it in each bin, and its variance."""
        expected = _expected(rho0, rho1, P_RIGHT[self.levels[curve]])
        return self.hits - self.rounds * expected, self.rounds * expected * (1 - expected)


class Posterior(NamedTuple):
    """Marginal posterior probabilities of both rates on their grids, and those of the curves."""

    grid: Grid
    marginals: tuple[Floats, Floats]
    curves: Floats

    @classmethod
    def of(cls, grid: Grid, joint: Floats) -> Posterior:
        """From the joint one of curves and pairs of rates."""
        table = joint.sum(axis=0).reshape(len(grid[0]), len(grid[1]))
        return cls(grid, (table.sum(axis=1), table.sum(axis=0)), joint.sum(axis=1))

    @property
    def rates(self) -> list[float]:
        """Posterior means."""
        return [float(marginal @ values) for values, marginal in zip(self.grid, self.marginals)]

    @property
    def limits(self) -> list[list[float]]:
        """2.5 and 97.5 % quantiles of each rate; 0 or 1 where its posterior is greatest at that end."""
        limits = []
        for values, marginal in zip(self.grid, self.marginals):
            low, high = np.interp([0.025, 0.975], np.append(0.0, np.cumsum(marginal)), _edges(values)).tolist()
            most = values[marginal.argmax()]
            limits.append([0.0 if most == 0 else low, 1.0 if most >= EVERY_RATE[0][-1] else high])
        return limits

    def finer_grid(self) -> Grid:
        """As many values of each rate, over the range that has posterior probability."""
        grids = []
        for values, marginal in zip(self.grid, self.marginals):
            first, last = np.searchsorted(np.cumsum(marginal), [NEGLIGIBLE, 1 - NEGLIGIBLE]).clip(max=len(values) - 1)
            step = values[1] - values[0]
            grids.append(np.linspace(max(values[first] - step, 0.0), min(values[last] + step, 1.0), len(values)))
        return grids[0], grids[1]

    def wrong_guesses(self, group: BinnedRounds) -> tuple[float, float]:
        """Fitted fraction of wrong actions among the rounds that played the best action, and their number."""
        guessed = group.margins > 0
        rounds = group.rounds[guessed]
        if not len(rounds):
            return 0.0, 0.0
        p_right = self.curves @ P_RIGHT[group.levels[:, guessed]]
        return float(np.average(1 - p_right, weights=rounds)), float(rounds.sum())


def _with_own_curve(group: BinnedRounds) -> Posterior:
    """Posterior of the rates of one action; its feedback is hardly positive more often where it is wrong."""
    grid, divisor = EVERY_RATE, SELECTION_ERROR**2
    for finer in (False, True):
        log_likelihood = group.log_likelihood(grid)
        log_likelihood[:, 1 - sum(_pairs(grid)) < LEAST_SIGNAL] = -np.inf
        if not finer:
            best = np.argmax(log_likelihood + LOG_PRIOR[:, None])
            curve, pair = np.unravel_index(best, log_likelihood.shape)
            rho0, rho1 = (each[pair] for each in _pairs(grid))
            divisor = max(divisor, _dispersion(*group.residuals(int(curve), rho0, rho1), n_parameters=5))
        posterior = Posterior.of(grid, softmax(log_likelihood / divisor + LOG_PRIOR[:, None]))
        if not finer:
            grid = posterior.finer_grid()
    return posterior


def _with_one_curve(groups: Sequence[BinnedRounds]) -> list[Posterior]:
    """Posteriors of the rates of annotators, whose rounds have one curve in common; 1 - rho0 - rho1 may be negative.

    Only the curve's part is widened by the goodness of fit, that of the feedback of all: rows that are harder or easier
    than their margin are so for everybody.
    """
    most = np.argsort([-group.rounds.sum() for group in groups], kind="stable")[:CURVE_GROUPS]
    evidence = sum(logsumexp(groups[i].log_likelihood(EVERY_RATE), axis=1) for i in most)
    weights = softmax(evidence / SELECTION_ERROR**2 + LOG_PRIOR)
    rates = [_given_curves(groups[i], EVERY_RATE, weights).rates for i in most]
    signals = np.array([1 - sum(each) for each in rates])[:, None]
    fits = np.array([groups[i].residuals(int(weights.argmax()), *each) for i, each in zip(most, rates)])
    pooled = np.sum(signals * fits[:, 0], axis=0), np.sum(np.square(signals) * fits[:, 1], axis=0)
    divisor = max(SELECTION_ERROR**2, _dispersion(*pooled, n_parameters=3))
    weights = softmax(evidence / divisor + LOG_PRIOR)
    posteriors = [_given_curves(group, EVERY_RATE, weights) for group in groups]
    grids = {i: posteriors[i].finer_grid() for i, group in enumerate(groups) if group.rounds.sum() >= FINER_FROM}
    evidence = sum(logsumexp(groups[i].log_likelihood(grids.get(i, EVERY_RATE)), axis=1) for i in most)
    weights = softmax(evidence / divisor + LOG_PRIOR)
    return [_given_curves(group, grids.get(i, EVERY_RATE), weights) for i, group in enumerate(groups)]


def _given_curves(group: BinnedRounds, grid: Grid, weights: Floats) -> Posterior:
    """Posterior of the rates of one annotator, where the curves have these posterior probabilities."""
    kept = np.flatnonzero(weights > NEGLIGIBLE)
    conditional = softmax(group.log_likelihood(grid, kept) / SELECTION_ERROR**2, axis=1)
    posterior = Posterior.of(grid, weights[kept, None] / weights[kept].sum() * conditional)
    return posterior._replace(curves=weights)


def _dispersion(residuals: Floats, variances: Floats, n_parameters: int) -> float:
    """Pearson's statistic per degree of freedom."""
    some = variances > 0
    return float(np.sum(np.square(residuals[some]) / (variances[some] + 0.5)) / max(some.sum() - n_parameters, 1))


@cache
def _every_rate() -> tuple[Floats, Floats]:
    return _log_probabilities(EVERY_RATE)


def _log_probabilities(grid: Grid) -> tuple[Floats, Floats]:
    """Of positive and of negative feedback, by level and pair of rates."""
    expected = _expected(*_pairs(grid), P_RIGHT[:, None])
    return np.log(expected), np.log1p(-expected)


def _pairs(grid: Grid) -> tuple[Floats, Floats]:
    rho0, rho1 = np.meshgrid(*grid, indexing="ij")
    return rho0.ravel(), rho1.ravel()


def _expected(rho0: Floats | float, rho1: Floats | float, p_right: Floats) -> Floats:
    """Probability of positive feedback, kept away from 0 and 1."""
    return np.clip(rho0 * (1 - p_right) + (1 - rho1) * p_right, NEGLIGIBLE, 1 - NEGLIGIBLE)


def _edges(values: Floats) -> Floats:
    return np.concatenate([values[:1], (values[1:] + values[:-1]) / 2, values[-1:]])
