"""A corrected metric with its confidence interval, by the delta method.

Every metric here is a smooth function of sums over rows that are linear in the true one-hot labels. Let h[i, j] be the
influence of row i if its true class is j (first-order), and u[i] its unbiased targets. Then

    u[i].h[i]                          is unbiased over the noise for the influence of the row,
    (u[i].h[i])^2 - u[i].(h[i]^2)      is unbiased for the variance of u[i].h[i] over the noise.

References
----------
.. [1] van der Vaart, A. W. (1998). Asymptotic Statistics. Cambridge University Press. (Chapter 3: the delta method.)
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from noisewise._typing import Floats
from noisewise.metrics.inputs import Rows


class Score(NamedTuple):
    """A corrected metric and its confidence interval.

    Attributes
    ----------
    value : float
        The estimate; unbiased, so it may lie outside the range of the metric when the noise is strong.
    interval : tuple of two floats
        Lower and upper limit, clipped to the range of the metric.

    Examples
    --------
    >>> value, interval = Score(0.9, (0.85, 0.95))
    >>> float(Score(0.9, (0.85, 0.95)))
    0.9
    """

    value: float
    interval: tuple[float, float]

    def __float__(self) -> float:
        return self.value


def noise_covariance(rows: Rows, first: Floats, second: Floats) -> float:
    """Unbiased covariance over the noise of two sums over rows, each given by a row's term for every true class."""
    added = (rows.targets * first).sum(axis=1) * (rows.targets * second).sum(axis=1)
    return float(rows.squares @ (added - (rows.targets * first * second).sum(axis=1)))


def score_of(
    value: float,
    influence: Floats,
    rows: Rows,
    limits: tuple[float, float],
    confidence: float,
    noise_uncertainty: Any,
    population: bool,
    row_influence: Floats | None = None,
) -> Score:
    """A value with its interval.

    Parameters
    ----------
    value : float
    influence : array of shape (n, n_classes) [h]
        Influence of a row of weight one on the score for every true class (first-order).
    rows : Rows
    limits : tuple of two floats
        Range of the metric, to which the interval is clipped.
    confidence : float
    noise_uncertainty : see `rate_covariance`
    population : bool
        Whether the interval is for new rows of the same distribution; else for the true labels of these rows.
    row_influence : array of shape (n,), optional
        Influence of each row including its part in the terms of other rows; used with `population`.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence is {confidence}; it must lie between 0 and 1")
    if population:
        added = (rows.targets * influence).sum(axis=1) if row_influence is None else row_influence
        variance = float(rows.squares @ added**2)
    else:
        variance = max(0.0, noise_covariance(rows, influence, influence))
    if noise_uncertainty is not None:
        gradient = rate_gradient(influence, rows).ravel()
        variance += max(0.0, float(gradient @ rate_covariance(noise_uncertainty, rows.noise.matrix) @ gradient))
    half_width = -ndtri((1 - confidence) / 2) * np.sqrt(variance)
    if value - half_width > limits[1] + 1e-9 or value + half_width < limits[0] - 1e-9:
        warnings.warn(
            f"the corrected score is {value:.3g}, which no true labels could give: the flip matrix does not fit them",
            RuntimeWarning,
            stacklevel=3,
        )
    low, high = np.clip([value - half_width, value + half_width], *limits).tolist()
    return Score(float(value), (low, high))


def rate_gradient(influence: Floats, rows: Rows) -> Floats:
    """Derivatives of a score with respect to the entries of the flip matrix: inv(T) moves by -inv(T) dT inv(T)."""
    return np.asarray(-(rows.targets * rows.weights[:, None]).T @ (influence @ rows.noise.inverse.T))


def rate_covariance(uncertainty: Any, matrix: Floats) -> Floats:
    """Covariance of the entries of an estimated flip matrix, row by row.

    Parameters
    ----------
    uncertainty : array
        One count per true class: rows of that class that were checked to estimate its flip rates;
        or a table of counts, checked rows by true and observed class; or the covariance of the n_classes^2 entries.
    matrix : array of shape (n_classes, n_classes)

    Examples
    --------
    >>> rate_covariance([99, 99], np.array([[0.9, 0.1], [0.2, 0.8]])).round(5)[0, :2]
    array([ 0.00092, -0.00092])
    """
    given, n = np.asarray(uncertainty, dtype=np.float64), len(matrix)
    if given.shape == (n * n, n * n):
        return given
    if given.shape not in ((n,), (n, n)):
        raise ValueError(
            f"noise_uncertainty has shape {given.shape}; ({n},) checked rows per true class, ({n}, {n}) counts by true "
            f"and observed class, or a ({n * n}, {n * n}) covariance of the flip matrix would do"
        )
    if not np.isfinite(given).all() or given.min() < 0:
        raise ValueError("noise_uncertainty holds negative or missing counts")
    counts = given if given.ndim == 2 else given[:, None] * matrix
    if counts.sum(axis=1).min() <= 0:
        raise ValueError("noise_uncertainty has a class that was never checked; its flip rates can be anything")
    covariance = np.zeros((n * n, n * n))
    for true, row in enumerate(counts + 0.5):  # Jeffreys prior: a flip that was not observed may still happen
        rates, part = row / row.sum(), slice(true * n, true * n + n)
        covariance[part, part] = (np.diag(rates) - np.outer(rates, rates)) / (row.sum() + 1)
    return covariance
