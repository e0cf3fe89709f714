"""Features of a few rows to show, from any kind of table."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from noisewise._typing import Codes
from noisewise._words import number_text


def features_of(X: Any, rows: Codes, most: int | None = None) -> dict[str, list[Any]]:
    """The first columns (all, or at most `most`) of these rows, by name."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return _from_lazy(X, rows, most)
    if isinstance(frame, nw.DataFrame):
        return {str(name): frame.get_column(name)[rows.tolist()].to_list() for name in frame.columns[:most]}
    n_columns = X.shape[1] if most is None else min(most, X.shape[1])
    values = sparse.csr_array(X)[rows].toarray() if sparse.issparse(X) else np.asarray(X)[rows]
    return {f"x{j}": values[:, j].tolist() for j in range(n_columns)}


def cell_text(value: Any) -> str:
    """A value of a row, for a reader."""
    return number_text(value, 4) if isinstance(value, float) else "" if value is None else str(value)


def _from_lazy(X: Any, rows: Codes, most: int | None) -> dict[str, list[Any]]:
    """Rows of a lazy polars frame, in the given order; the others are not kept in memory."""
    import polars

    names = X.collect_schema().names()[:most]
    index = "".join(names) + "row"  # longer than every name, so that it is new
    numbered = X.select(names).with_row_index(index)
    found = numbered.filter(polars.col(index).is_in(rows.tolist())).collect(engine="streaming").sort(index)
    ordered = found[np.searchsorted(found[index].to_numpy(), rows).tolist()]
    return {name: ordered[name].to_list() for name in names}
