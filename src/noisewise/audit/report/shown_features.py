"""The features of a few rows, for people to look at, whatever the table is."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from noisewise._typing import Codes


def features_of(X: Any, rows: Codes, most: int | None = None) -> dict[str, list[Any]]:
    """The first columns (all, unless told how many at `most`) of these rows, by name."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return _from_lazy(X, rows, most)
    if isinstance(frame, nw.DataFrame):
        return {str(name): frame.get_column(name)[rows.tolist()].to_list() for name in frame.columns[:most]}
    n_columns = X.shape[1] if most is None else min(most, X.shape[1])
    values = sparse.csr_array(X)[rows].toarray() if sparse.issparse(X) else np.asarray(X)[rows]
    return {f"x{j}": values[:, j].tolist() for j in range(n_columns)}


def _from_lazy(X: Any, rows: Codes, most: int | None) -> dict[str, list[Any]]:
    """Rows of a lazy polars frame, in the order asked for; the rest is never held."""
    import polars

    names = X.collect_schema().names()[:most]
    place = "".join(names) + "row"  # no column is called so
    numbered = X.select(names).with_row_index(place)
    found = numbered.filter(polars.col(place).is_in(rows.tolist())).collect(engine="streaming").sort(place)
    ordered = found[np.searchsorted(found[place].to_numpy(), rows).tolist()]
    return {name: ordered[name].to_list() for name in names}
