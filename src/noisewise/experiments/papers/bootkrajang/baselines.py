"""Baselines of the robust kernel paper that this library does not offer otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.noise import FlipMatrix

PROJECTED = 200  # dimensions of the random projection
STEPS = 500
WIDTHS = [2.0**power for power in range(-2, 9, 2)]  # g of exp(-r^2 / g)


class RandomProjectionPerceptron:
    """A perceptron on a random projection of the kernel's feature space, for labels flipped at known rates.

    The projection is onto the span of random training rows. Each step adds the mean of the clean perceptron's update,
    sum of y x over the rows on the wrong side, in the unbiased form that observed labels and their rates give; the
    weights kept, and the width, have the fewest mistakes by the same correction, the width on left-out rows.

    References
    ----------
    .. [1] Stempfel, G., Ralaivola, L. (2007). Learning kernel perceptrons on noisy data using random projections.
       Algorithmic Learning Theory, LNCS 4754. RP-KernelPerceptron.
    """

    def __init__(self, noise: FlipMatrix) -> None:
        self.noise = noise

    def fit(self, X: Floats, y: Codes) -> RandomProjectionPerceptron:
        """Choose the width on a third of the rows, then fit all."""
        positive = self.noise.unbiased_targets(y)[:, 1]  # its mean is 1 where the true label is positive, else 0
        learn, check = np.split(np.random.default_rng(0).permutation(len(y)), [2 * len(y) // 3])

        def mistakes(width: float) -> float:
            features, weights = fitted(X[learn], positive[learn], width)
            return corrected_error(scores(features, weights, X[check]), positive[check])

        self.features_, self.weights_ = fitted(X, positive, min(WIDTHS, key=mistakes))
        return self

    def predict(self, X: Floats) -> Codes:
        """The side of the hyperplane."""
        return np.asarray(scores(self.features_, self.weights_, X) > 0).astype(np.intp)


def fitted(X: Floats, positive: Floats, width: float) -> tuple[Any, Floats]:
    """The projection, and the weights that make the fewest mistakes on the way of the perceptron."""
    from sklearn.kernel_approximation import Nystroem

    features = Nystroem(gamma=1 / width, n_components=min(PROJECTED, len(X)), random_state=0).fit(X)
    rows = with_constant(features.transform(X))
    weights, best = np.zeros(rows.shape[1]), (np.inf, np.zeros(rows.shape[1]))
    for _ in range(STEPS):
        found = rows @ weights
        best = min(best, (corrected_error(found, positive), weights), key=lambda pair: pair[0])
        weights = weights + rows.T @ np.where(found > 0, positive - 1, positive) / len(rows)
    return features, best[1]


def corrected_error(found: Floats, positive: Floats) -> float:
    """An unbiased estimate of the fraction of clean labels on the wrong side."""
    return float(np.mean(np.where(found > 0, 1 - positive, positive)))


def scores(features: Any, weights: Floats, X: Floats) -> Floats:
    """Signed distances from the hyperplane, up to a factor."""
    return np.asarray(with_constant(features.transform(X)) @ weights)


def with_constant(rows: Floats) -> Floats:
    """Rows with a last column of ones."""
    return np.column_stack([rows, np.ones(len(rows))])
