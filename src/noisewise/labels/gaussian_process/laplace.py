"""Laplace approximation of a Gaussian process classifier in explicit features, observed through a flip matrix.

Scores are F = features @ V, and V has independent normal entries of variance 1 / precision. At the mode of the
posterior (Newton ascent),

    log evidence = log P(observed | F) - precision |V|^2 / 2 - 1/2 sum_c log det(I + features' W_c features / precision)

The last term is the logarithm of the Occam factor. W_c is the negative Hessian of the log-likelihood for function c
alone, clipped at zero: it is negative at rows that look flipped.

References
----------
.. [1] Rasmussen, C. E., Williams, C. K. I. (2006). Gaussian processes for machine learning. MIT Press. Sections 3.4
   (Laplace approximation), 3.5 (several classes) and 5.5.1 (evidence and its gradient).
.. [2] MacKay, D. J. C. (1992). Bayesian interpolation. Neural Computation 4(3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from noisewise._numerics.blocks import blocks
from noisewise._typing import Codes, Floats
from noisewise.labels.flip_likelihood import FlipLikelihood

MOST_STEPS = 60  # of Newton ascent; ten are usual
HALVINGS = 25  # of a step
SUFFICIENT_INCREASE = 1e-4  # of the line search (Armijo's condition)
SETTLED = (
    10.0  # squared Newton decrement (nats) below which earlier factors still precondition steps of several functions
)


@dataclass(frozen=True)
class LaplaceProblem:
    """The data of a fit: features of each row, its observed class and its weight."""

    features: Floats
    codes: Codes
    weights: Floats
    n_classes: int

    @property
    def n_functions(self) -> int:
        """Latent functions: one for two classes, else one for each."""
        return 1 if self.n_classes == 2 else self.n_classes

    def likelihood(self, coefficients: Floats, flips: Floats) -> FlipLikelihood:
        """The likelihood of the observed classes at these coefficients."""
        return FlipLikelihood.at(self.features @ coefficients, self.codes, flips, self.weights)


@dataclass(frozen=True)
class Mode:
    """The mode of the posterior of the coefficients, and the Gaussian approximation around it."""

    problem: LaplaceProblem
    precision: float
    coefficients: Floats
    likelihood: FlipLikelihood
    factors: tuple[Floats, ...]  # upper Cholesky factors of features' W_c features + precision, one for each function
    n_steps: int
    converged: bool

    @property
    def evidence(self) -> float:
        """Laplace's approximation of the log marginal likelihood of the observed labels."""
        rank = len(self.coefficients)
        log_det = sum(2 * np.log(np.diag(factor)).sum() - rank * np.log(self.precision) for factor in self.factors)
        return _objective(self.likelihood, self.coefficients, self.precision) - float(log_det) / 2

    @property
    def determined(self) -> float:
        """Number of coefficients that the labels determine rather than the prior (MacKay's gamma)."""
        return self.coefficients.size - self.precision * self._trace

    @property
    def _trace(self) -> float:
        return sum(float(np.square(_inverse(factor)).sum()) for factor in self.factors)

    def gradient(self, tol: float = 1e-5) -> tuple[float, Floats]:
        """Gradients of the evidence in the logarithms of the precision and of the flip matrix (true, observed).

        The mode depends on both; the implicit part of the gradient takes one adjoint linear system, solved to `tol`.
        """
        features, q = self.problem.features, self.precision
        halves = np.where(
            self.likelihood.curvature > 0, -variances(self.factors, features) / 2, 0.0
        )  # clipped curvature has no derivative
        adjoint = features.T @ self.likelihood.curvature_gradient(halves)
        adjoint = conjugate_gradients(self._hessian_product, adjoint, self._precondition, tol, 200)
        penalty = q * float(np.square(self.coefficients).sum())
        explicit = -(penalty + q * self._trace - self.coefficients.size) / 2
        by_precision = explicit - q * float((adjoint * self.coefficients).sum())
        return by_precision, self.likelihood.flip_gradient(halves, features @ adjoint)

    def _hessian_product(self, V: Floats) -> Floats:
        features = self.problem.features
        return np.asarray(features.T @ self.likelihood.hessian_product(features @ V) + self.precision * V)

    def _precondition(self, V: Floats) -> Floats:
        return solve_blocks(self.factors, V)


def find_mode(
    problem: LaplaceProblem,
    flips: Floats,
    precision: float,
    start: Floats | None = None,
    tol: float = 1e-9,
) -> Mode:
    """The mode of the posterior by Newton ascent from `start`, with step halving.

    Each step solves a linear system by conjugate gradients, preconditioned by the blocks of the single functions. With
    several functions these take most of the time, and are kept once steps are small; those returned are of the mode.
    """
    V = np.zeros((problem.features.shape[1], problem.n_functions)) if start is None else start
    likelihood = problem.likelihood(V, flips)
    value = _objective(likelihood, V, precision)
    decrement = np.inf  # squared
    for step in range(MOST_STEPS):
        if exact := problem.n_functions == 1 or decrement > SETTLED:
            factors = _factors(problem, likelihood, precision)
        gradient = problem.features.T @ likelihood.gradient - precision * V
        mode = Mode(problem, precision, V, likelihood, factors, step, True)
        first = solve_blocks(factors, gradient)
        decrement = float((gradient * first).sum())
        if decrement <= tol:
            return mode if exact else replace(mode, factors=_factors(problem, likelihood, precision))
        direction = first  # exact for one function with positive curvature at all rows
        if problem.n_functions > 1 or likelihood.curvature.min() < 0:
            accuracy = min(0.3, np.sqrt(decrement))
            direction = conjugate_gradients(mode._hessian_product, gradient, mode._precondition, accuracy, 30, first)
        length = 1.0
        for _ in range(HALVINGS):
            V_next = V + length * direction
            likelihood_next = problem.likelihood(V_next, flips)
            value_next = _objective(likelihood_next, V_next, precision)
            increase = SUFFICIENT_INCREASE * length * float((gradient * direction).sum())
            if value_next > value + increase - 1e-12 * abs(value):
                break
            length /= 2
        else:
            return mode if exact else replace(mode, factors=_factors(problem, likelihood, precision))
        V, likelihood, value = V_next, likelihood_next, value_next
    return Mode(problem, precision, V, likelihood, _factors(problem, likelihood, precision), MOST_STEPS, False)


def conjugate_gradients(
    product: Callable[[Floats], Floats],
    target: Floats,
    precondition: Callable[[Floats], Floats],
    tol: float,
    steps: int,
    first: Floats | None = None,
) -> Floats:
    """Solve ``product(V) = target`` by preconditioned conjugate gradients; stops at negative curvature."""
    found = np.zeros_like(target)
    residual = target.copy()
    preconditioned = precondition(residual) if first is None else first
    direction, norm = preconditioned, float((residual * preconditioned).sum())
    least = norm * tol * tol
    for step in range(steps):
        if norm <= least or norm <= 0:
            break
        image = product(direction)
        curvature = float((direction * image).sum())
        if curvature <= 0:
            return found if step else preconditioned
        found = found + norm / curvature * direction
        residual = residual - norm / curvature * image
        preconditioned = precondition(residual)
        norm, last = float((residual * preconditioned).sum()), norm
        direction = preconditioned + norm / last * direction
    return found


def variances(factors: Iterable[Floats], features: Floats) -> Floats:
    """Posterior variance of each function at rows with these features, of shape (n, n_functions)."""
    inverses = [_inverse(factor) for factor in factors]
    variance = np.empty((len(features), len(inverses)))
    for part in blocks(len(features)):
        for c, inverse in enumerate(inverses):
            variance[part, c] = np.square(features[part] @ inverse).sum(axis=1)
    return variance


def solve_blocks(factors: tuple[Floats, ...], V: Floats) -> Floats:
    """One linear system for each function, by its Cholesky factor."""
    if len(factors) == 1:
        return np.asarray(dpotrs(factors[0], V)[0])
    return np.stack([dpotrs(factor, V[:, c])[0] for c, factor in enumerate(factors)], axis=1)


def _factors(problem: LaplaceProblem, likelihood: FlipLikelihood, precision: float) -> tuple[Floats, ...]:
    roots = np.sqrt(np.maximum(likelihood.curvature, 0.0))
    return tuple(_factor(problem.features, roots[:, [c]], precision) for c in range(roots.shape[1]))


def _factor(features: Floats, roots: Floats, precision: float) -> Floats:
    normal = np.zeros((features.shape[1], features.shape[1]))
    for part in blocks(len(features)):
        scaled = features[part] * roots[part]
        normal += scaled.T @ scaled
    normal.flat[:: len(normal) + 1] += precision
    factor, failed = dpotrf(normal, lower=0, clean=1)
    if failed:
        raise np.linalg.LinAlgError("the Hessian of the labels has no Cholesky factor; are some features infinite?")
    return np.asarray(factor)


def _inverse(factor: Floats) -> Floats:
    return np.asarray(solve_triangular(factor, np.eye(len(factor)), check_finite=False))


def _objective(likelihood: FlipLikelihood, V: Floats, precision: float) -> float:
    return likelihood.log_likelihood - precision / 2 * float(np.square(V).sum())
