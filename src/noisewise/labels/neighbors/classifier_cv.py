"""Robust k-nearest neighbours with k by leave-one-out or cross-validation, from one search for neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from noisewise._typing import Codes, Floats, RandomState
from noisewise.labels.neighbors.selection import HeldOut, brier_table, grid_table, pick, scaled, supported_correction
from noisewise.labels.neighbors.stored_rows import StoredRowsClassifier, check_voters, minus_one
from noisewise.labels.neighbors.votes import noise_from_votes
from noisewise.labels.noise_argument import NoiseArgument
from noisewise.noise import FlipMatrix

CRITERIA = ("brier", "noisy", "corrected")
FEWEST_ANCHORS = 20  # with fewer, the extreme fractions of votes tend to 0 and 1


class RobustKNeighborsClassifierCV(StoredRowsClassifier):
    """Robust k-nearest neighbours (RNN) with the numbers of voters by leave-one-out or cross-validation.

    Neighbours are searched once for the whole grid; folds hold rows out by their number.

    Parameters
    ----------
    n_neighbors : int or list of int, optional [k]
        Numbers of voters to choose from; by default 5, 10, ..., 100 (at most half of the rows) and more where there
        are over 10,000 rows.
    n_anchor_neighbors : int or list of int, optional [k']
        Voters besides the row itself when the noise is estimated; by default 20, 25, ..., 100.
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default, estimates it from anchors, the rows most typical of each class.
    criterion : {"brier", "noisy", "corrected"}, default="brier"
        "noisy": the pair with the best accuracy on the observed labels (the paper); of those within half a standard
        error the largest number of voters. "corrected": the same with the accuracy corrected for the noise.
        "brier": no pair but an average. The posteriors of all numbers of voters are weighted by their Brier score on
        the observed labels, the estimated flip matrices are averaged, and their asymmetry is corrected as far as the
        observed labels support it. More accurate than the others, most of all under much noise.
    cv : None, int, splitter or list of (train, test), default=None
        None leaves one row out at a time. In a list, rows are numbered as given to `fit`.
    quantile, metric, index, max_judged, n_jobs, random_state
        As in RobustKNeighborsClassifier; at most `max_judged` rows are held out.

    Attributes
    ----------
    noise_ : FlipMatrix
    classes_ : array
    voters_, voter_weights_ : arrays
        Numbers of voters in use and their weights; one number only unless the criterion is "brier".
    n_neighbors_ : int
        The number of voters of the largest weight.
    n_anchor_neighbors_ : int
        The chosen number, for the criteria "noisy" and "corrected" with estimated noise.
    correction_ : float
        For the criterion "brier" with estimated noise: the asymmetry that is corrected, as a multiple of that estimated
        from anchors; at most 1.5.
    best_score_ : float
    cv_results_ : dict of arrays
        The score of each candidate, its standard error and rank; the Brier scores are negative (greater is better).
    index_, recall_, rows_
        As in RobustKNeighborsClassifier.

    References
    ----------
    .. [1] Gao, W., Yang, B.-B., Zhou, Z.-H. (2016). On the robustness of nearest neighbor with noisy data.
       arXiv:1607.07526. Algorithm 1 and Section 5; the criterion "brier" is not from the paper.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(400, noise=0.2, random_state=0)
    >>> observed = FlipMatrix.binary(false_positive=0.0, false_negative=0.4).corrupt(y, rng=0)
    >>> model = RobustKNeighborsClassifierCV().fit(X, observed)
    >>> print(f"{model.score(X, y):.2f}")
    0.97
    """

    def __init__(
        self,
        n_neighbors: int | Sequence[int] | None = None,
        n_anchor_neighbors: int | Sequence[int] | None = None,
        noise: NoiseArgument = None,
        criterion: str = "brier",
        cv: Any = None,
        quantile: float | None = None,
        metric: Any = "euclidean",
        index: Any = "auto",
        max_judged: int | None = 20_000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            n_neighbors, n_anchor_neighbors, noise, quantile, metric, index, max_judged, n_jobs, random_state
        )
        self.criterion = criterion
        self.cv = cv

    def _fit_stored(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion is {self.criterion!r}; it must be one of {', '.join(map(repr, CRITERIA))}")
        given = self._resolve_noise()
        sample, splits = self._sampled(), self._splits()
        least = min(float(self.weights_[train].sum()) for train, _ in splits) - (self.cv is None)
        sizes = _grid("n_neighbors", self.n_neighbors, least, default_voters(least))
        anchors = _grid("n_anchor_neighbors", self.n_anchor_neighbors, least, default_voters(least, FEWEST_ANCHORS))
        self._make_index(int(sizes[-1]))
        voting = [self.weights_ * train for train, _ in splits]
        most = float(max(sizes[-1], anchors[-1] if given is None else 0))
        neighbors = self._find_neighbors(self.X_[sample], most, sample, voting)

        def matrices(weights: Floats) -> Floats:
            """Raw flip matrices for each number of anchor voters; each row votes for itself too (eq. 5)."""
            if given is not None:
                return given.matrix[None]
            rows = np.flatnonzero(weights[sample])
            mine = weights[sample[rows]]
            posteriors = self._count(neighbors[rows], weights, 1 + anchors.astype(np.float64), sample[rows], mine)
            return np.stack([noise_from_votes(posterior, self.quantile, mine) for posterior in posteriors])

        held = []
        for weights, (_, out) in zip(voting, splits, strict=True):
            rows = np.flatnonzero(out[sample])
            indices = sample[rows]
            own_weights = minus_one(weights[indices])  # zero for rows of the fold
            posterior = self._count(neighbors[rows], weights, sizes.astype(np.float64), indices, own_weights)
            held.append(HeldOut(posterior, self.codes_[indices], self.weights_[indices], matrices(weights)))
        self._decide(held, sizes, anchors, matrices(self.weights_), given)

    def _decide(
        self, held: list[HeldOut], sizes: Codes, anchors: Codes, matrices: Floats, given: FlipMatrix | None
    ) -> None:
        """Choose by the held-out rows; the noise is estimated from all rows."""
        self.n_anchor_neighbors_, self.correction_ = None, None
        matrix = matrices.mean(axis=0)
        if self.criterion == "brier":
            table = brier_table(held, sizes)
            best = int(np.argmax(table["weight"]))
            self.voters_, self.voter_weights_ = sizes, table["weight"]
            if given is None:
                self.correction_ = supported_correction(held, self.voter_weights_)
                matrix = scaled(matrix, self.correction_)
        else:
            table = grid_table(held, sizes, anchors if given is None else None, corrected=self.criterion == "corrected")
            best = pick(table)
            self.voters_, self.voter_weights_ = table["param_n_neighbors"][[best]], np.ones(1)
            if given is None:
                self.n_anchor_neighbors_ = int(table["param_n_anchor_neighbors"][best])
                matrix = matrices[best % len(anchors)]
        self.noise_ = FlipMatrix.estimated(matrix) if given is None else given
        self.n_neighbors_ = int(table["param_n_neighbors"][best])
        self.best_score_ = float(table["mean_test_score"][best])
        self.cv_results_ = table

    def _noisy_posterior(self, X: Any, own: Codes | None = None) -> Floats:
        own_weights = None if own is None else minus_one(self.weights_[own])
        posteriors = self._vote_fractions(X, self.voters_.astype(np.float64), own, own_weights)
        return np.asarray(np.tensordot(self.voter_weights_, posteriors, 1))

    def _splits(self) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """Which rows vote and which are held out, for each split; leave-one-out, every row is both."""
        n_rows = self.X_.shape[0]
        if self.cv is None:
            everyone = np.ones(n_rows, dtype=bool)
            return [(everyone, everyone)]
        if isinstance(self.cv, Integral) or hasattr(self.cv, "split"):
            pairs = check_cv(self.cv, self.codes_, classifier=True).split(np.zeros((n_rows, 1)), self.codes_)
            splits = [(_mask(train, n_rows), _mask(test, n_rows)) for train, test in pairs]
        else:
            n = self.n_rows_seen_
            splits = [(_mask(train, n)[self.rows_], _mask(test, n)[self.rows_]) for train, test in self.cv]
        present = np.bincount(self.codes_, minlength=len(self.classes_)) > 0
        for i, (train, _) in enumerate(splits):
            lost = present & (np.bincount(self.codes_[train], minlength=len(self.classes_)) == 0)
            if lost.any():
                raise ValueError(
                    f"split {i} leaves out every row of class {self.classes_[lost].tolist()[0]!r}; "
                    "use fewer folds, or cv=None to leave out one row at a time"
                )
        return splits


def default_voters(available: float, fewest: int = 5) -> Codes:
    """Numbers of voters to choose from: 5, 10, ..., 100, more for many rows, at most half of what is available.

    >>> default_voters(60)
    array([ 5, 10, 15, 20, 25, 30])
    >>> default_voters(30, fewest=20)
    array([15])
    """
    grid = np.concatenate([np.arange(5, 101, 5), [125, 160, 200, 250, 320, 400]])
    grid = grid[(grid <= available / 2) & (grid <= max(100, np.sqrt(available)))]
    if not grid.size:
        return np.array([max(1, int(available / 2))])
    return np.asarray(grid[grid >= min(fewest, grid[-1])])


def _grid(name: str, given: Any, available: float, default: Codes) -> Codes:
    if given is None:
        return default
    values = np.unique(np.atleast_1d(given))
    if values.size == 0:
        raise ValueError(f"{name} is empty; give at least one number of voters")
    return np.array([check_voters(name, value, available) for value in values.tolist()], dtype=np.intp)


def _mask(rows: Any, size: int) -> NDArray[np.bool_]:
    mask = np.zeros(size, dtype=bool)
    try:
        mask[rows] = True
    except IndexError:
        raise ValueError(f"cv names rows beyond the {size} given") from None
    return mask
