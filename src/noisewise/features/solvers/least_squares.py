"""Least squares with the noise's share taken away, kept within a ridge or a ball."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from noisewise._typing import Floats
from noisewise.features.solvers.cross_validation import (
    Choice,
    add_intercept,
    centre,
    guarded_choice,
    mean_and_error,
    squared_loss,
    take_away,
)

STRENGTHS = {
    "ridge": 10.0 ** np.arange(-4, 2.5, 0.5),
    "ball": 2.0 ** np.arange(3, -4.5, -0.5),
}  # from weak to strong
AMOUNTS = (1.0, 0.75, 0.5, 0.0)  # shares of the noise that candidates take away; 0 only averages the copies
CHANCE = 5.0  # standard errors by which the noise of the rows at hand may differ from the expected
FLOOR = 2.0  # eigenvalues below two standard errors may be zero or less in truth: weights along them are held back


class Fitted(NamedTuple):
    """Coefficients of (1, features), and how they were chosen."""

    coefficients: Floats
    amount: float
    strength: float
    choice: Choice | None


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

    Columns count in units of `scale`, by default their observed standard deviation. A Gram matrix less the noise's
    share may have negative eigenvalues: those below `floor` are put to it. A strength is the ridge that is added, or
    the greatest length of the weights, in units of the targets' deviation.
    """
    gram, cross, means, targets = centre(sums, n_targets)
    scale = deviations(gram, means) if scale is None else scale
    values, vectors = np.linalg.eigh((gram - correction / sums[0, 0]) / np.outer(scale, scale))
    values = np.maximum(values, floor)
    turned = vectors.T @ (cross / scale[:, None])
    if constraint == "ball":
        strengths = np.array([ridge_of_ball(values, turned, length * _spread(sums, n_targets)) for length in strengths])
    weights = vectors @ (turned / (values[:, None] + strengths[:, None, None]))
    return add_intercept(weights / scale[:, None], means, targets)


def solve_guarded(
    sums: Floats,
    corrections: Floats,
    n_targets: int,
    constraint: str = "ridge",
    standard_errors: float = 2.0,
    whole: float | None = None,
) -> Fitted:
    """The share of noise to take away and the strength, chosen by held-out unbiased loss plus standard errors.

    `whole` is what counts as all of the noise where the target is a line (`amount_on_a_line`): taking it all away is
    then left only for what is clearly better.
    """
    total, noise = sums.sum(axis=0), corrections.sum(axis=0)
    strengths, counts = STRENGTHS[constraint], sums[:, 0, 0]
    amounts = [(whole or 1.0) * share for share in AMOUNTS] if noise.any() else [0.0]
    if np.count_nonzero(counts) < 2:  # nothing to hold out
        return Fitted(solve(total, noise, n_targets, strengths[-1:], constraint)[0], 1.0, float(strengths[-1]), None)
    floor = FLOOR * eigenvalue_error(sums, corrections, n_targets)
    losses = np.zeros((len(amounts), len(strengths), len(sums)))
    paths = np.zeros((*losses.shape, len(noise) + 1, n_targets))
    for fold in np.flatnonzero(counts):
        held_out = take_away(sums[fold], corrections[fold])
        rest, its_noise = total - sums[fold], noise - corrections[fold]
        for i, amount in enumerate(amounts):
            paths[i, :, fold] = solve(rest, amount * its_noise, n_targets, strengths, constraint, amount * floor)
            losses[i, :, fold] = squared_loss(paths[i, :, fold], held_out)
    choice = guarded_choice(losses.reshape(-1, len(sums)), counts, standard_errors, start=None if whole is None else 0)
    i, j = divmod(choice.best, len(strengths))
    # The mean of the judged fits loses no more than they do; a new fit to all rows can be wild where none of them was.
    coefficients = np.average(paths[i, j], axis=0, weights=counts > 0)
    return Fitted(coefficients, float(amounts[i]), float(strengths[j]), choice)


def amount_on_a_line(sums: Floats, correction: Floats, target_noise: float) -> float | None:
    """How much of the noise to take away where the target is a line of the clean features plus noise of known variance.

    Then some combination of features and target is noise alone, and the smallest variance there is, in units of the
    noise's, shows how much noise these very rows happen to have: taking away so much is total least squares, which errs
    less than taking away the expected amount. Where it is not 1 but for chance, there is more in the target than that:
    None.

    >>> rng = np.random.default_rng(0)
    >>> Z = np.column_stack([np.ones(1000), rng.normal(size=(1000, 2))])  # both columns are noise of variance 1
    >>> round(amount_on_a_line(Z.T @ Z, np.array([[1000.0]]), target_noise=1.0), 2)
    0.96
    """
    n = sums[0, 0]
    observed = sums[1:, 1:] / n - np.outer(sums[0, 1:], sums[0, 1:]) / n**2
    noise = np.zeros_like(observed)
    noise[:-1, :-1], noise[-1, -1] = correction / n, target_noise
    amount = float(1 / np.linalg.eigvals(np.linalg.pinv(observed, hermitian=True) @ noise).real.max())
    chance = CHANCE * np.sqrt(2 / n) + len(noise) / n
    if abs(amount - 1) <= chance:
        return amount
    warnings.warn(
        f"target_noise={target_noise:g} does not fit: the rows differ from a line by {amount:.3g} of the stated noise, "
        f"beyond chance ({chance:.2g}); it is not used, leave it away where the target is no line",
        RuntimeWarning,
        stacklevel=6,  # who has called fit
    )
    return None


def eigenvalue_error(sums: Floats, corrections: Floats, n_targets: int, scale: Floats | None = None) -> float:
    """Typical standard error of the corrected Gram matrix's eigenvalues, in units of `scale` as in `solve`.

    Measured as the folds differ along each eigenvector.
    """
    gram, _, means, _ = centre(sums.sum(axis=0), n_targets)
    scale, counts = deviations(gram, means) if scale is None else scale, sums[:, 0, 0]
    vectors = np.linalg.eigh((gram - corrections.sum(axis=0) / counts.sum()) / np.outer(scale, scale))[1]
    inside = slice(1, 1 + len(gram))
    along = vectors / scale[:, None]
    values = np.array(
        [
            np.einsum("ij,ij->j", along, (total[inside, inside] - noise) @ along)
            - 2 * (total[0, inside] @ along) * (means @ along)
            + total[0, 0] * (means @ along) ** 2
            for total, noise in zip(sums, corrections)
        ]
    )
    return float(np.sqrt(np.mean(mean_and_error(values.T, counts)[1] ** 2)))


def deviations(gram: Floats, means: Floats) -> Floats:
    """Observed standard deviation of each column; infinite for constant ones, which then get no weight."""
    variances = np.diag(gram)
    constant = variances <= 1e-12 * (means**2 + variances)
    return np.where(constant, np.inf, np.sqrt(np.maximum(variances, 1e-300)))


def ridge_of_ball(values: Floats, turned: Floats, length: float) -> float:
    """The ridge at which weights turned / (values + ridge) are just as long as allowed; almost none if shorter."""
    size = np.sqrt((turned**2).sum(axis=1))

    def excess(log_ridge: float) -> float:
        return float(np.linalg.norm(size / (values + np.exp(log_ridge)))) - length

    low, high = -25.0, 25.0
    if excess(high) >= 0:
        return float(np.exp(high))
    return float(np.exp(low if excess(low) < 0 else brentq(excess, low, high)))


def _spread(sums: Floats, n_targets: int) -> float:
    n = sums[0, 0]
    means = sums[0, -n_targets:] / n
    return float(np.sqrt(max(np.trace(sums[-n_targets:, -n_targets:]) / n - means @ means, 0.0)))
