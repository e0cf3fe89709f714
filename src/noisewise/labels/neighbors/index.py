"""Who finds the nearest rows: scikit-learn exactly, faiss approximately, or a transformer of your own."""

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
ROWS_PER_CELL, MOST_CELLS = 128, 2048
ROWS_JUDGED = 200  # recall is measured on so many
WANTED_RECALL = 0.97
MOST_CELLS_VISITED = 0.25  # of all; beyond, exact search is as fast
METRICS = ("euclidean", "l2", "sqeuclidean", "cosine")


class Index(Protocol):
    """What the classifiers ask of a neighbour search."""

    name: str

    def nearest(self, X: Any, reach: int) -> Codes:
        """Places of the `reach` nearest rows, nearest first."""

    def add(self, X: Any, n_new: int) -> None:
        """Rows came: X holds all, the new ones last."""

    def remove(self, X: Any, gone: Codes) -> None:
        """Rows went: X holds those left, `gone` the places that the others had."""


class ExactIndex:
    """Every distance (or a tree), by scikit-learn; dense and sparse rows, any metric."""

    name = "exact"

    def __init__(self, X: Any, metric: Any = "euclidean", n_jobs: int | None = None) -> None:
        self._search = NearestNeighbors(metric=metric, n_jobs=n_jobs).fit(X)

    def nearest(self, X: Any, reach: int) -> Codes:
        """Places of the `reach` nearest rows, nearest first."""
        return np.asarray(self._search.kneighbors(X, reach, return_distance=False))

    def add(self, X: Any, n_new: int) -> None:
        """Rows came: X holds all, the new ones last."""
        self._search.fit(X)

    def remove(self, X: Any, gone: Codes) -> None:
        """Rows went: X holds those left, `gone` the places that the others had."""
        self._search.fit(X)


class GivenIndex:
    """Any KNeighborsTransformer: one with `kneighbors`, or one whose `transform` gives a graph of distances."""

    def __init__(self, X: Any, transformer: Any) -> None:
        self.name = type(transformer).__name__
        self._transformer = clone(transformer).fit(X)

    def nearest(self, X: Any, reach: int) -> Codes:
        """Places of the `reach` nearest rows, nearest first."""
        if hasattr(self._transformer, "kneighbors"):
            return np.asarray(self._transformer.kneighbors(X, reach, return_distance=False))
        graph = sp.csr_array(self._transformer.transform(X))
        counts = np.diff(graph.indptr)
        if counts.min() < reach:
            raise ValueError(f"{self.name} finds {counts.min()} neighbours where {reach} are needed; raise n_neighbors")
        rows = np.repeat(np.arange(graph.shape[0]), counts)
        order = np.lexsort((graph.data, rows))
        places = graph.indptr[:-1, None] + np.arange(reach)
        return np.asarray(graph.indices[order][places], dtype=np.intp)

    def add(self, X: Any, n_new: int) -> None:
        """Rows came: X holds all, the new ones last."""
        self._transformer.fit(X)

    def remove(self, X: Any, gone: Codes) -> None:
        """Rows went: X holds those left, `gone` the places that the others had."""
        self._transformer.fit(X)


class ApproximateIndex:
    """Rows in cells around k-means centres, of which only the nearest are visited (faiss, extra `neighbors`).

    As many cells are visited as a sample of rows needs to find 97 % of its true neighbours.
    """

    name = "approximate"

    def __init__(
        self, X: Any, metric: Any = "euclidean", n_jobs: int | None = None, reach: int = 20, most_visited: float = 1.0
    ) -> None:
        faiss = _import_faiss()
        _check_approximate(X, metric)
        self._unit = metric == "cosine"
        self._n_jobs = n_jobs
        self._X = X
        n, d = X.shape
        n_cells = max(1, min(n // ROWS_PER_CELL, MOST_CELLS))
        self._cells = faiss.index_factory(d, f"IVF{n_cells},Flat")
        self._cells.cp.niter = 8
        self._cells.cp.min_points_per_centroid, self._cells.cp.max_points_per_centroid = 1, 30
        rows = self._prepare(X)
        self._numbers = np.arange(n)  # faiss knows a row by its number, which stays when others go
        with self._threads():
            self._cells.train(rows)
            self._cells.add_with_ids(rows, self._numbers)
        self.recall = self._visit_enough(reach, metric, most_visited)

    @property
    def share_visited(self) -> float:
        """Cells visited for a row, as a share of all."""
        return float(self._cells.nprobe / self._cells.nlist)

    def nearest(self, X: Any, reach: int) -> Codes:
        """Places of the `reach` nearest rows found, nearest first."""
        rows = self._prepare(X)
        found = np.empty((len(rows), reach), dtype=np.int64)
        with self._threads():
            cell = self._cells.quantizer.search(rows, 1)[1][:, 0]
            order = np.argsort(cell, kind="stable")  # rows of one cell after each other: what they visit stays in cache
            found[order] = self._cells.search(rows[order], reach)[1]
        places = np.asarray(np.searchsorted(self._numbers, found))
        short = np.flatnonzero(found[:, -1] < 0)
        if short.size:  # fewer rows than wanted in all cells visited
            places[short] = ExactIndex(self._X, "cosine" if self._unit else "euclidean").nearest(X[short], reach)
        return places

    def add(self, X: Any, n_new: int) -> None:
        """Rows came: X holds all, the new ones last."""
        numbers = self._numbers[-1] + 1 + np.arange(n_new)
        with self._threads():
            self._cells.add_with_ids(self._prepare(X[-n_new:]), numbers)
        self._X, self._numbers = X, np.concatenate([self._numbers, numbers])

    def remove(self, X: Any, gone: Codes) -> None:
        """Rows went: X holds those left, `gone` the places that the others had."""
        self._cells.remove_ids(self._numbers[gone])
        self._X, self._numbers = X, np.delete(self._numbers, gone)

    def _prepare(self, X: Any) -> NDArray[np.float32]:
        rows = np.ascontiguousarray(X, dtype=np.float32)
        if self._unit:
            length = np.linalg.norm(rows, axis=1, keepdims=True)
            return np.asarray(rows / np.where(length > 0, length, 1))
        return rows

    def _visit_enough(self, reach: int, metric: Any, most_visited: float) -> float:
        """Visit more cells until the recall is as wanted, or too many are visited; returns the recall."""
        sample, truth = true_neighbors(self._X, reach, metric)
        self._cells.nprobe = min(4, self._cells.nlist)
        while (recall := overlap(self.nearest(sample, truth.shape[1]), truth)) < WANTED_RECALL:
            if self._cells.nprobe == self._cells.nlist or self.share_visited > most_visited:
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


def make_index(kind: Any, X: Any, metric: Any, n_jobs: int | None, reach: int) -> tuple[Index, float]:
    """The search for these rows, and the share of the `reach` true neighbours that it finds.

    `kind` is "exact", "approximate", a KNeighborsTransformer, or "auto": approximate for 50,000 rows or more where
    faiss is installed, rows are dense and of more than 8 columns, and the cells to visit are few enough to pay.
    """
    if kind == "exact":
        return ExactIndex(X, metric, n_jobs), 1.0
    if kind == "approximate":
        found = ApproximateIndex(X, metric, n_jobs, reach)
        return found, found.recall
    if kind == "auto":
        if _is_large(X, metric) and find_spec("faiss") is not None:
            found = ApproximateIndex(X, metric, n_jobs, reach, MOST_CELLS_VISITED)
            if found.share_visited <= MOST_CELLS_VISITED:
                return found, found.recall
        return ExactIndex(X, metric, n_jobs), 1.0
    if hasattr(kind, "fit") and (hasattr(kind, "kneighbors") or hasattr(kind, "transform")):
        given = GivenIndex(X, kind)
        sample, truth = true_neighbors(X, reach, getattr(kind, "metric", "euclidean"))
        return given, overlap(given.nearest(sample, truth.shape[1]), truth)
    raise ValueError(f"index is {kind!r}; it must be 'auto', 'exact', 'approximate' or a KNeighborsTransformer")


def true_neighbors(X: Any, reach: int, metric: Any) -> tuple[Any, Codes]:
    """Some rows, evenly spaced, and the places of their nearest rows."""
    places = np.unique(np.linspace(0, X.shape[0] - 1, ROWS_JUDGED).astype(np.intp))
    sample = X[places]
    search = NearestNeighbors(metric=metric, algorithm="brute").fit(X)
    return sample, np.asarray(search.kneighbors(sample, min(reach, X.shape[0]), return_distance=False))


def overlap(found: Codes, truth: Codes) -> float:
    """Share of the true neighbours that were found.

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
