"""Algorithm 2 of Bootkrajang and Kaban as printed, its equations put right: one step on everything in each pass.

The function is sum_i eta_i K_i w with eta = u^2. Weights w and kernels' weights eta are only known up to a common
factor, so the penalties that are re-estimated from them lose their hold, and the number of passes is what keeps the
function smooth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise._numerics.em import symmetric_matrix
from noisewise._typing import Codes, Floats
from noisewise.labels.logistic.conjugate_gradient import Directions, FirstHessian, step_length
from noisewise.labels.logistic.flip_parameters import START
from noisewise.labels.logistic.likelihood import flip_likelihood

RATE = 2.0  # of the exponential prior on the ridge [beta]
TINY = 1e-100  # of the exponential prior on the kernels' penalties [psi]
LEAST_SUM = 1e-8  # of the kernels' weights: below, all are pruned


@dataclass(frozen=True)
class PrintedFit:
    """Weights of the rows (n, n_scores), of the kernels, the flip matrix, and the log-likelihood after every pass."""

    rows: Floats
    kernels: Floats
    flips: Floats
    history: list[float]
    all_pruned: bool


def fit_printed(
    grams: Floats, codes: Codes, weights: Floats, n_classes: int, n_columns: int, flips: Floats | None, max_iter: int
) -> PrintedFit:
    """`max_iter` passes of Algorithm 2.

    Parameters
    ----------
    grams : array of shape (n_kernels, n, n)
    codes, weights : arrays of shape (n,)
    n_columns : int
        The "m" of eq. 20, which Appendix A takes to be the number of columns of the data.
    flips : array, optional
        The flip matrix if it is known; else it is learned, from rates of 0.2.
    max_iter : int
        Passes; 10 to 12 reach the paper's errors on clean labels.
    """
    learned = flips is None
    if flips is None:
        flips = symmetric_matrix(n_classes, START)
    n_scores = 1 if n_classes == 2 else n_classes
    w, u = np.zeros((len(codes), n_scores)), np.ones(len(grams))
    ridge, shrink = np.zeros(n_scores), np.zeros(len(grams))  # [zeta, xi]
    on_rows, on_kernels, first = Directions(), Directions(), FirstHessian(codes, flips, weights)
    history: list[float] = []
    for _ in range(max_iter):
        gram = np.tensordot(u**2, grams, 1)
        slope = flip_likelihood(gram @ w, codes, flips, weights)[1]
        gradient = gram @ slope - ridge * w
        direction = on_rows.turn(gradient)
        curvature = first.curvature(gram @ direction) + float(np.sum(ridge * direction**2))
        w = w + step_length(gradient, direction, curvature) * direction
        ridge = (n_columns / 2 + 1) / (np.sum(w**2, axis=0) / 2 + RATE)  # eq. 20
        parts = grams @ w  # (n_kernels, n, n_scores)
        slope = flip_likelihood(np.tensordot(u**2, parts, 1), codes, flips, weights)[1]
        gradient = 2 * u * (np.einsum("ins,ns->i", parts, slope) - shrink * u)  # eq. 15 with its chain factor
        direction = on_kernels.turn(gradient)
        moved = np.tensordot(2 * u * direction, parts, 1)
        curvature = first.curvature(moved) + 2 * float(np.sum(shrink * direction**2))
        step = step_length(gradient, direction, curvature)
        if not np.sum((u + step * direction) ** 2) >= LEAST_SUM:
            return PrintedFit(w, u**2, flips, history, True)
        u = u + step * direction
        shrink = 2 / (u**2 + TINY)  # eq. 24
        value, _, counts = flip_likelihood(np.tensordot(u**2, parts, 1), codes, flips, weights)
        if learned:
            flips = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)  # eqs. 7 and 8
        history.append(value)
    return PrintedFit(w, u**2, flips, history, False)
