"""Choosing numbers of voters and amounts of correction by rows held out; all labels are observed ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._numerics.em import symmetric_matrix
from noisewise._typing import Codes, Floats
from noisewise.labels.neighbors.votes import choose
from noisewise.noise import FlipMatrix

AMOUNTS = np.linspace(0, 1.5, 16)  # of the asymmetry that the anchors show; often they show too little
CAUTION = 0.5  # each right row is half a piece of evidence: neighbours' votes are not independent


@dataclass(frozen=True)
class Held:
    """Rows held out, what the others' votes say about them, and the noise found without them.

    Attributes
    ----------
    posterior : array of shape (n_sizes, n_rows, n_classes)
        Shares of the observed labels, for each number of voters.
    observed, weights : arrays of shape (n_rows,)
    matrices : array of shape (n_anchor_sizes, n_classes, n_classes)
        Raw flip matrices.
    """

    posterior: Floats
    observed: Codes
    weights: Floats
    matrices: Floats


def silent_noise(matrix: Floats) -> FlipMatrix:
    """The noise of one candidate of many; the one chosen warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return FlipMatrix.estimated(matrix)


def scaled(matrix: Floats, amount: float) -> Floats:
    """A flip matrix with less or more of what makes it unequal: at 0 all errors are alike, at 1 it is unchanged.

    >>> scaled(np.array([[0.9, 0.1], [0.3, 0.7]]), 0.5)
    array([[0.85, 0.15],
           [0.25, 0.75]])
    """
    n_classes = len(matrix)
    kept = np.trace(matrix) / n_classes
    even = symmetric_matrix(n_classes, 1 - kept, kept)
    moved = np.maximum(even + amount * (matrix - even), 0)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def grid_table(held: list[Held], sizes: Codes, anchors: Codes | None, corrected: bool) -> dict[str, Any]:
    """Accuracy on held-out observed labels, itself or corrected for the noise, of each pair of numbers of voters.

    The mean over the splits, as in GridSearchCV. All candidates of a split are corrected by the same noise (the mean
    over the anchors' numbers), or each would be judged by its own.
    """
    scores, spreads = [], np.zeros(len(sizes) * len(held[0].matrices))
    for part in held:
        reward = np.eye(part.matrices.shape[1])
        if corrected:
            reward = silent_noise(part.matrices.mean(axis=0)).inverse
        got = [  # (n_anchor_sizes) of (n_sizes, n_rows)
            reward[part.observed, choose(silent_noise(matrix).pull(part.posterior))] for matrix in part.matrices
        ]
        earned = np.stack(got, axis=1)
        mean, spread = _mean_and_spread(earned, part.weights)
        scores.append(mean.ravel())
        spreads += spread.ravel()
    first, second = (grid.ravel() for grid in np.meshgrid(sizes, [0] if anchors is None else anchors, indexing="ij"))
    table: dict[str, Any] = {"param_n_neighbors": first}
    if anchors is not None:
        table["param_n_anchor_neighbors"] = second
    return _with_scores(table, scores, np.sqrt(spreads) / _total(held))


def pick(table: dict[str, Any]) -> int:
    """The best candidate: of those within half a standard error of the best, the one with most voters.

    Ties are common, and few voters are the less reliable ones.
    """
    scores, voters = table["mean_test_score"], table["param_n_neighbors"]
    best = int(np.argmax(scores))
    close = scores >= scores[best] - table["standard_error"][best] / 2
    most = close & (voters == voters[close].max())
    return int(np.flatnonzero(most & (scores == scores[most].max()))[-1])


def brier_table(held: list[Held], sizes: Codes) -> dict[str, Any]:
    """Negative Brier score of each number of voters on held-out observed labels, and the weight it deserves.

    The weight is that of a Gaussian likelihood with the variance 1 of the labels' one-hot vectors.
    """
    scores, pooled, spreads = [], np.zeros(len(sizes)), np.zeros(len(sizes))
    for part in held:
        loss = ((part.posterior - np.eye(part.posterior.shape[2])[part.observed]) ** 2).sum(axis=2)
        mean, spread = _mean_and_spread(loss, part.weights)
        scores.append(-mean)
        pooled += mean * part.weights.sum()
        spreads += spread
    weight = np.exp(-(pooled - pooled.min()) / 2)
    table = _with_scores({"param_n_neighbors": sizes}, scores, np.sqrt(spreads) / _total(held))
    return {**table, "weight": weight / weight.sum()}


def supported_amount(held: list[Held], size_weights: Floats) -> float:
    """How much of the estimated asymmetry the held-out observed labels support, from 0 to 1.5.

    A mean over amounts, each weighted by how many labels it gets right.
    """
    right = np.zeros(len(AMOUNTS))
    for part in held:
        posterior = np.tensordot(size_weights, part.posterior, 1)
        matrix = part.matrices.mean(axis=0)
        for i, amount in enumerate(AMOUNTS):
            chosen = choose(silent_noise(scaled(matrix, amount)).pull(posterior))
            right[i] += part.weights @ (chosen == part.observed)
    odds = np.exp(CAUTION * (right - right.max()))
    return float(odds @ AMOUNTS / odds.sum())


def _total(held: list[Held]) -> float:
    return float(sum(part.weights.sum() for part in held))


def _mean_and_spread(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
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
