"""Nearest neighbour search: exact by scikit-learn, approximate by faiss, or by a given transformer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from noisewise._typing import Codes

MANY_ROWS = 50_000  # below, exact search takes seconds
FEW_COLUMNS = 8  # up to here trees make exact search fast
ROWS_PER_CELL, MOST_INDEX_CELLS = 128, 2048  # k-means and the search for the nearest cells cost time for each cell
RECALL_ROWS = 200  # the recall is measured on so many
WANTED_RECALL = 0.97  # votes hardly change by the few neighbours that are missed
MOST_CELLS_VISITED = 0.25  # of all; beyond, exact search is as fast
METRICS = ("euclidean", "l2", "sqeuclidean", "cosine")


class Index(Protocol):
    """The neighbour search that the classifiers need."""

    name: str

    def nearest(self, X: Any, k: int) -> Codes:
        """Indices of the `k` nearest rows, nearest first."""

    def add(self, X: Any, n_new: int) -> None:
        """Add rows: X holds all, the new ones last."""

    def remove(self, X: Any, gone: Codes) -> None:
        """Remove rows: X holds those left, `gone` the former indices of the others."""


class ExactIndex:
    """Every distance (or a tree), by scikit-learn; dense and sparse rows, any metric."""

    name = "exact"

    def __init__(self, X: Any, metric: Any = "euclidean", n_jobs: int | None = None) -> None:
        self._search = NearestNeighbors(metric=metric, n_jobs=n_jobs).fit(X)

    def nearest(self, X: Any, k: int) -> Codes:
        """Indices of the `k` nearest rows, nearest first."""
        return np.asarray(self._search.kneighbors(X, k, return_distance=False))

    def add(self, X: Any, n_new: int) -> None:
        """Add rows: X holds all, the new ones last."""
        self._search.fit(X)

    def remove(self, X: Any, gone: Codes) -> None:
        """Remove rows: X holds those left, `gone` the former indices of the others."""
        self._search.fit(X)


class GivenIndex(ExactIndex):
    """Any KNeighborsTransformer: one with `kneighbors`, or one whose `transform` gives a graph of distances."""

    def __init__(self, X: Any, transformer: Any) -> None:
        self.name = type(transformer).__name__
        self._search = clone(transformer).fit(X)

    def nearest(self, X: Any, k: int) -> Codes:
        """Indices of the `k` nearest rows, nearest first."""
        if hasattr(self._search, "kneighbors"):
            return np.asarray(self._search.kneighbors(X, k, return_distance=False))
        graph = sp.csr_array(self._search.transform(X))
        counts = np.diff(graph.indptr)
        if counts.min() < k:
            raise ValueError(f"{self.name} finds {counts.min()} neighbours where {k} are needed; raise n_neighbors")
        rows = np.repeat(np.arange(graph.shape[0]), counts)
        order = np.lexsort((graph.data, rows))
        nearest = graph.indptr[:-1, None] + np.arange(k)
        return np.asarray(graph.indices[order][nearest], dtype=np.intp)


class ApproximateIndex:
    """Rows in cells around k-means centres, of which only the nearest are visited (faiss, extra `neighbors`).

    As many cells are visited as a sample of rows needs for a recall of 97 %.
    """

    name = "approximate"

    def __init__(
        self, X: Any, metric: Any = "euclidean", n_jobs: int | None = None, k: int = 20, most_visited: float = 1.0
    ) -> None:
        faiss = _import_faiss()
        _check_approximate(X, metric)
        self._unit = metric == "cosine"
        self._n_jobs = n_jobs
        self._X = X
        n, d = X.shape
        n_cells = max(1, min(n // ROWS_PER_CELL, MOST_INDEX_CELLS))
        self._cells = faiss.index_factory(d, f"IVF{n_cells},Flat")
        self._cells.cp.niter = 8
        self._cells.cp.min_points_per_centroid, self._cells.cp.max_points_per_centroid = 1, 30
        rows = self._prepare(X)
        self._ids = np.arange(n)  # of rows in faiss, which stay when others are removed
        with self._threads():
            self._cells.train(rows)
            self._cells.add_with_ids(rows, self._ids)
        self.recall = self._visit_enough(k, metric, most_visited)

    @property
    def fraction_visited(self) -> float:
        """Fraction of the cells that is visited for a row."""
        return float(self._cells.nprobe / self._cells.nlist)

    def nearest(self, X: Any, k: int) -> Codes:
        """Indices of the `k` nearest rows found, nearest first."""
        rows = self._prepare(X)
        found = np.empty((len(rows), k), dtype=np.int64)
        with self._threads():
            cell = self._cells.quantizer.search(rows, 1)[1][:, 0]
            order = np.argsort(cell, kind="stable")  # rows of one cell after each other: what they visit stays in cache
            found[order] = self._cells.search(rows[order], k)[1]
        indices = np.asarray(np.searchsorted(self._ids, found))
        short = np.flatnonzero(found[:, -1] < 0)
        if short.size:  # fewer rows than wanted in all cells visited
            indices[short] = ExactIndex(self._X, "cosine" if self._unit else "euclidean").nearest(X[short], k)
        return indices

    def add(self, X: Any, n_new: int) -> None:
        """Add rows: X holds all, the new ones last."""
        ids = self._ids[-1] + 1 + np.arange(n_new)
        with self._threads():
            self._cells.add_with_ids(self._prepare(X[-n_new:]), ids)
        self._X, self._ids = X, np.concatenate([self._ids, ids])

    def remove(self, X: Any, gone: Codes) -> None:
        """Remove rows: X holds those left, `gone` the former indices of the others."""
        self._cells.remove_ids(self._ids[gone])
        self._X, self._ids = X, np.delete(self._ids, gone)

    def _prepare(self, X: Any) -> NDArray[np.float32]:
        rows = np.ascontiguousarray(X, dtype=np.float32)
        if self._unit:
            length = np.linalg.norm(rows, axis=1, keepdims=True)
            return np.asarray(rows / np.where(length > 0, length, 1))
        return rows

    def _visit_enough(self, k: int, metric: Any, most_visited: float) -> float:
        """Visit more cells until the recall is as wanted, or too many are visited; returns the recall."""
        sample, truth = true_neighbors(self._X, k, metric)
        self._cells.nprobe = min(4, self._cells.nlist)
        while (recall := overlap(self.nearest(sample, truth.shape[1]), truth)) < WANTED_RECALL:
            if self._cells.nprobe == self._cells.nlist or self.fraction_visited > most_visited:
                break
            self._cells.nprobe = min(5 * self._cells.nprobe // 4, self._cells.nlist)
        return recall

    @contextmanager
    def _threads(self) -> Iterator[None]:
        faiss = _import_faiss()
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(self._n_jobs if self._n_jobs and self._n_jobs > 0 else before)
        try:
            yield
        finally:
            faiss.omp_set_num_threads(before)


def make_index(kind: Any, X: Any, metric: Any, n_jobs: int | None, k: int) -> tuple[Index, float]:
    """The search for these rows, and its recall, the fraction of the `k` true neighbours that it finds.

    `kind` is "exact", "approximate", a KNeighborsTransformer, or "auto": approximate for 50,000 rows or more where
    faiss is installed, rows are dense and of more than 8 columns, and the cells to visit are few enough to pay.
    """
    if kind == "exact":
        return ExactIndex(X, metric, n_jobs), 1.0
    if kind == "approximate":
        found = ApproximateIndex(X, metric, n_jobs, k)
        return found, found.recall
    if kind == "auto":
        if _is_large(X, metric) and find_spec("faiss") is not None:
            found = ApproximateIndex(X, metric, n_jobs, k, MOST_CELLS_VISITED)
            if found.fraction_visited <= MOST_CELLS_VISITED:
                return found, found.recall
        return ExactIndex(X, metric, n_jobs), 1.0
    if hasattr(kind, "fit") and (hasattr(kind, "kneighbors") or hasattr(kind, "transform")):
        given = GivenIndex(X, kind)
        sample, truth = true_neighbors(X, k, getattr(kind, "metric", "euclidean"))
        return given, overlap(given.nearest(sample, truth.shape[1]), truth)
    raise ValueError(f"index is {kind!r}; it must be 'auto', 'exact', 'approximate' or a KNeighborsTransformer")


def true_neighbors(X: Any, k: int, metric: Any) -> tuple[Any, Codes]:
    """Some rows, evenly spaced, and the indices of their nearest rows."""
    indices = np.unique(np.linspace(0, X.shape[0] - 1, RECALL_ROWS).astype(np.intp))
    sample = X[indices]
    search = NearestNeighbors(metric=metric, algorithm="brute").fit(X)
    return sample, np.asarray(search.kneighbors(sample, min(k, X.shape[0]), return_distance=False))


def overlap(found: Codes, truth: Codes) -> float:
    """Fraction of the true neighbours that were found (recall).

    >>> overlap(np.array([[1, 2, 3]]), np.array([[3, 1, 7]])).__round__(2)
    0.67
    """
    return float(np.mean([np.isin(right, got).mean() for got, right in zip(found, truth, strict=True)]))


def _is_large(X: Any, metric: Any) -> bool:
    return bool(X.shape[0] >= MANY_ROWS and X.shape[1] > FEW_COLUMNS and not sp.issparse(X) and metric in METRICS)


def _check_approximate(X: Any, metric: Any) -> None:
    if sp.issparse(X):
        raise ValueError("index='approximate' takes dense rows; use index='exact' for sparse ones")
    if metric not in METRICS:
        raise ValueError(f"index='approximate' knows the metrics {', '.join(METRICS)}; use index='exact' for others")


def _import_faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise ImportError("index='approximate' needs faiss: pip install 'noisewise[neighbors]'") from None
    return faiss
