"""Laws for noisy features: clean rows and targets, to be seen through noise."""

from __future__ import annotations

import numpy as np

from noisewise._inputs import Chance, Codes, Floats, generator

# The law of make_california_like. Three hidden factors tie the columns together: income-like columns come first,
# and the last two lie on opposite sides of one factor, as latitude and longitude do.
LOADINGS = np.array(
    [
        [0.6, 0.0, 0.0],
        [0.5, 0.3, 0.0],
        [-0.2, 0.6, 0.0],
        [0.0, 0.6, 0.2],
        [0.3, -0.5, 0.2],
        [0.0, 0.3, 0.5],
        [-0.2, 0.0, 0.8],
        [-0.2, 0.0, -0.8],
    ]
)
SKEWS = np.array([0.5, 0.3, 0.6, 0.8, 0.7, 0.9, 0.25, 0.25])
WEIGHTS = np.array([0.8, -0.2, 0.3, -0.2, 0.2, -0.2, -0.4, -0.4])


def make_noisy_moons(
    n: int, noise: float = 0.4, random_state: Chance = None, *, n_copies: int = 2, spread: float = 0.05
) -> tuple[Floats, Codes, Floats]:
    """Two moons, labels -1 and +1, and noisy copies of them: clean X, y, and copies of shape (n, n_copies, 2).

    With t uniform on [0, pi], class -1 lies at (cos t, sin t) and class +1 at (1 - cos t, 1/2 - sin t), both plus
    N(0, spread^2 I); the classes are equally likely. Each copy adds its own N(0, noise^2 I) to the clean row.

    >>> X, y, copies = make_noisy_moons(100, noise=0.4, n_copies=3, random_state=0)
    >>> X.shape, copies.shape
    ((100, 2), (100, 3, 2))
    """
    if not (noise >= 0 and spread >= 0):
        raise ValueError(f"noise is {noise} and spread {spread}; both are standard deviations, 0 or more")
    rng = generator(random_state)
    y = 2 * rng.integers(2, size=n) - 1
    angle = rng.random(n) * np.pi
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.where((y == -1)[:, None], upper, np.array([1.0, 0.5]) - upper) + spread * rng.standard_normal((n, 2))
    return X, y, X[:, None, :] + noise * rng.standard_normal((n, n_copies, 2))


def make_linear_stream(n: int, random_state: Chance = None, *, n_features: int = 10) -> tuple[Floats, Floats]:
    """A linear stream whose columns fade: x ~ N(0, diag(v)), y = sum(x) / sqrt(d) + N(0, 0.1^2).

    The variances v are proportional to 0.7^i and sum to 1, so that the squared length of x is 1 on average; the true
    weights (1, ..., 1) / sqrt(d) have length 1.

    >>> X, y = make_linear_stream(4, random_state=0)
    >>> X.shape, y.shape
    ((4, 10), (4,))
    """
    rng = generator(random_state)
    variances = 0.7 ** np.arange(n_features)
    X = rng.standard_normal((n, n_features)) * np.sqrt(variances / variances.sum())
    return X, X.sum(axis=1) / np.sqrt(n_features) + 0.1 * rng.standard_normal(n)


def make_sine(n: int, random_state: Chance = None) -> tuple[Floats, Floats]:
    """One wave: x uniform on [-3, 3], y = sin(2 x) + N(0, 0.1^2).

    >>> X, y = make_sine(4, random_state=0)
    >>> X.shape, y.shape
    ((4, 1), (4,))
    """
    rng = generator(random_state)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def make_friedman_small(n: int, random_state: Chance = None) -> tuple[Floats, Floats]:
    """A smooth function of four of five columns: y = sin(pi x1) x2 + x3^2 + x4 / 2 + N(0, 0.1^2).

    X is uniform on [-1, 1]^5; the fifth column says nothing.

    >>> X, y = make_friedman_small(4, random_state=0)
    >>> X.shape, y.shape
    ((4, 5), (4,))
    """
    rng = generator(random_state)
    X = rng.uniform(-1, 1, (n, 5))
    clean = np.sin(np.pi * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + X[:, 3] / 2
    return X, clean + 0.1 * rng.standard_normal(n)


def make_california_like(n: int = 5000, random_state: Chance = None) -> tuple[Floats, Floats]:
    """House prices without the houses: eight correlated, skewed columns, and a target that is mostly linear.

    Standard normals z1, ..., z8 share three factors (LOADINGS); column j is exp(s_j z_j) (SKEWS), shifted and scaled
    to mean 0 and variance 1. The target is w.x (WEIGHTS) + 0.4 sin(2 z1) z6 + 0.3 z2 z3 + N(0, 0.45^2), of which a
    linear rule explains about 73 %.

    >>> X, y = make_california_like(random_state=0)
    >>> X.shape, y.shape
    ((5000, 8), (5000,))
    """
    rng = generator(random_state)
    own = np.sqrt(1 - (LOADINGS**2).sum(axis=1))
    z = rng.standard_normal((n, 3)) @ LOADINGS.T + own * rng.standard_normal((n, 8))
    growth = np.exp(SKEWS**2)
    X = (np.exp(SKEWS * z) - np.sqrt(growth)) / np.sqrt((growth - 1) * growth)  # a lognormal's mean and variance
    remainder = 0.4 * np.sin(2 * z[:, 0]) * z[:, 5] + 0.3 * z[:, 1] * z[:, 2]
    return X, X @ WEIGHTS + remainder + 0.45 * rng.standard_normal(n)
