"""How well a fit through a flip matrix foretells labels it has not seen, from one fit."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from noisewise._inputs import Floats
from noisewise.labels._factor import lower_factor
from noisewise.labels._flip_likelihood import FlipFit, FlipProblem
from noisewise.labels._flip_rows import FlipRows

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
