"""How much each of many kernels counts, with a fixed sum: the well-posed form of learning several kernels.

With K the sum of weight_i K_i and weights that sum to one, the least f' K^-1 f over the weights is the squared sum of
the norms of functions f_i that sum to f. So weights in proportion to these norms never raise the loss, kernels that do
not help go to zero, and there is a scale: nothing is left that could cancel the penalty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisewise._inputs import Codes, Floats
from noisewise.labels._flip_likelihood import FlipFit, FlipProblem
from noisewise.labels._flip_solvers import solve
from noisewise.labels._kernel_choice import FEW, ROUGH, with_intercept
from noisewise.labels._kernel_features import even_directions, exact_features
from noisewise.labels._left_out_loss import left_out_loss

FIRST_LOOK = 3  # passes after which penalty and noise are chosen anew, with weights that say something
RANK = 200
NEGLIGIBLE = 1e-3  # weights below are zero


@dataclass(frozen=True)
class Weighing:
    """Weights of the kernels, the penalty and flips (None: learned) they go with, and the loss after every pass."""

    weights: Floats
    penalty: float
    flips: Floats | None
    history: list[float]
    converged: bool


def weigh_kernels(
    grams: Floats,
    codes: Codes,
    n_classes: int,
    penalties: Sequence[float],
    noises: Sequence[Floats | None],
    fit_intercept: bool,
    max_iter: int,
    tol: float,
) -> Weighing:
    """Weights with the least penalised loss on these rows, from equal ones, one pass after the other.

    Parameters
    ----------
    grams : array of shape (n_kernels, n, n)
    codes : array of int of shape (n,)
    n_classes : int
    penalties, noises : sequences
        Of several, those with the least left-out loss are taken, at the start and once more a few passes later.
    fit_intercept : bool
    max_iter : int
        Most passes.
    tol : float
        A pass that lowers the mean loss by less is the last.
    """
    weights = np.full(len(grams), 1 / len(grams))
    penalty, flips = penalties[0], noises[0]
    history: list[float] = []
    for turn in range(max_iter):
        basis, projection = exact_features(np.tensordot(weights, grams, 1), np.ones(len(codes)), "function", RANK)
        if turn in (0, FIRST_LOOK):
            tried = [(*_fit(basis, codes, n_classes, p, t, fit_intercept), p, t) for p in penalties for t in noises]
            _, found, penalty, flips = min(tried, key=lambda one: one[0])
            history = []
        else:
            _, found = _fit(basis, codes, n_classes, penalty, flips, fit_intercept)
        history.append(found.history[-1])
        dual = projection @ found.columns[: projection.shape[1]]
        moved = reweighed(weights, grams, dual)
        if len(history) > 1 and turn > FIRST_LOOK and history[-2] - history[-1] < tol * len(codes):
            return Weighing(pruned(moved), penalty, flips, history, True)
        weights = moved
    return Weighing(pruned(weights), penalty, flips, history, len(grams) == 1)


def reweighed(weights: Floats, grams: Floats, dual: Floats) -> Floats:
    """Weights in proportion to the norms of the kernels' own parts of the function, ``weight_i sqrt(a' K_i a)``.

    >>> reweighed(np.array([0.5, 0.5]), np.array([[[4.0]], [[1.0]]]), np.array([[1.0]])).round(3)
    array([0.667, 0.333])
    """
    squared = np.array([np.sum(dual * (gram @ dual)) for gram in grams])
    norms = weights * np.sqrt(np.maximum(squared, 0))
    total = norms.sum()
    return np.asarray(norms / total) if total > 0 else weights  # a function of zero says nothing about kernels


def pruned(weights: Floats) -> Floats:
    """Without the negligible ones; the largest always stays."""
    kept = np.where(weights >= min(NEGLIGIBLE, weights.max()), weights, 0.0)
    return np.asarray(kept / kept.sum())


def _fit(
    basis: Floats, codes: Codes, n_classes: int, penalty: float, flips: Floats | None, fit_intercept: bool
) -> tuple[float, FlipFit]:
    """A rough fit and its left-out loss."""
    ones = np.ones(len(codes))
    features, ridges = with_intercept(basis, penalty, fit_intercept)
    problem = FlipProblem(features, codes, ones, ridges, n_classes, 1 if n_classes == 2 else n_classes, flips)
    found = solve(problem, "lbfgs", FEW, ROUGH, even_directions(features, ones, ridges))
    return left_out_loss(problem, found), found
