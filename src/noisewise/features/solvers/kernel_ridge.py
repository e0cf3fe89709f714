"""Kernel ridge regression from two replicates of each row: on their mean, or corrected by surrogate kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noisewise._typing import Floats
from noisewise.features.solvers.cross_validation import (
    fold_numbers,
    fold_products,
    squared_loss,
    standard_error_rule,
    subtract_noise,
)
from noisewise.features.solvers.least_squares import (
    EIGENVALUE_FLOOR,
    RELATIVE_RIDGES,
    eigenvalue_error,
    solve_relative,
)
from noisewise.features.solvers.surrogate_descent import Replicates
from noisewise.kernels import Kernel, Surrogate

LANDMARKS = 300  # rows that span the predictors; with all rows, time would be cubic in them
MAX_RANK, MAX_RANK_CORRECTED = 200, 100  # eigenvectors kept at most: solving is cubic in them, and noise hides the last
SMALLEST_EIGENVALUE = 1e-9  # as a fraction of the largest; smaller ones are dropped
N_FOLDS = 10  # held out one at a time; each takes a solution for every ridge and kernel


class KernelRidge(NamedTuple):
    """Rows, their coefficients and an intercept; which kernel, whether corrected, and every row's held-out loss."""

    rows: Floats
    coefs: Floats
    intercept: float
    kernel: int
    corrected: bool
    losses: Floats


def fit_kernel_ridge(
    means: Floats, pair: Replicates, y: Floats, surrogates: list[tuple[Surrogate, Surrogate]], n_rows: int = LANDMARKS
) -> KernelRidge:
    """Kernel ridge spanned by at most `n_rows` means of replicates, uncorrected unless a corrected fit is better.

    The uncorrected candidate has the kernel and the ridge that cross-validation on the means selects. The corrected
    ones replace the Gram matrix of the features phi(x) by products phi(x1) phi(x2)' of the surrogate kernels' values
    (a pair for each kernel) at two replicates, which are unbiased for clean rows; so are the held-out losses that the
    k-standard-error rule compares.
    """
    n, n_folds = len(y), min(N_FOLDS, len(y))
    fold_of = fold_numbers(means, n_folds)
    rows = means[np.unique(np.linspace(0, n - 1, min(n, n_rows)).astype(np.intp))]
    shape = (2, len(surrogates), len(RELATIVE_RIDGES), n_folds)
    noisy, clean = np.zeros(shape[1:3]), np.zeros(shape)
    fits = np.zeros((*shape, 1 + len(rows)))
    for i, of_replicates in enumerate(surrogates):
        kernel = of_replicates[0].clean
        basis = _nystroem_basis(kernel, rows)
        plain = fold_products(_columns(kernel.gram(means, rows) @ basis, y), n_folds, fold_of)
        first, second = (hat.gram(replicate, rows) @ basis for hat, replicate in zip(of_replicates, pair[:2]))
        sums = fold_products(_columns((first + second) / 2, y), n_folds, fold_of)
        apart = fold_products((first - second) / 2, n_folds, fold_of)  # the mean's square less this: their product
        unbiased = subtract_noise(sums, apart)
        for corrected, (these, noise, rank) in enumerate(
            ((plain, 0 * apart, MAX_RANK), (sums, apart, MAX_RANK_CORRECTED))
        ):
            some = np.concatenate([[0], np.arange(1, 1 + basis.shape[1])[-rank:], [-1]])
            these, noise = these[:, some[:, None], some], noise[:, -rank:, -rank:]
            floor = EIGENVALUE_FLOOR * eigenvalue_error(these, noise, 1, np.ones(noise.shape[1])) if corrected else 0.0
            for fold in range(n_folds):
                rest, its_noise = these.sum(axis=0) - these[fold], noise.sum(axis=0) - noise[fold]
                path = solve_relative(rest, its_noise, 1, RELATIVE_RIDGES, floor)
                clean[corrected, i, :, fold] = squared_loss(path, unbiased[fold][some[:, None], some])
                fits[corrected, i, :, fold] = np.column_stack([path[:, 0, 0], path[:, 1:, 0] @ basis[:, -rank:].T])
                if not corrected:
                    noisy[i] += squared_loss(path, plain[fold])
    candidates = np.concatenate([[np.argmin(noisy)], np.arange(noisy.size, 2 * noisy.size)])
    counts = np.bincount(fold_of, minlength=n_folds).astype(np.float64)
    choice = standard_error_rule(clean.reshape(-1, n_folds)[candidates], counts, start=0)
    corrected, i, strength = (int(index) for index in np.unravel_index(candidates[choice.best], shape[:3]))
    fit = fits[corrected, i, strength]
    errors = [
        np.einsum("ij,ij->i", hat.gram(replicate, rows), fit[fold_of, 1:]) + fit[fold_of, 0] - y
        for hat, replicate in zip(surrogates[i], pair[:2])
    ]
    mean = fit.mean(axis=0)  # by convexity its loss is at most the mean of the folds' losses
    return KernelRidge(rows, mean[1:], float(mean[0]), i, bool(corrected), errors[0] * errors[1])


def _columns(features: Floats, y: Floats) -> Floats:
    return np.column_stack([np.ones(len(y)), features, y])


def _nystroem_basis(kernel: Kernel, rows: Floats) -> Floats:
    """U diag(l)^(-1/2) of shape (m, r), from the leading eigenvectors U of the rows' Gram matrix.

    Kernel values times it are Nystroem features: a ridge on their weights is one on the norm in the kernel's space.
    """
    values, vectors = np.linalg.eigh(kernel.gram(rows))
    values, vectors = values[-MAX_RANK:], vectors[:, -MAX_RANK:]
    some = values > SMALLEST_EIGENVALUE * values[-1]
    return np.asarray(vectors[:, some] / np.sqrt(values[some]))
