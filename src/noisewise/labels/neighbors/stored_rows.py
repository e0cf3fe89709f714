"""Base class of robust k-NN: stored rows, added and removed, their neighbour index and their votes."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.blocks import blocks
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import (
    check_binary_or_more,
    check_weights,
    encode_labels,
    find_labels,
    generator,
    naming_columns,
)
from noisewise.labels.base import NoisyLabelClassifier
from noisewise.labels.neighbors.index import make_index
from noisewise.labels.neighbors.votes import ROUNDING, choose, tally, vote_fractions
from noisewise.labels.noise_argument import NoiseArgument, resolve_noise
from noisewise.noise import FlipMatrix

ROWS: dict[str, Any] = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}
ROWS_AT_ONCE = 16_384  # neighbours of so many rows are held in memory


class StoredRowsClassifier(NoisyLabelClassifier):
    """Robust nearest neighbours: stored rows, their index and their votes."""

    _not_saved_ = ("_index",)  # made again when first needed

    def __init__(
        self,
        n_neighbors: Any = None,
        n_anchor_neighbors: Any = None,
        noise: NoiseArgument = None,
        quantile: float | None = None,
        metric: Any = "euclidean",
        index: Any = "auto",
        max_judged: int | None = 20_000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_anchor_neighbors = n_anchor_neighbors
        self.noise = noise
        self.quantile = quantile
        self.metric = metric
        self.index = index
        self.max_judged = max_judged
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Store the rows and estimate the noise. A row of weight 2 counts as two rows."""
        X, codes = self._check_training(X, y, **ROWS)
        weights = _as_counts(check_weights(sample_weight, X))
        self.n_rows_seen_ = 0
        self._store(X[:0], codes[:0], weights[:0], np.zeros(0, dtype=np.intp))
        self._index: Any = None
        return self._add_rows(X, codes, weights)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows and estimate the noise again; the same as fitting all rows at once.

        `classes` names all classes in the first call, if the first rows do not show them all. An approximate index
        takes the rows in; what depends on all rows is computed anew, so add many rows at a time.
        """
        if not hasattr(self, "X_"):
            if classes is None:
                return self.fit(X, y, sample_weight)
            with naming_columns(X):
                X = validate_data(self, X, **ROWS)
            self.classes_ = encode_labels(classes)[0]
            check_binary_or_more(self.classes_)
            self.n_rows_seen_, self._index = 0, None
            self._store(X[:0], np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0, dtype=np.intp))
        else:
            X = validate_data(self, X, reset=False, **ROWS)
            if classes is not None and not np.array_equal(encode_labels(classes)[0], self.classes_):
                raise ValueError(f"classes is {classes!r}; earlier calls had {self.classes_.tolist()}")
        codes = find_labels(y, self.classes_)
        check_consistent_length(X, codes)
        return self._add_rows(X, codes, _as_counts(check_weights(sample_weight, X)))

    def forget(self, rows: Any) -> Self:
        """Remove rows and estimate the noise again; the same as a fit without them.

        Rows are known by their number: the first row ever given is 0, and so on, also over several `partial_fit`.
        `rows_` holds the numbers of the stored ones.
        """
        check_is_fitted(self)
        given = np.atleast_1d(np.asarray(rows))
        if given.dtype.kind not in "iu" and given.size:
            raise ValueError(
                f"rows are {given.dtype}; the numbers of rows are needed, as in rows_ (of a mask, rows_[mask])"
            )
        ids = np.unique(given.astype(np.intp))
        gone = np.searchsorted(self.rows_, ids)
        unknown = ids[self.rows_[np.minimum(gone, len(self.rows_) - 1)] != ids]
        if unknown.size:
            raise ValueError(f"row {unknown[0]} is not kept (forgotten, of weight zero, or never given); see rows_")
        if len(gone) == len(self.rows_):
            raise ValueError("forgetting every row leaves nothing to learn from; keep some")
        left = np.delete(np.arange(len(self.rows_)), gone)
        self._store(self.X_[left], self.codes_[left], self.weights_[left], self.rows_[left])
        if self._index is not None:
            self._index.remove(self.X_, gone)
        self._fit_stored()
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable true label of each row; of two that tie the second, of more the first."""
        check_is_fitted(self)
        return np.asarray(self.classes_[choose(self.predict_proba(X))])

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the true label, one column a class."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **ROWS)
        return self.noise_.pull(self._noisy_posterior(X))

    def leave_one_out_proba(self) -> Floats:
        """Leave-one-out posterior of the true label of each stored row; one label is left out of a heavier row."""
        check_is_fitted(self)
        return self.noise_.pull(self._noisy_posterior(self.X_, np.arange(self.X_.shape[0])))

    @abstractmethod
    def _fit_stored(self) -> None:
        """Compute everything that depends on the stored rows."""

    @abstractmethod
    def _noisy_posterior(self, X: Any, own: Codes | None = None) -> Floats:
        """Posterior of the observed label; leave-one-out for stored rows with the indices `own`."""

    def _add_rows(self, X: Any, codes: Codes, weights: Floats) -> Self:
        used = np.flatnonzero(weights)
        ids = self.n_rows_seen_ + used
        self.n_rows_seen_ += len(weights)
        kept = self.X_.shape[0]
        self._store(
            _stack(self.X_, X[used]) if kept else X[used],
            np.concatenate([self.codes_, codes[used]]),
            np.concatenate([self.weights_, weights[used]]),
            np.concatenate([self.rows_, ids]),
        )
        if self._index is not None:
            self._index.add(self.X_, len(used))
        self._fit_stored()
        return self

    def _store(self, X: Any, codes: Codes, weights: Floats, rows: Codes) -> None:
        self.X_, self.codes_, self.weights_, self.rows_ = X, codes, weights, rows

    def _make_index(self, k: int) -> None:
        """Build the index, unless there is one; it is not saved with a model."""
        if getattr(self, "_index", None) is None:
            self._index, self.recall_ = make_index(self.index, self.X_, self.metric, self.n_jobs, k)
            self.index_ = self._index.name

    def _resolve_noise(self) -> FlipMatrix | None:
        """The flip matrix that `noise` stands for; None where it is estimated from anchors."""
        return resolve_noise(self.noise, self.X_, self.codes_, len(self.classes_), self.weights_)

    def _sampled(self) -> Codes:
        """Indices of the rows from which the noise is estimated: all, or a random sample."""
        n_rows = self.X_.shape[0]
        if self.max_judged is None or n_rows <= self.max_judged:
            return np.arange(n_rows)
        return np.sort(generator(self.random_state).choice(n_rows, self.max_judged, replace=False))

    def _vote_fractions(
        self, X: Any, sizes: Floats, own: Codes | None = None, own_weights: Floats | None = None
    ) -> Floats:
        """Fractions of the votes of the nearest rows for each observed label, shape (n_sizes, n_rows, n_classes)."""
        parts = []
        for block in blocks(X.shape[0], ROWS_AT_ONCE):
            mine = None if own is None else own[block]
            found = self._find_neighbors(X[block], sizes.max(), mine, [self.weights_])
            extra = None if own_weights is None else own_weights[block]
            parts.append(self._count(found, self.weights_, sizes, mine, extra))
        return np.concatenate(parts, axis=1)

    def _count(
        self, found: Codes, weights: Floats, sizes: Floats, own: Codes | None, own_weights: Floats | None
    ) -> Floats:
        """The same from neighbours already found, with any weights of the stored rows."""
        parts = []
        for block in blocks(len(found), ROWS_AT_ONCE):
            mine = None if own is None else own[block]
            extra = None if own_weights is None else own_weights[block]
            parts.append(tally(found[block], self.codes_, weights, sizes, len(self.classes_), mine, extra))
        return vote_fractions(np.concatenate(parts, axis=1))

    def _find_neighbors(self, X: Any, wanted: float, own: Codes | None, weightings: list[Floats]) -> Codes:
        """Each row's nearest rows, as many as have the wanted weight in every weighting, its own row not counted."""
        n_rows = self.X_.shape[0]
        k = min(n_rows, int(np.ceil(wanted)) + (own is not None))
        self._make_index(k)
        while True:
            found = self._index.nearest(X, k)
            if k == n_rows or all(_enough(found, own, weights, wanted) for weights in weightings):
                return np.asarray(found)
            k = min(n_rows, 3 * k // 2 + 1)  # light rows, or rows held out: search further

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        return {name: None if name == "_index" else value for name, value in state.items()}


def check_voters(name: str, given: int, available: float) -> int:
    """A number of voters, if there are as many."""
    if given != int(given) or given < 1 or given > available + ROUNDING:
        raise ValueError(f"{name} is {given}; a whole number from 1 to {available:g}, the rows that can vote, would do")
    return int(given)


def minus_one(weights: Floats) -> Floats:
    """Weights with which rows vote on themselves when one replicate of each is left out."""
    return np.maximum(weights - 1, 0)


def _enough(found: Codes, own: Codes | None, weights: Floats, wanted: float) -> bool:
    weight = weights[found]
    if own is not None:
        weight[found == own[:, None]] = 0
    return bool(weight.sum(axis=1).min() > wanted - ROUNDING)


def _stack(kept: Any, new: Any) -> Any:
    if sp.issparse(kept):
        return sp.vstack([kept, new], format="csr")
    return np.concatenate([kept, new.toarray() if sp.issparse(new) else new])


def _as_counts(weights: Floats) -> Floats:
    """Weights that count rows; a total of less than five means fractions of a whole: their mean is scaled to one."""
    rows, total = int(np.count_nonzero(weights)), float(weights.sum())
    return weights if total >= min(5, rows) else np.asarray(weights * (rows / total))
