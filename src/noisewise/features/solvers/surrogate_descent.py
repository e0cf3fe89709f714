"""Kernel gradient descent in a surrogate space (Cesa-Bianchi et al., Algorithm 3) over a whole stream.

Of two independent replicates of each row, one is stored as a support vector, the other gives the residual.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noisewise._numerics.blocks import blocks
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import generator
from noisewise.kernels import Kernel

BLOCK_ROUNDS = 256  # kernel values of so many rounds are computed at once


class Replicates(NamedTuple):
    """Two independent noisy versions of each row, and their noise covariances as multiples of that of one replicate."""

    stored: Floats
    other: Floats
    noise_stored: float
    noise_other: float


class Stream(NamedTuple):
    """The result of a stream: stored rows, their coefficients in each run, the loss of each round, and the steps."""

    rows: Floats
    coefs: Floats
    losses: Floats
    steps: Floats


def two_replicates(copies: Floats, covariance: Floats, rng: RandomState = None) -> Replicates:
    """Two independent versions of each row from m replicates, of shape (n, m, d).

    Of several replicates, one half is averaged for each. A single one x becomes x + z and x - z, where z is noise of
    the same covariance: for Gaussian noise they are independent, with twice the noise.

    >>> two_replicates(np.arange(6.0).reshape(1, 3, 2), np.eye(2)).stored
    array([[1., 2.]])
    """
    n, m, d = copies.shape
    if m > 1:
        half = (m + 1) // 2
        return Replicates(copies[:, :half].mean(axis=1), copies[:, half:].mean(axis=1), 1 / half, 1 / (m - half))
    values, vectors = np.linalg.eigh(covariance)
    added = generator(rng).standard_normal((n, d)) @ (vectors * np.sqrt(np.clip(values, 0, None))).T
    return Replicates(copies[:, 0] + added, copies[:, 0] - added, 2.0, 2.0)


def descend(
    replicates: Replicates,
    y: Floats,
    kernels: tuple[Kernel, Kernel],
    steps: Floats,
    balls: Floats,
    power: float | None = 3.0,
    budget: int | None = None,
) -> Stream:
    """Online gradient descent over the stream, once for each pair of a step and a ball.

    Parameters
    ----------
    replicates : Replicates
    y : array of shape (n,)
    kernels : two surrogate kernels
        For the noise of the stored replicate (the norm is that of its space), and for that of the other.
    steps, balls : arrays of shape (G,)
        Constant step, and bound of the norm, of each run.
    power : float or None
        Predictors are averaged with weights round^power; None takes the last alone.
    budget : int, optional
        Rows to keep at most: after each block, those of the smallest coefficients are dropped.
    """
    from noisewise._loops import surrogate_descent as loop

    n, n_runs = len(y), len(steps)
    norm, total, weight, moved = np.zeros((4, n_runs))
    scale, shrunk = np.ones((2, n_runs))
    runs = loop.Runs(scale, norm, total, weight, shrunk, moved, np.asarray(steps, float), np.asarray(balls, float))
    rows, coefs, marks = replicates.stored[:0], np.zeros((n_runs, 0)), np.zeros((n_runs, 0))
    losses = np.empty((n_runs, n))
    for part in blocks(n, BLOCK_ROUNDS):
        stored, other = replicates.stored[part], replicates.other[part]
        before = np.zeros((4, n_runs, len(stored)))
        if len(rows):
            at_stored, at_other = kernels[0].gram(rows, stored), kernels[1].gram(rows, other)
            before[:2] = coefs @ at_stored, marks @ at_stored
            before[2:] = coefs @ at_other, marks @ at_other
        own = np.stack([kernels[0].gram(stored), kernels[1].gram(other, stored)])
        new = np.zeros((2, n_runs, len(stored)))
        loss = np.empty((n_runs, len(stored)))
        loop.descend(runs, before, own, y[part], part.start, 0.0 if power is None else power, new[0], new[1], loss)
        losses[:, part] = loss
        marks -= moved[:, None] * coefs
        coefs *= shrunk[:, None]
        moved[:], shrunk[:] = 0.0, 1.0
        rows = np.concatenate([rows, stored])
        coefs, marks = np.concatenate([coefs, new[0]], axis=1), np.concatenate([marks, new[1]], axis=1)
        marks -= total[:, None] * coefs  # restart with every block, so that both stay small
        coefs *= scale[:, None]
        total[:], scale[:] = 0.0, 1.0
        if budget is not None and len(rows) > budget:
            kept = _prune(kernels[0], norm, rows, coefs, budget)
            rows, coefs, marks = rows[kept], coefs[:, kept], marks[:, kept]
    return Stream(rows, coefs if power is None else -marks / weight[:, None], losses, runs.steps)


def _prune(kernel: Kernel, norm: Floats, rows: Floats, coefs: Floats, budget: int) -> Codes:
    """Indices of the rows with the largest coefficients; subtracts the others from the squared norm of each run."""
    sizes = np.abs(coefs)
    importance = np.max(sizes / np.maximum(sizes.max(axis=1, keepdims=True), 1e-300), axis=0)
    order = np.argsort(-importance, kind="stable")
    kept, dropped = np.sort(order[:budget]), order[budget:]
    values = coefs @ kernel.gram(rows, rows[dropped])
    removed = coefs[:, dropped]
    inner = np.einsum("gi,ij,gj->g", removed, kernel.gram(rows[dropped]), removed)
    norm[:] = np.maximum(norm - 2 * np.sum(removed * values, axis=1) + inner, 0.0)
    return np.asarray(kept)
