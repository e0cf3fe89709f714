"""Out-of-core rows: read and encoded partition by partition, here or on the workers of a cluster.

The ridge fit goes over them in the same blocks as over rows in memory, so that results are bit-equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from noisewise._numerics.blocks import BLOCK, blocks
from noisewise.tables import TableEncoder

PARTITION = 32 * BLOCK  # rows; a whole number of blocks, so that blocks are those of rows in memory

PASSES = 4  # over the rows: means, standard deviations, the rows to fit to, scores

Runner = Callable[..., Iterable[Any]]  # like map: function, then one iterable for each argument


class StreamedRows:
    """The encoded rows of a lazy frame, of which one partition at a time is in memory.

    Parameters
    ----------
    frame : lazy polars frame, such as `polars.scan_parquet` gives
    encoder : TableEncoder
        Fitted to the frame.
    n_rows : int
    run : callable
        Maps a function over partitions: the built-in `map`, or that of a cluster.
    partition : int
        Rows at a time, a multiple of the ridge's blocks.
    """

    def __init__(self, frame: Any, encoder: TableEncoder, n_rows: int, run: Runner = map, partition: int = PARTITION):
        self.shape = (n_rows, encoder.width_)
        self._read = partial(_encoded, frame, encoder)
        self._run = run
        self._partitions = list(blocks(n_rows, partition))

    def map_blocks(self, function: Callable[..., Any], *arrays: NDArray[Any]) -> Iterator[Any]:
        """`function` of every block of rows and its parts of the arrays, in order."""
        parts = [tuple(array[where] for array in arrays) for where in self._partitions]
        for results in self._run(partial(_work, self._read, function), self._partitions, parts):
            yield from results

    def __getitem__(self, indices: NDArray[np.intp]) -> Any:
        """The rows of these indices, in their order."""
        order = np.argsort(indices, kind="stable")
        ordered = indices[order]
        cuts = np.searchsorted(ordered, [where.start for where in self._partitions[1:]])
        wanted = zip(self._partitions, np.split(ordered, cuts), strict=True)
        pairs = [(where, inside - where.start) for where, inside in wanted if len(inside)]
        found = list(self._run(partial(_take, self._read), *zip(*pairs, strict=True)))
        return _stacked(found)[np.argsort(order, kind="stable")]


def with_progress(run: Runner, frame: Any, report: Callable[[int, int], None]) -> Runner:
    """The same runner, which reports the progress of an audit of the lazy frame."""
    if not isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame):
        return run
    n_columns = len(frame.collect_schema())
    total = n_columns + PASSES * len(list(blocks(n_rows_of(frame), PARTITION)))
    done = 0

    def counting(function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        nonlocal done
        for result in run(function, *arguments):
            done += 1
            report(done, max(done, total))
            yield result

    return counting


def n_rows_of(frame: Any) -> int:
    """How many rows a lazy frame has."""
    return int(nw.from_native(frame).select(nw.len()).collect().item())


def _encoded(frame: Any, encoder: TableEncoder, where: slice) -> Any:
    return encoder.encode(frame.slice(where.start, where.stop - where.start))


def _work(
    read: Callable[[slice], Any], function: Callable[..., Any], where: slice, arrays: tuple[Any, ...]
) -> list[Any]:
    rows = read(where)
    return [function(rows[part], *(array[part] for array in arrays)) for part in blocks(rows.shape[0])]


def _take(read: Callable[[slice], Any], where: slice, indices: NDArray[np.intp]) -> Any:
    return read(where)[indices]


def _stacked(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy import sparse

    return sparse.csr_array(sparse.vstack(parts))
