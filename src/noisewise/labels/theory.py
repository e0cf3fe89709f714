"""Risk of nearest neighbours under label noise: limits and finite-sample bounds of Gao, Yang and Zhou.

The limits are expectations over the distribution of x, so they take the clean posterior P(y = 1 | x) [eta] of many rows
of it: a sample, or a grid with weights. The bounds hold for rows in the unit cube and a posterior with the Lipschitz
constant `lipschitz` [L]. Labels are 0 and 1; ties of the votes count for 1, as in the paper.

References
----------
.. [1] Gao, W., Yang, B.-B., Zhou, Z.-H. (2016). On the robustness of nearest neighbor with noisy data.
   arXiv:1607.07526. Theorems 1, 2 and 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrc

from noisewise._typing import Floats
from noisewise.noise import FlipMatrix


def bayes_error(posterior: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Bayes error, E min(eta, 1 - eta).

    >>> bayes_error([0.25, 0.5])
    0.375
    """
    eta = _check_posterior(posterior)
    return _mean(np.minimum(eta, 1 - eta), weights)


def misled_share(posterior: ArrayLike, noise: FlipMatrix, weights: ArrayLike | None = None) -> float:
    """Fraction of rows whose Bayes label the noise reverses, P(A0): the noisy posterior is on the other side of 1/2.

    With equal flip rates there are none. (Theorem 1 states that the error of k-NN for growing k tends to the Bayes
    error plus this fraction; it is an upper bound of the excess, and `neighbors_limit` gives the limit itself.)

    >>> misled_share([0.2, 0.55, 0.9], FlipMatrix.binary(false_positive=0.1, false_negative=0.3))
    0.3333333333333333
    """
    eta = _check_posterior(posterior)
    return _mean((eta - 0.5) * (_noisy(eta, noise) - 0.5) < 0, weights)


def neighbors_limit(
    posterior: ArrayLike, noise: FlipMatrix, n_neighbors: int | None = None, weights: ArrayLike | None = None
) -> float:
    """Limit of the error on true labels of k-NN trained on noisy labels, for infinitely many rows.

    Parameters
    ----------
    posterior : array of shape (n,) [eta]
    noise : FlipMatrix
        Of the training labels.
    n_neighbors : int, optional [k]
        A fixed number of voters; by default it grows with the rows (k to infinity, k / n to 0).
    weights : array of shape (n,), optional

    Notes
    -----
    For growing k the limit is the Bayes error plus E|2 eta - 1| over the misled rows (theorem 1). For k = 1 and equal
    rates tau it is tau + (1 - 2 tau) E[2 eta (1 - eta)] (theorem 4; the paper's "rho" there is tau).

    Examples
    --------
    >>> eta, noise = [0.2, 0.55, 0.9], FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
    >>> print(f"{bayes_error(eta):.4f} {neighbors_limit(eta, noise):.4f} {neighbors_limit(eta, noise, 1):.4f}")
    0.2500 0.2833 0.4090
    """
    eta = _check_posterior(posterior)
    noisy = _noisy(eta, noise)
    if n_neighbors is None:
        says_one = np.where(noisy == 0.5, eta >= 0.5, noisy > 0.5).astype(np.float64)
    else:
        k = _check_count("n_neighbors", n_neighbors)
        says_one = np.asarray(bdtrc(np.ceil(k / 2) - 1, k, noisy))
    return _mean(eta * (1 - says_one) + (1 - eta) * says_one, weights)


def neighbors_bound(
    posterior: ArrayLike,
    noise: FlipMatrix,
    n_rows: int,
    n_neighbors: int,
    n_features: int,
    lipschitz: float,
    weights: ArrayLike | None = None,
) -> float:
    """Upper bound of the mean error of k-NN on true labels, trained on `n_rows` noisy ones (theorem 1).

    The bound is the Bayes error plus the fraction of rows whose noisy posterior is on the wrong side of one half or
    within a margin [Delta] of it, plus terms that vanish; the margin shrinks with more neighbours among more rows.

    >>> eta = np.linspace(0, 1, 1001)
    >>> noise = FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
    >>> print(f"{neighbors_bound(eta, noise, 10**9, 10**5, n_features=1, lipschitz=1.0):.3f}")
    0.460
    """
    eta = _check_posterior(posterior)
    n, k, d = _check_sizes(n_rows, n_neighbors, n_features, lipschitz)
    noisy_lipschitz = _kept(noise) * lipschitz
    bias = 2 * np.sqrt(d) * noisy_lipschitz ** (d / (1 + d)) * (k * np.sqrt(d) / n) ** (1 / (1 + d))
    margin = max(bias, np.sqrt(np.log(k) / k))
    noisy = _noisy(eta, noise)
    easy = ((eta > 0.5) & (noisy >= 0.5 + margin)) | ((eta < 0.5) & (noisy <= 0.5 - margin)) | (eta == 0.5)
    far = 2 * (noisy_lipschitz / np.sqrt(d)) ** (d / (1 + d)) * (k / n) ** (1 / (1 + d))
    return bayes_error(eta, weights) + _mean(~easy, weights) + float(1 / np.sqrt(k) + far)


def neighbors_bound_symmetric(
    bayes: float, rate: float, n_rows: int, n_neighbors: int, n_features: int, lipschitz: float
) -> float:
    """Upper bound of the mean error of k-NN on true labels when both flip rates are `rate` [tau] (theorem 2, k >= 8).

    It tends to the Bayes error: k-NN is consistent under equal rates. Lemma 8 of the proof does not hold as printed:
    resting on Chernoff's bound, its constant sqrt(2) has to be 2.62 for k = 8 and still 1.72 as k grows. With the
    binomial tail itself the constant is below 0.74 for every k >= 8, so the theorem's own 2 stands.

    >>> print(f"{neighbors_bound_symmetric(0.1, 0.2, 10**8, 1000, n_features=1, lipschitz=1.0):.3f}")
    0.143
    """
    n, k, d = _check_sizes(n_rows, n_neighbors, n_features, lipschitz)
    _check_rate(rate)
    if k < 8:
        raise ValueError(f"n_neighbors is {k}; theorem 2 holds from 8 on")
    votes = 2 * (bayes + rate / (1 - 2 * rate)) / np.sqrt(k)
    far = 5 * max(lipschitz, np.sqrt(lipschitz)) * np.sqrt(d) * (k / n) ** (1 / (1 + d))
    return float(bayes + votes + far)


def nearest_neighbor_bounds(
    bayes: float, rate: float, n_rows: int, n_features: int, lipschitz: float
) -> tuple[float, float]:
    """Lower and upper bound of the mean error of 1-NN when both flip rates are `rate` [tau] (theorem 4).

    The lower one stays above the Bayes error: 1-NN is inconsistent.

    >>> low, high = nearest_neighbor_bounds(0.1, 0.2, 10**8, n_features=1, lipschitz=1.0)
    >>> print(f"{low:.3f} {high:.3f}")
    0.260 0.320
    """
    n, _, d = _check_sizes(n_rows, 1, n_features, lipschitz)
    _check_rate(rate)
    far = 3 * lipschitz * np.sqrt(d) / (2 * n ** (1 / (d + 1)))
    low, high = rate + (1 - 2 * rate) * (bayes - far), rate + (1 - 2 * rate) * (2 * bayes + far)
    return float(low), float(high)


def _noisy(eta: Floats, noise: FlipMatrix) -> Floats:
    """Posterior of the observed label 1 (eq. 1)."""
    return np.asarray(_kept(noise) * eta + noise.matrix[0, 1])


def _kept(noise: FlipMatrix) -> float:
    if not isinstance(noise, FlipMatrix) or noise.n_classes != 2:
        raise ValueError("noise must be a FlipMatrix of two classes; the theorems speak of two")
    return float(1 - noise.matrix[0, 1] - noise.matrix[1, 0])


def _mean(values: ArrayLike, weights: ArrayLike | None) -> float:
    mass = None if weights is None else np.asarray(weights, dtype=np.float64)
    return float(np.average(np.asarray(values, dtype=np.float64), weights=mass))


def _check_posterior(posterior: ArrayLike) -> Floats:
    eta = np.asarray(posterior, dtype=np.float64)
    if eta.ndim != 1 or not len(eta):
        raise ValueError(f"the posterior has shape {eta.shape}; one P(y = 1 | x) a row is needed")
    if not ((eta >= 0) & (eta <= 1)).all():
        raise ValueError("the posterior holds values outside 0 and 1, or missing ones")
    return eta


def _check_sizes(n_rows: int, n_neighbors: int, n_features: int, lipschitz: float) -> tuple[int, int, int]:
    n = _check_count("n_rows", n_rows)
    k = _check_count("n_neighbors", n_neighbors)
    if k > n:
        raise ValueError(f"n_neighbors is {k}, but there are {n} rows")
    if not 0 < lipschitz < np.inf:
        raise ValueError(f"lipschitz is {lipschitz}; the posterior's Lipschitz constant must be above 0 and finite")
    return n, k, _check_count("n_features", n_features)


def _check_count(name: str, given: int) -> int:
    if given != int(given) or given < 1:
        raise ValueError(f"{name} is {given}; a whole number from 1 on is needed")
    return int(given)


def _check_rate(rate: float) -> None:
    if not 0 <= rate < 0.5:
        raise ValueError(f"the rate is {rate}; from 0 to below 1/2, the labels still carry information")
