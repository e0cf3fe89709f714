"""How much each of many kernels counts: weights that sum to one, chosen by what foretells left-out observed labels.

The penalised likelihood itself can't choose them: it always gains from kernels so narrow that every row is only like
itself, which memorise labels and say nothing about other rows. With a fixed sum the
problem has a scale, so that no factor between weights and function can cancel the penalty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.labels.kernel_features import exact_features
from noisewise.labels.logistic.kernel_choice import CHOICE_RANK, rough_fit, search

SHARE = 0.3  # of a kernel that joins
MOST_JOINING = 5  # kernels, the best ones alone, that may join
NEGLIGIBLE = 1e-3  # shares below are zero
SAME = 1e-6  # share of the largest value by which kernels may differ and be the same


@dataclass(frozen=True)
class Weighing:
    """Weights of the kernels, the penalty they go with, the left-out loss after every pass, and whether none helped."""

    weights: Floats
    penalty: float
    history: list[float]
    converged: bool


def weigh_kernels(
    grams: Floats,
    codes: Codes,
    n_classes: int,
    penalties: Sequence[float],
    flips: Floats | None,
    norm: str,
    fit_intercept: bool,
    max_iter: int,
    tol: float,
) -> Weighing:
    """The best single kernel and penalty; then, pass by pass, the one that helps most joins with a share of 0.3.

    Parameters
    ----------
    grams : array of shape (n_kernels, n, n)
    codes : array of int of shape (n,)
    n_classes : int
    penalties : sequence of float
    flips : array of shape (n_classes, n_classes) or None
        None: learned.
    norm : {"weights", "function"}
    fit_intercept : bool
    max_iter : int
        Most passes; the single kernel is the first.
    tol : float
        Passes end where none lowers the mean left-out loss by more.
    """
    identity = np.eye(len(grams))
    different = distinct(grams)

    def basis_of(weights: Floats) -> Floats:
        return exact_features(np.tensordot(weights, grams, 1), np.ones(len(codes)), norm, CHOICE_RANK)[0]

    def loss_of(basis: Floats, penalty: float) -> float:
        return rough_fit(basis, codes, n_classes, penalty, flips, fit_intercept)[0]

    place, penalty, alone = search(
        len(different), penalties, lambda place: basis_of(identity[different[place]]), loss_of
    )
    weights, history = identity[different[place]], [float(alone[place])]
    joining = different[np.argsort(alone, kind="stable")[:MOST_JOINING]]
    while len(history) < max_iter:
        mixed = [(1 - SHARE) * weights + SHARE * identity[kernel] for kernel in joining]
        trials = [(loss_of(basis_of(mix), penalty), mix) for mix in mixed if not np.array_equal(mix, weights)]
        least, mix = min(trials, key=lambda trial: trial[0], default=(np.inf, weights))
        if history[-1] - least <= tol:
            return Weighing(pruned(weights), penalty, history, True)
        weights, basis = mix, basis_of(mix)
        losses = {one: loss_of(basis, one) for one in penalties}
        penalty = min(losses, key=lambda one: losses[one])
        history.append(losses[penalty])
    return Weighing(pruned(weights), penalty, history, len(grams) == 1)


def distinct(grams: Floats) -> Codes:
    """Places of the kernels that tell these rows apart in another way than the one before.

    Kernels narrower than any distance are all the same: every row is only like itself.

    >>> distinct(np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1e-9], [1e-9, 1.0]], [[1.0, 0.5], [0.5, 1.0]]]))
    array([0, 2])
    """
    changes = np.abs(np.diff(grams, axis=0)).max(axis=(1, 2))
    return np.append(0, 1 + np.flatnonzero(changes > SAME * np.abs(grams).max()))


def pruned(weights: Floats) -> Floats:
    """Without the negligible ones; the largest always stays.

    >>> pruned(np.array([0.7, 0.2998, 0.0002])).round(3)
    array([0.7, 0.3, 0. ])
    """
    kept = np.where(weights >= min(NEGLIGIBLE, weights.max()), weights, 0.0)
    return np.asarray(kept / kept.sum())
