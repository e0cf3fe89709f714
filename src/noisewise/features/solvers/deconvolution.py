"""Deconvolution of random Fourier features: unbiased second moments of clean features, and ridge regression on them.

Additive symmetric noise multiplies the mean of cos(w.x + b) by its characteristic function chi(w). So the cosines of
noisy rows are unbiased for those of clean rows *damped* by chi. Their sums and their products with targets need no
correction; the products of two of them do, and it is known: the mean of cos(a - b) is damped by chi(w - w'), that of
cos(a + b) by chi(w + w').
"""

from __future__ import annotations

import numpy as np

from noisewise._typing import Floats
from noisewise.features.noise_argument import FeatureNoise, characteristic_of_mean
from noisewise.features.solvers.cross_validation import centre, squared_loss, standard_error_rule, subtract_noise
from noisewise.features.solvers.least_squares import (
    EIGENVALUE_FLOOR,
    RELATIVE_RIDGES,
    Fitted,
    eigenvalue_error,
    solve_relative,
)

MAX_COMPONENTS = 150  # principal components kept at most; solving is cubic in them
SMALLEST_VARIANCE = 1e-7  # of a principal component, as a fraction of the largest; smaller ones are dropped


def pair_damping(
    frequencies: Floats, noise: FeatureNoise, n_copies: int, max_inflation: float = np.inf
) -> tuple[Floats, Floats]:
    """Factors by which the products cos(a - b) and cos(a + b) of noisy rows become those of clean features, damped.

    They are chi(w) chi(w') / chi(w - w') and chi(w) chi(w') / chi(w + w'), both of shape (D, D). A characteristic
    function may have zeros: no product is divided by less than 1 / max_inflation^2.
    """
    single = characteristic_of_mean(noise, frequencies, n_copies)
    minus, plus = np.empty((2, len(single), len(single)))
    for i, w in enumerate(frequencies):  # row by row: all pairs of frequencies at once would fill the memory
        for factors, pairs in ((minus, w - frequencies), (plus, w + frequencies)):
            chi = characteristic_of_mean(noise, pairs, n_copies)
            factors[i] = single[i] * single / np.copysign(np.maximum(np.abs(chi), max_inflation**-2), chi)
    return minus, plus


def excess_products(cosines: Floats, sines: Floats, minus: Floats, plus: Floats) -> Floats:
    """The bias of sums of products of cosines (..., D, D), from those of sines and `pair_damping`."""
    return np.asarray(cosines - ((cosines + sines) * minus + (cosines - sines) * plus) / 2)


def noisier_products(
    sums: Floats, sines: Floats, frequencies: Floats, noise: FeatureNoise, n_copies: int, least: float
) -> Floats:
    """Sums of z z' of the features of the mean of `n_copies` replicates, as they would be of a single one.

    Features, and products cos(a - b) and cos(a + b), are damped by the ratio of both characteristic functions; it
    counts as zero where that of the mean is below `least`.
    """
    if n_copies == 1:
        return sums

    def ratio(w: Floats) -> Floats:
        of_mean = characteristic_of_mean(noise, w, n_copies)
        usable = np.abs(of_mean) > least
        return np.where(usable, characteristic_of_mean(noise, w, 1) / np.where(usable, of_mean, 1.0), 0.0)

    single, (minus, plus) = ratio(frequencies), np.empty((2, len(frequencies), len(frequencies)))
    for i, w in enumerate(frequencies):
        minus[i], plus[i] = ratio(w - frequencies), ratio(w + frequencies)
    damped, inside = sums.copy(), slice(1, 1 + len(single))
    damped[:, inside] *= single[:, None]
    damped[:, :, inside] *= single
    cosines = sums[:, inside, inside]
    damped[:, inside, inside] = ((cosines + sines) * minus + (cosines - sines) * plus) / 2
    return damped


def principal_components(sums: Floats, n_targets: int, prior: Floats) -> Floats:
    """Leading eigenvectors (D, r) of the features' covariance, in units of the prior's standard deviations."""
    root = np.sqrt(prior)
    values, vectors = np.linalg.eigh(centre(sums, n_targets)[0] * np.outer(root, root))
    some = values[-MAX_COMPONENTS:] > SMALLEST_VARIANCE * values[-1]
    some[-1] = True
    return np.asarray(root[:, None] * vectors[:, -MAX_COMPONENTS:][:, some])


def rotate(sums: Floats, corrections: Floats, basis: Floats) -> tuple[Floats, Floats]:
    """Sums and corrections of every fold, for the features times `basis` (D, r)."""
    d, r = basis.shape
    q = sums.shape[-1] - 1 - d
    rotated = np.empty((*sums.shape[:-2], 1 + r + q, 1 + r + q))
    others, features = [0, *range(-q, 0)], slice(1, 1 + r)
    rotated[..., features, features] = basis.T @ sums[..., 1 : 1 + d, 1 : 1 + d] @ basis
    for i in others:
        rotated[..., features, i] = rotated[..., i, features] = sums[..., i, 1 : 1 + d] @ basis
        for j in others:
            rotated[..., i, j] = sums[..., i, j]
    return rotated, basis.T @ corrections @ basis


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

    Candidates are, for each prior (one for each width), fits with the bias of the products subtracted and weights
    penalised by 1 / chi, and one uncorrected fit, which is selected by cross-validation on noisy rows. The
    k-standard-error rule prefers the latter unless a corrected one is better on clean rows. With a `strength`, the
    first prior is used and corrected.
    """
    total, counts = sums.sum(axis=0), sums[:, 0, 0]
    if strength is not None or np.count_nonzero(counts) < 2:
        basis = principal_components(total, n_targets, priors[0] / np.abs(damping))
        ridge = np.array([RELATIVE_RIDGES[-1] if strength is None else strength])
        path = solve_relative(*rotate(total, corrections.sum(axis=0), basis), n_targets, ridge)
        return Fitted(_rotate_back(path, basis)[0], 1.0, float(ridge[0]), None)
    held_out = subtract_noise(sums, corrections)
    families = [(prior, False) for prior in priors]
    if corrections.any():
        families += [(prior / np.abs(damping), True) for prior in priors]
    clean, noisy = np.zeros((2, len(families), len(RELATIVE_RIDGES), len(sums)))  # held-out losses
    fits = np.zeros((len(families), len(RELATIVE_RIDGES), 1 + len(damping), n_targets))
    for i, (prior, corrected) in enumerate(families):
        basis = principal_components(total, n_targets, prior)
        parts, noise = rotate(sums, corrections * corrected, basis)
        error = eigenvalue_error(parts, noise, n_targets, np.ones(basis.shape[1])) if corrected else 0.0
        floor, whole, its_noise = EIGENVALUE_FLOOR * error, parts.sum(axis=0), noise.sum(axis=0)
        for fold in np.flatnonzero(counts):
            path = solve_relative(whole - parts[fold], its_noise - noise[fold], n_targets, RELATIVE_RIDGES, floor)
            path = _rotate_back(path, basis)
            noisy[i, :, fold] = squared_loss(path, sums[fold])
            if not corrected:
                path[:, 1:] /= damping[:, None]  # weights of noisy features, used for clean ones
            clean[i, :, fold] = squared_loss(path, held_out[fold])
            fits[i] += path / np.count_nonzero(counts)  # by convexity the mean's loss is at most theirs
    plain = len(priors) * len(RELATIVE_RIDGES)
    usual = int(np.argmin(noisy[: len(priors)].sum(axis=2)))
    candidates = np.concatenate([[usual], np.arange(plain, clean.shape[0] * clean.shape[1])])
    choice = standard_error_rule(clean.reshape(-1, len(sums))[candidates], counts, standard_errors, start=0)
    i, j = divmod(int(candidates[choice.best]), len(RELATIVE_RIDGES))
    noisy_loss = float(noisy[: len(priors)].sum(axis=2).min() / counts.sum())
    return Fitted(fits[i, j], float(families[i][1]), float(RELATIVE_RIDGES[j]), choice, noisy_loss)


def _rotate_back(path: Floats, basis: Floats) -> Floats:
    return np.concatenate([path[:, :1], basis @ path[:, 1:]], axis=1)
