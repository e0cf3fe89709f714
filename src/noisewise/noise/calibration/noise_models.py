"""Accounts of the noise in a set of rows: links, slopes, priors on the flips, and every amount that is possible.

Two links from scores to logits, one slope or one for each class, and two priors on the flip matrix give eight accounts;
that no label is wrong is one more. The amount of noise, which the data often leave open, is averaged over on a grid.
Each account counts by its evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._numerics.em import responsibilities
from noisewise._typing import Codes, Floats
from noisewise.noise.calibration.newton import climb, log_room
from noisewise.noise.calibration.softmax_map import Curve, Labelled
from noisewise.noise.calibration.variational import HIGH_START, Explanation, Start, explain_noise
from noisewise.noise.flip_matrix import FlipMatrix


@dataclass(frozen=True)
class Account:
    """One way to read the scores: its weight, link, curve and flip matrix."""

    weight: float
    logarithmic: bool
    curve: Curve
    matrix: Floats

    def clean_posterior(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class."""
        return self.curve.posterior(link(scores, self.logarithmic))

    def explain(self, scores: NDArray[Any], codes: Codes) -> NDArray[Any]:
        """Probability of each true class, given the observed one too."""
        flips = self.matrix.T.astype(scores.dtype)
        return responsibilities(self.clean_posterior(scores), flips[codes], float(np.finfo(scores.dtype).tiny))[0]


@dataclass(frozen=True)
class Calibration:
    """What scores say about the truth once the noise in the labels is accounted for.

    Attributes
    ----------
    accounts : tuple of Account
        Ways to read the scores, with weights that sum to one.
    noise : FlipMatrix
        Their mean flip matrix.
    proven : bool
        Whether the labels are clearly likelier with noise than without any; overlapping classes look alike.
    """

    accounts: tuple[Account, ...]
    noise: FlipMatrix
    proven: bool = True

    def clean_posterior(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class for scores of any rows."""
        return sum_over(account.weight * account.clean_posterior(scores) for account in self.accounts)

    def explain(self, scores: NDArray[Any], codes: Codes) -> NDArray[Any]:
        """Probability of each true class, given the scores and the observed class."""
        return sum_over(account.weight * account.explain(scores, codes) for account in self.accounts)


def sum_over(parts: Iterator[NDArray[Any]]) -> NDArray[Any]:
    """Sum of arrays, one at a time."""
    total = next(parts)
    for part in parts:
        total += part
    return total


def link(scores: NDArray[Any], logarithmic: bool) -> NDArray[Any]:
    """Scores as they enter the logits: themselves, or their logarithm (of a tenth of chance at least)."""
    return np.log(np.maximum(scores, scores.dtype.type(0.1 / scores.shape[1]))) if logarithmic else scores


NOISE_ODDS = 2.0  # log odds of each kind of noise before a label is seen: one audits labels one doubts
OWN_ODDS = -3.0  # log odds of slopes that differ: of few rows they could explain flips away
CLOSE = 6.0  # accounts this far below the best, in log evidence, no longer count
TEMPER = 0.5  # trust in the profile of the amount: half its log-likelihood
PROOF = 3.0  # noise is proven if it makes the labels twenty times likelier: the difference in log evidence
SAME_AMOUNT = 0.25  # peaks whose amounts differ by a smaller share are one
SMALLEST_WEIGHT = 0.003
HARDLY = 1e-6  # chance of each flip where none is seen: no count of rows rules it out, and it still tells rows apart
MOST_FLIPPED, LEAST_KEPT = 0.95, 0.1
MOST_SLOPES = 30  # classes; with more of them each has few rows, and slopes of their own cost time
NEGLIGIBLE = 7.0  # in (tempered) log-likelihood
AMOUNTS = 0.8 * np.linspace(np.sqrt(0.001 / 0.8), 1, 30) ** 2
SPACING = np.gradient(AMOUNTS)


@dataclass(frozen=True)
class Trial:
    """An account tried on rows: its log-likelihood, the labels it takes for wrong, and the variance of their number."""

    account: Account
    value: float
    wrong: float
    variance: float

    @classmethod
    def of(cls, rows: Labelled, logarithmic: bool, weight: float, curve: Curve, matrix: Floats, steps: int) -> Trial:
        """Fit the curve with the flips held, from this curve."""
        curve, value, truth = climb(rows, np.log(np.maximum(matrix, 1e-12)), curve, steps, 1e-3)
        right = truth[np.arange(len(rows.codes)), rows.codes]
        wrong, variance = float(rows.weights @ (1 - right)), float(rows.weights @ (right * (1 - right)))
        return cls(Account(weight, logarithmic, curve, matrix), value, wrong, variance)

    def weighted(self, weight: float) -> Trial:
        """The same with another weight."""
        return replace(self, account=replace(self.account, weight=weight))


def calibrate(
    scores: Floats, codes: Codes, noise: FlipMatrix | None = None, weights: Floats | None = None
) -> tuple[Calibration, list[Trial]]:
    """The accounts of the noise in a set of rows, weighted by their evidence, and how those with noise did on them."""
    counted = np.ones(len(codes)) if weights is None else weights
    linked = {l: Labelled(np.asfortranarray(link(scores, l)), codes, counted) for l in (False, True)}
    if noise is not None:
        trials = [Trial.of(rows, l, 1.0, Curve.gentle(rows), noise.matrix, 50) for l, rows in linked.items()]
        trials = [t.weighted(w) for t, w in zip(trials, _shares([t.value for t in trials]))]
        return Calibration(_significant([trial.account for trial in trials]), noise), trials
    structures = [(l, found) for l, rows in linked.items() for found in _explanations(rows)]
    values = np.array([found.bound + _odds(found.end.curve) for _, found in structures])
    evidence, silent = _without_noise(linked)
    best = max(values.max(), evidence - NOISE_ODDS)
    trials = []
    for value, (logarithmic, found) in zip(values, structures):
        if value > values.max() - CLOSE:
            trials += _amounts(linked[logarithmic], found, logarithmic, float(np.exp(value - best)))
    hardly_any = FlipMatrix.symmetric((scores.shape[1] - 1) * HARDLY, scores.shape[1]).matrix
    quiet = replace(silent.account, weight=float(np.exp(evidence - NOISE_ODDS - best)), matrix=hardly_any)
    kept = _significant([quiet, *(trial.account for trial in trials)])
    mean = FlipMatrix.estimated(sum_over(account.weight * account.matrix for account in kept))
    return Calibration(kept, mean, proven=values.max() - evidence > PROOF), trials


def _explanations(rows: Labelled) -> list[Explanation]:
    """Symmetric noise, free flips, where much noise leads free flips to another end, that too; then with own slopes.

    With few rows or classes that overlap the evidence often has two peaks of about the same height, with and without
    noise: to take one of them would be to be too sure.
    """
    gentle = Start.at(rows)
    even = explain_noise(rows, False, gentle)
    little, much = explain_noise(rows, True, gentle), explain_noise(rows, True, Start.at(rows, HIGH_START))
    found = [even, little]
    if _apart(little.amount, much.amount) and _tells(much.matrix):
        found.append(much)
    if rows.n_classes <= MOST_SLOPES:
        starts = [(False, even.end), (True, gentle), *((True, other.end) for other in found[2:])]
        found += [explain_noise(rows, free, start.with_own_slopes()) for free, start in starts]
    return found


def _odds(curve: Curve) -> float:
    return OWN_ODDS if curve.own_slopes else 0.0


def _apart(first: float, second: float) -> bool:
    return abs(first - second) > SAME_AMOUNT * max(first, second)


def _without_noise(linked: dict[bool, Labelled]) -> tuple[float, Trial]:
    """Log evidence of the labels if none is wrong, by the best link and slopes, and that account."""
    found = []
    for logarithmic, rows in linked.items():
        identity = np.eye(rows.n_classes)
        one = Trial.of(rows, logarithmic, 1.0, Curve.gentle(rows), identity, 50)
        trials = [one]
        if rows.n_classes <= MOST_SLOPES:
            trials.append(Trial.of(rows, logarithmic, 1.0, one.account.curve.with_own_slopes(), identity, 50))
        log_flips = np.log(np.maximum(identity, 1e-12))
        for trial in trials:
            curve = trial.account.curve
            found.append((trial.value + log_room(rows, log_flips, curve) + _odds(curve), trial))
    return max(found, key=itemgetter(0))


def _amounts(rows: Labelled, found: Explanation, logarithmic: bool, odds: float) -> list[Trial]:
    """The account with its amount of noise scaled along a grid, by half its profile log-likelihood.

    The grid is walked up and down from the amount found, and left where amounts no longer count.
    """
    grid = [amount for amount in AMOUNTS if _tells(_scaled(found, amount))] or [found.amount]  # flips of a rare class
    start = int(np.abs(np.array(grid) - found.amount).argmin())
    trials: dict[int, Trial] = {}
    for way in (range(start, len(grid)), range(start - 1, -1, -1)):
        curve = trials[start].account.curve if start in trials else found.end.curve
        for place in way:
            trials[place] = Trial.of(rows, logarithmic, odds, curve, _scaled(found, grid[place]), 20)
            curve = trials[place].account.curve
            if trials[place].value < max(trial.value for trial in trials.values()) - NEGLIGIBLE / TEMPER:
                break
    shares = _shares([TEMPER * trial.value + np.log(SPACING[place]) for place, trial in trials.items()])
    return [trial.weighted(odds * share) for share, trial in zip(shares, trials.values())]


def _scaled(found: Explanation, amount: float) -> Floats:
    """The flip matrix with this share of flipped labels."""
    identity = np.eye(len(found.matrix))
    return np.asarray(identity + amount / found.amount * (found.matrix - identity))


def _tells(matrix: Floats) -> bool:
    """Whether labels say something of the truth after so many flips."""
    kept = np.diag(matrix)
    return bool(kept.min() >= LEAST_KEPT and (len(kept) > 2 or 2 - kept.sum() <= MOST_FLIPPED))


def _shares(logs: list[float]) -> Floats:
    weights = np.exp(np.array(logs) - max(logs))
    return np.asarray(weights / weights.sum())


def _significant(accounts: list[Account]) -> tuple[Account, ...]:
    total = sum(account.weight for account in accounts)
    kept = [account for account in accounts if account.weight > SMALLEST_WEIGHT * total]
    total = sum(account.weight for account in kept)
    return tuple(replace(account, weight=account.weight / total) for account in kept)
