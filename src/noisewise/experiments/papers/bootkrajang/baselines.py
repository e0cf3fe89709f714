"""Methods of the robust kernel paper as published, which this library does not offer otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from noisewise._typing import Codes, Floats
from noisewise.kernels import Gaussian, squared_distances
from noisewise.labels import FlipProblem, solve
from noisewise.noise import FlipMatrix

PROJECTED = 200  # dimensions of the random projection
STEPS = 500
WIDTHS = [2.0**power for power in range(-2, 9, 2)]  # g of exp(-r^2 / g)
RIDGES = (1e-3, 1e-2, 1e-1, 1.0)
EM_STEPS = 30
FIRST_FLIPS = 0.2  # rate of both flips from which EM starts
ZETA = 0.1  # the penalty of KLR and rKLR; the paper does not say which, or how it is chosen
ITERATIONS = 100  # of Algorithm 1; 50 and 150 had errors alike on banana, ringnorm and thyroid


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


class KernelFisherEM:
    """The robust kernel Fisher discriminant as published: EM over true labels, width and ridge by cross-validation.

    Reconstructed from its description. The direction is the kernel ridge regression on the posterior of the true
    class, which is normal along it with one variance; scores of the training rows are those of the regression that
    they are in. Width and ridge have the fewest mistakes on three folds of observed labels.

    Parameters
    ----------
    ridges : sequence of float
        What the ridge is chosen from, in units of the number of rows. The paper names the width alone as chosen.

    References
    ----------
    .. [1] Lawrence, N. D., Schoelkopf, B. (2001). Estimating a kernel Fisher discriminant in the presence of label
       noise. International Conference on Machine Learning.
    """

    def __init__(self, ridges: Sequence[float] = RIDGES) -> None:
        self.ridges = ridges

    def fit(self, X: Floats, y: Codes) -> KernelFisherEM:
        """Choose width and ridge, then fit all rows."""
        from sklearn.model_selection import StratifiedKFold

        folds = list(StratifiedKFold(3).split(X, y))

        def mistakes(width: float) -> list[float]:
            wrong = np.zeros(len(self.ridges))
            for learn, check in folds:
                models = discriminants(X[learn], y[learn], width, self.ridges)
                wrong += [np.sum(model.predict(X[check]) != y[check]) for model in models]
            return [float(one) for one in wrong]

        counts = {width: mistakes(width) for width in WIDTHS}
        width = min(WIDTHS, key=lambda one: min(counts[one]))
        (self.model_,) = discriminants(X, y, width, [self.ridges[int(np.argmin(counts[width]))]])
        return self

    def predict(self, X: Floats) -> Codes:
        """The more probable true class."""
        return self.model_.predict(X)


class Discriminant(NamedTuple):
    """A direction in the kernel's feature space, and normal classes of one variance along it."""

    rows: Floats
    width: float
    weights: Floats
    means: Floats
    variance: float
    prior: float

    def predict(self, X: Floats) -> Codes:
        """The more probable true class."""
        found = gaussian(X, self.rows, self.width) @ self.weights
        return np.asarray(log_odds(found, self.means, self.variance, self.prior) > 0).astype(np.intp)


def discriminants(X: Floats, y: Codes, width: float, ridges: Sequence[float]) -> list[Discriminant]:
    """A discriminant for each ridge, of one eigendecomposition."""
    values, vectors = np.linalg.eigh(gaussian(X, X, width))
    return [_em(X, y, width, values, vectors, ridge * len(y)) for ridge in ridges]


def _em(X: Floats, y: Codes, width: float, values: Floats, vectors: Floats, ridge: float) -> Discriminant:
    flips = np.array([[1 - FIRST_FLIPS, FIRST_FLIPS], [FIRST_FLIPS, 1 - FIRST_FLIPS]])
    posterior = flips[1, y]
    for _ in range(EM_STEPS):
        weights = vectors @ ((vectors.T @ (posterior - posterior.mean())) / (values + ridge))
        found = vectors @ (values * (vectors.T @ weights))
        both = np.stack([1 - posterior, posterior])
        counts = both.sum(axis=1)
        means = both @ found / counts
        variance = float((both * (found - means[:, None]) ** 2).sum() / len(y)) + SMALLEST_VARIANCE
        flips = np.stack([both @ (y == 0), both @ (y == 1)], axis=1) / counts[:, None]
        odds = log_odds(found, means, variance, float(counts[1] / len(y)))
        seen = np.log(np.maximum(flips[:, y], LEAST_FLIP))
        posterior = np.clip(expit(odds + seen[1] - seen[0]), LEAST_FLIP, 1 - LEAST_FLIP)
    return Discriminant(X, width, weights, means, variance, float(counts[1] / len(y)))


SMALLEST_VARIANCE = 1e-12
LEAST_FLIP = 1e-6  # of a rate or posterior: zero is absorbing


def log_odds(found: Floats, means: Floats, variance: float, prior: float) -> Floats:
    """Log-odds of class 1 by two normal distributions of one variance."""
    apart = (means[1] - means[0]) * (found - means.mean()) / variance
    return np.asarray(apart + np.log(prior / (1 - prior)))


def gaussian(X: Floats, rows: Floats, width: float) -> Floats:
    """The Gram matrix exp(-r^2 / g)."""
    from sklearn.metrics.pairwise import rbf_kernel

    return np.asarray(rbf_kernel(X, rows, gamma=1 / width))


class KernelLogistic(NamedTuple):
    """Algorithm 1 for one kernel, with an intercept, which print's ringnorm needs (1.8 on clean labels, 7 without)."""

    rows: Floats
    kernel_: Gaussian
    coefficients: Floats  # of the rows, then the intercept
    noise_: FlipMatrix

    def predict(self, X: Floats) -> Codes:
        """The more probable true class."""
        found = self.kernel_.gram(X, self.rows) @ self.coefficients[:-1] + self.coefficients[-1]
        return np.asarray(found > 0).astype(np.intp)

    def accuracy(self, X: Floats, y: Codes) -> float:
        """Fraction of these labels that are predicted."""
        return float(np.mean(self.predict(X) == y))


def kernel_logistics(
    X: Floats, y: Codes, kernels: Sequence[Gaussian], robust: bool, zeta: float
) -> list[KernelLogistic]:
    """Algorithm 1 for each kernel, with the flip matrix learned (rKLR) or without noise (KLR)."""
    squared = squared_distances(X)
    penalties = np.append(np.full(len(y), 2 * zeta), 0.0)
    found = []
    for kernel in kernels:
        features = with_constant(kernel.of_squared_distance(squared))
        flips = None if robust else np.eye(2)
        problem = FlipProblem(features, y, np.ones(len(y)), penalties, 2, 1, flips, prior=False)
        fit = solve(problem, "printed", ITERATIONS)
        found.append(KernelLogistic(X, kernel, fit.coefficients[:, 0], FlipMatrix.estimated(fit.flips)))
    return found


def by_trusted_tenth(
    X: Floats, y: Codes, true: Codes, kernels: Sequence[Gaussian], robust: bool = True, zeta: float = ZETA
) -> KernelLogistic:
    """The width with the most of a tenth of clean labels, fitted to the observed labels of the rest."""
    from sklearn.model_selection import ShuffleSplit

    ((learn, trusted),) = ShuffleSplit(1, test_size=0.1, random_state=0).split(X)
    fits = kernel_logistics(X[learn], y[learn], kernels, robust, zeta)
    return max(fits, key=lambda fit: fit.accuracy(X[trusted], true[trusted]))


def by_observed_folds(X: Floats, y: Codes, kernels: Sequence[Gaussian], zeta: float = ZETA) -> KernelLogistic:
    """Algorithm 1 of the width with the most of the observed labels of five folds."""
    from sklearn.model_selection import StratifiedKFold

    right = np.zeros(len(kernels))
    for learn, check in StratifiedKFold(5).split(X, y):
        fits = kernel_logistics(X[learn], y[learn], kernels, True, zeta)
        right += [fit.accuracy(X[check], y[check]) for fit in fits]
    return kernel_logistics(X, y, [kernels[int(np.argmax(right))]], True, zeta)[0]
