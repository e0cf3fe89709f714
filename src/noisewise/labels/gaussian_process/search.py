"""Type II maximum likelihood: width, amplitude and flip matrix of the highest evidence, by a grid and then L-BFGS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from noisewise._typing import Floats
from noisewise.kernels import squared_distances
from noisewise.labels.flip_parameters import (
    START_RATE,
    prior_counts,
    to_flips,
    to_unconstrained,
    unconstrained_gradient,
)
from noisewise.labels.gaussian_process.laplace import LaplaceProblem, Mode, find_mode
from noisewise.labels.gaussian_process.rows import LabelledRows, process_features
from noisewise.labels.kernel_features import KernelFeatures
from noisewise.labels.noise_argument import confident_flips
from noisewise.noise import FlipMatrix

RELATIVE_WIDTHS = 2.0 ** np.arange(-2, 4)  # in median distances
MEDIAN_WIDTH = 2  # the index of the median distance among them
AMPLITUDES = (0.5, 4.0, 32.0)  # from posteriors that hardly leave 1/2 to nearly certain ones
RATES = ((0.1, 0.1), (0.3, 0.05), (0.05, 0.3), (0.25, 0.25))  # (rate01, rate10) to start from with two classes
TRUSTING_RATE = 0.01  # symmetric noise of the cautious fit that suggests a start for more classes
GRID_TOL = 1e-2  # nats
PRECISION_BOUNDS, FLIP_BOUNDS = (-8.0, 5.0), (-9.0, 6.0)  # log precision; unconstrained parameters of the flip matrix
MOST_FLIPPED = 0.8  # of a start, relative to the diagonal: the parametrisation ends at one


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
    """The best amplitude of a coarse grid for each width and each initial flip matrix, best first."""
    squared = squared_distances(rows.rows)
    apart = squared[squared > 0]
    median = float(np.sqrt(np.median(apart))) if apart.size else 1.0
    weights = rows.row_weights
    kernels = [process_features(rows.rows, weights, squared, width, rank) for width in RELATIVE_WIDTHS * median]
    problems = [as_problem(features, rows) for features in kernels]
    starts = initial_flips(problems[MEDIAN_WIDTH]) if known is None else [known]
    found = []
    for features, problem in zip(kernels, problems):
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
    """Grid search, then maximise twice: from the two best widths, or with more than two classes from both starts."""
    found: dict[Any, Candidate] = {}
    for one in grid_search(rows, rank, known):
        found.setdefault(one.features.kernel.width if rows.n_classes == 2 else one.flips.tobytes(), one)
    maxima = (maximise_evidence(one, known, max_iter, tol) for one in list(found.values())[:2])
    return max(maxima, key=lambda one: one.score)


def maximise_evidence(candidate: Candidate, known: Floats | None, max_iter: int, tol: float) -> Candidate:
    """Maximise the evidence in amplitude and flip matrix by L-BFGS, for a fixed width."""
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


def initial_flips(problem: LaplaceProblem) -> list[Floats]:
    """Flip matrices to start from; for three classes or more also one by confident learning.

    Flips among many classes have too many patterns to try. The leave-one-out scores of a cautious fit, which takes
    nearly every label for correct, contradict enough of them to show the pattern.
    """
    n_classes = problem.n_classes
    if n_classes == 2:
        return [np.array([[1 - a, a], [b, 1 - b]]) for a, b in RATES]
    symmetric, trusting = (FlipMatrix.symmetric(rate, n_classes).matrix for rate in (START_RATE, TRUSTING_RATE))
    cautious = find_mode(problem, trusting, 1 / AMPLITUDES[0], tol=GRID_TOL)
    flips = 0.9 * confident_flips(softmax(cautious.leave_one_out(), axis=1), problem.codes) + 0.1 * symmetric
    return [symmetric, limit_flips(flips)]


def limit_flips(flips: Floats) -> Floats:
    """The flip matrix with flips scaled down, row by row, until none is above `MOST_FLIPPED` of the diagonal.

    >>> limit_flips(np.array([[0.5, 0.5, 0.0], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]])).round(3)
    array([[0.556, 0.444, 0.   ],
           [0.1  , 0.8  , 0.1  ],
           [0.   , 0.   , 1.   ]])
    """
    off = flips * (1 - np.eye(len(flips)))
    most, total = off.max(axis=1), off.sum(axis=1)
    # solves scale * most = MOST_FLIPPED * (1 - scale * total)
    scale = np.minimum(1, MOST_FLIPPED / np.maximum(most + MOST_FLIPPED * total, MOST_FLIPPED))
    scaled = off * scale[:, None]
    return np.asarray(scaled + np.diag(1 - scaled.sum(axis=1)))


def log_prior(flips: Floats, known: Any) -> float:
    """Log density, up to a constant, of the Dirichlet prior of a learned flip matrix; zero for a known one."""
    return float(np.sum(prior_counts(len(flips)) * np.log(flips))) if known is None else 0.0
