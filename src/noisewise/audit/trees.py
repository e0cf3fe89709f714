"""A forest beside the ridge, where it predicts the observed labels better.

With c(x) the ridge's posterior of the true label, leave-one-out, f(x) the forest's class probabilities, out-of-bag, and
T the flip matrix, both are pooled as

    P(true = k | x) proportional to c_k(x)^a f_k(x)^b,   P(observed = y | x) = sum_k P(true = k | x) T[k, y],

with a and b by the likelihood of the observed labels. Trees follow rules and thresholds that a smooth model can't; on
most other tables noisy labels make them worse. So they count only where the labels are more likely by several standard
errors, and else the ridge judges alone.

References
----------
.. [1] Breiman, L. (2001). Random forests. Machine Learning 45.
.. [2] Geurts, P., Ernst, D., Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63.
.. [3] Genest, C., Zidek, J. V. (1986). Combining probability distributions: a critique. Statistical Science 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from noisewise._numerics.blocks import map_blocks
from noisewise._numerics.em import responsibilities
from noisewise._numerics.row_hash import row_hashes
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import generator
from noisewise.noise import Calibration, NoiseReading

FEW_TREES, N_TREES = 40, 120  # of each kind of forest: those that show whether trees are better, and that judge then
LEAF_ROWS = 4  # so that one wrong label never decides
FOREST_ROWS = 6000  # the forest grows on so many rows, drawn at random
MOST_LABELS = 200_000  # these times classes, above which the trees take longer than the ridge
STANDARD_ERRORS = 2.5  # by which the labels must be likelier with the trees
LARGEST = np.finfo(np.float32).max  # trees are grown in single precision
LEAST_POSTERIOR, LEAST_VOTE = 1e-6, 1 / (8 * FEW_TREES)  # before the logarithm is taken


@dataclass(frozen=True)
class WithTrees:
    """Ridge and forest together.

    Attributes
    ----------
    log_posterior : array of shape (n_rows, n_classes)
        Log of the pooled posterior of the true label.
    calibration : Calibration
        Of the ridge's scores.
    powers : array of shape (2,)
        Of the ridge's and the forest's probabilities.
    """

    log_posterior: Floats
    calibration: Calibration
    powers: Floats

    def modes(self, rows: Any, codes: Codes, scored: Any, scores: Floats) -> Codes:
        """The likeliest class of rows by a ridge and a forest on other rows (or without their own labels)."""
        forest = Forest(rows[:FOREST_ROWS], codes[:FOREST_ROWS], scores.shape[1], 0)
        return np.asarray(_pooled(_logs(self.calibration, scores, forest.of_rows(scored)), self.powers).argmax(axis=1))


def pooled_with_trees(
    rows: Any,
    codes: Codes,
    n_classes: int,
    included: NDArray[np.bool_],
    outcome: NoiseReading,
    scores: NDArray[np.floating],
    random_state: RandomState = None,
) -> WithTrees | None:
    """Ridge and forest together, with all rows; None where the trees do not predict better.

    Parameters
    ----------
    rows : array, or rows in blocks that are not in memory
    codes : array of int of shape (n_rows,)
        Observed classes.
    n_classes : int
    included : array of bool of shape (n_rows,)
        The rows that the ridge was fitted to.
    outcome : NoiseReading
        That of the ridge: flip matrix and calibration of its scores.
    scores : array of shape (n_rows, n_classes)
        Of the ridge.
    random_state : int, RandomState, Generator or None
        Draws rows and trees.
    """
    rng = generator(0 if random_state is None else random_state)
    some = rng.permutation(np.flatnonzero(included))[:FOREST_ROWS]
    if len(some) * n_classes > MOST_LABELS:
        return None
    grown_on = rows[some]
    if not _suits_trees(grown_on, n_classes):
        return None
    forest = Forest(grown_on, codes[some], n_classes, int(rng.integers(2**31)))
    calibration = outcome.calibration
    flips = calibration.noise.matrix.T[codes[some]]
    logs = _logs(calibration, scores[some], forest.of_rows(grown_on))
    gain = _log_likelihood(logs, flips) - _log_likelihood(logs[:1], flips)
    if gain.mean() <= STANDARD_ERRORS * gain.std() / np.sqrt(len(gain)):
        return None
    forest.grow(N_TREES)
    powers = pool_powers(_logs(calibration, scores[some], forest.of_rows(grown_on)), flips)
    votes = np.concatenate(list(map_blocks(rows, partial(Forest.of_rows, forest))))
    pooled = _pooled(_logs(calibration, scores, votes), powers)
    return WithTrees(_log(pooled, LEAST_POSTERIOR), calibration, powers)


def _suits_trees(rows: Any, n_classes: int) -> bool:
    """Whether rows are dense (sparse ones are words, of which each says little), in single precision, and many."""
    if hasattr(rows, "tocsr") or np.abs(rows).max(initial=0) > LARGEST:
        return False
    return len(np.unique(row_hashes(rows, exact=True))) >= LEAF_ROWS * n_classes


class Forest:
    """A random forest and extremely randomised trees on observed labels; their probabilities of any row.

    They grow on distinct rows, each with its most frequent label, and a row among these has its out-of-bag
    probabilities: so copies of a row never vouch for one another, and the order of rows does not matter.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 2))
    >>> forest = Forest(X, (X[:, 0] > 0.5).astype(int), 2, 0)
    >>> forest.of_rows(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """

    def __init__(self, X: Any, codes: Codes, n_classes: int, seed: int) -> None:
        from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

        self.hashes, first, group = np.unique(row_hashes(X, exact=True), return_index=True, return_inverse=True)
        counts = np.bincount(group * n_classes + codes, minlength=len(first) * n_classes)
        self.rows, self.labels = X[first], counts.reshape(-1, n_classes).argmax(axis=1)
        self.n_classes = n_classes
        options = {"min_samples_leaf": LEAF_ROWS, "bootstrap": True, "oob_score": True, "warm_start": True}
        self.models = [kind(random_state=seed, **options) for kind in (RandomForestClassifier, ExtraTreesClassifier)]
        self.grow(FEW_TREES)

    def grow(self, n_trees: int) -> None:
        """Add trees, up to this many of each kind."""
        for model in self.models:
            model.set_params(n_estimators=n_trees).fit(self.rows, self.labels)
        self.out_of_bag = self._mean([model.oob_decision_function_ for model in self.models])

    def of_rows(self, X: Any) -> Floats:
        """Class probabilities of rows, by the trees that did not grow on them."""
        hashes = row_hashes(X, exact=True)
        at = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        known = self.hashes[at] == hashes
        found = self.out_of_bag[at]
        if not known.all():
            new = np.clip(X[~known], -LARGEST, LARGEST)
            found[~known] = self._mean([model.predict_proba(new) for model in self.models])
        return found

    def _mean(self, parts: list[Floats]) -> Floats:
        """With a column for every class, also those that are no row's most frequent one."""
        found = np.zeros((len(parts[0]), self.n_classes))
        found[:, self.models[0].classes_] = np.nan_to_num(np.mean(parts, axis=0), nan=1 / self.n_classes)
        return found


def pool_powers(logs: list[Floats], flips: Floats) -> Floats:
    """Powers of several distributions in their product, by the likelihood of observed labels.

    >>> sure, unsure = np.log([[0.9, 0.1]] * 100), np.log([[0.5, 0.5]] * 100)
    >>> flips = np.eye(2)[(np.arange(100) % 10 == 0).astype(int)]  # without noise; a tenth is of the second class
    >>> round(float(pool_powers([sure, unsure], flips)[0]), 2)
    1.0
    """

    def loss(powers: Floats) -> tuple[float, Floats]:
        pooled = _pooled(logs, powers)
        posterior, evidence = responsibilities(pooled, flips, np.finfo(float).tiny)
        slopes = [np.einsum("ij,ij->i", posterior - pooled, one).mean() for one in logs]
        return -float(np.log(evidence).mean()), -np.array(slopes)

    start = np.full(len(logs), 1 / len(logs))
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(logs)).x)


def _pooled(logs: list[Floats], powers: Floats) -> Floats:
    return np.asarray(np.exp(log_softmax(sum(power * one for power, one in zip(powers, logs)), axis=1)))


def _log_likelihood(logs: list[Floats], flips: Floats) -> Floats:
    """Of each observed label, at the powers that make all of them likeliest."""
    pooled = _pooled(logs, pool_powers(logs, flips))
    return np.asarray(np.log(responsibilities(pooled, flips, np.finfo(float).tiny)[1]))


def _logs(calibration: Calibration, scores: NDArray[np.floating], votes: Floats) -> list[Floats]:
    """Logs of the ridge's clean posterior and of the forest's probabilities."""
    return [_log(calibration.clean_posterior(scores), LEAST_POSTERIOR), _log(votes, LEAST_VOTE)]


def _log(p: NDArray[np.floating], least: float) -> Floats:
    return np.asarray(np.log(np.maximum(p, least).astype(np.float64)))
