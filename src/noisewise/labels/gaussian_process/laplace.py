"""Laplace's evidence of functions in given features, seen through a flip matrix.

Scores are F = features @ V, V has independent normal entries of variance 1 / precision. At the mode of the posterior,

    log evidence = log P(observed | F) - precision |V|^2 / 2 - 1/2 sum_c log det(I + features' W_c features / precision)

with W_c the curvature of class c alone, clipped at zero: rows that look flipped bend the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from noisewise._numerics.blocks import blocks
from noisewise._typing import Codes, Floats
from noisewise.labels.logistic.likelihood import FlipRows

MOST_STEPS = 60
HALVINGS = 25
LEAST_KEPT = 0.05  # share of its variance a score keeps without its own label


@dataclass(frozen=True)
class Task:
    """Labels to explain: features of each row, its observed class and how many rows it stands for."""

    features: Floats
    codes: Codes
    weights: Floats
    n_classes: int

    @property
    def n_functions(self) -> int:
        """Functions to find: one for two classes, else one for each."""
        return 1 if self.n_classes == 2 else self.n_classes

    def start(self) -> Floats:
        """Coefficients of no opinion."""
        return np.zeros((self.features.shape[1], self.n_functions))

    def look(self, coefficients: Floats, matrix: Floats) -> FlipRows:
        """The rows at these coefficients."""
        return FlipRows.at(self.features @ coefficients, self.codes, matrix, self.weights)


@dataclass(frozen=True)
class Mode:
    """The most probable coefficients, what they say about the rows, and the spread around them."""

    task: Task
    precision: float
    coefficients: Floats
    rows: FlipRows
    factors: tuple[Floats, ...]  # upper Cholesky factors of features' W_c features + precision, one for each function
    n_steps: int
    converged: bool

    @property
    def evidence(self) -> float:
        """Laplace's logarithm of the probability of the observed labels."""
        rank = len(self.coefficients)
        volume = sum(2 * np.log(np.diag(factor)).sum() - rank * np.log(self.precision) for factor in self.factors)
        return _objective(self.rows, self.coefficients, self.precision) - float(volume) / 2

    def gradient(self, tol: float = 1e-5) -> tuple[float, Floats]:
        """Slopes of the evidence in the logarithms of the precision and of the flip matrix (true, observed).

        The mode moves with both; what this does to the evidence comes from one linear system, solved to `tol`.
        """
        features, q = self.task.features, self.precision
        trace = sum(float(np.square(_inverse(factor)).sum()) for factor in self.factors)
        halves = np.where(
            self.rows.curvature > 0, -variances(self.factors, features) / 2, 0.0
        )  # clipped rows are still
        pull = features.T @ self.rows.curvature_slope(halves)
        pull = conjugate(self._hessian, pull, self._precondition, tol, 200)
        precise = q * float(np.square(self.coefficients).sum())
        slope = -(precise + q * trace - self.coefficients.size) / 2 - q * float((pull * self.coefficients).sum())
        return slope, self.rows.flip_slope(halves, features @ pull)

    def left_out(self) -> Floats:
        """Scores of the rows, each as if its own label had not been seen, to first order."""
        features = self.task.features
        return self.rows.left_out(features @ self.coefficients, variances(self.factors, features), LEAST_KEPT)

    def _hessian(self, V: Floats) -> Floats:
        return np.asarray(self.task.features.T @ self.rows.bend(self.task.features @ V) + self.precision * V)

    def _precondition(self, V: Floats) -> Floats:
        return solve_blocks(self.factors, V)


def find_mode(
    task: Task,
    matrix: Floats,
    precision: float,
    start: Floats | None = None,
    tol: float = 1e-9,
) -> Mode:
    """Newton's steps uphill from `start`; each solves the linear system by conjugate gradients, block by block."""
    V = task.start() if start is None else start
    rows = task.look(V, matrix)
    value = _objective(rows, V, precision)
    for step in range(MOST_STEPS):
        factors = _factors(task, rows, precision)
        gradient = task.features.T @ rows.gradient - precision * V
        mode = Mode(task, precision, V, rows, factors, step, True)
        first = solve_blocks(factors, gradient)
        promised = float((gradient * first).sum())
        if promised <= tol:
            return mode
        direction = first  # exact where one function bends the same way at all rows
        if task.n_functions > 1 or rows.curvature.min() < 0:
            direction = conjugate(mode._hessian, gradient, mode._precondition, min(0.3, np.sqrt(promised)), 30, first)
        length = 1.0
        for _ in range(HALVINGS):
            trial = V + length * direction
            rows_then = task.look(trial, matrix)
            value_then = _objective(rows_then, trial, precision)
            if value_then > value + 1e-4 * length * float((gradient * direction).sum()) - 1e-12 * abs(value):
                break
            length /= 2
        else:
            return mode
        V, rows, value = trial, rows_then, value_then
    return Mode(task, precision, V, rows, _factors(task, rows, precision), MOST_STEPS, False)


def conjugate(
    times: Callable[[Floats], Floats],
    target: Floats,
    precondition: Callable[[Floats], Floats],
    tol: float,
    steps: int,
    first: Floats | None = None,
) -> Floats:
    """Solve ``times(V) = target`` by preconditioned conjugate gradients; stops where the matrix bends the wrong way."""
    found = np.zeros_like(target)
    residual = target.copy()
    preconditioned = precondition(residual) if first is None else first
    along, size = preconditioned, float((residual * preconditioned).sum())
    until = size * tol * tol
    for step in range(steps):
        if size <= until or size <= 0:
            break
        image = times(along)
        bend = float((along * image).sum())
        if bend <= 0:
            return found if step else preconditioned
        found = found + size / bend * along
        residual = residual - size / bend * image
        preconditioned = precondition(residual)
        size, before = float((residual * preconditioned).sum()), size
        along = preconditioned + size / before * along
    return found


def variances(factors: Iterable[Floats], features: Floats) -> Floats:
    """Variance of each function where rows have these features, of shape (n, n_functions)."""
    inverses = [_inverse(factor) for factor in factors]
    spread = np.empty((len(features), len(inverses)))
    for part in blocks(len(features)):
        for c, inverse in enumerate(inverses):
            spread[part, c] = np.square(features[part] @ inverse).sum(axis=1)
    return spread


def solve_blocks(factors: tuple[Floats, ...], V: Floats) -> Floats:
    """One linear system for each function, by its Cholesky factor."""
    if len(factors) == 1:
        return np.asarray(dpotrs(factors[0], V)[0])
    return np.stack([dpotrs(factor, V[:, c])[0] for c, factor in enumerate(factors)], axis=1)


def _factors(task: Task, rows: FlipRows, precision: float) -> tuple[Floats, ...]:
    roots = np.sqrt(np.maximum(rows.curvature, 0.0))
    return tuple(_factor(task.features, roots[:, [c]], precision) for c in range(roots.shape[1]))


def _factor(features: Floats, roots: Floats, precision: float) -> Floats:
    normal = np.zeros((features.shape[1], features.shape[1]))
    for part in blocks(len(features)):
        scaled = features[part] * roots[part]
        normal += scaled.T @ scaled
    normal.flat[:: len(normal) + 1] += precision
    factor, failed = dpotrf(normal, lower=0, clean=1)
    if failed:
        raise np.linalg.LinAlgError("the curvature of the labels has no Cholesky factor; are some features infinite?")
    return np.asarray(factor)


def _inverse(factor: Floats) -> Floats:
    return np.asarray(solve_triangular(factor, np.eye(len(factor)), check_finite=False))


def _objective(rows: FlipRows, V: Floats, precision: float) -> float:
    return rows.log_likelihood - precision / 2 * float(np.square(V).sum())
