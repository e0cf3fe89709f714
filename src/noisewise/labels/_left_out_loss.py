"""How well a fit through a flip matrix foretells labels it has not seen, from one fit."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax

from noisewise._inputs import Floats
from noisewise.labels._flip_likelihood import FlipFit, FlipProblem

LEAST_LEFT = 1e-3  # of a row's own curvature when it is left out


def left_out_loss(problem: FlipProblem, fit: FlipFit) -> float:
    """Mean noisy log-loss of each row by a fit without it, to first order (approximate leave-one-out).

    The score without row i is ``f - a g / (1 - a k)`` with the slope g and the curvature k of its own loss and the
    leverage ``a = x' H^-1 x`` in the Hessian H of the fit; where flips make the curvature negative it counts as zero.
    The flip matrix stays as it is: one row hardly moves it. Weights count rows, so one of several copies is left out.
    """
    scores = problem.scores(fit.columns)
    with np.errstate(divide="ignore"):
        seen = np.log(fit.flips).T[problem.codes]
    if problem.n_scores == 1:
        clean, explained = expit(scores), expit(scores[:, 0] + seen[:, 1] - seen[:, 0])[:, None]
    else:
        clean = softmax(scores, axis=1)
        explained = softmax(log_softmax(scores, axis=1) + seen, axis=1)
    curvature = np.maximum(clean * (1 - clean) - explained * (1 - explained), 0)
    left = np.empty_like(scores)
    for score in range(problem.n_scores):
        k = curvature[:, score]
        leverage = _leverage(problem, k)
        rest = np.maximum(1 - leverage * k, LEAST_LEFT)
        left[:, score] = scores[:, score] - leverage * (explained - clean)[:, score] / rest
    if problem.n_scores == 1:
        f = left[:, 0]
        total = np.logaddexp(seen[:, 0] + log_expit(-f), seen[:, 1] + log_expit(f))
    else:
        total = logsumexp(log_softmax(left, axis=1) + seen, axis=1)
    return float(-np.average(total, weights=problem.weights))


def _leverage(problem: FlipProblem, curvature: Floats) -> Floats:
    features = problem.features
    hessian = features.T @ (features * (problem.weights * curvature)[:, None])
    hessian[np.diag_indices(len(hessian))] += problem.penalties + 1e-9 * problem.weights.sum()
    root = np.linalg.cholesky(hessian)
    turned = scipy.linalg.solve_triangular(root, features.T, lower=True, check_finite=False)
    return np.asarray(np.square(turned).sum(axis=0))
