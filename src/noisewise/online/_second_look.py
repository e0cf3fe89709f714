"""Which of a learner's own rounds were surely wrong, seen with hindsight."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import RBFSampler

from noisewise._inputs import Codes, Floats

N_WAVES = 300  # random features of the rows, of a Gaussian kernel as wide as rows lie apart
MOST_ROWS = 10_000  # rows to learn from: more bring nothing
PENALTY = 1.0
LEAST_GAP = 0.5  # in shares of votes: played actions this far behind the best one are candidates


def surely_wrong(rows: NDArray[Any], scores: Floats, actions: Codes, sample: Codes) -> Codes:
    """Rounds whose action was wrong, surest first, as a second classifier sees them that learns from the `sample`.

    The scores of a regression of the feedback are not fit to choose rounds by: praise for a wrong action makes a
    learner play it again, the answers that follow lower its score, and so the rounds that look most surely wrong are
    those that were praised too often. A classifier that learns the regression's best guess for every row, whatever was
    played and heard there, forgets the single answer.

    >>> y = np.arange(200) % 2
    >>> rows = np.eye(2, dtype=np.float32)[y]
    >>> actions = np.where(np.arange(200) < 20, 1 - y, y)
    >>> wrong = surely_wrong(rows, rows.astype(float), actions, sample=np.arange(200))
    >>> sorted(wrong.tolist()) == list(range(20))
    True
    """
    guesses = scores.argmax(axis=1)
    candidates = np.flatnonzero(guesses != actions)
    if len(candidates) == 0 or len(sample) < 2:
        return candidates[:0]
    sample = sample[:: -(-len(sample) // MOST_ROWS)]
    votes = _relearnt_votes(rows[sample], guesses[sample], rows[candidates], scores.shape[1])
    gap = votes.max(axis=1) - votes[np.arange(len(candidates)), actions[candidates]]
    order = np.argsort(-gap, kind="stable")
    return np.asarray(candidates[order[: int((gap > LEAST_GAP).sum())]])


def _relearnt_votes(known: NDArray[Any], guesses: Codes, asked: NDArray[Any], n_classes: int) -> Floats:
    """Ridge regression of one-hot guesses on random waves of the known rows, at the rows asked for."""
    half = len(known) // 2
    distance = float(np.median(np.square(known[:half] - known[half : 2 * half]).sum(axis=1)))
    waves = RBFSampler(gamma=0.5 / max(distance, 1e-12), n_components=N_WAVES, random_state=0).fit(known)
    features = waves.transform(known)
    gram = (features.T @ features).astype(np.float64) + PENALTY * np.eye(N_WAVES)
    targets = np.eye(n_classes, dtype=features.dtype)[guesses]
    weights = np.linalg.solve(gram, features.T @ targets).astype(features.dtype)
    return np.asarray(waves.transform(asked) @ weights, dtype=np.float64)
