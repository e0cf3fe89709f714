"""Accounts of the noise in a set of rows: two links, two priors on the flips, and every amount that is possible.

Two links from scores to logits and two priors on the flip matrix give four accounts; the amount of noise, which the
data often leave open, is averaged over on a grid. Each counts by its evidence.
"""

from __future__ import annotations

from operator import itemgetter

import numpy as np

from noisewise._inputs import Codes, Floats
from noisewise.noise._accounts import Account, Calibration, link, sum_over
from noisewise.noise._curve import Curve, Labelled, climb
from noisewise.noise._flip import FlipMatrix
from noisewise.noise._variational import HIGH_START, Explanation, explain_noise

FREE_BONUS = 2.0  # log odds in favour of flips that differ
CLOSE = 6.0  # accounts this far below the best, in log evidence, no longer count
TEMPER = 0.5  # trust in the profile of the amount: half its log-likelihood
PROOF = 4.0  # noise is proven if it makes the labels likelier by so much, in log-likelihood
SAME_AMOUNT = 0.25  # peaks whose amounts differ by a smaller share are one
SMALLEST_WEIGHT = 0.003
MOST_FLIPPED, LEAST_KEPT = 0.95, 0.1
NEGLIGIBLE = 7.0  # in (tempered) log-likelihood
AMOUNTS = 0.8 * np.linspace(np.sqrt(0.001 / 0.8), 1, 30) ** 2
SPACING = np.gradient(AMOUNTS)


def calibrate(
    scores: Floats, codes: Codes, noise: FlipMatrix | None = None, weights: Floats | None = None
) -> Calibration:
    """The accounts of the noise in a set of rows, weighted by their evidence."""
    counted = np.ones(len(codes)) if weights is None else weights
    linked = {logarithmic: Labelled(link(scores, logarithmic), codes, counted) for logarithmic in (False, True)}
    if noise is not None:
        with np.errstate(divide="ignore"):
            log_flips = np.maximum(np.log(noise.matrix), -700)
        fits = {l: climb(rows, log_flips, Curve.gentle(rows), 50, 1e-6)[:2] for l, rows in linked.items()}
        odds = _shares([value for _, value in fits.values()])
        accounts = [Account(w, l, curve, noise.matrix) for w, (l, (curve, _)) in zip(odds, fits.items())]
        return Calibration(_significant(accounts), noise)
    structures = [(l, *found) for l, rows in linked.items() for found in _explanations(rows)]
    values = np.array([found.bound + FREE_BONUS * free for _, free, found in structures])
    accounts, likeliest = [], -np.inf
    for value, (logarithmic, _, found) in zip(values, structures):
        if value > values.max() - CLOSE:
            share = float(np.exp(value - values.max()))
            some, best = _amounts(linked[logarithmic], found, logarithmic, share)
            accounts += some
            likeliest = max(likeliest, best)
    kept = _significant(accounts)
    mean = FlipMatrix.estimated(sum_over(account.weight * account.matrix for account in kept))
    return Calibration(kept, mean, proven=likeliest - _without_noise(linked) > PROOF)


def _explanations(rows: Labelled) -> list[tuple[bool, Explanation]]:
    """Symmetric noise, free flips, and where much noise leads free flips to another end, that too.

    With few rows or classes that overlap the evidence often has two peaks of about the same height, with and without
    noise: to take one of them would be to be too sure.
    """
    little, much = explain_noise(rows, True), explain_noise(rows, True, HIGH_START)
    found = [(False, explain_noise(rows, False)), (True, little)]
    apart = abs(much.amount - little.amount) > SAME_AMOUNT * max(much.amount, little.amount)
    return [*found, (True, much)] if apart and _tells(much.matrix) else found


def _without_noise(linked: dict[bool, Labelled]) -> float:
    """Log-likelihood of the labels if none is wrong, by the better link."""
    identity = np.log(np.maximum(np.eye(linked[False].n_classes), 1e-12))
    return max(climb(rows, identity, Curve.gentle(rows), 50, 1e-6)[1] for rows in linked.values())


def _amounts(rows: Labelled, found: Explanation, logarithmic: bool, odds: float) -> tuple[list[Account], float]:
    """The account with its amount of noise scaled along a grid, by half its profile log-likelihood.

    The grid is walked up and down from the amount found, and left where amounts no longer count. Also the highest
    log-likelihood on the grid.
    """
    grid = [amount for amount in AMOUNTS if _tells(_scaled(found, amount))] or [found.amount]  # flips of a rare class
    start = int(np.abs(np.array(grid) - found.amount).argmin())
    trials: dict[int, tuple[float, Curve, Floats]] = {}
    for way in (range(start, len(grid)), range(start - 1, -1, -1)):
        curve = trials[start][1] if start in trials else found.curve
        for place in way:
            matrix = _scaled(found, grid[place])
            curve, value, _ = climb(rows, np.log(np.maximum(matrix, 1e-12)), curve, 20, 1e-3)
            trials[place] = TEMPER * value, curve, matrix
            if value < max(trials.values(), key=itemgetter(0))[0] / TEMPER - NEGLIGIBLE / TEMPER:
                break
    shares = _shares([value + np.log(SPACING[place]) for place, (value, _, _) in trials.items()])
    accounts = [Account(odds * s, logarithmic, curve, matrix) for s, (_, curve, matrix) in zip(shares, trials.values())]
    return accounts, max(value for value, _, _ in trials.values()) / TEMPER


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
    return tuple(Account(a.weight / total, a.logarithmic, a.curve, a.matrix) for a in kept)
