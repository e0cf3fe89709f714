"""The clean posterior as a curve over scores, softmax(slope g + offset), and the best curve behind given flips."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from noisewise._inputs import Codes, Floats

OFFSET_PENALTY = 1e-3  # per row
DOUBT, DOUBTED = 0.005, 1.0  # share and number of rows whose scores say nothing: no outlier is a flip for sure
START_SLOPE = 4.0


@dataclass(frozen=True)
class Curve:
    """Clean posterior from (linked) scores: softmax(slope g + offset), but for a share of rows in doubt."""

    slope: float
    offset: Floats
    doubt: float = DOUBT

    @classmethod
    def gentle(cls, rows: Labelled) -> Curve:
        """Where to start from: scores mean what they say, roughly; few rows never make sure."""
        return cls(START_SLOPE, np.zeros(rows.n_classes), min(DOUBT + DOUBTED / rows.n, 0.5))

    def moved(self, step: Floats) -> Curve:
        """Another slope, which stays positive, and another offset."""
        return Curve(max(self.slope + float(step[0]), 0.0), self.offset + step[1:], self.doubt)

    def softmax(self, linked: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class where the scores can be trusted."""
        logits = linked * linked.dtype.type(self.slope) + self.offset.astype(linked.dtype)
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return np.asarray(logits)

    def posterior(self, linked: NDArray[Any]) -> NDArray[Any]:
        """Probability of each true class."""
        clean = self.softmax(linked)
        clean *= 1 - self.doubt
        clean += linked.dtype.type(self.doubt / linked.shape[1])
        return clean


@dataclass(frozen=True)
class Labelled:
    """Linked scores, observed classes and how many rows each of them stands for."""

    linked: Floats
    codes: Codes
    weights: Floats

    @property
    def n(self) -> float:
        """Rows, each as often as it counts."""
        return float(self.weights.sum())

    @property
    def n_classes(self) -> int:
        """Classes, observed or not."""
        return int(self.linked.shape[1])


def climb(
    rows: Labelled, log_flips: Floats, curve: Curve, steps: int, tolerance: float = 0.0
) -> tuple[Curve, float, Floats]:
    """Newton steps on slope and offset with the flips held; the penalised log-likelihood never falls.

    Returns the curve, its penalised log-likelihood and the posterior of the true class of each row.
    """
    value, clean, truth, trust = objective(rows, log_flips, curve)
    for _ in range(steps):
        before = value
        for step in _steps(rows, curve, clean, truth, trust):
            tried = curve.moved(step)
            new_value, *new_parts = objective(rows, log_flips, tried)
            if new_value >= value:
                curve, value, (clean, truth, trust) = tried, new_value, new_parts
                break
        if value - before <= tolerance:
            break
    return curve, value, _with_doubt(truth, trust, rows.codes, log_flips)


def objective(rows: Labelled, log_flips: Floats, curve: Curve) -> tuple[float, Floats, Floats, Floats]:
    """Penalised log-likelihood of the labels, softmax, the same given the observed label, trust in each row."""
    clean = curve.softmax(rows.linked)
    flips = np.exp(log_flips)
    truth = clean * flips.T[rows.codes]
    seen = np.maximum(truth.sum(axis=1), 1e-300)
    truth /= seen[:, None]
    seen *= 1 - curve.doubt
    whole = seen + curve.doubt * flips.mean(axis=0)[rows.codes]
    penalty = 0.5 * OFFSET_PENALTY * rows.n * float(curve.offset @ curve.offset)
    return float(rows.weights @ np.log(whole)) - penalty, clean, truth, seen / whole


def _with_doubt(truth: Floats, trust: Floats, codes: Codes, log_flips: Floats) -> Floats:
    """Posterior of the true class where a row's scores may say nothing."""
    flips = np.exp(log_flips)
    return np.asarray(trust[:, None] * truth + (1 - trust)[:, None] * (flips / flips.sum(axis=0)).T[codes])


def _steps(rows: Labelled, curve: Curve, clean: Floats, truth: Floats, trust: Floats) -> Iterator[Floats]:
    """Newton's step where the likelihood is concave, then ever shorter ones of expectation and maximisation."""
    penalty = OFFSET_PENALTY * rows.n
    pull = (truth - clean) * trust[:, None]
    slopes = np.einsum("ij,ij->i", pull, rows.linked)
    pulls = np.column_stack([slopes, pull])
    gradient = rows.weights @ pulls - penalty * np.append(0, curve.offset)
    curvature = _curvature(rows.linked, clean, trust * rows.weights)
    curvature[np.diag_indices(len(curvature))] += np.append(1e-9, np.full(len(curve.offset), penalty))
    spread = rows.weights * (1 - trust) / np.maximum(trust, 1e-300)
    found = _curvature(rows.linked, truth, trust * rows.weights) + pulls.T @ (pulls * spread[:, None])
    with contextlib.suppress(np.linalg.LinAlgError):  # not concave where the labels leave too much open
        yield scipy.linalg.cho_solve(scipy.linalg.cho_factor(curvature - found), gradient)
    step = np.linalg.solve(curvature, gradient)
    for halvings in range(8):
        yield step / 2**halvings


def _curvature(linked: Floats, posterior: Floats, counted: Floats) -> Floats:
    """Sum over rows of the covariance of (linked score, indicator) of a class drawn from the posterior."""
    sure = posterior * counted[:, None]
    weighted = sure * linked
    means = np.einsum("ij,ij->i", posterior, linked)
    size = posterior.shape[1] + 1
    matrix = np.empty((size, size))
    matrix[0, 0] = np.einsum("ij,ij->", weighted, linked) - (means * counted) @ means
    matrix[0, 1:] = matrix[1:, 0] = weighted.sum(axis=0) - means @ sure
    matrix[1:, 1:] = np.diag(sure.sum(axis=0)) - posterior.T @ sure
    return matrix
