"""Frames out: in the user's own library."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import narwhals as nw


def frame_like(columns: dict[str, Any], frame: Any = None, backend: str | None = None) -> Any:
    """A pandas or polars frame: as asked, else like `frame`, else what is installed."""
    if backend is None and isinstance(frame, nw.DataFrame | nw.LazyFrame):
        backend = str(frame.implementation.value)
    if backend is None:
        backend = "pandas" if find_spec("pandas") else "polars"
    if backend not in ("pandas", "polars"):
        raise ValueError(f"backend is {backend!r}; it must be 'pandas' or 'polars'")
    if not find_spec(backend):  # pandas: polars is part of the installation
        raise ImportError(f"{backend} is not installed; `pip install {backend}` gives you frames")
    library = import_module(backend)
    column = library.Series if backend == "pandas" else partial(_polars_column, library)
    plain = {name: column(values.tolist()) if values.dtype == object else values for name, values in columns.items()}
    return library.DataFrame(plain)


def _polars_column(polars: Any, values: list[Any]) -> Any:
    try:
        return polars.Series(values)
    except TypeError:  # of several kinds
        return polars.Series(values, dtype=polars.Object)
