"""Algorithm 2 of Bootkrajang and Kaban (2014): conjugate gradients on each block, penalties from eqs. 20 and 24.

The scores are sum_i eta_i K_i w with eta = u^2. The weights w of the rows and eta of the kernels are identified up to a
common factor only, so that the penalties re-estimated from them do not regularise in the end: few passes reach the
paper's errors, many fit flips.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noisewise._numerics.em import normalised_rows
from noisewise._typing import Codes, Floats
from noisewise.labels.flip_likelihood import flip_likelihood
from noisewise.labels.flip_parameters import start_flips
from noisewise.labels.logistic.conjugate_gradient import ConjugateDirections, InitialHessian, step_length

RATE = 2.0  # of the exponential prior on the penalty of the rows' weights [beta]
SCALE = 1e-100  # of the prior on the penalties of the kernels' weights [psi], as printed
LEAST_SUM = 1e-8  # of the kernels' weights: below, all are pruned
STEPS = 10  # of conjugate gradients on a block; the paper does not say how many, 30 give the same errors and 1 does not


@dataclass(frozen=True)
class PrintedFit:
    """Weights of the rows (n, n_scores), of the kernels, the flip matrix, and the log-likelihood after every pass."""

    rows: Floats
    kernels: Floats
    flips: Floats
    history: list[float]
    all_pruned: bool


def fit_printed(
    grams: Floats,
    codes: Codes,
    weights: Floats,
    n_classes: int,
    flips: Floats | None,
    max_iter: int,
    n_steps: int = STEPS,
    penalised_from: int = 1,
) -> PrintedFit:
    """`max_iter` passes of Algorithm 2.

    Parameters
    ----------
    grams : array of shape (n_kernels, n, n)
    codes, weights : arrays of shape (n,)
    n_classes : int
    flips : array, optional
        The flip matrix if it is known; else it is learned, from rates of 0.2.
    max_iter : int
        Passes; 5 reach the paper's errors.
    n_steps : int
        Of conjugate gradients on the rows' weights, and on the kernels', in each pass.
    penalised_from : int
        First pass in which the penalties are those of eqs. 20 and 24, and not zero; 2 is the letter of Algorithm 2.
    """
    learned = flips is None
    if flips is None:
        flips = start_flips(n_classes)
    w, u = np.zeros((len(codes), 1 if n_classes == 2 else n_classes)), np.ones(len(grams))
    hessian = InitialHessian(codes, flips, weights)
    history: list[float] = []
    for number in range(1, max_iter + 1):
        zeta, xi = row_penalties(w), kernel_penalties(u)
        if number < penalised_from:
            zeta, xi = np.zeros_like(zeta), np.zeros_like(xi)
        w = _ascend_rows(w, np.tensordot(u**2, grams, 1), codes, flips, weights, zeta, hessian, n_steps)
        parts = grams @ w  # (n_kernels, n, n_scores)
        updated = _ascend_kernels(u, parts, codes, flips, weights, xi, hessian, n_steps)
        if not np.sum(updated**2) >= LEAST_SUM:
            return PrintedFit(w, u**2, flips, history, True)
        u = updated
        value, _, counts = flip_likelihood(np.tensordot(u**2, parts, 1), codes, flips, weights)
        if learned:
            flips = normalised_rows(counts)  # eqs. 7 and 8
        history.append(value)
    if learned and n_classes == 2 and flips[0, 1] + flips[1, 0] > 1:  # the mirror image, which is as likely
        w, flips = -w, flips[::-1]
    return PrintedFit(w, u**2, flips, history, False)


def row_penalties(w: Floats) -> Floats:
    """Of the squared weights of the rows, zeta of eq. 20, for every score; "m" counts the weights."""
    return np.asarray((len(w) / 2 + 1) / (np.sum(w**2, axis=0) / 2 + RATE))


def kernel_penalties(u: Floats) -> Floats:
    """Of the weights eta = u^2 of the kernels, xi of eq. 24."""
    return np.asarray(2 / (u**2 + SCALE))


def _ascend_rows(
    w: Floats,
    gram: Floats,
    codes: Codes,
    flips: Floats,
    weights: Floats,
    zeta: Floats,
    hessian: InitialHessian,
    n_steps: int,
) -> Floats:
    """Steps on the log-likelihood less zeta w'w (eq. 5)."""

    def gradient(at: Floats) -> Floats:
        return np.asarray(gram @ flip_likelihood(gram @ at, codes, flips, weights)[1] - 2 * zeta * at)

    def curvature(at: Floats, direction: Floats) -> float:
        return hessian.curvature(gram @ direction) + 2 * float(np.sum(zeta * direction**2))

    return _conjugate_ascent(w, gradient, curvature, n_steps)


def _ascend_kernels(
    u: Floats,
    parts: Floats,
    codes: Codes,
    flips: Floats,
    weights: Floats,
    xi: Floats,
    hessian: InitialHessian,
    n_steps: int,
) -> Floats:
    """Steps on the log-likelihood less sum_i xi_i u_i^2 (eq. 15 with its chain factor)."""

    def gradient(at: Floats) -> Floats:
        by_scores = flip_likelihood(np.tensordot(at**2, parts, 1), codes, flips, weights)[1]
        return np.asarray(2 * at * (np.tensordot(parts, by_scores, 2) - xi))

    def curvature(at: Floats, direction: Floats) -> float:
        scores = np.tensordot(2 * at * direction, parts, 1)
        return hessian.curvature(scores) + 2 * float(np.sum(xi * direction**2))

    return _conjugate_ascent(u, gradient, curvature, n_steps)


def _conjugate_ascent(
    start: Floats,
    gradient: Callable[[Floats], Floats],
    curvature: Callable[[Floats, Floats], float],
    n_steps: int,
) -> Floats:
    """Steps along conjugate directions, as long as the first Hessian has them (eq. 6)."""
    directions, at = ConjugateDirections(), start
    for _ in range(n_steps):
        ascent = gradient(at)
        direction = directions.next(ascent)
        at = at + step_length(ascent, direction, curvature(at, direction)) * direction
    return at
