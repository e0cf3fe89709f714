"""A score with its interval: from what each row adds to it, and how sure the flip rates are.

Every score here is a smooth function of sums over rows that are linear in the true one-hot labels. Let h[i, j] be what
row i adds to the score, to first order, if its true class is j, and u[i] its unbiased targets. Then

    u[i].h[i]                          adds the same on average over the noise,
    (u[i].h[i])^2 - u[i].(h[i]^2)      has the variance of u[i].h[i] over the noise as its mean.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from noisewise._typing import Floats
from noisewise.metrics.inputs import Rows


class Score(NamedTuple):
    """A corrected score and where it may well lie.

    Attributes
    ----------
    value : float
        The score; unbiased, so it may lie beyond the best or worst possible one when the noise is strong.
    interval : tuple of two floats
        Lower and upper end, within what is possible.

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
    """Covariance over the noise of two sums over rows, each given by what a row adds for every true class."""
    added = (rows.targets * first).sum(axis=1) * (rows.targets * second).sum(axis=1)
    return float(rows.squares @ (added - (rows.targets * first * second).sum(axis=1)))


def score_of(
    value: float,
    influence: Floats,
    rows: Rows,
    *,
    confidence: float,
    noise_uncertainty: Any,
    population: bool,
    limits: tuple[float, float],
    row_influence: Floats | None = None,
) -> Score:
    """A value with its interval.

    Parameters
    ----------
    value : float
    influence : array of shape (n, n_classes) [h]
        What a row of weight one adds to the score for every true class, to first order.
    rows : Rows
    confidence : float
    noise_uncertainty : see `rate_covariance`
    population : bool
        Whether the interval is for new rows of the same law; else for the true labels of these rows.
    limits : tuple of two floats
        Worst and best possible score; the interval does not go beyond.
    row_influence : array of shape (n,), optional
        What each row adds where its part in the scores of others counts too; used for new rows.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence is {confidence}; it must lie between 0 and 1")
    if population:
        added = (rows.targets * influence).sum(axis=1) if row_influence is None else row_influence
        variance = float(rows.squares @ added**2)
    else:
        variance = max(0.0, noise_covariance(rows, influence, influence))
    if noise_uncertainty is not None:
        slope = rate_slope(influence, rows).ravel()
        variance += max(0.0, float(slope @ rate_covariance(noise_uncertainty, rows.noise.matrix) @ slope))
    reach = -ndtri((1 - confidence) / 2) * np.sqrt(variance)
    if value - reach > limits[1] + 1e-9 or value + reach < limits[0] - 1e-9:
        warnings.warn(
            f"the corrected score is {value:.3g}, which no true labels could give: the flip matrix does not fit them",
            RuntimeWarning,
            stacklevel=3,
        )
    low, high = np.clip([value - reach, value + reach], *limits).tolist()
    return Score(float(value), (low, high))


def rate_slope(influence: Floats, rows: Rows) -> Floats:
    """Derivatives of a score with respect to the entries of the flip matrix: inv(T) moves by -inv(T) dT inv(T)."""
    return np.asarray(-(rows.targets * rows.weights[:, None]).T @ (influence @ rows.noise.inverse.T))


def rate_covariance(uncertainty: Any, matrix: Floats) -> Floats:
    """Covariance of the entries of an estimated flip matrix, row by row.

    Parameters
    ----------
    uncertainty : array
        One number per true class: how many rows of that class were checked to find its flip rates;
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
        raise ValueError("noise_uncertainty says that a class was never checked; its flip rates can be anything")
    covariance = np.zeros((n * n, n * n))
    for true, row in enumerate(counts + 0.5):  # half a row everywhere: a flip never seen may still happen
        rates, part = row / row.sum(), slice(true * n, true * n + n)
        covariance[part, part] = (np.diag(rates) - np.outer(rates, rates)) / (row.sum() + 1)
    return covariance
