"""Nearest neighbours that undo asymmetric label noise (Gao, Yang and Zhou)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._inputs import Codes, Floats
from noisewise.labels._base import NoisyLabelClassifier, check_weights
from noisewise.noise import FlipMatrix, flip_from_anchors

ROWS_AT_ONCE = 4096  # neighbours of so many rows are held in memory


class RobustKNeighborsClassifier(NoisyLabelClassifier):
    """Nearest neighbours whose votes are corrected for label noise.

    The neighbours' votes estimate the posterior of the observed label; pulling it back through the flip matrix
    gives the posterior of the true one. With two classes this is Algorithm 1 of Gao et al. (with the swapped
    eq. 6 put right); any number of classes works. With equal flip rates it is plain k-NN.

    Parameters
    ----------
    n_neighbors : int, optional [k]
        Voters; by default about ``n ** 0.4`` and at least 5.
    n_anchor_neighbors : int, optional [k']
        Voters besides the row itself when the noise is estimated; by default at least 20.
    noise : FlipMatrix, optional
        What happened to the labels. By default it is estimated from anchors: the rows most typical of each class.
    quantile : float, optional
        Which row is typical of a class: 1 is the highest score (the paper), and the default for two classes.
        With more classes one lucky row spoils a whole row of the matrix: the default is ``1 - 0.3 / n_classes``.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's NearestNeighbors.
    n_jobs : int, optional

    Attributes
    ----------
    noise_ : FlipMatrix
    classes_ : array
    n_neighbors_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> noisy = FlipMatrix.symmetric(0.2, 3).corrupt(y, rng=0)
    >>> model = RobustKNeighborsClassifier().fit(X, noisy)
    >>> print(f"{model.score(X, y):.2f}")
    0.97
    """

    _not_saved_ = ("_index",)

    def __init__(
        self,
        n_neighbors: int | None = None,
        n_anchor_neighbors: int | None = None,
        noise: FlipMatrix | None = None,
        quantile: float | None = None,
        metric: Any = "euclidean",
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_anchor_neighbors = n_anchor_neighbors
        self.noise = noise
        self.quantile = quantile
        self.metric = metric
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RobustKNeighborsClassifier:
        """Keep the rows and find the noise. A row of weight 2 counts as two rows."""
        X, codes = self._check_training(X, y, accept_sparse="csr", dtype=(np.float64, np.float32))
        weights = check_weights(sample_weight, X)
        used = np.flatnonzero(weights)
        self.X_, self.codes_, self.weights_ = X[used], codes[used], weights[used]
        self._index: Any = None  # made when first needed, and again after loading
        total = float(self.weights_.sum())
        self.n_neighbors_ = _check_voters("n_neighbors", self.n_neighbors, total, default=max(5, np.ceil(total**0.4)))
        self.noise_ = self._estimate_noise() if self.noise is None else self._check_noise(self.noise)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the true label, one column a class."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32))
        return self.noise_.pull(self._noisy_posterior(X, self.n_neighbors_))

    def leave_one_out_proba(self) -> Floats:
        """Posterior of the true label of each row used in fit, with the row's own label left out."""
        check_is_fitted(self)
        return self.noise_.pull(self._noisy_posterior(self.X_, self.n_neighbors_, own="out"))

    def _estimate_noise(self) -> FlipMatrix:
        total = float(self.weights_.sum()) - 1
        voters = _check_voters("n_anchor_neighbors", self.n_anchor_neighbors, total, max(20, self.n_neighbors_))
        posterior = self._noisy_posterior(self.X_, voters + 1, own="in")  # each row votes for itself too (eq. 5)
        n_classes = len(self.classes_)
        default = 1.0 if n_classes == 2 else 1 - 0.3 / n_classes
        return flip_from_anchors(posterior, default if self.quantile is None else self.quantile, self.weights_)

    def _noisy_posterior(self, X: Any, voters: int, own: str | None = None) -> Floats:
        """Shares of the observed labels among the nearest voters; rows of the training set have an `own` vote."""
        blocks = [
            self._posterior_of_block(X[start : start + ROWS_AT_ONCE], voters, own, start)
            for start in range(0, X.shape[0], ROWS_AT_ONCE)
        ]
        return np.concatenate(blocks)

    def _posterior_of_block(self, X: Any, voters: int, own: str | None, start: int) -> Floats:
        n_rows = self.X_.shape[0]
        reach = min(n_rows, voters + (own == "out"))
        while True:
            neighbors = self._nearest(X, reach)
            if own is not None:
                neighbors = _own_row_first(neighbors, start + np.arange(X.shape[0]))
                neighbors = neighbors[:, 1:] if own == "out" else neighbors
            shares = vote_shares(neighbors, self.weights_, voters)
            if reach == n_rows or (shares.sum(axis=1) > voters - 1e-9).all():
                break
            reach = min(n_rows, 2 * reach)  # light rows: look further until the voters' weight is together
        votes = np.zeros((len(neighbors), len(self.classes_)))
        np.add.at(votes, (np.arange(len(neighbors))[:, None], self.codes_[neighbors]), shares)
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def _nearest(self, X: Any, reach: int) -> Codes:
        if getattr(self, "_index", None) is None:
            self._index = NearestNeighbors(metric=self.metric, n_jobs=self.n_jobs).fit(self.X_)
        return np.asarray(self._index.kneighbors(X, reach, return_distance=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def vote_shares(neighbors: Codes, weights: Floats, voters: float) -> Floats:
    """How much of each neighbour's weight votes, nearest first, until `voters` are together.

    >>> vote_shares(np.array([[0, 1, 2]]), np.array([1.0, 3.0, 1.0]), voters=2)
    array([[1., 1., 0.]])
    """
    weight = weights[neighbors]
    before = np.cumsum(weight, axis=1) - weight
    return np.asarray(np.clip(voters - before, 0, weight))


def _own_row_first(neighbors: Codes, own: Codes) -> Codes:
    """Each row put first among its neighbours; where duplicates crowded it out, in place of the last."""
    is_own = neighbors == own[:, None]
    lost = ~is_own.any(axis=1)
    is_own[lost, -1] = True
    others = neighbors[~is_own].reshape(len(own), -1)
    return np.concatenate([own[:, None], others], axis=1)


def _check_voters(name: str, given: int | None, available: float, default: float) -> int:
    if given is None:
        return int(max(1, min(default, np.floor(available + 1e-9))))
    if given < 1 or given > available + 1e-9:
        raise ValueError(f"{name} is {given}; with rows of total weight {available:g} it must be from 1 to that")
    return int(given)
