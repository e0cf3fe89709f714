"""Online gradient descent in a surrogate space, in blocks of rounds, for several step sizes at once.

References
----------
.. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
   Information Theory 57(12), 7907-7931. Algorithm 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._loops.compiled import compiled
from noisewise._loops.random_maps import SMALLEST_SCALE


class Runs(NamedTuple):
    """G predictors between two rounds: ``scale * sum of coefs * kernel``; loops change all but `steps` and `balls`.

    `norm` is the squared norm in the surrogate space, kept up to date by one kernel row a round. `total` is the
    weighted sum of scales so far and `weight` that of the weights. The mark of a coefficient is its product with the
    total at its round; it counts (total * coef - mark) / weight in the average of all predictors.
    Where a scale gets small, it is multiplied into the coefficients and the total restarts: coefficients of earlier
    blocks are then to be multiplied by `shrunk`, after `moved` times each has been subtracted from its mark.
    """

    scale: NDArray[np.float64]
    norm: NDArray[np.float64]
    total: NDArray[np.float64]
    weight: NDArray[np.float64]
    shrunk: NDArray[np.float64]
    moved: NDArray[np.float64]
    steps: NDArray[np.float64]
    balls: NDArray[np.float64]


@compiled
def descend(
    runs: Any, before: Any, own: Any, y: Any, first: int, power: float, coefs: Any, marks: Any, losses: Any
) -> None:
    """A block of rounds, the first of which is round `first`; fills coefs, marks and losses, all of shape (G, B).

    `before` are the predictions from stored rows of earlier blocks, of shape (4, G, B): sums of coefs and of marks with
    kernel rows at the replicate to be stored, and the same at the other one. `own` (2, B, B) are the two kernel rows
    among the block's own stored replicates. A loss is the product of the averaged predictor's errors at both
    replicates, which are new and independent: its mean is the clean squared error.
    """
    for g in range(coefs.shape[0]):
        for b in range(y.shape[0]):
            at_stored, drift_stored = before[0, g, b], before[1, g, b]
            at_other, drift_other = before[2, g, b], before[3, g, b]
            for i in range(b):
                coef, marked = coefs[g, i], marks[g, i]
                at_stored += coef * own[0, b, i]
                drift_stored += marked * own[0, b, i]
                at_other += coef * own[1, b, i]
                drift_other += marked * own[1, b, i]
            if runs.weight[g] > 0:
                total, weight = runs.total[g], runs.weight[g]
                mean_stored = (total * at_stored - drift_stored) / weight
                mean_other = (total * at_other - drift_other) / weight
                losses[g, b] = (mean_stored - y[b]) * (mean_other - y[b])
            else:
                losses[g, b] = y[b] * y[b]
            scale = runs.scale[g]
            alpha = -runs.steps[g] * 2.0 * (scale * at_other - y[b])
            coefs[g, b] = alpha / scale
            marks[g, b] = coefs[g, b] * runs.total[g]
            norm = max(runs.norm[g] + 2 * alpha * scale * at_stored + alpha * alpha * own[0, b, b], 0.0)
            if norm > runs.balls[g] ** 2:
                runs.scale[g] = scale * runs.balls[g] / np.sqrt(norm)
                norm = runs.balls[g] ** 2
            runs.norm[g] = norm
            weight = (first + b + 1.0) ** power
            runs.weight[g] += weight
            runs.total[g] += weight * runs.scale[g]
            if runs.scale[g] < SMALLEST_SCALE:
                rescale(runs, before, g, b, coefs, marks)


@compiled
def rescale(runs: Any, before: Any, g: int, b: int, coefs: Any, marks: Any) -> None:
    """Multiply the coefficients of a run, and the predictions from earlier rows for later rounds, by its scale."""
    total, scale = runs.total[g], runs.scale[g]
    for i in range(b + 1):
        marks[g, i] -= total * coefs[g, i]
        coefs[g, i] *= scale
    for later in range(b + 1, coefs.shape[1]):
        for side in (0, 2):
            before[side + 1, g, later] -= total * before[side, g, later]
            before[side, g, later] *= scale
    runs.moved[g] += total * runs.shrunk[g]
    runs.shrunk[g] *= scale
    runs.total[g], runs.scale[g] = 0.0, 1.0
