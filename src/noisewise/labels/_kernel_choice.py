"""Width, penalty and noise of a kernel fit without tuning: what foretells observed labels best when left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._inputs import Codes, Floats
from noisewise.kernels import Gaussian
from noisewise.labels._flip_likelihood import FlipProblem
from noisewise.labels._flip_solvers import solve
from noisewise.labels._kernel_features import KernelRows, even_directions, exact_features
from noisewise.labels._left_out_loss import left_out_loss

SQUARED_WIDTHS = 2.0 ** np.array([-4, -2, 0, 2])  # in units of the mean squared distance of standardised rows
PENALTIES = (0.03, 0.15, 0.75, 4.0)
CHOICE_RANK = 100  # directions of a kernel that say something about its width
ROUGH = 1e-4  # tolerance and
FEW = 300  # iterations of a fit that is only compared


@dataclass(frozen=True)
class Choice:
    """A kernel, a penalty, a flip matrix (None: learned) and the left-out loss they come to."""

    kernel: Any
    penalty: float
    flips: Floats | None
    loss: float


def widths_of(n_varying: int) -> list[Gaussian]:
    """Gaussian kernels for standardised rows, whose mean squared distance is twice the number of varying columns.

    >>> widths_of(2)[2]
    Gaussian(width=2.0)
    """
    return [Gaussian(float(np.sqrt(2 * max(n_varying, 1) * factor))) for factor in SQUARED_WIDTHS]


def with_intercept(features: Floats, penalty: float, fit_intercept: bool) -> tuple[Floats, Floats]:
    """Features and their penalties, with a column of ones that bears none at the end."""
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
    noises: Sequence[Floats | None],
    norm: str,
    fit_intercept: bool,
) -> Choice:
    """The best combination on these rows, all of weight one, found along one axis after the other until none helps."""
    ones = np.ones(len(codes))
    bases: dict[int, Floats] = {}
    tried: dict[tuple[int, ...], Choice] = {}

    def at(place: tuple[int, ...]) -> Choice:
        if place not in tried:
            kernel, penalty, flips = kernels[place[0]], penalties[place[1]], noises[place[2]]
            if place[0] not in bases:  # one decomposition serves all penalties and noises
                bases[place[0]] = exact_features(KernelRows(kernel, rows).gram(), ones, norm, CHOICE_RANK)[0]
            features, ridges = with_intercept(bases[place[0]], penalty, fit_intercept)
            n_scores = 1 if n_classes == 2 else n_classes
            problem = FlipProblem(features, codes, ones, ridges, n_classes, n_scores, flips)
            found = solve(problem, "lbfgs", FEW, ROUGH, even_directions(features, ones, ridges))
            tried[place] = Choice(kernel, penalty, flips, left_out_loss(problem, found))
        return tried[place]

    sizes = len(kernels), len(penalties), len(noises)
    best, before = tuple(size // 2 if axis < 2 else 0 for axis, size in enumerate(sizes)), None
    while best != before:
        before = best
        for axis, size in enumerate(sizes):
            line = [(*best[:axis], place, *best[axis + 1 :]) for place in range(size)]
            best = min(line, key=lambda place: at(place).loss)
    return at(best)
