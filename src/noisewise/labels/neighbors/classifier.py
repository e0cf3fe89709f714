"""Robust k-nearest neighbours (RNN of Gao, Yang and Zhou)."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._typing import Codes, Floats
from noisewise.labels.neighbors.stored_rows import StoredRowsClassifier, check_voters, minus_one
from noisewise.labels.neighbors.votes import noise_from_votes
from noisewise.noise import FlipMatrix


class RobustKNeighborsClassifier(StoredRowsClassifier):
    """Robust k-nearest neighbours (RNN): votes corrected for label noise.

    The neighbours' votes estimate the posterior p of the observed label; the backward correction ``p @ inv(T)``
    (`FlipMatrix.pull`) gives the posterior of the true one. With two classes this is Algorithm 1 of Gao et al. (with
    the swapped eq. 6 put right); any number of classes works. With equal flip rates it is plain k-NN.

    Parameters
    ----------
    n_neighbors : int, optional [k]
        Voters; by default about ``n ** 0.4`` and at least 5. `RobustKNeighborsClassifierCV` finds a good number.
    n_anchor_neighbors : int, optional [k']
        Voters besides the row itself when the noise is estimated; by default at least 20.
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default, estimates it from anchors, the rows most typical of each class; a class with no more rows than half of
        the anchor voters is then taken to be labelled right, as its anchors are outvoted.
    quantile : float, optional
        Which row is typical of a class: 1 is the highest score (the paper), and the default for two classes.
        With more classes one outlier corrupts a whole row of the matrix: the default is ``1 - 0.3 / n_classes``.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's NearestNeighbors.
    index : {"auto", "exact", "approximate"} or KNeighborsTransformer, default="auto"
        How neighbours are found. "approximate" needs faiss (``pip install 'noisewise[neighbors]'``) and dense rows;
        "auto" takes it for 50,000 rows or more, where it is installed and pays.
    max_judged : int, optional
        The noise is estimated from at most so many rows, drawn at random; None takes all.
    n_jobs : int, optional
    random_state : int or generator, optional
        Draws the rows from which the noise is estimated, if not all are taken.

    Attributes
    ----------
    noise_ : FlipMatrix
    classes_ : array
    n_neighbors_ : int
    index_ : str
        Which index was taken.
    recall_ : float
        Fraction of the true neighbours that it finds, on a sample of rows.
    rows_ : array
        Numbers of the stored rows, for `forget`.

    References
    ----------
    .. [1] Gao, W., Yang, B.-B., Zhou, Z.-H. (2016). On the robustness of nearest neighbor with noisy data.
       arXiv:1607.07526. Algorithm 1, eqs. 1 and 4 to 6.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> noisy = FlipMatrix.symmetric(0.2, 3).corrupt(y, rng=0)
    >>> model = RobustKNeighborsClassifier().fit(X, noisy)
    >>> print(f"{model.score(X, y):.2f}")
    0.97
    """

    def _fit_stored(self) -> None:
        total = float(self.weights_.sum())
        self.n_neighbors_ = _voters("n_neighbors", self.n_neighbors, total, max(5, np.ceil(total**0.4)))
        self._make_index(self.n_neighbors_)
        noise = self._resolve_noise()
        if noise is not None:
            self.noise_ = noise
            return
        voters = _voters("n_anchor_neighbors", self.n_anchor_neighbors, total - 1, max(20, self.n_neighbors_))
        sample = self._sampled()
        weights = self.weights_[sample]
        sizes = np.array([voters + 1.0])  # eq. 5: a row votes for itself too
        posterior = self._vote_fractions(self.X_[sample], sizes, sample, weights)[0]
        matrix = noise_from_votes(posterior, self.quantile, weights)
        rare = np.bincount(self.codes_, self.weights_, len(matrix)) <= voters / 2  # outvoted though nothing is wrong
        matrix[rare] = np.eye(len(matrix))[rare]
        self.noise_ = FlipMatrix.estimated(matrix)

    def _noisy_posterior(self, X: Any, own: Codes | None = None) -> Floats:
        own_weights = None if own is None else minus_one(self.weights_[own])
        return np.asarray(self._vote_fractions(X, np.array([float(self.n_neighbors_)]), own, own_weights)[0])


def _voters(name: str, given: int | None, available: float, default: float) -> int:
    if given is None:
        return int(max(1, min(default, np.floor(available + 1e-9))))
    return check_voters(name, given, available)
