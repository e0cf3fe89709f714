"""Fourier features seen through noise: what their products would be without it.

Additive symmetric noise multiplies the mean of cos(w.x + b) by its characteristic function chi(w). So the cosines of
noisy rows are, on average, those of clean rows *damped* by chi. Their sums and their products with targets need no
correction; their products with each other do, and it is known: the mean of cos(a - b) is damped by chi(w - w'), that
of cos(a + b) by chi(w + w').
"""

from __future__ import annotations

import numpy as np

from noisewise._typing import Floats
from noisewise.features.noise_argument import FeatureNoise, characteristic_of_mean
from noisewise.features.solvers.cross_validation import centre, guarded_choice, squared_loss, take_away
from noisewise.features.solvers.least_squares import FLOOR, Fitted, eigenvalue_error, solve

STRENGTHS = 10.0 ** np.arange(-6, 1.0, 0.5)  # ridges, as shares of the features' total variance
TINY = 1e-7  # directions with less than this share of the leading variance are left out
MOST = 150  # directions kept at most; solving is cubic in them


def pair_damping(
    frequencies: Floats, noise: FeatureNoise, n_copies: int, max_inflation: float = np.inf
) -> tuple[Floats, Floats]:
    """Factors that turn the noisy products cos(a - b) and cos(a + b) into those of clean features, damped.

    They are chi(w) chi(w') / chi(w - w') and chi(w) chi(w') / chi(w + w'), both of shape (D, D). Some laws' chi have
    zeros: no product is divided by less than 1 / max_inflation^2.
    """
    single = characteristic_of_mean(noise, frequencies, n_copies)
    minus, plus = np.empty((2, len(single), len(single)))
    for i, w in enumerate(frequencies):  # row by row: all pairs of frequencies at once would fill the memory
        for factors, pairs in ((minus, w - frequencies), (plus, w + frequencies)):
            chi = characteristic_of_mean(noise, pairs, n_copies)
            factors[i] = single[i] * single / np.copysign(np.maximum(np.abs(chi), max_inflation**-2), chi)
    return minus, plus


def excess_products(cosines: Floats, sines: Floats, minus: Floats, plus: Floats) -> Floats:
    """What noise adds to sums of products of cosines (..., D, D), given those of sines and `pair_damping`."""
    return np.asarray(cosines - ((cosines + sines) * minus + (cosines - sines) * plus) / 2)


def leading_ways(sums: Floats, n_targets: int, prior: Floats) -> Floats:
    """Combinations (D, r) along which features vary, scaled: a plain ridge on them is the prior's."""
    root = np.sqrt(prior)
    values, vectors = np.linalg.eigh(centre(sums, n_targets)[0] * np.outer(root, root))
    some = values[-MOST:] > TINY * values[-1]
    some[-1] = True
    return np.asarray(root[:, None] * vectors[:, -MOST:][:, some])


def turn(sums: Floats, corrections: Floats, by: Floats) -> tuple[Floats, Floats]:
    """Sums and corrections of every fold, for the features' combinations `by` (D, r)."""
    d, r = by.shape
    q = sums.shape[-1] - 1 - d
    turned = np.empty((*sums.shape[:-2], 1 + r + q, 1 + r + q))
    outside, inside = [0, *range(-q, 0)], slice(1, 1 + r)
    turned[..., inside, inside] = by.T @ sums[..., 1 : 1 + d, 1 : 1 + d] @ by
    for place in outside:
        turned[..., inside, place] = turned[..., place, inside] = sums[..., place, 1 : 1 + d] @ by
        for other in outside:
            turned[..., place, other] = sums[..., place, other]
    return turned, by.T @ corrections @ by


def solve_deconvolved(
    sums: Floats,
    corrections: Floats,
    damping: Floats,
    priors: Floats,
    n_targets: int,
    strength: float | None = None,
    standard_errors: float = 2.0,
) -> Fitted:
    """Coefficients of (1, damped clean features), of shape (1 + D, q).

    Each prior (one for each width) is tried with the noise's share taken away, weights being punished by 1 / chi, and
    without. Cross-validation on noisy rows settles the latter; the guard leaves it for one of the former that is better
    on clean rows beyond doubt. With a strength, the first prior is taken, and all noise is taken away.
    """
    total, counts = sums.sum(axis=0), sums[:, 0, 0]
    if strength is not None or np.count_nonzero(counts) < 2:
        ways = leading_ways(total, n_targets, priors[0] / np.abs(damping))
        ridge = np.array([STRENGTHS[-1] if strength is None else strength])
        path = _path(*turn(total, corrections.sum(axis=0), ways), n_targets, ridge, 0.0)
        return Fitted(_unturned(path, ways)[0], 1.0, float(ridge[0]), None)
    held_out = take_away(sums, corrections)
    families = [(prior, False) for prior in priors]
    if corrections.any():
        families += [(prior / np.abs(damping), True) for prior in priors]
    clean, noisy = np.zeros((2, len(families), len(STRENGTHS), len(sums)))  # held-out losses on either kind of rows
    fits = np.zeros((len(families), len(STRENGTHS), 1 + len(damping), n_targets))
    for i, (prior, corrected) in enumerate(families):
        ways = leading_ways(total, n_targets, prior)
        parts, noise = turn(sums, corrections * corrected, ways)
        floor = FLOOR * eigenvalue_error(parts, noise, n_targets, np.ones(ways.shape[1])) if corrected else 0.0
        whole, its_noise = parts.sum(axis=0), noise.sum(axis=0)
        for fold in np.flatnonzero(counts):
            path = _path(whole - parts[fold], its_noise - noise[fold], n_targets, STRENGTHS, floor)
            path = _unturned(path, ways)
            noisy[i, :, fold] = squared_loss(path, sums[fold])
            if not corrected:
                path[:, 1:] /= damping[:, None]  # weights for noisy features, taken as weights for clean ones
            clean[i, :, fold] = squared_loss(path, held_out[fold])
            fits[i] += path / np.count_nonzero(counts)  # the mean of the judged fits loses no more than they do
    plain = len(priors) * len(STRENGTHS)
    usual = int(np.argmin(noisy[: len(priors)].sum(axis=2)))
    candidates = np.concatenate([[usual], np.arange(plain, clean.shape[0] * clean.shape[1])])
    choice = guarded_choice(clean.reshape(-1, len(sums))[candidates], counts, standard_errors, start=0)
    i, j = divmod(int(candidates[choice.best]), len(STRENGTHS))
    return Fitted(fits[i, j], float(families[i][1]), float(STRENGTHS[j]), choice)


def _path(sums: Floats, correction: Floats, n_targets: int, strengths: Floats, floor: float) -> Floats:
    variance = np.trace(centre(sums, n_targets)[0])
    ridges = np.maximum(strengths * variance, 1e-300)
    return solve(sums, correction, n_targets, ridges, floor=floor, scale=np.ones(len(correction)))


def _unturned(path: Floats, by: Floats) -> Floats:
    return np.concatenate([path[:, :1], by @ path[:, 1:]], axis=1)
