"""Unbiased estimators of clean quantities from noisy or partial observations.

Every function here is a formula on arrays; the tests check that its mean over the noise is the clean value. They are
for one's own methods, and what the tests hold the learners against; learners compute the same in compiled loops.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import generator

HIGHEST_DEGREE = 60  # with p = 2 higher degrees have probability 2**-61


def by_propensity(values: ArrayLike, actions: ArrayLike, probabilities: ArrayLike, n_actions: int) -> Floats:
    """Inverse propensity score estimate of every action's value: value over propensity for the one taken, else 0.

    >>> by_propensity([1.0, 0.5], [0, 2], [0.5, 0.25], n_actions=3)
    array([[2., 0., 0.],
           [0., 0., 2.]])

    References
    ----------
    .. [1] Horvitz, D. G., Thompson, D. J. (1952). A generalization of sampling without replacement from a finite
       universe. Journal of the American Statistical Association 47.
    """
    values, probabilities = np.asarray(values, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    actions = np.asarray(actions, dtype=np.intp)
    if not ((probabilities > 0) & (probabilities <= 1)).all():
        raise ValueError("an action was taken with a probability outside (0, 1]; it can't be weighted")
    if actions.size and not 0 <= actions.min() <= actions.max() < n_actions:
        raise ValueError(f"actions must be whole numbers from 0 to {n_actions - 1}")
    estimates = np.zeros((len(actions), n_actions))
    estimates[np.arange(len(actions)), actions] = values / probabilities
    return estimates


def by_second_moment(w: ArrayLike, x: ArrayLike, y: ArrayLike, covariance: ArrayLike) -> Floats:
    """Unbiased gradient of (w.x - y)^2 at the clean x, from one noisy x of known covariance (rows of x, y allowed).

    >>> by_second_moment([1.0, 0.0], [2.0, 1.0], 1.0, np.eye(2))
    array([2., 2.])

    References
    ----------
    .. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
       Information Theory 57(12).
    """
    w, x, covariance = np.asarray(w, float), np.asarray(x, float), np.asarray(covariance, float)
    residual = x @ w - y
    return np.asarray(2 * np.multiply.outer(residual, np.ones(len(w))) * x - 2 * covariance @ w)


def by_copies(w: ArrayLike, x: ArrayLike, other: ArrayLike, y: ArrayLike) -> Floats:
    """Unbiased gradient of (w.x - y)^2 at the clean x, from two independent replicates, symmetrised over them.

    >>> by_copies([1.0, 0.0], [2.0, 1.0], [3.0, 0.0], 1.0)
    array([7., 2.])

    References
    ----------
    .. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
       Information Theory 57(12). Algorithm 1.
    """
    w, x, other = np.asarray(w, float), np.asarray(x, float), np.asarray(other, float)
    ones = np.ones(len(w))
    return np.asarray(np.multiply.outer(x @ w - y, ones) * other + np.multiply.outer(other @ w - y, ones) * x)


def random_degree(rng: RandomState = None, p: float = 2.0, size: int | None = None) -> Codes:
    """Geometric degrees N with P(N = n) = (p - 1) / p^(n + 1): how many replicates `by_random_taylor` needs.

    References
    ----------
    .. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
       Information Theory 57(12). Lemma 1.
    """
    if not p > 1:
        raise ValueError(f"p is {p}; above 1, the degrees have a finite mean 1 / (p - 1)")
    return np.asarray(generator(rng).geometric(1 - 1 / p, size) - 1, dtype=np.intp)


def by_random_taylor(coefficients: ArrayLike, factors: ArrayLike, p: float = 2.0, roulette: bool = True) -> float:
    """Unbiased estimate of a power series at a, from N independent unbiased estimates of a, N from `random_degree`.

    Parameters
    ----------
    coefficients : array
        Taylor coefficients [gamma_0, gamma_1, ...]; those beyond the array count as zero.
    factors : array of length N
        Independent estimates of a, each with mean a.
    p : float, default=2
        As given to `random_degree`.
    roulette : bool, default=True
        True sums every degree up to N, weighted by 1 / P(N >= n) = p^n: the same replicates, less variance.
        False takes degree N alone, weighted by 1 / P(N = n) (Cesa-Bianchi et al., Lemma 1).

    Examples
    --------
    >>> by_random_taylor([1.0, 2.0, 1.0], [0.5, 0.25], p=2.0)
    3.5
    >>> by_random_taylor([1.0, 2.0, 1.0], [0.5, 0.25], p=2.0, roulette=False)
    1.0

    References
    ----------
    .. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
       Information Theory 57(12).
    """
    gamma = np.asarray(coefficients, dtype=np.float64)
    factors = np.asarray(factors, dtype=np.float64)
    degree = min(len(factors), HIGHEST_DEGREE)
    products = np.concatenate([[1.0], np.cumprod(factors[:degree])])
    powers = np.arange(degree + 1)
    terms = np.zeros(degree + 1)
    known = min(len(gamma), degree + 1)
    terms[:known] = gamma[:known] * products[:known] * p ** powers[:known].astype(float)
    if roulette:
        return float(terms.sum())
    return float(terms[-1] * p / (p - 1)) if len(factors) <= HIGHEST_DEGREE else 0.0
