"""Whether the probabilities of an audit hold: labels of held-out rows, and verdicts of reviewers.

What a label should be is not known, but what it *is* can be predicted: through the noise, P(observed = j | x) is
sum_k c_k(x) T[k, j]. Calibration and noise are fitted to one half of the rows and predict the labels of the other half,
and the other way round, so that no label helps to predict itself. Verdicts are compared with the probabilities before
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Floats
from noisewise.audit.summaries import NORMAL_95, is_small
from noisewise.noise import Calibration, read_noise

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit

EDGES = (0.0, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)  # of the predicted probability of a label
WRONG_EDGES = (0.0, 0.2, 0.5, 0.8, 1.0)  # of the probability that a label is wrong
MOST_ROWS, MOST_CLASSES = 2_000, 50  # drawn; beyond, two more fits take too long for a panel
FEWEST_ROWS = 100
LEAST = 1e-9  # probability that is divided by


def held_out_bands(audit: LabelAudit) -> dict[str, NDArray[Any]] | None:
    """By predicted probability of a label: pairs of a row and a label, mean prediction, how often it was the label.

    None where rows are too few or classes too many, and where labels were read as judgements alone.
    """
    before = audit if audit.review is None else audit.review.before
    clean = _clean(before)
    kept = ~is_small(before.observed, len(before.classes))[before.observed]
    if clean is None or kept.sum() < FEWEST_ROWS or len(np.unique(before.observed[kept])) < len(before.classes):
        return None
    rows = np.random.default_rng(0).permutation(np.flatnonzero(kept))[:MOST_ROWS]
    predicted, labels = np.empty((len(rows), clean.shape[1])), before.observed[rows]
    halves = np.arange(len(rows)) % 2 == 0
    for fitted in (halves, ~halves):
        if len(np.unique(labels[fitted])) < clean.shape[1]:
            return None
        calibration = read_noise(clean[rows[fitted]], labels[fitted]).calibration
        predicted[~fitted] = predicted_labels(calibration, clean[rows[~fitted]])
    return bands(predicted.ravel(), np.eye(clean.shape[1])[labels].ravel(), EDGES)


def predicted_labels(calibration: Calibration, scores: Floats) -> Floats:
    """Probability of each observed label: the clean posteriors of the candidates through their flip matrices."""
    parts = (model.weight * model.clean_posterior(scores) @ model.matrix for model in calibration.candidates)
    return np.asarray(sum(parts), dtype=np.float64)


def verdict_bands(audit: LabelAudit) -> dict[str, NDArray[Any]] | None:
    """By the probability of being wrong before the review: reviewed rows, expected and found fraction of wrong ones."""
    if audit.review is None or not audit.review.verdicts:
        return None
    before, rows = audit.review.before, np.array(list(audit.review.verdicts))
    wrong = np.array(list(audit.review.verdicts.values())) != before.observed[rows]
    return bands(1 - before.probability[rows], wrong.astype(np.float64), WRONG_EDGES)


def bands(predicted: Floats, happened: Floats, edges: tuple[float, ...]) -> dict[str, NDArray[Any]]:
    """By predicted probability: cases, mean prediction, and how often it happened, with a 90 % interval (Wilson).

    >>> found = bands(np.array([0.1, 0.1, 0.9, 0.9]), np.array([0.0, 0.0, 1.0, 0.0]), (0.0, 0.5, 1.0))
    >>> found["cases"].tolist(), found["predicted"].tolist(), found["happened"].tolist()
    ([2, 2], [0.1, 0.9], [0.0, 0.5])
    """
    of_band = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, len(edges) - 2)
    cases = np.bincount(of_band, minlength=len(edges) - 1)
    n = np.maximum(cases, 1)
    mean, rate = (np.bincount(of_band, values, minlength=len(edges) - 1) / n for values in (predicted, happened))
    square = NORMAL_95**2
    middle = (rate + square / (2 * n)) / (1 + square / n)
    half = NORMAL_95 / (1 + square / n) * np.sqrt(rate * (1 - rate) / n + square / (4 * n**2))
    columns = {
        "from": np.array(edges[:-1]),
        "to": np.array(edges[1:]),
        "cases": cases,
        "predicted": mean,
        "happened": rate,
        "low": np.clip(middle - half, 0, 1),
        "high": np.clip(middle + half, 0, 1),
    }
    return {name: values[cases > 0] for name, values in columns.items()}


def _clean(audit: LabelAudit) -> Floats | None:
    """P(true = k | x) of every row by the outcome reading, without the row's own label: r(k) / T[k, observed]."""
    if len(audit.classes) > MOST_CLASSES:
        return None
    outcome = audit.readings.get("outcomes")
    if outcome is None and audit.labels_are != "outcomes":
        return None
    posterior, noise = (audit.posterior, audit.noise) if outcome is None else (outcome.posterior, outcome.noise)
    clean = posterior.astype(np.float64) / np.maximum(noise.matrix.T[audit.observed], LEAST)
    return np.asarray(clean / clean.sum(axis=1, keepdims=True))
