"""Kernel ridge regression on rows as they are, noise included; kernel and ridge by leave-one-out errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise._numerics.blocks import blocks
from noisewise._numerics.nystroem import spectrum
from noisewise._numerics.ridge import INTERPOLATION, leave_one_out
from noisewise._typing import Floats
from noisewise.kernels import Gaussian, Radial, squared_distances

SQUARED_RELATIVE_WIDTHS = 2.0 ** np.arange(-3, 6, 1.5)  # in units of the median squared distance
RIDGES = 10.0 ** np.arange(-6, 2.1, 0.5)  # for a kernel that is one at distance zero
WIDTH_ROWS = 500  # the width is chosen on so many
LANDMARKS = 1000  # rows that span the function: an eigendecomposition of so many takes 0.3 s
PREDICTED_ROWS = 4096  # at once


@dataclass(frozen=True)
class PlainRidge:
    """Landmarks, coefficients of the kernel's values at them, intercepts, ridge and leave-one-out squared error."""

    kernel: Radial
    rows: Floats
    coefs: Floats
    intercept: Floats
    ridge: float
    loss: float

    def __call__(self, X: Floats) -> Floats:
        """Predictions of shape (n, q)."""
        parts = [self.kernel.gram(X[part], self.rows) @ self.coefs for part in blocks(len(X), PREDICTED_ROWS)]
        return np.asarray(np.concatenate(parts) + self.intercept)


def fit_plain_ridge(copies: Floats, Y: Floats, kernel: Radial | None, rng: np.random.Generator) -> PlainRidge:
    """Kernel ridge regression on copies (n, m, d) of rows, for single copies of others; targets have shape (n, q).

    It is exact up to a thousand rows and beyond spanned by as many (Nystroem). Without a kernel it is Gaussian; width
    and ridge have the least leave-one-out error of the first copies, the width on a sample. All copies count as rows
    in the end, with as many times the ridge: their targets are no further information.
    """
    n, m, d = copies.shape
    first, order = copies[:, 0], rng.permutation(n)
    if kernel is None:
        sample = np.sort(order[:WIDTH_ROWS])
        squared = squared_distances(first[sample])
        scale = float(np.median(squared[squared > 0])) if (squared > 0).any() else 1.0
        kernels = [Gaussian(float(width)) for width in np.sqrt(scale * SQUARED_RELATIVE_WIDTHS)]
        kernel = min(kernels, key=lambda one: _fit(one, first[sample], first[sample], Y[sample], RIDGES).loss)
    fitted = _fit(kernel, first, first[np.sort(order[:LANDMARKS])], Y, RIDGES)
    if m == 1:
        return fitted
    every = copies.reshape(n * m, d)
    landmarks = every[np.sort(rng.permutation(n * m)[:LANDMARKS])]
    return _fit(kernel, every, landmarks, np.repeat(Y, m, axis=0), np.array([m * fitted.ridge]))


def _fit(kernel: Radial, rows: Floats, landmarks: Floats, Y: Floats, ridges: Floats) -> PlainRidge:
    """One eigendecomposition of the centred features serves every ridge and target."""
    values, vectors = spectrum(kernel.gram(landmarks))
    root = vectors / np.sqrt(values)
    features = np.concatenate([kernel.gram(rows[part], landmarks) @ root for part in blocks(len(rows), PREDICTED_ROWS)])
    means, centre = features.mean(axis=0), Y.mean(axis=0)
    features -= means
    values, vectors = spectrum(features.T @ features)
    basis = features @ (vectors / np.sqrt(values))
    power, targets = basis.T @ (Y - centre), Y - centre
    losses = np.empty(len(ridges))
    for i, ridge in enumerate(ridges):
        shrinkage = values / (values + ridge)
        leverage = np.square(basis) @ shrinkage + 1 / len(rows)
        left_out = leave_one_out(basis @ (shrinkage[:, None] * power), targets, leverage[:, None], INTERPOLATION)
        losses[i] = np.mean(np.square(left_out - targets).sum(axis=1))
    best = int(np.argmin(losses))
    ridge = float(ridges[best])
    weights = vectors @ (power * (np.sqrt(values) / (values + ridge))[:, None])
    return PlainRidge(kernel, landmarks, root @ weights, centre - means @ weights, ridge, float(losses[best]))
