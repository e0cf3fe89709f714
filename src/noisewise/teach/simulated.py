"""A simulated teacher, who errs now and then, on handwritten digits: which learner needs how many answers?"""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise.noise import FlipMatrix
from noisewise.teach.lesson import LEARNERS

EARLY = 200  # rounds after which a person would have given up


def simulate_teacher(
    errors: tuple[float, ...] = (0.0, 0.1, 0.2), orders: int = 3, seed: int = 0
) -> list[dict[str, Any]]:
    """Mistakes of each learner that a simulated teacher shows scikit-learn's digits once each, in random orders.

    Parameters
    ----------
    errors : tuple of float
        With which probability the teacher says the opposite.
    orders : int
        How many random orders of the digits.
    seed : int

    Returns
    -------
    list of dict
        For each learner and error of the teacher the fraction of mistakes in the first 200 rounds, the last 200, and
        in all.

    Examples
    --------
    >>> rows = simulate_teacher(errors=(0.0,), orders=1)
    >>> [row["learner"] for row in rows]
    ['ucwl', 'linucb', 'confidit', 'banditron']
    >>> all(row["last"] < row["first"] for row in rows)
    True
    """
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = np.column_stack([X / np.linalg.norm(X, axis=1, keepdims=True), np.ones(len(y))])
    rows = []
    for name, make in LEARNERS.items():
        for error in errors:
            wrong = []
            for order in range(orders):
                rng = np.random.default_rng([seed, order])
                shown = rng.permutation(len(y))
                learner = make(list(range(10)))
                wrong.append(learner.play(X[shown], y[shown], FlipMatrix.binary(error, error), rng).mistakes)
            mean = np.mean(wrong, axis=0)
            found = {"first": mean[:EARLY].mean(), "last": mean[-EARLY:].mean(), "all": mean.mean()}
            rows.append({"learner": name, "teacher errs": error} | {key: float(one) for key, one in found.items()})
    return rows
