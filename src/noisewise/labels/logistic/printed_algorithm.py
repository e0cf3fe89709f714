"""Algorithm 2 of Bootkrajang and Kaban (2014) with its equations put right: one step on every block in each pass.

The scores are sum_i eta_i K_i w with eta = u^2. The weights w of the rows and eta of the kernels are identified up to a
common factor only, so that the penalties re-estimated from them do not regularise, and the number of passes does.
"""

from __future__ import annotations

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
    n_classes : int
    n_columns : int
        The "m" of eq. 20, which Appendix A takes to be the number of columns of the data.
    flips : array, optional
        The flip matrix if it is known; else it is learned, from rates of 0.2.
    max_iter : int
        Passes; 10 to 12 reach the paper's errors on clean labels.
    """
    learned = flips is None
    if flips is None:
        flips = start_flips(n_classes)
    n_scores = 1 if n_classes == 2 else n_classes
    w, u = np.zeros((len(codes), n_scores)), np.ones(len(grams))
    zeta, xi = np.zeros(n_scores), np.zeros(len(grams))  # penalties of the rows' and of the kernels' weights
    on_rows, on_kernels, hessian = ConjugateDirections(), ConjugateDirections(), InitialHessian(codes, flips, weights)
    history: list[float] = []
    for _ in range(max_iter):
        gram = np.tensordot(u**2, grams, 1)
        by_scores = flip_likelihood(gram @ w, codes, flips, weights)[1]
        gradient = gram @ by_scores - zeta * w
        direction = on_rows.next(gradient)
        curvature = hessian.curvature(gram @ direction) + float(np.sum(zeta * direction**2))
        w = w + step_length(gradient, direction, curvature) * direction
        zeta = (n_columns / 2 + 1) / (np.sum(w**2, axis=0) / 2 + RATE)  # eq. 20
        parts = grams @ w  # (n_kernels, n, n_scores)
        by_scores = flip_likelihood(np.tensordot(u**2, parts, 1), codes, flips, weights)[1]
        gradient = 2 * u * (np.einsum("ins,ns->i", parts, by_scores) - xi * u)  # eq. 15 with its chain factor
        direction = on_kernels.next(gradient)
        scores = np.tensordot(2 * u * direction, parts, 1)
        curvature = hessian.curvature(scores) + 2 * float(np.sum(xi * direction**2))
        step = step_length(gradient, direction, curvature)
        if not np.sum((u + step * direction) ** 2) >= LEAST_SUM:
            return PrintedFit(w, u**2, flips, history, True)
        u = u + step * direction
        xi = 2 / (u**2 + SCALE)  # eq. 24
        value, _, counts = flip_likelihood(np.tensordot(u**2, parts, 1), codes, flips, weights)
        if learned:
            flips = normalised_rows(counts)  # eqs. 7 and 8
        history.append(value)
    return PrintedFit(w, u**2, flips, history, False)
