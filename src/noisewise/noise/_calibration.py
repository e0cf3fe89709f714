"""Which observed labels are wrong, from scores that did not see them: robust calibration, averaged over accounts.

Two links from scores to logits and two priors on the flip matrix give four accounts of the noise; the amount of noise,
which the data often leave open, is averaged over on a grid. Every row's posterior, the flip matrix and the number of
wrong labels are means over all of them, by their evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from noisewise._inputs import Codes, Floats
from noisewise.noise._flip import FlipMatrix
from noisewise.noise._variational import Curve, Explanation, climb, explain_noise

BLOCK = 4096
FREE_BONUS = 4.0  # log odds in favour of flips that differ
CLOSE = 6.0  # accounts this far below the best, in log evidence, no longer count
TEMPER = 0.5  # trust in the profile of the amount: half its log-likelihood
MODEL_ERROR = 0.015  # of the rows, standard deviation: what the link gets wrong, however many rows there are
PROOF = 4.0  # noise is proven if it makes the labels likelier by so much, in log-likelihood
SMALLEST_WEIGHT = 0.003
MOST_FLIPPED, LEAST_KEPT = 0.95, 0.1
NEGLIGIBLE = 7.0  # in (tempered) log-likelihood
AMOUNTS = 0.8 * np.linspace(np.sqrt(0.001 / 0.8), 1, 30) ** 2
SPACING = np.gradient(AMOUNTS)


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
        truth = self.clean_posterior(scores) * self.matrix.T.astype(scores.dtype)[codes]
        truth /= np.maximum(truth.sum(axis=1, keepdims=True), np.finfo(scores.dtype).tiny)
        return np.asarray(truth)


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


@dataclass(frozen=True)
class NoiseReading:
    """The calibration of a set of rows, and what it says about these rows.

    Attributes
    ----------
    calibration : Calibration
        To read scores of other rows with.
    posterior : array of shape (n_rows, n_classes)
        Probability of each true class, given the row's scores and its observed class.
    n_wrong : float
        Expected number of observed labels that are not the true ones.
    interval : tuple of two floats
        The number of wrong labels lies here with the wanted probability.
    """

    calibration: Calibration
    posterior: NDArray[np.float32]
    n_wrong: float
    interval: tuple[float, float]


def sum_over(parts: Iterator[NDArray[Any]]) -> NDArray[Any]:
    """Sum of arrays, one at a time."""
    total = next(parts)
    for part in parts:
        total += part
    return total


def link(scores: NDArray[Any], logarithmic: bool) -> NDArray[Any]:
    """Scores as they enter the logits: themselves, or their logarithm (of a tenth of chance at least)."""
    return np.log(np.maximum(scores, scores.dtype.type(0.1 / scores.shape[1]))) if logarithmic else scores


def read_noise(
    scores: Floats,
    codes: Codes,
    noise: FlipMatrix | None = None,
    rng: np.random.Generator | None = None,
    coverage: float = 0.9,
) -> NoiseReading:
    """Find the noise in labels and the true class of each row, from scores that did not see the row's label.

    Parameters
    ----------
    scores : array of shape (n_rows, n_classes)
        Something like P(observed class | x), from a fit without the row: leave-one-out or out-of-fold.
    codes : array of int of shape (n_rows,)
        Observed classes, 0 to n_classes - 1.
    noise : FlipMatrix, optional
        The noise where it is known.
    rng : numpy generator, optional
        Draws the rows to calibrate on where there are many.
    coverage : float
        Wanted probability of the interval for the number of wrong labels.
    """
    n, n_classes = scores.shape
    few = max(6000, 40 * n_classes)
    chosen = np.arange(n) if n <= few else np.sort((rng or np.random.default_rng(0)).choice(n, few, replace=False))
    calibration = calibrate(np.asarray(scores[chosen], dtype=np.float64), codes[chosen], noise)
    posterior = np.empty((n, n_classes), dtype=np.float32)
    wrong, spread = np.zeros(len(calibration.accounts)), np.zeros(len(calibration.accounts))
    for start in range(0, n, BLOCK):
        part = slice(start, start + BLOCK)
        block, observed = np.asarray(scores[part], dtype=np.float32), codes[part]
        posterior[part] = 0
        for a, account in enumerate(calibration.accounts):
            truth = account.explain(block, observed)
            right = truth[np.arange(len(observed)), observed].astype(np.float64)
            wrong[a] += (1 - right).sum()
            spread[a] += (right * (1 - right)).sum()
            posterior[part] += np.float32(account.weight) * truth
    weights = np.array([account.weight for account in calibration.accounts])
    count = float(weights @ wrong)
    model_error = MODEL_ERROR * n if noise is None else min(MODEL_ERROR * n, count)
    deviations = np.sqrt(spread * n / len(chosen) + model_error**2)
    low, high = _interval(weights, wrong, deviations, n, coverage)
    return NoiseReading(calibration, posterior, count, (low if calibration.proven else 0.0, high))


def calibrate(scores: Floats, codes: Codes, noise: FlipMatrix | None = None) -> Calibration:
    """The accounts of the noise in a set of rows, weighted by their evidence."""
    linked = {logarithmic: link(scores, logarithmic) for logarithmic in (False, True)}
    if noise is not None:
        with np.errstate(divide="ignore"):
            log_flips = np.maximum(np.log(noise.matrix), -700)
        fits = {
            l: climb(g, codes, log_flips, Curve(4.0, np.zeros(g.shape[1])), 50, 1e-6)[:2] for l, g in linked.items()
        }
        odds = _shares([value for _, value in fits.values()])
        accounts = [Account(w, l, curve, noise.matrix) for w, (l, (curve, _)) in zip(odds, fits.items())]
        return Calibration(_significant(accounts), noise)
    structures = [(l, free, explain_noise(g, codes, free)) for l, g in linked.items() for free in (False, True)]
    values = np.array([found.bound + FREE_BONUS * free for _, free, found in structures])
    accounts, likeliest = [], -np.inf
    for value, (logarithmic, _, found) in zip(values, structures):
        if value > values.max() - CLOSE:
            share = float(np.exp(value - values.max()))
            some, best = _amounts(linked[logarithmic], codes, found, logarithmic, share)
            accounts += some
            likeliest = max(likeliest, best)
    kept = _significant(accounts)
    mean = FlipMatrix.estimated(sum_over(account.weight * account.matrix for account in kept))
    return Calibration(kept, mean, proven=likeliest - _without_noise(linked, codes) > PROOF)


def _without_noise(linked: dict[bool, Floats], codes: Codes) -> float:
    """Log-likelihood of the labels if none is wrong, by the better link."""
    identity = np.log(np.maximum(np.eye(linked[False].shape[1]), 1e-12))
    start = Curve(4.0, np.zeros(len(identity)))
    return max(float(climb(g, codes, identity, start, 50, 1e-6)[1]) for g in linked.values())


def _amounts(
    linked: Floats, codes: Codes, found: Explanation, logarithmic: bool, odds: float
) -> tuple[list[Account], float]:
    """The account with its amount of noise scaled along a grid, by half its profile log-likelihood.

    The grid is walked up and down from the amount found, and left where amounts no longer count. Also the highest
    log-likelihood on the grid.
    """
    start = int(np.abs(AMOUNTS - found.amount).argmin())
    trials: dict[int, tuple[float, Curve, Floats]] = {}
    for way in (range(start, len(AMOUNTS)), range(start - 1, -1, -1)):
        curve = trials[start][1] if start in trials else found.curve
        for place in way:
            matrix = _scaled(found, float(AMOUNTS[place]))
            if matrix is None:
                break
            curve, value, _ = climb(linked, codes, np.log(np.maximum(matrix, 1e-12)), curve, 20, 1e-3)
            trials[place] = TEMPER * value, curve, matrix
            if value < max(trials.values(), key=itemgetter(0))[0] / TEMPER - NEGLIGIBLE / TEMPER:
                break
    shares = _shares([value + np.log(SPACING[place]) for place, (value, _, _) in trials.items()])
    accounts = [Account(odds * s, logarithmic, curve, matrix) for s, (_, curve, matrix) in zip(shares, trials.values())]
    return accounts, max(value for value, _, _ in trials.values()) / TEMPER


def _scaled(found: Explanation, amount: float) -> Floats | None:
    """The flip matrix with this share of flipped labels, or None where labels would say nothing any more."""
    identity = np.eye(len(found.matrix))
    matrix = identity + amount / found.amount * (found.matrix - identity)
    kept = np.diag(matrix)
    return None if kept.min() < LEAST_KEPT or (len(kept) == 2 and 2 - kept.sum() > MOST_FLIPPED) else matrix


def _shares(logs: list[float]) -> Floats:
    weights = np.exp(np.array(logs) - max(logs))
    return np.asarray(weights / weights.sum())


def _significant(accounts: list[Account]) -> tuple[Account, ...]:
    total = sum(account.weight for account in accounts)
    kept = [account for account in accounts if account.weight > SMALLEST_WEIGHT * total]
    total = sum(account.weight for account in kept)
    return tuple(Account(a.weight / total, a.logarithmic, a.curve, a.matrix) for a in kept)


def _interval(weights: Floats, means: Floats, deviations: Floats, most: int, coverage: float) -> tuple[float, float]:
    """Quantiles of a mixture of normal laws, within 0 and `most`."""

    def quantile(level: float) -> float:
        if not deviations.all():
            return float(weights @ means)
        low, high = (means - 9 * deviations).min(), (means + 9 * deviations).max()
        found = brentq(lambda count: weights @ ndtr((count - means) / deviations) - level, low, high, xtol=1e-3)
        return float(np.clip(found, 0, most))

    return quantile((1 - coverage) / 2), quantile((1 + coverage) / 2)


def likely_wrong(chance_wrong: Floats) -> NDArray[np.intp]:
    """Rows to look at first: as many of the worst as make the expected F1 score largest, worst first.

    >>> likely_wrong(np.array([0.1, 0.9, 0.05, 0.8]))
    array([1, 3])
    """
    order = np.argsort(-chance_wrong, kind="stable")
    gains = np.cumsum(chance_wrong[order], dtype=np.float64)
    expected = 2 * gains / (np.arange(1, len(order) + 1) + gains[-1])
    return np.asarray(order[: int(np.argmax(expected)) + 1])
