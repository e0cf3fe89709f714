"""A simulated teacher, who errs now and then, on handwritten digits: which learner needs how many answers?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise.noise import FlipMatrix
from noisewise.online import BanditClassifier, recipes

EARLY = 200  # rounds after which a person would have given up
ALPHA_1 = 4.0  # ridge (1 + alpha)^2 of the Confidit that the paper of UCWL compares with
COMPARED: dict[str, Callable[[], BanditClassifier]] = {  # each with a diagonal and with the full covariance
    "ucwl": lambda: recipes.ucwl(10),
    "confidit, alpha = 1": lambda: recipes.confidit(10, ridge=ALPHA_1),
    "confidit": lambda: recipes.confidit(10),
    "ucwl, full": lambda: recipes.ucwl(10, covariance="full"),
    "confidit, alpha = 1, full": lambda: recipes.confidit(10, ridge=ALPHA_1, covariance="full"),
    "confidit, full": lambda: recipes.confidit(10, covariance="full"),
    "linucb": lambda: recipes.linucb(10, random_state=0),
    "banditron": lambda: recipes.banditron(10, random_state=0),
}


def simulate_teacher(
    errors: tuple[float, ...] = (0.0, 0.1, 0.2), orders: int = 3, seed: int = 0, data: str = "digits"
) -> list[dict[str, Any]]:
    """Mistakes of each learner that a simulated teacher shows handwritten digits once each, in random orders.

    Parameters
    ----------
    errors : tuple of float
        With which probability the teacher says the opposite.
    orders : int
        How many random orders of the digits.
    seed : int
    data : {"digits", "optdigits"}
        The 1,797 digits of scikit-learn, or all 5,620 from which they come, of `noisewise.datasets`.

    Returns
    -------
    list of dict
        For each learner and error of the teacher the fraction of mistakes in the first 200 rounds, the last 200, and
        in all.

    Examples
    --------
    >>> rows = simulate_teacher(errors=(0.0,), orders=1)
    >>> rows[0]["learner"], len(rows)
    ('ucwl', 8)
    >>> all(row["last"] < row["first"] for row in rows)
    True
    """
    X, y = _sketches(data)
    rows = []
    for name, make in COMPARED.items():
        for error in errors:
            wrong = []
            for order in range(orders):
                rng = np.random.default_rng([seed, order])
                shown = rng.permutation(len(y))
                wrong.append(make().play(X[shown], y[shown], FlipMatrix.binary(error, error), rng).mistakes)
            mean = np.mean(wrong, axis=0)
            found = {"first": mean[:EARLY].mean(), "last": mean[-EARLY:].mean(), "all": mean.mean()}
            rows.append({"learner": name, "teacher errs": error} | {key: float(one) for key, one in found.items()})
    return rows


def _sketches(data: str) -> tuple[Floats, Any]:
    """Rows of length one with a constant feature, and their digits."""
    if data == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
    elif data == "optdigits":
        from noisewise.datasets import load

        X, y = np.asarray(load(data).X, dtype=np.float64), np.asarray(load(data).y, dtype=np.int64)
    else:
        raise ValueError(f"data is {data!r}; it is 'digits' or 'optdigits'")
    return np.column_stack([X / np.linalg.norm(X, axis=1, keepdims=True), np.ones(len(y))]), y
