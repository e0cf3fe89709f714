"""Kernel ridge from two copies of each row: on their average, or with the noise's share taken away if that helps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noisewise._typing import Floats
from noisewise.features.solvers.cross_validation import centre, fold_products, guarded_choice, squared_loss, take_away
from noisewise.features.solvers.least_squares import FLOOR, eigenvalue_error, solve
from noisewise.features.solvers.surrogate_descent import Copies
from noisewise.kernels import Kernel
from noisewise.kernels.surrogates import Surrogate

LANDMARKS = 300  # rows that span the predictors; as many as there are would make time cubic
MOST, MOST_CORRECTED = 200, 100  # directions kept at most: solving is cubic in them, and noise hides the later ones
TINY = 1e-9  # directions with less than this share of the leading one are left out
STRENGTHS = 10.0 ** np.arange(-6, 1.0, 0.5)  # ridges, as shares of the features' total variance
N_FOLDS = 10


class KernelRidge(NamedTuple):
    """Rows, their coefficients and an intercept; which kernel, whether corrected, and every row's held-out loss."""

    rows: Floats
    coefs: Floats
    intercept: float
    kernel: int
    corrected: bool
    losses: Floats


def fit_kernel_ridge(
    means: Floats, pair: Copies, y: Floats, hats: list[tuple[Surrogate, Surrogate]], n_rows: int = LANDMARKS
) -> KernelRidge:
    """Kernel ridge spanned by `n_rows` means of copies at most, uncorrected unless a corrected one is better.

    The uncorrected fit has the kernel and the ridge that cross-validation on the means prefers, as for anyone who
    averages. The corrected ones fit products of the surrogate kernels' values (a pair for each kernel) at two copies,
    which are those of clean rows on average; so are the held-out losses by which the guard compares them all.
    """
    n, n_folds = len(y), min(N_FOLDS, len(y))
    rows = means[np.unique(np.linspace(0, n - 1, min(n, n_rows)).astype(np.intp))]
    noisy, clean = np.zeros((len(hats), len(STRENGTHS))), np.zeros((2, len(hats), len(STRENGTHS), n_folds))
    fits = np.zeros((*clean.shape, 1 + len(rows)))
    for i, of_copies in enumerate(hats):
        kernel = of_copies[0].clean
        ways = _leading_ways(kernel, rows)
        plain = fold_products(_columns(kernel.gram(means, rows) @ ways, y), n_folds)
        first, second = (hat.gram(copy, rows) @ ways for hat, copy in zip(of_copies, pair[:2]))
        sums = fold_products(_columns((first + second) / 2, y), n_folds)
        apart = fold_products((first - second) / 2, n_folds)  # the mean's square less this is the copies' product
        unbiased = take_away(sums, apart)
        for corrected, (these, noise, n_ways) in enumerate(((plain, 0 * apart, MOST), (sums, apart, MOST_CORRECTED))):
            some = np.concatenate([[0], np.arange(1, 1 + ways.shape[1])[-n_ways:], [-1]])
            these, noise = these[:, some[:, None], some], noise[:, -n_ways:, -n_ways:]
            floor = FLOOR * eigenvalue_error(these, noise, 1, np.ones(noise.shape[1])) if corrected else 0.0
            for fold in range(n_folds):
                path = _path(these.sum(axis=0) - these[fold], noise.sum(axis=0) - noise[fold], floor)
                clean[corrected, i, :, fold] = squared_loss(path, unbiased[fold][some[:, None], some])
                fits[corrected, i, :, fold] = np.column_stack([path[:, 0, 0], path[:, 1:, 0] @ ways[:, -n_ways:].T])
                if not corrected:
                    noisy[i] += squared_loss(path, plain[fold])
    candidates = np.concatenate([[np.argmin(noisy)], np.arange(noisy.size, 2 * noisy.size)])
    fold_of = np.arange(n) % n_folds
    choice = guarded_choice(clean.reshape(-1, n_folds)[candidates], np.bincount(fold_of).astype(np.float64), start=0)
    corrected, i, strength = (int(place) for place in np.unravel_index(candidates[choice.best], clean.shape[:3]))
    fit = fits[corrected, i, strength]
    errors = [
        np.einsum("ij,ij->i", hat.gram(copy, rows), fit[fold_of, 1:]) + fit[fold_of, 0] - y
        for hat, copy in zip(hats[i], pair[:2])
    ]
    mean = fit.mean(axis=0)  # loses no more than the judged fits do
    return KernelRidge(rows, mean[1:], float(mean[0]), i, bool(corrected), errors[0] * errors[1])


def _columns(features: Floats, y: Floats) -> Floats:
    return np.column_stack([np.ones(len(y)), features, y])


def _leading_ways(kernel: Kernel, rows: Floats) -> Floats:
    """Combinations (m, r) of kernel values at the rows: a plain ridge on them is that of the kernel's norm."""
    values, vectors = np.linalg.eigh(kernel.gram(rows))
    values, vectors = values[-MOST:], vectors[:, -MOST:]
    some = values > TINY * values[-1]
    return np.asarray(vectors[:, some] / np.sqrt(values[some]))


def _path(sums: Floats, correction: Floats, floor: float) -> Floats:
    """Coefficients of (1, features) for all strengths."""
    variance = max(float(np.trace(centre(sums, 1)[0])), 1e-300)
    return solve(sums, correction, 1, STRENGTHS * variance, floor=floor, scale=np.ones(len(correction)))
