"""Regression calibration: what clean rows are to be expected, given noisy ones.

The best linear prediction of a clean row x from a noisy copy x~ is ``mean + (S - C) S^-1 (x~ - mean)``, with the
covariance S of the copies and C of their noise. A model for clean rows, applied to it, predicts E[y | x~]: exactly if
it is linear, and to first order otherwise.

References
----------
.. [1] Carroll, R. J., Ruppert, D., Stefanski, L. A., Crainiceanu, C. M. (2006). Measurement Error in Nonlinear Models:
   A Modern Perspective. 2nd edition, Chapman and Hall/CRC. Chapter 4.
"""

from __future__ import annotations

import numpy as np

from noisewise._typing import Floats
from noisewise.features.solvers.least_squares import attenuate

Moments = dict[str, Floats]


def begin_moments(first: Floats) -> Moments:
    """Empty sums of copies, around the mean of the first rows, against cancellation of large means."""
    d = first.shape[1]
    moments = {"sums": np.zeros((1 + d, 1 + d)), "noise": np.zeros((d, d)), "pairs": np.zeros(1)}
    return moments | {"shift": first.mean(axis=0)}


def add_copies(moments: Moments, copies: Floats) -> None:
    """Add copies (n, m, d): the moments of a single one, and with several the noise between them."""
    n, m, d = copies.shape
    rows = np.concatenate([np.ones((n * m, 1)), (copies - moments["shift"]).reshape(n * m, d)], axis=1)
    moments["sums"] += rows.T @ rows / m
    if m > 1:
        apart = (copies - copies.mean(axis=1, keepdims=True)).reshape(n * m, d)
        moments["noise"] += apart.T @ apart / (m - 1)
        moments["pairs"] += n


def calibrate(X: Floats, moments: Moments | None, noise: Floats | None = None) -> Floats:
    """The clean rows to be expected for noisy ones; the noise covariance by default that between the copies."""
    if moments is None:
        raise ValueError("this model was fitted before it could predict for noisy rows; fit it again")
    n = moments["sums"][0, 0]
    mean = moments["sums"][0, 1:] / n
    observed = moments["sums"][1:, 1:] / n - np.outer(mean, mean)
    noise = moments["noise"] / max(moments["pairs"][0], 1.0) if noise is None else noise
    centre = moments["shift"] + mean
    return np.asarray(centre + (X - centre) @ attenuate(np.eye(len(mean)), observed, noise)[1])
