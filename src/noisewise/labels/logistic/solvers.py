"""Three ways to the least loss of a fit through a flip matrix; on a well-posed problem they end in the same place."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning

from noisewise._typing import Floats
from noisewise.labels.logistic.conjugate_gradient import Directions, FirstHessian, step_length
from noisewise.labels.logistic.flip_parameters import flips_of, free_of, prior_counts, start_free
from noisewise.labels.logistic.likelihood import FlipFit, FlipProblem, flip_likelihood

MOST_NOISE = 0.95  # of both rates of two classes together, where a step of EM would go beyond
SOLVERS = ("lbfgs", "em", "printed")
Step = Callable[[FlipProblem, Floats, Floats], Floats]
Tell = Callable[[], bool] | None


def solve(
    problem: FlipProblem,
    solver: str = "lbfgs",
    max_iter: int = 1000,
    tol: float = 1e-6,
    change: Floats | None = None,
    start: Floats | None = None,
    tell: Tell = None,
) -> FlipFit:
    """Coefficients and flip matrix of the least penalised loss.

    Parameters
    ----------
    problem : FlipProblem
    solver : {"lbfgs", "em", "printed"}
        Coefficients and flip matrix together by L-BFGS; in turn by EM with Newton steps; in turn by the conjugate
        gradients and multiplicative updates of the paper's Algorithm 1.
    max_iter : int
    tol : float
        Largest gradient of the mean loss at which "lbfgs" ends, in the coordinates of `change`; "em" and "printed" end
        when a step lowers the mean loss by less than ``tol ** 2``.
    change : array of shape (p,) or (p, p), optional
        Coordinates in which the loss curves alike in all directions, for "lbfgs".
    start : array of shape (n_classes, n_classes), optional
        Flip matrix without zeros to start from; by default every class flips at the rate 0.2.
    tell : function, optional
        Called after every iteration; where it returns True the fit ends.
    """
    free = np.zeros(0)
    if problem.flips is None:
        free = start_free(problem.n_classes) if start is None else free_of(start)
    if solver == "lbfgs":
        return _together(problem, free, max_iter, tol, np.ones(problem.shape[0]) if change is None else change, tell)
    if solver == "em":
        return _in_turn(problem, free, max_iter, tol, _newton_step, tell)
    if solver == "printed":
        return _in_turn(problem, free, max_iter, tol, ConjugateGradients(problem, free), tell)
    raise ValueError(f"solver is {solver!r}; it must be one of {', '.join(SOLVERS)}")


def warn_if_early(fit: FlipFit, advice: str) -> None:
    """Say that a fit has not reached its minimum, and what to do."""
    if not fit.converged:
        warnings.warn(
            f"the fit has not reached its minimum after {fit.n_iter} iterations; {advice}",
            ConvergenceWarning,
            stacklevel=3,
        )


def times(change: Floats, parameters: Floats) -> Floats:
    """Parameters in changed coordinates as coefficients of features."""
    return np.asarray(change[:, None] * parameters if change.ndim == 1 else change @ parameters)


def _together(problem: FlipProblem, free: Floats, max_iter: int, tol: float, change: Floats, tell: Tell) -> FlipFit:
    size, total = problem.shape[0] * problem.shape[1], problem.weights.sum()

    def mean_loss(parameters: Floats) -> tuple[float, Floats]:
        columns = times(change, parameters[:size].reshape(problem.shape))
        value, by_columns, by_free = problem.loss(columns, parameters[size:])
        return value / total, np.concatenate([times(change.T, by_columns).ravel(), by_free]) / total

    begin = np.concatenate([np.zeros(size), free])
    history: list[float] = [mean_loss(begin)[0] * total]

    def keep(intermediate_result: OptimizeResult) -> None:
        history.append(float(intermediate_result.fun * total))
        if tell is not None and tell():
            raise StopIteration

    options = {"maxiter": max_iter, "maxfun": 5 * max_iter, "maxls": 50, "gtol": tol, "ftol": 1e-16, "maxcor": 20}
    found = minimize(mean_loss, begin, jac=True, method="L-BFGS-B", callback=keep, options=options)
    columns = times(change, found.x[:size].reshape(problem.shape))
    # where sums round off, the last digits of the gradient are noise
    return _ended(problem, columns, found.x[size:], history, bool(np.abs(found.jac).max() <= 100 * tol))


def _in_turn(problem: FlipProblem, free: Floats, max_iter: int, tol: float, step: Step, tell: Tell) -> FlipFit:
    """Coefficients by `step`, then the flip matrix from the explained labels, until the loss stays."""
    total = problem.weights.sum()
    columns = np.zeros(problem.shape)
    history = [problem.loss(columns, free)[0]]
    calm = 0
    for _ in range(max_iter):
        columns = step(problem, columns, free)
        if problem.flips is None:
            free = free_of(updated_flips(problem, columns, free))
        history.append(problem.loss(columns, free)[0])
        calm = calm + 1 if abs(history[-2] - history[-1]) <= tol**2 * total else 0
        if calm == 3 or (tell is not None and tell()):  # conjugate gradients may pause
            break
    return _ended(problem, columns, free, history, calm == 3)


def updated_flips(problem: FlipProblem, columns: Floats, free: Floats) -> Floats:
    """The flip matrix that explains the labels best, given how the last one explained them (eqs. 7, 8 and 12)."""
    flips = flips_of(free, problem.n_classes)
    counts = flip_likelihood(problem.scores(columns), problem.codes, flips, problem.weights)[2]
    counts = counts + prior_counts(problem.n_classes)
    updated = counts / counts.sum(axis=1, keepdims=True)
    identity = np.eye(problem.n_classes)
    if problem.n_classes == 2:
        shrink = min(1.0, MOST_NOISE / (updated[0, 1] + updated[1, 0]))
    else:
        ratio = float(((updated - updated * identity).max(axis=1) / np.diag(updated)).max())
        shrink = 1.0 if ratio < MOST_NOISE else MOST_NOISE / (ratio * 1.5)
    return np.asarray(identity + shrink * (updated - identity))


def _newton_step(problem: FlipProblem, columns: Floats, free: Floats) -> Floats:
    """One step of iterated reweighted least squares towards the explained labels, halved until it helps (eq. 11)."""
    loss, gradient, _ = problem.loss(columns, free)
    scores = problem.scores(columns)
    p = expit(scores) if problem.n_scores == 1 else softmax(scores, axis=1)
    features, n_features = problem.features, problem.shape[0]
    hessian = np.zeros((problem.n_scores, n_features, problem.n_scores, n_features))
    for a in range(problem.n_scores):
        for b in range(a + 1):
            curved = problem.weights * p[:, a] * (float(a == b) - p[:, b])
            hessian[a, :, b, :] = hessian[b, :, a, :] = features.T @ (features * curved[:, None])
    hessian = hessian.reshape(2 * (gradient.size,))
    ridge = np.tile(problem.penalties, problem.n_scores) + 1e-9 * problem.weights.sum()
    hessian[np.diag_indices(len(hessian))] += ridge
    step = np.linalg.solve(hessian, gradient.T.ravel()).reshape(gradient.T.shape).T
    for _ in range(30):
        if problem.loss(columns - step, free)[0] <= loss:
            return np.asarray(columns - step)
        step = step / 2
    return columns


class ConjugateGradients:
    """One step along the next conjugate direction for each call (eqs. 5 and 6)."""

    def __init__(self, problem: FlipProblem, free: Floats) -> None:
        flips = problem.flips if problem.flips is not None else flips_of(free, problem.n_classes)
        self._first = FirstHessian(problem.codes, flips, problem.weights)
        self._directions = Directions()

    def __call__(self, problem: FlipProblem, columns: Floats, free: Floats) -> Floats:
        """The next coefficients."""
        gradient = -problem.loss(columns, free)[1]
        direction = self._directions.turn(gradient)
        ridge = float(np.sum(problem.penalties[:, None] * direction**2))
        curvature = ridge + self._first.curvature(problem.scores(direction))
        return np.asarray(columns + step_length(gradient, direction, curvature) * direction)


def _ended(problem: FlipProblem, columns: Floats, free: Floats, history: list[float], converged: bool) -> FlipFit:
    flips = problem.flips if problem.flips is not None else flips_of(free, problem.n_classes)
    return FlipFit(columns, flips, len(history) - 1, history, converged)
