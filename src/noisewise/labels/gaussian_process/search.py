"""Type II maximum likelihood: the kernel of highest evidence, and for two classes the flip matrix with it.

Two classes: a grid of widths, amplitudes and flip matrices, then L-BFGS. Several classes, through a given flip matrix:
the widths by the evidence of a regression of the labels, for which one eigendecomposition serves all classes and
amplitudes, then the amplitude by MacKay's fixed point.

References
----------
.. [1] MacKay, D. J. C. (1992). Bayesian interpolation. Neural Computation 4(3). Section 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from noisewise._typing import Floats
from noisewise.kernels import Gaussian, squared_distances
from noisewise.labels.flip_parameters import prior_counts, to_flips, to_unconstrained, unconstrained_gradient
from noisewise.labels.gaussian_process.laplace import LaplaceProblem, Mode, find_mode
from noisewise.labels.gaussian_process.rows import LabelledRows, process_features
from noisewise.labels.kernel_features import SELECTION_ROWS, KernelFeatures

RELATIVE_WIDTHS = 2.0 ** np.arange(-2, 4)  # in median distances
NOISE_RATIOS = 10.0 ** np.arange(-3, 2.1, 0.25)  # variance of labels around their regression, over its amplitude
AMPLITUDES = (0.5, 4.0, 32.0)  # from posteriors that hardly leave 1/2 to nearly certain ones
RATES = ((0.1, 0.1), (0.3, 0.05), (0.05, 0.3), (0.25, 0.25))  # (rate01, rate10) to start from with two classes
GRID_TOL = 1e-2  # nats
FIXED_POINT_TOL = 0.05  # change of the log precision at which the fixed point is reached
PRECISION_BOUNDS, FLIP_BOUNDS = (-8.0, 5.0), (-9.0, 6.0)  # log precision; unconstrained parameters of the flip matrix


@dataclass(frozen=True)
class Candidate:
    """One kernel and flip matrix, the Laplace approximation for them, and its evidence."""

    features: KernelFeatures
    mode: Mode
    flips: Floats
    score: float  # log evidence plus the log prior of the flip matrix
    history: tuple[float, ...] = ()
    n_iter: int = 0
    converged: bool = True


def grid_search(rows: LabelledRows, rank: int, known: Floats | None) -> list[Candidate]:
    """Two classes: the best amplitude of a coarse grid for each width and each initial flip matrix, best first."""
    squared, widths = distances_and_widths(rows)
    weights = rows.row_weights
    starts = [np.array([[1 - a, a], [b, 1 - b]]) for a, b in RATES] if known is None else [known]
    found = []
    for width in widths:
        features = process_features(rows.rows, weights, squared, width, rank)
        problem = as_problem(features, rows)
        for flips in starts:
            tried: list[Candidate] = []
            V = None
            for amplitude in AMPLITUDES:
                mode = find_mode(problem, flips, 1 / amplitude, V, GRID_TOL)
                V = mode.coefficients
                tried.append(Candidate(features, mode, flips, mode.evidence + log_prior(flips, known)))
            found.append(max(tried, key=lambda one: one.score))
    return sorted(found, key=lambda one: -one.score)


def tune(rows: LabelledRows, rank: int, known: Floats | None, max_iter: int, tol: float) -> Candidate:
    """Two classes: grid search, then L-BFGS from the two best widths."""
    found: dict[float, Candidate] = {}
    for one in grid_search(rows, rank, known):
        found.setdefault(one.features.kernel.width, one)
    maxima = (maximise_evidence(one, known, max_iter, tol) for one in list(found.values())[:2])
    return max(maxima, key=lambda one: one.score)


def tune_several(rows: LabelledRows, rank: int, flips: Floats, max_iter: int, rng: np.random.Generator) -> Candidate:
    """Several classes, through a known flip matrix: the better of two widths, each with its amplitude."""
    weights, squared = rows.row_weights, squared_distances(rows.rows)
    found = []
    for width in likeliest_widths(rows.some(SELECTION_ROWS, rng)):
        features = process_features(rows.rows, weights, squared, width, rank)
        mode = find_mode(as_problem(features, rows), flips, 1 / AMPLITUDES[1], tol=GRID_TOL)
        found.append(maximise_amplitude(Candidate(features, mode, flips, mode.evidence), max_iter))
    return max(found, key=lambda one: one.score)


def likeliest_widths(rows: LabelledRows) -> Floats:
    """The two widths of highest evidence in Gaussian process regression of the one-hot labels.

    With the eigendecomposition U diag(l) U' of the weighted Gram matrix, targets R and the ratio r of their variance
    around the regression to its amplitude, the evidence is that of independent normal U'R of variances proportional to
    l + r. The amplitude has a closed form. Labels of equal rows also deviate from their mean, with variances
    proportional to r.
    """
    squared, widths = distances_and_widths(rows)
    counts = np.zeros((rows.rows.shape[0], rows.n_classes))
    counts[rows.indices, rows.codes] = rows.weights
    weights, total = rows.row_weights, rows.weights.sum()
    within = total - np.sum(np.square(counts) / weights[:, None])  # squared deviations of the labels of equal rows
    root = np.sqrt(weights)[:, None]
    targets = counts / root - root * (counts.sum(axis=0) / total)
    scores = []
    for width in widths:
        values, vectors = np.linalg.eigh((Gaussian(width).of_squared_distance(squared) + 1) * root * root.T)
        power = np.square(vectors.T @ targets).sum(axis=1)
        variances = np.maximum(values, 0.0)[:, None] + NOISE_RATIOS
        amplitude = power @ (1 / variances) + within / NOISE_RATIOS
        log_det = np.log(variances).sum(axis=0) + (total - len(values)) * np.log(NOISE_RATIOS)
        scores.append(np.max(-log_det - total * np.log(amplitude)))
    return np.asarray(widths[np.argsort(scores)[-2:]])


def distances_and_widths(rows: LabelledRows) -> tuple[Floats, Floats]:
    """Squared distances of the rows, and the widths to try."""
    squared = squared_distances(rows.rows)
    apart = squared[squared > 0]
    median = float(np.sqrt(np.median(apart))) if apart.size else 1.0
    return squared, np.asarray(RELATIVE_WIDTHS * median)


def maximise_amplitude(candidate: Candidate, max_iter: int) -> Candidate:
    """MacKay's fixed point of the precision, the number of determined coefficients over their squared norm."""
    best, mode, history, moved = candidate, candidate.mode, [candidate.score], np.inf
    while len(history) <= max_iter and abs(moved) > FIXED_POINT_TOL:
        precision = np.clip(mode.determined / np.square(mode.coefficients).sum(), *np.exp(PRECISION_BOUNDS))
        moved = np.log(precision / mode.precision)
        mode = find_mode(mode.problem, candidate.flips, float(precision), mode.coefficients, GRID_TOL)
        if mode.evidence > best.score:
            best = Candidate(candidate.features, mode, candidate.flips, mode.evidence)
        history.append(best.score)
    converged = abs(moved) <= FIXED_POINT_TOL
    return replace(best, history=tuple(history[1:]), n_iter=len(history) - 1, converged=converged)


def maximise_evidence(candidate: Candidate, known: Floats | None, max_iter: int, tol: float) -> Candidate:
    """Two classes: maximise the evidence in amplitude and flip matrix by L-BFGS, for a fixed width."""
    best = candidate
    n_classes = candidate.mode.problem.n_classes

    def loss(theta: Floats) -> tuple[float, Floats]:
        nonlocal best
        flips = to_flips(theta[1:], n_classes) if known is None else known
        mode = find_mode(candidate.mode.problem, flips, float(np.exp(theta[0])), best.mode.coefficients)
        score = mode.evidence + log_prior(flips, known)
        by_precision, by_flips = mode.gradient()
        if score > best.score:
            best = Candidate(candidate.features, mode, flips, score)
        by_parameters = np.zeros(0)
        if known is None:
            by_parameters = unconstrained_gradient(theta[1:], by_flips + prior_counts(n_classes))
        return -score, -np.concatenate([[by_precision], by_parameters])

    parameters = to_unconstrained(candidate.flips) if known is None else np.zeros(0)
    start = np.concatenate([[np.log(candidate.mode.precision)], parameters])
    bounds = [PRECISION_BOUNDS] + [FLIP_BOUNDS] * len(parameters)
    history: list[float] = []
    result = minimize(
        loss,
        np.clip(start, *np.transpose(bounds)),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=lambda _: history.append(best.score),
        options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-6},
    )
    if not history or best.score > history[-1]:  # the last line search may have found better
        history.append(best.score)
    return replace(best, history=tuple(history), n_iter=int(result.nit), converged=bool(result.status != 1))


def as_problem(features: KernelFeatures, rows: LabelledRows) -> LaplaceProblem:
    """The observed labels, with the features of their rows."""
    values = features(rows.rows)
    if not np.array_equal(rows.indices, np.arange(len(values))):
        values = values[rows.indices]
    return LaplaceProblem(values, rows.codes, rows.weights, rows.n_classes)


def log_prior(flips: Floats, known: Any) -> float:
    """Log density, up to a constant, of the Dirichlet prior of a learned flip matrix; zero for a known one."""
    return float(np.sum(prior_counts(len(flips)) * np.log(flips))) if known is None else 0.0
