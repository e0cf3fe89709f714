"""Least squares with the noise covariance subtracted from the Gram matrix, under a ridge or a norm constraint."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from noisewise._typing import Floats
from noisewise.features.noise_argument import CONTRADICTION
from noisewise.features.solvers.cross_validation import (
    Choice,
    centre,
    mean_and_error,
    squared_loss,
    standard_error_rule,
    subtract_noise,
)

STRENGTHS = {
    "ridge": 10.0 ** np.arange(-4, 2.5, 0.5),
    "ball": 2.0 ** np.arange(3, -4.5, -0.5),
}  # of standardised columns, from weak to strong
RELATIVE_RIDGES = 10.0 ** np.arange(-6, 1.0, 0.5)  # of kernel features, as fractions of their total variance
NOISE_FRACTIONS = (1.0, 0.75, 0.5, 0.0)  # of the noise covariance, which candidates subtract; 0 averages the replicates
EIGENVALUE_FLOOR = 2.0  # standard errors; a smaller eigenvalue may be zero or negative in truth, and is raised to this


class Fitted(NamedTuple):
    """Coefficients of (1, features), and how they were chosen."""

    coefficients: Floats
    noise_fraction: float
    strength: float
    choice: Choice | None
    noisy_loss: float = np.nan  # held-out loss of the uncorrected candidate, on noisy rows

    @property
    def validation(self) -> tuple[float, float]:
        """Held-out loss of the chosen candidate and its standard error; NaN if nothing was held out."""
        if self.choice is None:
            return np.nan, np.nan
        return float(self.choice.means[self.choice.best]), float(self.choice.errors[self.choice.best])


def solve(
    sums: Floats,
    correction: Floats,
    n_targets: int,
    strengths: Floats,
    constraint: str = "ridge",
    floor: float = 0.0,
    scale: Floats | None = None,
) -> Floats:
    """Coefficients of (1, features) for each strength, of shape (n_strengths, 1 + d, q).

    Minimises ``w'(G - C) w - 2 w'c + ridge |w|^2`` with the Gram matrix G, the noise covariance C and the covariance c
    of features and targets, columns being divided by `scale`, by default their observed standard deviation. G - C may
    have negative eigenvalues: those below `floor` are replaced by it. A strength is the ridge, or the largest norm of
    the weights in units of the targets' standard deviation.
    """
    gram, cross, means, targets = centre(sums, n_targets)
    scale = column_scales(gram, means) if scale is None else scale
    values, vectors = np.linalg.eigh((gram - correction / sums[0, 0]) / np.outer(scale, scale))
    values = np.maximum(values, floor)
    rotated = vectors.T @ (cross / scale[:, None])
    if constraint == "ball":
        deviation = _target_deviation(sums, n_targets)
        strengths = np.array([ridge_of_ball(values, rotated, length * deviation) for length in strengths])
    weights = vectors @ (rotated / (values[:, None] + strengths[:, None, None])) / scale[:, None]
    intercept = targets - np.einsum("j,...jq->...q", means, weights)
    return np.concatenate([intercept[..., None, :], weights], axis=-2)


def solve_relative(sums: Floats, correction: Floats, n_targets: int, strengths: Floats, floor: float = 0.0) -> Floats:
    """As `solve`, for columns as they are and ridges in units of their total variance."""
    variance = float(np.trace(centre(sums, n_targets)[0]))
    ridges = np.maximum(strengths * variance, 1e-300)
    return solve(sums, correction, n_targets, ridges, floor=floor, scale=np.ones(len(correction)))


def solve_cross_validated(
    sums: Floats,
    corrections: Floats,
    n_targets: int,
    constraint: str = "ridge",
    standard_errors: float = 2.0,
    noise_scale: float | None = None,
    from_uncorrected: bool = False,
) -> Fitted:
    """The fraction of the noise covariance to subtract and the strength, chosen by the k-standard-error rule.

    `noise_scale` multiplies the noise covariance where the target is linear (`total_least_squares_scale`); the whole
    correction is then the reference candidate. With `from_uncorrected` it is the best one that subtracts nothing.
    """
    total, noise = sums.sum(axis=0), corrections.sum(axis=0)
    strengths, counts = STRENGTHS[constraint], sums[:, 0, 0]
    fractions = [(noise_scale or 1.0) * fraction for fraction in NOISE_FRACTIONS] if noise.any() else [0.0]
    if np.count_nonzero(counts) < 2:  # nothing to hold out
        return Fitted(solve(total, noise, n_targets, strengths[-1:], constraint)[0], 1.0, float(strengths[-1]), None)
    floor = EIGENVALUE_FLOOR * eigenvalue_error(sums, corrections, n_targets)
    losses = np.zeros((len(fractions), len(strengths), len(sums)))
    paths = np.zeros((*losses.shape, len(noise) + 1, n_targets))
    for fold in np.flatnonzero(counts):
        held_out = subtract_noise(sums[fold], corrections[fold])
        rest, its_noise = total - sums[fold], noise - corrections[fold]
        for i, fraction in enumerate(fractions):
            paths[i, :, fold] = solve(rest, fraction * its_noise, n_targets, strengths, constraint, fraction * floor)
            losses[i, :, fold] = squared_loss(paths[i, :, fold], held_out)
    start = None if noise_scale is None else 0
    if from_uncorrected:  # whose fraction is the last
        start = losses[:-1].size // len(sums) + int(losses[-1].sum(axis=1).argmin())
    choice = standard_error_rule(losses.reshape(-1, len(sums)), counts, standard_errors, start)
    i, j = divmod(choice.best, len(strengths))
    # By convexity the mean of the folds' fits has at most their mean loss; a new fit to all rows is not covered by it.
    coefficients = np.average(paths[i, j], axis=0, weights=counts > 0)
    return Fitted(coefficients, float(fractions[i]), float(strengths[j]), choice)


def total_least_squares_scale(sums: Floats, correction: Floats, target_noise: float) -> float | None:
    """The multiple of the noise covariance to subtract where the target is linear with noise of known variance.

    It is the smallest root of ``det(M - scale S) = 0``, with the covariance M of features and target and that of their
    noise S: the realised noise of these rows, in units of the expected one. Subtracting it is total least squares,
    whose variance is lower than that of subtracting the expectation (Fuller). If the root differs from 1 by more than
    its standard error allows, the target is not linear, or its noise is not as stated: None.

    References
    ----------
    .. [1] Fuller, W. A. (1987). Measurement Error Models. Wiley.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = np.column_stack([np.ones(1000), rng.normal(size=(1000, 2))])  # both columns are noise of variance 1
    >>> round(total_least_squares_scale(Z.T @ Z, np.array([[1000.0]]), target_noise=1.0), 2)
    0.96
    """
    n = sums[0, 0]
    observed = sums[1:, 1:] / n - np.outer(sums[0, 1:], sums[0, 1:]) / n**2
    noise = np.zeros_like(observed)
    noise[:-1, :-1], noise[-1, -1] = correction / n, target_noise
    scale = float(1 / np.linalg.eigvals(np.linalg.pinv(observed, hermitian=True) @ noise).real.max())
    tolerance = CONTRADICTION * np.sqrt(2 / n) + len(noise) / n
    if abs(scale - 1) <= tolerance:
        return scale
    warnings.warn(
        f"target_noise={target_noise:g} does not fit: the residual variance is {scale:.3g} of the stated noise, and "
        f"random error explains a difference from 1 of {tolerance:.2g} only; it is not used, leave it away where the "
        "target is not linear",
        RuntimeWarning,
        stacklevel=6,  # the caller of fit
    )
    return None


def eigenvalue_error(sums: Floats, corrections: Floats, n_targets: int, scale: Floats | None = None) -> float:
    """Typical standard error of the eigenvalues of the corrected Gram matrix, in units of `scale` as in `solve`.

    It is the root mean square, over the eigenvectors, of the standard error over the folds.
    """
    gram, _, means, _ = centre(sums.sum(axis=0), n_targets)
    scale, counts = column_scales(gram, means) if scale is None else scale, sums[:, 0, 0]
    vectors = np.linalg.eigh((gram - corrections.sum(axis=0) / counts.sum()) / np.outer(scale, scale))[1]
    features = slice(1, 1 + len(gram))
    along = vectors / scale[:, None]
    values = np.array(
        [
            np.einsum("ij,ij->j", along, (total[features, features] - noise) @ along)
            - 2 * (total[0, features] @ along) * (means @ along)
            + total[0, 0] * (means @ along) ** 2
            for total, noise in zip(sums, corrections)
        ]
    )
    return float(np.sqrt(np.mean(mean_and_error(values.T, counts)[1] ** 2)))


def attenuate(weights: Floats, observed: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """G w and (G + C)^-1 G w, the limit of least squares on noisy rows, for the signal covariance G = observed - C.

    Eigenvalues of G that sampling made negative count as zero.

    >>> attenuate(np.array([3.0]), np.array([[2.0]]), np.array([[1.0]]))[1]
    array([1.5])
    """
    values, vectors = np.linalg.eigh(observed - noise)
    signal = vectors * np.maximum(values, 0.0) @ vectors.T
    explained = signal @ weights
    return explained, np.linalg.pinv(signal + noise, hermitian=True) @ explained


def disattenuate(
    weights: Floats, sums: Floats, corrections: Floats, n_targets: int, fraction: float, ridge: float
) -> Floats:
    """(G - f C + ridge)^-1 (G + ridge) w: weights for clean rows from those of a fit to noisy ones.

    Weights are of standardised columns, and so are the covariance G of the noisy rows and C of their noise, of which a
    fraction f is subtracted. Eigenvalues have the floor of `solve_cross_validated`.
    """
    gram, _, means, _ = centre(sums.sum(axis=0), n_targets)
    scale = column_scales(gram, means)
    noise = corrections.sum(axis=0) / sums[:, 0, 0].sum()
    floor = fraction * EIGENVALUE_FLOOR * eigenvalue_error(sums, corrections, n_targets)
    values, vectors = np.linalg.eigh((gram - fraction * noise) / np.outer(scale, scale))
    covered = gram / np.outer(scale, scale) @ weights + ridge * weights
    return np.asarray(vectors @ (vectors.T @ covered / (np.maximum(values, floor) + max(ridge, 1e-12))[:, None]))


def column_scales(gram: Floats, means: Floats) -> Floats:
    """Observed standard deviation of each column; infinite for constant ones, which then get no weight."""
    variances = np.diag(gram)
    constant = variances <= 1e-12 * (means**2 + variances)
    return np.where(constant, np.inf, np.sqrt(np.maximum(variances, 1e-300)))


def ridge_of_ball(values: Floats, rotated: Floats, length: float) -> float:
    """The ridge at which the weights rotated / (values + ridge) have norm `length`; almost none if they are shorter."""
    size = np.sqrt((rotated**2).sum(axis=1))

    def excess(log_ridge: float) -> float:
        return float(np.linalg.norm(size / (values + np.exp(log_ridge)))) - length

    low, high = -25.0, 25.0
    if excess(high) >= 0:
        return float(np.exp(high))
    return float(np.exp(low if excess(low) < 0 else brentq(excess, low, high)))


def _target_deviation(sums: Floats, n_targets: int) -> float:
    n = sums[0, 0]
    means = sums[0, -n_targets:] / n
    return float(np.sqrt(max(np.trace(sums[-n_targets:, -n_targets:]) / n - means @ means, 0.0)))
