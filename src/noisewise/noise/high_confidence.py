"""High-confidence rounds of a feedback log: those whose action was, by its scores, almost certainly right or wrong.

Four selections for four estimators, all from the margin of the best action over the second best. Exactly one action is
right in each round, so an action that is not among the two best is wrong unless two scores mislead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats
from noisewise.noise.logged_rounds import fourier_features

MAX_TRAINING_ROWS = 10_000  # of the second classifier: more bring nothing
SECOND_PENALTY = 1.0  # of its ridge regression
LEAST_GAP = 0.5  # in its scores, where one-hot targets are regressed: this far behind the best, an action was wrong


def two_best(scores: Floats) -> tuple[Floats, Floats]:
    """The highest and second highest score of each row.

    >>> two_best(np.array([[0.1, 0.7, 0.5]]))
    (array([0.7]), array([0.5]))
    """
    n_actions = scores.shape[1]
    top = np.partition(scores, (n_actions - 2, n_actions - 1), axis=1)
    return top[:, -1], top[:, -2]


def margins(scores: Floats) -> Floats:
    """Margin of the best action over the second best in each row."""
    best, second = two_best(scores)
    return np.asarray(best - second)


def ranked_rounds(scores: Floats, actions: Codes) -> tuple[Codes, Codes]:
    """Indices of rounds that played the best action, and of those not among the two best; most confident first."""
    own = scores[np.arange(len(actions)), actions]
    best, second = two_best(scores)
    right = np.flatnonzero(own == best)
    wrong = np.flatnonzero(own < (second if scores.shape[1] > 2 else best))  # of two actions, one is best
    return (
        right[np.argsort(-(best - second)[right], kind="stable")],
        wrong[np.argsort((own - best)[wrong], kind="stable")],
    )


def right_and_wrong(scores: Floats, actions: Codes) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks of the rounds that played the right action, and of those that played a wrong one, with high confidence.

    Right: the best action was played, with at least the median margin of the rounds in which it is best. Wrong: the
    action is not among the two best, and as far behind the best one as that median margin.
    """
    n_actions = scores.shape[1]
    guess = scores.argmax(axis=1)
    best, second = two_best(scores)
    margin = best - second
    median = np.array([np.median(margin[guess == k]) if (guess == k).any() else np.inf for k in range(n_actions)])
    behind = best - scores[np.arange(len(actions)), actions]
    right = (guess == actions) & (margin >= median[guess])
    wrong = (behind > (margin if n_actions > 2 else 0.0)) & (behind >= median[guess])  # of two, the other one is best
    return right, wrong


def informative_about_annotators(scores: Floats, actions: Codes, median_margin: float) -> NDArray[np.bool_]:
    """Rounds that tell about who gave the feedback: a margin of at least the median, or an action below the two best.

    >>> informative_about_annotators(np.array([[0.9, 0.1, 0.0], [0.5, 0.4, 0.0]]), np.array([1, 2]), 1.0)
    array([False,  True])
    """
    own = scores[np.arange(len(actions)), actions]
    better = np.sum(scores > own[:, None], axis=1)
    return np.asarray((margins(scores) >= median_margin) | (better >= 2))


def wrong_in_hindsight(rows: NDArray[Any], scores: Floats, actions: Codes, sample: Codes) -> Codes:
    """Rounds whose action was wrong according to a second classifier trained on the `sample`; most confident first.

    The scores of a regression of the feedback can't select these rounds without bias: positive feedback to a wrong
    action makes a learner repeat it, the feedback that follows lowers its score, and so the rounds with the lowest
    scores had too much positive feedback. The second classifier is trained on the best action of every row, whatever
    was played there, and does not depend on the single feedback.

    >>> y = np.arange(200) % 2
    >>> rows = np.eye(2, dtype=np.float32)[y]
    >>> actions = np.where(np.arange(200) < 20, 1 - y, y)
    >>> wrong = wrong_in_hindsight(rows, rows.astype(float), actions, sample=np.arange(200))
    >>> sorted(wrong.tolist()) == list(range(20))
    True
    """
    guesses = scores.argmax(axis=1)
    candidates = np.flatnonzero(guesses != actions)
    if len(candidates) == 0 or len(sample) < 2:
        return candidates[:0]
    sample = sample[:: -(-len(sample) // MAX_TRAINING_ROWS)]
    refitted = _refitted_scores(rows[sample], guesses[sample], rows[candidates], scores.shape[1])
    gap = refitted.max(axis=1) - refitted[np.arange(len(candidates)), actions[candidates]]
    order = np.argsort(-gap, kind="stable")
    return np.asarray(candidates[order[: int((gap > LEAST_GAP).sum())]])


def _refitted_scores(train: NDArray[Any], guesses: Codes, test: NDArray[Any], n_classes: int) -> Floats:
    """Ridge regression of one-hot guesses on random Fourier features of the training rows, at the test rows."""
    fourier = fourier_features(train)
    features = fourier.transform(train)
    gram = (features.T @ features).astype(np.float64) + SECOND_PENALTY * np.eye(features.shape[1])
    targets = np.eye(n_classes, dtype=features.dtype)[guesses]
    weights = np.linalg.solve(gram, features.T @ targets).astype(features.dtype)
    return np.asarray(fourier.transform(test) @ weights, dtype=np.float64)
