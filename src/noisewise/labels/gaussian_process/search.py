"""Width, amplitude and flip matrix of highest evidence: a coarse scan, then the evidence's gradient."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from noisewise._typing import Floats
from noisewise.kernels import squared_distances
from noisewise.labels.gaussian_process.laplace import Mode, Task, find_mode
from noisewise.labels.gaussian_process.rows import LabelledRows, process_features
from noisewise.labels.kernel_features import KernelFeatures
from noisewise.labels.logistic.flip_parameters import flips_of, free_of, prior_counts, slope_of
from noisewise.labels.noise_argument import confident_flips
from noisewise.noise import FlipMatrix

WIDTHS = 2.0 ** np.arange(-2, 4)  # in median distances
TYPICAL = 2  # the place of the median distance among them
AMPLITUDES = (0.5, 4.0, 32.0)
RATES = ((0.1, 0.1), (0.3, 0.05), (0.05, 0.3), (0.25, 0.25))  # starts for two classes: of flips from 0 and from 1
RATE, BELIEF = 0.2, 0.01  # more classes: flips to all others alike, at the start and where labels are believed
SCAN_TOL = 1e-2  # nats
AMPLITUDE_BOUNDS, FLIP_BOUNDS = (-8.0, 5.0), (-9.0, 6.0)  # log precision; free numbers of the flip matrix


@dataclass(frozen=True)
class Candidate:
    """One kernel and noise: where they were tried, and how well they explain the labels."""

    features: KernelFeatures
    mode: Mode
    flips: Floats
    score: float  # evidence and the flip matrix's weak prior
    history: tuple[float, ...] = ()
    n_iter: int = 0
    converged: bool = True


def scan(rows: LabelledRows, rank: int, known: Floats | None) -> list[Candidate]:
    """The best amplitude of a coarse grid for each width and each start of the flips, best first."""
    squared = squared_distances(rows.rows)
    apart = squared[squared > 0]
    typical = float(np.sqrt(np.median(apart))) if apart.size else 1.0
    weights = rows.row_weights
    kernels = [process_features(rows.rows, weights, squared, width, rank) for width in WIDTHS * typical]
    tasks = [as_task(features, rows) for features in kernels]
    begin = starts(tasks[TYPICAL]) if known is None else [known]
    found = []
    for features, task in zip(kernels, tasks):
        for flips in begin:
            tried: list[Candidate] = []
            V = None
            for amplitude in AMPLITUDES:
                mode = find_mode(task, flips, 1 / amplitude, V, SCAN_TOL)
                V = mode.coefficients
                tried.append(Candidate(features, mode, flips, mode.evidence + log_prior(flips, known)))
            found.append(max(tried, key=lambda one: one.score))
    return sorted(found, key=lambda one: -one.score)


def tune(rows: LabelledRows, rank: int, known: Floats | None, max_iter: int, tol: float) -> Candidate:
    """Scan, then climb twice: from the two best widths, or with more than two classes from both starts."""
    found: dict[Any, Candidate] = {}
    for one in scan(rows, rank, known):
        found.setdefault(one.features.kernel.width if rows.n_classes == 2 else one.flips.tobytes(), one)
    return max((climb(one, known, max_iter, tol) for one in list(found.values())[:2]), key=lambda one: one.score)


def climb(candidate: Candidate, known: Floats | None, max_iter: int, tol: float) -> Candidate:
    """Amplitude and flips uphill along the evidence's gradient, the width as it is."""
    best = candidate
    n_classes = candidate.mode.task.n_classes

    def loss(theta: Floats) -> tuple[float, Floats]:
        nonlocal best
        flips = flips_of(theta[1:], n_classes) if known is None else known
        mode = find_mode(candidate.mode.task, flips, float(np.exp(theta[0])), best.mode.coefficients)
        score = mode.evidence + log_prior(flips, known)
        by_precision, by_flips = mode.gradient()
        if score > best.score:
            best = Candidate(candidate.features, mode, flips, score)
        free = slope_of(theta[1:], by_flips + prior_counts(n_classes)) if known is None else np.zeros(0)
        return -score, -np.concatenate([[by_precision], free])

    free = free_of(candidate.flips) if known is None else np.zeros(0)
    start = np.concatenate([[np.log(candidate.mode.precision)], free])
    bounds = [AMPLITUDE_BOUNDS] + [FLIP_BOUNDS] * len(free)
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
    if not history or best.score > history[-1]:  # a last line search that ended the climb may still have found better
        history.append(best.score)
    return replace(best, history=tuple(history), n_iter=int(result.nit), converged=bool(result.status != 1))


def as_task(features: KernelFeatures, rows: LabelledRows) -> Task:
    """The labels to explain, with the features of their rows."""
    values = features(rows.rows)
    if not np.array_equal(rows.places, np.arange(len(values))):
        values = values[rows.places]
    return Task(values, rows.codes, rows.weights, rows.n_classes)


def starts(task: Task) -> list[Floats]:
    """Flip matrices to start from; of three classes or more also one that the labels suggest.

    Flips among many classes have too many patterns to try. A cautious fit that believes nearly every label and then
    leaves each one out disagrees with enough of them to show the pattern.
    """
    n_classes = task.n_classes
    if n_classes == 2:
        return [np.array([[1 - a, a], [b, 1 - b]]) for a, b in RATES]
    even = FlipMatrix.symmetric(RATE, n_classes).matrix
    cautious = find_mode(task, FlipMatrix.symmetric(BELIEF, n_classes).matrix, 1 / AMPLITUDES[0], tol=SCAN_TOL)
    flips = 0.9 * confident_flips(softmax(cautious.left_out(), axis=1), task.codes) + 0.1 * even
    return [even, keep_most(flips)]


def keep_most(flips: Floats) -> Floats:
    """The flip matrix with flips scaled down, row by row, until none is above four fifths of what is kept.

    >>> keep_most(np.array([[0.5, 0.5, 0.0], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]])).round(3)
    array([[0.556, 0.444, 0.   ],
           [0.1  , 0.8  , 0.1  ],
           [0.   , 0.   , 1.   ]])
    """
    off = flips * (1 - np.eye(len(flips)))
    most, total = off.max(axis=1), off.sum(axis=1)
    scale = np.minimum(1, 0.8 / np.maximum(most + 0.8 * total, 0.8))  # solves scale * most = 0.8 (1 - scale * total)
    scaled = off * scale[:, None]
    return np.asarray(scaled + np.diag(1 - scaled.sum(axis=1)))


def log_prior(flips: Floats, known: Any) -> float:
    """The weak prior of a flip matrix that is learned; none of one that is known."""
    return float(np.sum(prior_counts(len(flips)) * np.log(flips))) if known is None else 0.0
