"""Width and penalty of a kernel fit without tuning: those that foretell left-out observed labels best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from noisewise._numerics.cholesky import features_preconditioner, lower_factor
from noisewise._typing import Codes, Floats
from noisewise.kernels import Gaussian
from noisewise.labels.kernel_features import KernelRows, exact_features
from noisewise.labels.logistic.likelihood import FlipFit, FlipProblem, FlipRows
from noisewise.labels.logistic.solvers import solve

LEAST_LEFT = 1e-3  # of a row's own curvature when it is left out


def left_out_loss(problem: FlipProblem, fit: FlipFit) -> float:
    """Mean noisy log-loss of each row by a fit without it, to first order (approximate leave-one-out).

    A row's leverage is ``x' H^-1 x`` in the Hessian H of the fit (`FlipRows.left_out`).
    The flip matrix stays as it is: one row hardly moves it. Weights count rows, so one of several copies is left out.
    """
    ones = np.ones(len(problem.codes))
    scores = problem.scores(fit.columns)
    rows = FlipRows.at(scores, problem.codes, fit.flips, ones)
    curvature = np.maximum(rows.curvature, 0)
    leverage = np.column_stack([_leverage(problem, column) for column in curvature.T])
    left = rows.left_out(scores, leverage, LEAST_LEFT)
    return -FlipRows.at(left, problem.codes, fit.flips, problem.weights).log_likelihood / float(problem.weights.sum())


def _leverage(problem: FlipProblem, curvature: Floats) -> Floats:
    features, bends = problem.features, problem.weights * curvature
    hessian = features.T @ (features * bends[:, None])
    hessian[np.diag_indices(len(hessian))] += problem.penalties + 1e-9 * problem.weights.sum()
    root = lower_factor(hessian, features, bends, problem.penalties)
    turned = scipy.linalg.solve_triangular(root, features.T, lower=True, check_finite=False)
    return np.asarray(np.square(turned).sum(axis=0))


SQUARED_WIDTHS = 2.0 ** np.array([-4, -2, 0, 2])  # in units of the mean squared distance of standardised rows
PENALTIES = (0.03, 0.15, 0.75, 4.0)
CHOICE_RANK = 100  # directions of a kernel that say something about its width
ROUGH = 1e-3  # tolerance and
FEW = 300  # iterations of a fit that is only compared


def widths_of(n_varying: int) -> list[Gaussian]:
    """Gaussian kernels for standardised rows, whose mean squared distance is twice the number of varying columns.

    >>> widths_of(2)[2]
    Gaussian(width=2.0)
    """
    return [Gaussian(float(np.sqrt(2 * max(n_varying, 1) * factor))) for factor in SQUARED_WIDTHS]


def with_intercept(features: Floats, penalty: float, fit_intercept: bool) -> tuple[Floats, Floats]:
    """Features and their penalties, with a column of ones that bears none at the end."""
    penalties = np.full(features.shape[1], penalty)
    if not fit_intercept:
        return features, penalties
    return np.hstack([features, np.ones((len(features), 1))]), np.append(penalties, 0.0)


def choose(
    rows: Any,
    codes: Codes,
    n_classes: int,
    kernels: Sequence[Any],
    penalties: Sequence[float],
    flips: Floats | None,
    norm: str,
    fit_intercept: bool,
) -> tuple[Any, float]:
    """The best kernel and penalty on these rows, all of weight one."""
    if len(kernels) == len(penalties) == 1:
        return kernels[0], penalties[0]

    def basis_of(place: int) -> Floats:
        return exact_features(KernelRows(kernels[place], rows).gram(), np.ones(len(codes)), norm, CHOICE_RANK)[0]

    def loss_of(basis: Floats, penalty: float) -> float:
        return rough_fit(basis, codes, n_classes, penalty, flips, fit_intercept)[0]

    place, penalty, _ = search(len(kernels), penalties, basis_of, loss_of)
    return kernels[place], penalty


def search(
    n_kernels: int,
    penalties: Sequence[float],
    basis_of: Callable[[int], Floats],
    loss_of: Callable[[Floats, float], float],
) -> tuple[int, float, Floats]:
    """Place of the best kernel, best penalty, and all kernels' losses with it: in turn, until neither changes.

    >>> def loss_of(basis, penalty):
    ...     return abs(basis[0] - 3.0) + abs(penalty - 2)
    >>> search(5, [1.0, 2.0, 3.0], lambda place: np.array([place]), loss_of)
    (3, 2.0, array([3., 2., 1., 0., 1.]))
    """
    bases: dict[int, Floats] = {}  # one decomposition serves all penalties
    losses: dict[tuple[int, int], float] = {}

    def loss_at(place: tuple[int, int]) -> float:
        if place not in losses:
            if place[0] not in bases:
                bases[place[0]] = basis_of(place[0])
            losses[place] = loss_of(bases[place[0]], penalties[place[1]])
        return losses[place]

    best, before = (n_kernels // 2, len(penalties) // 2), (-1, -1)
    while best != before:
        before = best
        best = min(((kernel, best[1]) for kernel in range(n_kernels)), key=loss_at)
        best = min(((best[0], penalty) for penalty in range(len(penalties))), key=loss_at)
    return best[0], penalties[best[1]], np.array([losses[kernel, best[1]] for kernel in range(n_kernels)])


def rough_fit(
    basis: Floats, codes: Codes, n_classes: int, penalty: float, flips: Floats | None, fit_intercept: bool
) -> tuple[float, FlipFit]:
    """A fit good enough to compare with others, after its left-out loss."""
    ones = np.ones(len(codes))
    features, ridges = with_intercept(basis, penalty, fit_intercept)
    problem = FlipProblem(features, codes, ones, ridges, n_classes, 1 if n_classes == 2 else n_classes, flips)
    found = solve(problem, "lbfgs", FEW, ROUGH, features_preconditioner(features, ones, ridges))
    return left_out_loss(problem, found), found
