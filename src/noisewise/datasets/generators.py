"""Synthetic data: the generators of the papers' experiments and of the usual benchmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import generator

N_CLASSES, N_BITS, N_TOPIC_BITS = 9, 400, 120  # of SynSep, as published
N_DROPPED, N_STRAY = 5, 20  # bits of its prototype that a row loses, and bits of no class that it gains
TRIANGLES = np.maximum(6 - np.abs(np.arange(1, 22) - np.array([[7], [15], [11]])), 0)
TRIANGLE_PAIRS = np.array([[0, 1], [0, 2], [1, 2]])


def make_synsep(n: int, random_state: RandomState = None, *, sparse: bool = False) -> tuple[Any, Codes]:
    """SynSep: nine linearly separable classes of synthetic documents, 400 binary features a row.

    Each class has a prototype: 20 to 40 of the first 120 bits. A row takes a class at random, loses 5 bits of its
    prototype, and gains 20 of the other 280 bits. With ``sparse=True``, X is a CSR array: one bit in ten is set.

    References
    ----------
    .. [1] Kakade, S. M., Shalev-Shwartz, S., Tewari, A. (2008). Efficient bandit algorithms for online multiclass
       prediction. ICML.

    Examples
    --------
    >>> X, y = make_synsep(1000, random_state=0)
    >>> X.shape, X[:, 120:].sum(axis=1).tolist() == [20.0] * 1000
    ((1000, 400), True)
    """
    rng = generator(random_state)
    y = rng.integers(N_CLASSES, size=n)
    rows, columns = _draw_bits(y, rng)
    if sparse:  # scikit-learn's solvers take 32-bit indices only
        indices = (rows.astype(np.int32), columns.astype(np.int32))
        return csr_array((np.ones(len(rows)), indices), shape=(n, N_BITS)), y
    X = np.zeros((n, N_BITS))
    X[rows, columns] = 1
    return X, y


def make_synnonsep(n: int, random_state: RandomState = None, *, sparse: bool = False) -> tuple[Any, Codes]:
    """SynNonSep: SynSep with 5 % of the labels changed to another class, so that it is not separable.

    References
    ----------
    .. [1] Kakade, S. M., Shalev-Shwartz, S., Tewari, A. (2008). Efficient bandit algorithms for online multiclass
       prediction. ICML.

    Examples
    --------
    >>> X, y = make_synnonsep(1000, random_state=0, sparse=True)
    >>> X.shape, np.unique(y).tolist()
    ((1000, 400), [0, 1, 2, 3, 4, 5, 6, 7, 8])
    """
    rng = generator(random_state)
    X, y = make_synsep(n, rng, sparse=sparse)
    changed = rng.random(n) < 0.05
    steps = rng.integers(1, N_CLASSES, size=n)  # 1 to 8: a changed label is another class
    return X, np.where(changed, (y + steps) % N_CLASSES, y)


def make_twonorm(n: int, random_state: RandomState = None) -> tuple[Floats, Codes]:
    """Breiman's twonorm: two spherical Gaussians in 20 dimensions, labels -1 and +1; Bayes error 2.3 %.

    A row of class y is N(y a (1, ..., 1), I) with a = 2 / sqrt(20); both classes are equally likely.

    References
    ----------
    .. [1] Breiman, L. (1996). Bias, variance, and arcing classifiers. Technical report 460, Statistics Department,
       University of California, Berkeley.

    Examples
    --------
    >>> X, y = make_twonorm(5, random_state=0)
    >>> X.shape, y
    ((5, 20), array([ 1,  1,  1, -1, -1]))
    """
    rng = generator(random_state)
    y = _signs(n, rng)
    return rng.standard_normal((n, 20)) + (2 / np.sqrt(20)) * y[:, None], y


def make_ringnorm(n: int, random_state: RandomState = None) -> tuple[Floats, Codes]:
    """Breiman's ringnorm: a small Gaussian inside a wide one in 20 dimensions, labels -1 and +1.

    Class -1 is N(0, 4 I); class +1 is N(a (1, ..., 1), I) with a = 2 / sqrt(20); both are equally likely.

    References
    ----------
    .. [1] Breiman, L. (1996). Bias, variance, and arcing classifiers. Technical report 460, Statistics Department,
       University of California, Berkeley.

    Examples
    --------
    >>> X, y = make_ringnorm(5, random_state=0)
    >>> X.shape, y
    ((5, 20), array([ 1,  1,  1, -1, -1]))
    """
    rng = generator(random_state)
    y = _signs(n, rng)
    inner = (y == 1)[:, None]
    return np.where(inner, 1.0, 2.0) * rng.standard_normal((n, 20)) + np.where(inner, 2 / np.sqrt(20), 0.0), y


def make_waveform(n: int, random_state: RandomState = None, *, binary: bool = False) -> tuple[Floats, Codes]:
    """Breiman's waveform: each of three classes mixes two of three triangular functions, at 21 points, plus N(0, 1).

    The functions are h(i) = max(6 - abs(i - c), 0) for i = 1, ..., 21 with c = 7, 15 and 11. A row of class 0, 1 or 2
    is u h + (1 - u) h' with u uniform on [0, 1] and (h, h') the first and second, first and third, or second and third
    function; the classes are equally likely. With ``binary=True`` class 1 is +1 and the others -1, as in Raetsch's
    benchmark, whose columns are also scaled to mean 0 and variance 1.

    References
    ----------
    .. [1] Breiman, L., Friedman, J. H., Olshen, R. A., Stone, C. J. (1984). Classification and regression trees.
       Wadsworth.
    .. [2] Breiman, L. (1996). Bias, variance, and arcing classifiers. Technical report 460, Statistics Department,
       University of California, Berkeley.
    .. [3] Raetsch, G., Onoda, T., Mueller, K.-R. (2001). Soft margins for AdaBoost. Machine Learning 42.

    Examples
    --------
    >>> X, y = make_waveform(6, random_state=0)
    >>> X.shape, y
    ((6, 21), array([2, 1, 1, 0, 0, 0]))
    >>> make_waveform(6, random_state=0, binary=True)[1]
    array([-1,  1,  1, -1, -1, -1])
    """
    rng = generator(random_state)
    y = rng.integers(3, size=n)
    weight = rng.random((n, 1))
    first, second = TRIANGLES[TRIANGLE_PAIRS[y]].transpose(1, 0, 2)
    X = weight * first + (1 - weight) * second + rng.standard_normal((n, 21))
    return X, np.where(y == 1, 1, -1) if binary else y


def make_sine_2d(n: int, random_state: RandomState = None) -> tuple[Floats, Codes]:
    """A checkerboard-like posterior on the unit square, labels 0 and 1 (the synthetic data of the robust k-NN paper).

    X is uniform on [0, 1]^2 and P(y = 1 | x) is `sine_2d_posterior`. The Bayes error is 1/2 - 2/pi^2 = 0.297.

    References
    ----------
    .. [1] Gao, W., Yang, B.-B., Zhou, Z.-H. (2016). On the robustness of nearest neighbor with noisy data.
       arXiv:1607.07526.

    Examples
    --------
    >>> X, y = make_sine_2d(5, random_state=0)
    >>> X.shape, y
    ((5, 2), array([1, 1, 0, 1, 0]))
    """
    rng = generator(random_state)
    X = rng.random((n, 2))
    return X, (rng.random(n) < sine_2d_posterior(X)).astype(np.intp)


def sine_2d_posterior(X: ArrayLike) -> Floats:
    """P(y = 1 | x) of `make_sine_2d`: (1 - sin(2 pi x1) sin(2 pi x2)) / 2 [eta].

    >>> sine_2d_posterior([[0.25, 0.25], [0.25, 0.75], [0.5, 0.3]]).round(3)
    array([0. , 1. , 0.5])
    """
    first, second = np.sin(2 * np.pi * np.asarray(X, dtype=np.float64)).T
    return np.asarray((1 - first * second) / 2)


def _draw_bits(y: Codes, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Rows and columns of the bits that are set, class by class."""
    rows, columns = [], []
    for code in range(N_CLASSES):
        prototype = rng.choice(N_TOPIC_BITS, size=rng.integers(20, 41), replace=False)
        members = np.flatnonzero(y == code)
        kept = prototype[_choose(len(prototype) - N_DROPPED, len(prototype), len(members), rng)]
        stray = N_TOPIC_BITS + _choose(N_STRAY, N_BITS - N_TOPIC_BITS, len(members), rng)
        bits = np.hstack([kept, stray])
        rows.append(np.repeat(members, bits.shape[1]))
        columns.append(bits.ravel())
    return np.concatenate(rows), np.concatenate(columns)


def _choose(k: int, among: int, n_rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """For each row, `k` of `among` indices without replacement: those of the k smallest of `among` uniforms."""
    return np.argpartition(rng.random((n_rows, among)), k - 1, axis=1)[:, :k]


def _signs(n: int, rng: np.random.Generator) -> Codes:
    return 2 * rng.integers(2, size=n) - 1


# Distribution of make_california_like: a factor model with three latent factors. Income-like columns come first; the
# last two load on one factor with opposite signs, as latitude and longitude do.
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
    n: int, noise: float = 0.4, random_state: RandomState = None, *, n_copies: int = 2, spread: float = 0.05
) -> tuple[Floats, Codes, Floats]:
    """Two moons, labels -1 and +1, and noisy copies (replicates): clean X, y, and copies of shape (n, n_copies, 2).

    With t uniform on [0, pi], class -1 lies at (cos t, sin t) and class +1 at (1 - cos t, 1/2 - sin t), both plus
    N(0, spread^2 I); the classes are equally likely. Each copy adds its own N(0, noise^2 I) to the clean row.

    >>> X, y, copies = make_noisy_moons(100, noise=0.4, n_copies=3, random_state=0)
    >>> X.shape, copies.shape
    ((100, 2), (100, 3, 2))
    """
    if not (noise >= 0 and spread >= 0):
        raise ValueError(f"noise is {noise} and spread {spread}; both are standard deviations, 0 or more")
    rng = generator(random_state)
    y = _signs(n, rng)
    angle = rng.random(n) * np.pi
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.where((y == -1)[:, None], upper, np.array([1.0, 0.5]) - upper) + spread * rng.standard_normal((n, 2))
    return X, y, X[:, None, :] + noise * rng.standard_normal((n, n_copies, 2))


def make_linear_stream(n: int, random_state: RandomState = None, *, n_features: int = 10) -> tuple[Floats, Floats]:
    """A linear regression stream with decaying variances: x ~ N(0, diag(v)), y = sum(x) / sqrt(d) + N(0, 0.1^2).

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


def make_sine(n: int, random_state: RandomState = None) -> tuple[Floats, Floats]:
    """A sine curve: x uniform on [-3, 3], y = sin(2 x) + N(0, 0.1^2).

    >>> X, y = make_sine(4, random_state=0)
    >>> X.shape, y.shape
    ((4, 1), (4,))
    """
    rng = generator(random_state)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def make_friedman_small(n: int, random_state: RandomState = None) -> tuple[Floats, Floats]:
    """A smooth function of four of five columns: y = sin(pi x1) x2 + x3^2 + x4 / 2 + N(0, 0.1^2).

    X is uniform on [-1, 1]^5; the fifth column is irrelevant. A smaller relative of Friedman's first benchmark
    (`sklearn.datasets.make_friedman1`) [1]_.

    References
    ----------
    .. [1] Friedman, J. H. (1991). Multivariate adaptive regression splines. The Annals of Statistics 19.

    Examples
    --------
    >>> X, y = make_friedman_small(4, random_state=0)
    >>> X.shape, y.shape
    ((4, 5), (4,))
    """
    rng = generator(random_state)
    X = rng.uniform(-1, 1, (n, 5))
    clean = np.sin(np.pi * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + X[:, 3] / 2
    return X, clean + 0.1 * rng.standard_normal(n)


def make_california_like(n: int = 5000, random_state: RandomState = None) -> tuple[Floats, Floats]:
    """Synthetic data like California housing: eight correlated, skewed columns, and a mostly linear target.

    Standard normals z1, ..., z8 follow a factor model with three factors (LOADINGS); column j is exp(s_j z_j)
    (SKEWS), standardised to mean 0 and variance 1. The target is w.x (WEIGHTS) + 0.4 sin(2 z1) z6 + 0.3 z2 z3 + N(0,
    0.45^2), of which a linear rule explains about 73 %.

    >>> X, y = make_california_like(random_state=0)
    >>> X.shape, y.shape
    ((5000, 8), (5000,))
    """
    rng = generator(random_state)
    own = np.sqrt(1 - (LOADINGS**2).sum(axis=1))
    z = rng.standard_normal((n, 3)) @ LOADINGS.T + own * rng.standard_normal((n, 8))
    growth = np.exp(SKEWS**2)
    X = (np.exp(SKEWS * z) - np.sqrt(growth)) / np.sqrt((growth - 1) * growth)  # lognormal mean and variance
    remainder = 0.4 * np.sin(2 * z[:, 0]) * z[:, 5] + 0.3 * z[:, 1] * z[:, 2]
    return X, X @ WEIGHTS + remainder + 0.45 * rng.standard_normal(n)
