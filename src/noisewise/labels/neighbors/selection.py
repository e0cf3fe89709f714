"""Cross-validation of robust k-NN on observed labels: numbers of voters, and how far to correct the asymmetry."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._numerics.em import symmetric_matrix
from noisewise._typing import Codes, Floats
from noisewise.labels.neighbors.votes import choose
from noisewise.noise import FlipMatrix

CORRECTIONS = np.linspace(0, 1.5, 16)  # times the estimated asymmetry; anchors often underestimate it
TEMPERING = 0.5  # power of the likelihood: the votes of neighbouring rows are not independent


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows, their posteriors by the other rows' votes, and the noise estimated without them.

    Attributes
    ----------
    posterior : array of shape (n_sizes, n_rows, n_classes)
        Posterior of the observed label, for each number of voters.
    observed, weights : arrays of shape (n_rows,)
    matrices : array of shape (n_anchor_sizes, n_classes, n_classes)
        Raw flip matrices.
    """

    posterior: Floats
    observed: Codes
    weights: Floats
    matrices: Floats


def quiet_noise(matrix: Floats) -> FlipMatrix:
    """An estimated noise without the warning, which only the chosen candidate is to give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return FlipMatrix.estimated(matrix)


def scaled(matrix: Floats, factor: float) -> Floats:
    """A flip matrix with its asymmetry scaled: symmetric at 0, unchanged at 1.

    >>> scaled(np.array([[0.9, 0.1], [0.3, 0.7]]), 0.5)
    array([[0.85, 0.15],
           [0.25, 0.75]])
    """
    n_classes = len(matrix)
    kept = np.trace(matrix) / n_classes
    symmetric = symmetric_matrix(n_classes, 1 - kept, kept)
    scaled = np.maximum(symmetric + factor * (matrix - symmetric), 0)
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def grid_table(held: list[HeldOut], sizes: Codes, anchors: Codes | None, corrected: bool) -> dict[str, Any]:
    """Accuracy on held-out observed labels, itself or corrected for the noise, of each pair of numbers of voters.

    The mean over the splits, as in GridSearchCV. All candidates of a split are corrected by the same noise (the mean
    over the numbers of anchor voters): with its own noise each, their scores could not be compared.
    """
    scores, squares = [], np.zeros(len(sizes) * len(held[0].matrices))
    for part in held:
        reward = np.eye(part.matrices.shape[1])
        if corrected:
            reward = quiet_noise(part.matrices.mean(axis=0)).inverse
        rewards = [  # (n_anchor_sizes) of (n_sizes, n_rows)
            reward[part.observed, choose(quiet_noise(matrix).pull(part.posterior))] for matrix in part.matrices
        ]
        mean, square = _mean_and_squares(np.stack(rewards, axis=1), part.weights)
        scores.append(mean.ravel())
        squares += square.ravel()
    first, second = (grid.ravel() for grid in np.meshgrid(sizes, [0] if anchors is None else anchors, indexing="ij"))
    table: dict[str, Any] = {"param_n_neighbors": first}
    if anchors is not None:
        table["param_n_anchor_neighbors"] = second
    return _with_scores(table, scores, np.sqrt(squares) / _total(held))


def pick(table: dict[str, Any]) -> int:
    """The best candidate: of those within half a standard error of the best, the one with most voters.

    Ties are common, and few voters are the less reliable ones.
    """
    scores, voters = table["mean_test_score"], table["param_n_neighbors"]
    best = int(np.argmax(scores))
    close = scores >= scores[best] - table["standard_error"][best] / 2
    most = close & (voters == voters[close].max())
    return int(np.flatnonzero(most & (scores == scores[most].max()))[-1])


def brier_table(held: list[HeldOut], sizes: Codes) -> dict[str, Any]:
    """Negative Brier score of each number of voters on held-out observed labels, and its weight in the average.

    The weight is that of a Gaussian likelihood with the variance 1 of the labels' one-hot vectors.
    """
    scores, pooled, squares = [], np.zeros(len(sizes)), np.zeros(len(sizes))
    for part in held:
        loss = ((part.posterior - np.eye(part.posterior.shape[2])[part.observed]) ** 2).sum(axis=2)
        mean, square = _mean_and_squares(loss, part.weights)
        scores.append(-mean)
        pooled += mean * part.weights.sum()
        squares += square
    weight = np.exp(-(pooled - pooled.min()) / 2)
    table = _with_scores({"param_n_neighbors": sizes}, scores, np.sqrt(squares) / _total(held))
    return {**table, "weight": weight / weight.sum()}


def supported_correction(held: list[HeldOut], size_weights: Floats) -> float:
    """How much of the estimated asymmetry the held-out observed labels support, from 0 to 1.5.

    A mean over the corrections, each weighted by a tempered likelihood, the exponential of its number of right labels.
    """
    right = np.zeros(len(CORRECTIONS))
    for part in held:
        posterior = np.tensordot(size_weights, part.posterior, 1)
        matrix = part.matrices.mean(axis=0)
        for i, factor in enumerate(CORRECTIONS):
            chosen = choose(quiet_noise(scaled(matrix, factor)).pull(posterior))
            right[i] += part.weights @ (chosen == part.observed)
    odds = np.exp(TEMPERING * (right - right.max()))
    return float(odds @ CORRECTIONS / odds.sum())


def _total(held: list[HeldOut]) -> float:
    return float(sum(part.weights.sum() for part in held))


def _mean_and_squares(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Weighted mean and sum of squared deviations along the last axis."""
    mean = np.asarray(values @ weights / weights.sum())
    return mean, np.asarray((values - mean[..., None]) ** 2 @ weights)


def _with_scores(table: dict[str, Any], scores: list[Floats], errors: Floats) -> dict[str, Any]:
    mean = np.mean(scores, axis=0)
    names = list(table)
    table["params"] = [
        {name.removeprefix("param_"): int(value) for name, value in zip(names, values, strict=True)}
        for values in zip(*(table[name] for name in names), strict=True)
    ]
    if len(scores) > 1:
        table |= {f"split{i}_test_score": score for i, score in enumerate(scores)}
    rank = 1 + (mean[:, None] < mean).sum(axis=1)
    return {**table, "mean_test_score": mean, "standard_error": errors, "rank_test_score": rank}
