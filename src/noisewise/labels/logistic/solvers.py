"""Solvers of logistic regression through a flip matrix: L-BFGS, EM with Newton steps, and the paper's Algorithm 1.

On a well-posed problem they reach the same optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit, softmax

from noisewise._numerics.cholesky import JITTER, precondition
from noisewise._numerics.em import normalised_rows
from noisewise._typing import Floats
from noisewise.labels.flip_likelihood import flip_likelihood
from noisewise.labels.flip_parameters import start_flips, to_unconstrained
from noisewise.labels.logistic.conjugate_gradient import ConjugateDirections, InitialHessian, step_length
from noisewise.labels.logistic.objective import FlipFit, FlipProblem

MOST_NOISE = 0.95  # after an EM step: the sum of both rates of two classes, else a flip relative to the diagonal
LEAST_COUNT = 1e-100  # expected labels of a class that flip to another
MOST_LOST = 1.0  # nats of all labels together: the prior takes up to half of one, and is worth it for true labels
SOLVERS = ("lbfgs", "em", "printed")
Callback = Callable[[], bool] | None


def solve(
    problem: FlipProblem,
    solver: str = "lbfgs",
    max_iter: int = 1000,
    tol: float = 1e-6,
    preconditioner: Floats | None = None,
    start: Floats | None = None,
    callback: Callback = None,
) -> FlipFit:
    """Coefficients and flip matrix of the least penalised loss.

    Parameters
    ----------
    problem : FlipProblem
    solver : {"lbfgs", "em", "printed"}
        Coefficients and flip matrix jointly by L-BFGS [1]_; alternately by EM with Newton steps; alternately by the
        conjugate gradients and multiplicative updates of Algorithm 1 [2]_.
    max_iter : int
    tol : float
        Largest gradient of the mean loss at which "lbfgs" ends, in preconditioned coordinates; "em" and "printed" end
        when a step lowers the mean loss by less than ``tol ** 2``.
    preconditioner : array of shape (p,) or (p, p), optional
        Change of coordinates in which the Hessian is nearly the identity, for "lbfgs".
    start : array of shape (n_classes, n_classes), optional
        Flip matrix without zeros to start from; by default every class flips at the rate 0.2.
    callback : function, optional
        Called after every iteration; where it returns True the fit ends.

    References
    ----------
    .. [1] Liu, D. C., Nocedal, J. (1989). On the limited memory BFGS method for large scale optimization. Mathematical
       Programming 45.
    .. [2] Bootkrajang, J., Kaban, A. (2014). Learning kernel logistic regression in the presence of class label noise.
       Pattern Recognition 47(11). Algorithm 1; eqs. 5 to 8 and, for EM, 9 to 12.
    """
    parameters = np.zeros(0)
    if problem.flips is None:
        parameters = to_unconstrained(start_flips(problem.n_classes) if start is None else start)
    if solver == "lbfgs":
        change = np.ones(problem.shape[0]) if preconditioner is None else preconditioner
        return _jointly(problem, parameters, max_iter, tol, change, callback)
    if solver == "em":
        return _alternately(problem, parameters, max_iter, tol, callback)
    if solver == "printed":
        return _conjugately(problem, parameters, max_iter, tol, callback)
    raise ValueError(f"solver is {solver!r}; it must be one of {', '.join(SOLVERS)}")


def solve_no_less_likely_than_plain(
    problem: FlipProblem, solver: str, max_iter: int, tol: float, preconditioner: Floats, callback: Callback
) -> FlipFit:
    """The same, but without noise where learned noise makes the observed labels less likely, penalties included.

    No noise is a limit of learned noise, so that this happens by the prior of the flip matrix, which may cost
    `MOST_LOST`, or in another local minimum.
    """
    fit = solve(problem, solver, max_iter, tol, preconditioner, callback=callback)
    if problem.flips is not None or not fit.converged:
        return fit
    plain = solve(replace(problem, flips=np.eye(problem.n_classes)), solver, max_iter, tol, preconditioner)
    return plain if problem.loss_without_prior(fit) > problem.loss_without_prior(plain) + MOST_LOST else fit


def _jointly(
    problem: FlipProblem, parameters: Floats, max_iter: int, tol: float, change: Floats, callback: Callback
) -> FlipFit:
    size, total = problem.shape[0] * problem.shape[1], problem.weights.sum()

    def mean_loss(flat: Floats) -> tuple[float, Floats]:
        coefficients = precondition(change, flat[:size].reshape(problem.shape))
        value, by_coefficients, by_parameters = problem.loss(coefficients, flat[size:])
        return value / total, np.concatenate([precondition(change.T, by_coefficients).ravel(), by_parameters]) / total

    start = np.concatenate([np.zeros(size), parameters])
    history: list[float] = [mean_loss(start)[0] * total]

    def record(intermediate_result: OptimizeResult) -> None:
        history.append(float(intermediate_result.fun * total))
        if callback is not None and callback():
            raise StopIteration

    options = {"maxiter": max_iter, "maxfun": 5 * max_iter, "maxls": 50, "gtol": tol, "ftol": 1e-16, "maxcor": 20}
    found = minimize(mean_loss, start, jac=True, method="L-BFGS-B", callback=record, options=options)
    coefficients = precondition(change, found.x[:size].reshape(problem.shape))
    # the last digits of the gradient are rounding errors of its sums
    return _fit(problem, coefficients, found.x[size:], history, bool(np.abs(found.jac).max() <= 100 * tol))


def _alternately(problem: FlipProblem, parameters: Floats, max_iter: int, tol: float, callback: Callback) -> FlipFit:
    """EM: a Newton step on the coefficients, then the M-step of the flip matrix, until the loss stays."""
    total = problem.weights.sum()
    coefficients = np.zeros(problem.shape)
    history = [problem.loss(coefficients, parameters)[0]]
    n_still = 0
    for _ in range(max_iter):
        coefficients = _newton_step(problem, coefficients, parameters)
        if problem.flips is None:
            parameters = to_unconstrained(updated_flips(problem, problem.scores(coefficients), parameters))
        history.append(problem.loss(coefficients, parameters)[0])
        n_still = n_still + 1 if abs(history[-2] - history[-1]) <= tol**2 * total else 0
        if n_still == 3 or (callback is not None and callback()):
            break
    return _fit(problem, coefficients, parameters, history, n_still == 3)


def updated_flips(problem: FlipProblem, scores: Floats, parameters: Floats) -> Floats:
    """The M-step of the flip matrix: normalised expected counts with the prior's (eqs. 7, 8 and 12), kept unswapped.

    Without a prior a rate that underflows stays just above zero, which has no unconstrained parameter.
    """
    flips = problem.flips_at(parameters)
    counts = flip_likelihood(scores, problem.codes, flips, problem.weights)[2]
    updated = normalised_rows(np.maximum(counts + problem.prior_counts, LEAST_COUNT))
    identity = np.eye(problem.n_classes)
    if problem.n_classes == 2:
        shrink = min(1.0, MOST_NOISE / (updated[0, 1] + updated[1, 0]))
    else:
        ratio = float(((updated - updated * identity).max(axis=1) / np.diag(updated)).max())
        shrink = 1.0 if ratio < MOST_NOISE else MOST_NOISE / (ratio * 1.5)
    return np.asarray(identity + shrink * (updated - identity))


def _newton_step(problem: FlipProblem, coefficients: Floats, parameters: Floats) -> Floats:
    """One step of iteratively reweighted least squares towards the responsibilities, with step halving (eq. 11)."""
    loss, gradient, _ = problem.loss(coefficients, parameters)
    scores = problem.scores(coefficients)
    p = expit(scores) if problem.n_scores == 1 else softmax(scores, axis=1)
    features, n_features = problem.features, problem.shape[0]
    hessian = np.zeros((problem.n_scores, n_features, problem.n_scores, n_features))
    for a in range(problem.n_scores):
        for b in range(a + 1):
            curvature = problem.weights * p[:, a] * (float(a == b) - p[:, b])
            hessian[a, :, b, :] = hessian[b, :, a, :] = features.T @ (features * curvature[:, None])
    hessian = hessian.reshape(2 * (gradient.size,))
    ridge = np.tile(problem.penalties, problem.n_scores) + JITTER * problem.weights.sum()
    hessian[np.diag_indices(len(hessian))] += ridge
    step = np.linalg.solve(hessian, gradient.T.ravel()).reshape(gradient.T.shape).T
    for _ in range(30):
        if problem.loss(coefficients - step, parameters)[0] <= loss:
            return np.asarray(coefficients - step)
        step = step / 2
    return coefficients


def _conjugately(problem: FlipProblem, parameters: Floats, max_iter: int, tol: float, callback: Callback) -> FlipFit:
    """Algorithm 1: a step along the next conjugate direction (eqs. 5 and 6), then the M-step of the flip matrix."""
    total = problem.weights.sum()
    coefficients, scores = np.zeros(problem.shape), np.zeros((len(problem.codes), problem.n_scores))
    directions = ConjugateDirections()
    hessian = InitialHessian(problem.codes, problem.flips_at(parameters), problem.weights)
    loss, gradient = problem.loss_at(coefficients, scores, parameters)[:2]
    history, n_still = [loss], 0
    for _ in range(max_iter):
        direction = directions.next(-gradient)
        along = problem.scores(direction)
        curvature = hessian.curvature(along) + float(np.sum(problem.penalties[:, None] * direction**2))
        step = step_length(-gradient, direction, curvature)
        coefficients, scores = coefficients + step * direction, scores + step * along
        if problem.flips is None:
            parameters = to_unconstrained(updated_flips(problem, scores, parameters))
        loss, gradient = problem.loss_at(coefficients, scores, parameters)[:2]
        history.append(loss)
        n_still = n_still + 1 if abs(history[-2] - history[-1]) <= tol**2 * total else 0
        if n_still == 3 or (callback is not None and callback()):  # conjugate gradients may pause for an iteration
            break
    return _fit(problem, coefficients, parameters, history, n_still == 3)


def _fit(
    problem: FlipProblem, coefficients: Floats, parameters: Floats, history: list[float], converged: bool
) -> FlipFit:
    return FlipFit(coefficients, problem.flips_at(parameters), len(history) - 1, history, converged)
