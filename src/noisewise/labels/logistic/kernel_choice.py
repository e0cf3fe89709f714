"""Kernel and penalty by approximate leave-one-out: the least noisy log-loss of observed labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from noisewise._numerics.cholesky import JITTER, features_preconditioner, lower_factor
from noisewise._typing import Codes, Floats
from noisewise.kernels import Gaussian
from noisewise.labels.flip_likelihood import FlipLikelihood
from noisewise.labels.kernel_features import KernelRows, exact_features
from noisewise.labels.logistic.objective import FlipFit, FlipProblem
from noisewise.labels.logistic.solvers import solve

LEAST_CURVATURE_REST = 1e-3  # of 1 - leverage * curvature of a row left out: fits of a high rank follow single rows
SQUARED_WIDTHS = 2.0 ** np.array([-4, -2, 0, 2])  # in units of the mean squared distance of standardised rows
LOGISTIC_PENALTIES = (0.03, 0.15, 0.75, 4.0)  # half of them weighs the norm against the summed loss
CHOICE_RANK = 100  # leading eigenvectors of a Gram matrix that a fit takes which is only compared with others
CHOICE_TOL, CHOICE_ITERATIONS = 1e-3, 300  # of such a fit


def leave_one_out_loss(problem: FlipProblem, fit: FlipFit) -> float:
    """Mean noisy log-loss of each row by a fit without it: approximate leave-one-out, one Newton step.

    The leverage of a row is ``x' H^-1 x`` with the Hessian H of the fit (`FlipLikelihood.leave_one_out`). The flip
    matrix is held fixed: one row hardly changes it. Weights count rows, so one of several replicates is left out.

    References
    ----------
    .. [1] Cawley, G. C., Talbot, N. L. C. (2008). Efficient approximate leave-one-out cross-validation for kernel
       logistic regression. Machine Learning 71.
    """
    ones = np.ones(len(problem.codes))
    scores = problem.scores(fit.coefficients)
    likelihood = FlipLikelihood.at(scores, problem.codes, fit.flips, ones)
    curvature = np.maximum(likelihood.curvature, 0)
    leverage = np.column_stack([_leverage(problem, column) for column in curvature.T])
    without = likelihood.leave_one_out(scores, leverage, LEAST_CURVATURE_REST)
    total = float(problem.weights.sum())
    return -FlipLikelihood.at(without, problem.codes, fit.flips, problem.weights).log_likelihood / total


def _leverage(problem: FlipProblem, curvature: Floats) -> Floats:
    features, diagonal = problem.features, problem.weights * curvature
    hessian = features.T @ (features * diagonal[:, None])
    hessian[np.diag_indices(len(hessian))] += problem.penalties + JITTER * problem.weights.sum()
    root = lower_factor(hessian, features, diagonal, problem.penalties)
    whitened = scipy.linalg.solve_triangular(root, features.T, lower=True, check_finite=False)
    return np.asarray(np.square(whitened).sum(axis=0))


def widths_of(n_varying: int) -> list[Gaussian]:
    """Gaussian kernels for standardised rows, whose mean squared distance is twice the number of varying columns.

    >>> widths_of(2)[2]
    Gaussian(width=2.0)
    """
    return [Gaussian(float(np.sqrt(2 * max(n_varying, 1) * factor))) for factor in SQUARED_WIDTHS]


def with_intercept(features: Floats, penalty: float, fit_intercept: bool) -> tuple[Floats, Floats]:
    """Features and their penalties, with a last column of ones without a penalty."""
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
    prior: bool = True,
) -> tuple[Any, float]:
    """The kernel and penalty of the least leave-one-out loss on these rows, all of weight one."""
    if len(kernels) == len(penalties) == 1:
        return kernels[0], penalties[0]

    def features_of(index: int) -> Floats:
        return exact_features(KernelRows(kernels[index], rows).gram(), np.ones(len(codes)), norm, CHOICE_RANK)[0]

    def loss_of(features: Floats, penalty: float) -> float:
        return choice_loss(features, codes, n_classes, penalty, flips, fit_intercept, prior)

    index, penalty, _ = search(len(kernels), penalties, features_of, loss_of)
    return kernels[index], penalty


def search(
    n_kernels: int,
    penalties: Sequence[float],
    features_of: Callable[[int], Floats],
    loss_of: Callable[[Floats, float], float],
) -> tuple[int, float, Floats]:
    """Index of the best kernel, best penalty, and all kernels' losses with it: coordinate descent on the grid.

    >>> def loss_of(features, penalty):
    ...     return abs(features[0] - 3.0) + abs(penalty - 2)
    >>> search(5, [1.0, 2.0, 3.0], lambda index: np.array([index]), loss_of)
    (3, 2.0, array([3., 2., 1., 0., 1.]))
    """
    features: dict[int, Floats] = {}  # one decomposition serves all penalties
    losses: dict[tuple[int, int], float] = {}

    def loss_at(point: tuple[int, int]) -> float:
        if point not in losses:
            if point[0] not in features:
                features[point[0]] = features_of(point[0])
            losses[point] = loss_of(features[point[0]], penalties[point[1]])
        return losses[point]

    best, before = (n_kernels // 2, len(penalties) // 2), (-1, -1)
    while best != before:
        before = best
        best = min(((kernel, best[1]) for kernel in range(n_kernels)), key=loss_at)
        best = min(((best[0], penalty) for penalty in range(len(penalties))), key=loss_at)
    return best[0], penalties[best[1]], np.array([losses[kernel, best[1]] for kernel in range(n_kernels)])


def choice_loss(
    features: Floats,
    codes: Codes,
    n_classes: int,
    penalty: float,
    flips: Floats | None,
    fit_intercept: bool,
    prior: bool,
) -> float:
    """The leave-one-out loss of a fit that is precise enough to be compared with others."""
    ones, n_scores = np.ones(len(codes)), 1 if n_classes == 2 else n_classes
    features, penalties = with_intercept(features, penalty, fit_intercept)
    problem = FlipProblem(features, codes, ones, penalties, n_classes, n_scores, flips, prior)
    preconditioner = features_preconditioner(features, ones, penalties)
    return leave_one_out_loss(problem, solve(problem, "lbfgs", CHOICE_ITERATIONS, CHOICE_TOL, preconditioner))
