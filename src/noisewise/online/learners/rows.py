"""Validation of rows (arrays, CSR, data frames, lists) and their conversion to the arrays of the loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from noisewise._validation import naming_columns

NOT_FINITE = "Input X contains NaN or infinity in row {row}; fill it in or drop the row"
TOO_LARGE = "Input X contains values in row {row} whose sum of squares overflows; scale the features down"


def check_rows(model: Any, X: Any, reset: bool, dtype: Any = None) -> Any:
    """X as a C-ordered array or a CSR matrix with sorted columns, float32 or float64; `dtype` asks for one of them.

    Values and column indices are not checked here, but by the loops or `refuse_unusable`.
    """
    wanted = [np.float64, np.float32] if dtype is None else dtype
    with naming_columns(X):
        checked = validate_data(
            model, X, reset=reset, accept_sparse="csr", dtype=wanted, order="C", ensure_all_finite=False
        )
    return check_csr(checked) if sp.issparse(checked) else checked


def refuse_unusable(X: Any) -> None:
    """Refuse rows with NaN or infinity, or with columns that do not exist."""
    if sp.issparse(X):
        _refuse_columns(X)
        if np.isfinite(X.data.sum()):  # the sum alone is cheaper
            return
        finite, last = np.isfinite(X.data), X.indptr[1:]
        if not finite.all():
            raise ValueError(NOT_FINITE.format(row=int(np.searchsorted(last, np.argmin(finite), side="right"))))
        return
    finite = np.isfinite(X).all(axis=-1)
    if not finite.all():
        raise ValueError(NOT_FINITE.format(row=int(np.argmin(finite))))


def refuse_overflow(X: Any) -> None:
    """Refuse what `refuse_unusable` does, and rows whose squared norm overflows."""
    refuse_unusable(X)
    if has_finite_squares(X):
        return
    with np.errstate(over="ignore"):
        lengths = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    if not np.isfinite(lengths).all():
        raise ValueError(TOO_LARGE.format(row=int(np.argmin(np.isfinite(lengths)))))


def has_finite_squares(X: Any) -> bool:
    """Whether the sum of squares of X is finite: then every value and every squared norm is."""
    values = X.data if sp.issparse(X) else X
    return bool(np.isfinite(np.vdot(values, values)))


def unusable_row(row: Any) -> ValueError:
    """What is wrong with the row of a decision that the loops refused."""
    values = row[1] if isinstance(row, tuple) else row
    return ValueError((TOO_LARGE if np.isfinite(values).all() else NOT_FINITE).format(row=0))


def check_csr(X: Any) -> Any:
    """A CSR matrix in canonical form, whose rows lie within its data."""
    starts = X.indptr
    if (
        len(starts) != X.shape[0] + 1
        or starts[0] < 0
        or (np.diff(starts) < 0).any()
        or starts[-1] > min(len(X.indices), len(X.data))
    ):
        raise ValueError("X has rows that do not lie within its data (indptr); build the CSR matrix again")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _refuse_columns(X: Any) -> None:
    if X.nnz and (X.indices.min() < 0 or X.indices.max() >= X.shape[1]):
        raise ValueError(f"X has column indices outside 0 to {X.shape[1] - 1}")


class _Writable:
    """The memory of an array, marked as writable."""

    def __init__(self, array: NDArray[Any]) -> None:
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}
        self.array = array  # kept alive as long as its memory is used


def writable(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory: loops write to no row, but would be compiled once more for read-only arrays."""
    return array if array.flags.writeable else np.asarray(_Writable(array))


def csr_parts(X: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Row starts, column indices and values; without a copy where the dtypes fit."""
    if X.indices.itemsize > 4:
        _refuse_columns(X)  # an index too large to narrow
    narrow = writable(X.indices.astype(np.int32, copy=False))
    indices = narrow.view(np.uint32)  # the loops then need no test for negative indices
    return writable(X.indptr.astype(np.int64, copy=False)), indices, writable(X.data)


def with_constant(X: Any, width: int) -> Any:
    """X with a column of ones at its end, if it has one column less than `width`: the learner adds an intercept."""
    if X.shape[1] == width:
        return X
    ones = np.ones((X.shape[0], 1), dtype=X.dtype)
    return sp.csr_array(sp.hstack([X, ones], format="csr")) if sp.issparse(X) else np.hstack([X, ones])


def sparse_with_constant(row: Any, n_features: int, width: int) -> Any:
    """The same for one sparse row; the loops do it for a dense one."""
    if n_features == width:
        return row
    indices, values = row
    return np.append(indices, np.uint32(n_features)), np.append(values, values.dtype.type(1))


def one_row(x: Any, n_features: int | None, dtype: Any) -> Any:
    """One example as a dense row, or as (column indices, values) if it is sparse; always a copy."""
    if type(x) is np.ndarray and x.ndim == 1 and len(x) == n_features and x.dtype is dtype:
        return x.copy()  # the common case, quickly
    if sp.issparse(x):
        row = sp.csr_array(x.reshape(1, -1) if x.ndim == 1 else x)
        if row.shape[0] != 1 or not row.shape[1]:
            raise ValueError(f"one row of features is needed; this has shape {row.shape}")
        _check_width(row.shape[1], n_features)
        _refuse_complex(row.dtype)
        row = check_csr(row)
        _refuse_columns(row)
        return csr_parts(row)[1].copy(), row.data.astype(dtype)
    given = x.to_numpy() if hasattr(x, "to_numpy") else x
    _refuse_complex(getattr(given, "dtype", None))
    try:
        dense = np.array(given, dtype=dtype)
    except (TypeError, ValueError):
        sentence = f"one row of numbers is needed, not {given!r:.60}; encode text first"
        raise ValueError(sentence) from None
    if dense.ndim == 2 and len(dense) == 1:
        dense = dense[0]
    if dense.ndim != 1 or not dense.size:
        raise ValueError(f"one row of features is needed; this has shape {dense.shape}")
    _check_width(len(dense), n_features)
    return dense


def feature_names(x: Any) -> list[str] | None:
    """Names of the features of a row from a data frame; None if it has none."""
    names = getattr(x, "columns", getattr(x, "index", None))
    if names is None or callable(names):  # lists have an index too, which is a method
        return None
    given = list(names)
    return given if all(isinstance(name, str) for name in given) else None


def refuse_other_names(x: Any, known: Any) -> None:
    """Refuse a row of a data frame whose features have other names than those before, or another order."""
    given = feature_names(x)
    if known is not None and given is not None and given != list(known):
        raise ValueError(f"the row's features are {given}; they were {list(known)} before, in this order")


def stored_row(row: Any, n_features: int, dtype: Any) -> Any:
    """The row of a decision as `one_row` returned it, after any storage; refused if it was damaged there."""
    if isinstance(row, list) and len(row) == 2 and all(isinstance(part, list) for part in row):
        row = tuple(row)  # JSON has no tuples
    if not isinstance(row, tuple):
        return one_row(row, n_features, dtype)
    indices, values = (np.asarray(part) for part in row) if len(row) == 2 else (np.zeros(0), np.zeros(1))
    if indices.ndim != 1 or indices.shape != values.shape or (indices.size and indices.dtype.kind not in "iu"):
        raise ValueError("a sparse row is its column indices and as many values; keep decisions as they are")
    if indices.size and not 0 <= indices.min() <= indices.max() < n_features:  # the loops would write where they point
        outside = indices[(indices < 0) | (indices >= n_features)][0]
        raise ValueError(f"the row has a column {outside}; the learner was given {n_features} before")
    return indices.astype(np.uint32, copy=False), values.astype(dtype, copy=False)


def _refuse_complex(dtype: Any) -> None:
    if getattr(dtype, "kind", "f") == "c":  # numpy would drop the imaginary part
        raise ValueError("one row of real numbers is needed, not of complex ones; give both parts as features")


def _check_width(given: int, n_features: int | None) -> None:
    if n_features is not None and given != n_features:
        raise ValueError(f"the row has {given} features; the learner was given {n_features} before")
