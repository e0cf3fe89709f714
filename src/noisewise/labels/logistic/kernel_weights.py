"""Multiple kernel learning: kernel weights on the simplex by greedy forward selection on the leave-one-out loss.

The penalised likelihood itself can't choose the weights: it always gains from kernels so narrow that the Gram matrix is
the identity, which memorise labels and do not generalise. With a fixed sum the problem has a scale, so that no factor
between weights and function can cancel the penalty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.labels.kernel_features import exact_features
from noisewise.labels.logistic.kernel_choice import CHOICE_RANK, choice_loss, search

STEP = 0.3  # weight of a kernel that is added
MOST_CANDIDATES = 5  # kernels that may be added: the best ones by themselves
LEAST_KERNEL_WEIGHT = 1e-3  # smaller weights are set to zero
SAME = 1e-6  # Gram matrices that differ by less, relative to the largest entry, are equal


@dataclass(frozen=True)
class KernelWeights:
    """Weights of the kernels, their penalty, the leave-one-out loss after every pass, and whether it converged."""

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
    prior: bool = True,
) -> KernelWeights:
    """The best single kernel and penalty; then, pass by pass, the kernel that lowers the loss most is added.

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
        Passes end where none lowers the mean leave-one-out loss by more.
    prior : bool
        Whether a learned flip matrix has its weak prior.
    """
    identity = np.eye(len(grams))
    different = distinct(grams)

    def features_of(weights: Floats) -> Floats:
        return exact_features(np.tensordot(weights, grams, 1), np.ones(len(codes)), norm, CHOICE_RANK)[0]

    def loss_of(features: Floats, penalty: float) -> float:
        return choice_loss(features, codes, n_classes, penalty, flips, fit_intercept, prior)

    best, penalty, alone = search(len(different), penalties, lambda k: features_of(identity[different[k]]), loss_of)
    weights, history = identity[different[best]], [float(alone[best])]
    candidates = different[np.argsort(alone, kind="stable")[:MOST_CANDIDATES]]
    while len(history) < max_iter:
        mixed = [(1 - STEP) * weights + STEP * identity[kernel] for kernel in candidates]
        tried = [(loss_of(features_of(mix), penalty), mix) for mix in mixed if not np.array_equal(mix, weights)]
        least, mix = min(tried, key=lambda pair: pair[0], default=(np.inf, weights))
        if history[-1] - least <= tol:
            return KernelWeights(pruned(weights), penalty, history, True)
        weights, features = mix, features_of(mix)
        losses = {one: loss_of(features, one) for one in penalties}
        penalty = min(losses, key=lambda one: losses[one])
        history.append(losses[penalty])
    return KernelWeights(pruned(weights), penalty, history, len(grams) == 1)


def distinct(grams: Floats) -> Codes:
    """Indices of the kernels whose Gram matrix differs from that of the kernel before.

    Kernels narrower than any distance all have the identity.

    >>> distinct(np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1e-9], [1e-9, 1.0]], [[1.0, 0.5], [0.5, 1.0]]]))
    array([0, 2])
    """
    changes = np.abs(np.diff(grams, axis=0)).max(axis=(1, 2))
    return np.append(0, 1 + np.flatnonzero(changes > SAME * np.abs(grams).max()))


def pruned(weights: Floats) -> Floats:
    """Weights without negligible ones, summing to one; the largest always stays.

    >>> pruned(np.array([0.7, 0.2998, 0.0002])).round(3)
    array([0.7, 0.3, 0. ])
    """
    kept = np.where(weights >= min(LEAST_KERNEL_WEIGHT, weights.max()), weights, 0.0)
    return np.asarray(kept / kept.sum())
