"""Codecs of numpy arrays and scalars, and of SciPy's CSR and CSC arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.persistence.dtypes import dtype_from_node, dtype_to_node
from noisewise.persistence.tree import Codec, Node, Reader, Writer

# what safetensors has a name for; the rest is kept as bytes
AS_THEY_ARE = frozenset(("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"))
MOST_GAPS = 2**26  # bytes (64 MB) of gaps that may be allocated for a strided array
SPARSE = ("csr_array", "csr_matrix", "csc_array", "csc_matrix")


def _write_array(array: NDArray[Any], writer: Writer, path: str) -> dict[str, Node]:
    node = {"dtype": dtype_to_node(array.dtype, path), "shape": list(array.shape), **_layout(array)}
    if array.dtype.str not in AS_THEY_ARE:
        contiguous = np.asarray(array, order="C")
        array = contiguous.reshape(-1).view(np.uint8) if contiguous.nbytes else np.empty(0, np.uint8)
    return {"name": writer.keep(array, path), **node}


def _read_array(node: dict[str, Node], reader: Reader) -> NDArray[Any]:
    stored, dtype, shape = reader.array(node["name"]), dtype_from_node(node["dtype"]), tuple(node["shape"])
    if dtype.str in AS_THEY_ARE:
        fits = stored.dtype == dtype and stored.shape == shape
    else:
        fits = stored.dtype == np.uint8 and stored.ndim == 1 and stored.nbytes == math.prod(shape) * dtype.itemsize
    if not fits:
        raise ValueError(f"the array {node['name']!r} is not of the type and shape it should have")
    array = stored if dtype.str in AS_THEY_ARE else np.ndarray(shape, dtype, buffer=stored)
    return _laid_out(array, node)


def _write_objects(array: NDArray[Any], writer: Writer, path: str) -> dict[str, Node]:
    items = [writer.write(item, f"{path}[{i}]") for i, item in enumerate(array.reshape(-1).tolist())]
    layout = {key: item for key, item in _layout(array).items() if key != "strides"}  # no sums over objects
    return {"items": items, "shape": list(array.shape), **layout}


def _read_objects(node: dict[str, Node], reader: Reader) -> NDArray[Any]:
    flat = np.empty(len(node["items"]), dtype=object)
    for i, item in enumerate(node["items"]):
        flat[i] = reader.read(item)
    return _laid_out(flat.reshape(tuple(node["shape"])), node)


def _layout(array: NDArray[Any]) -> dict[str, Node]:
    """Memory layout and write protection: sums over other strides are in another order and differ in the last bit."""
    layout: dict[str, Node] = {} if array.flags.writeable else {"frozen": True}
    if array.flags.c_contiguous:
        return layout
    if array.flags.f_contiguous:
        return {**layout, "order": "F"}
    low, high = _extent(array.shape, array.strides)
    return {**layout, "strides": list(array.strides)} if high - low <= array.nbytes + MOST_GAPS else layout


def _laid_out(array: NDArray[Any], node: dict[str, Node]) -> NDArray[Any]:
    if node.get("order") == "F":
        array = np.asarray(array, order="F")
    elif node.get("strides"):
        strides = tuple(node["strides"])
        low, high = _extent(array.shape, strides)
        if high - low > array.nbytes + MOST_GAPS:
            raise ValueError(f"the array {node['name']!r} has impossible strides")
        memory = np.zeros(high - low + array.itemsize, np.uint8)
        strided: NDArray[Any] = np.ndarray(array.shape, array.dtype, memory, -low, strides)
        strided[...] = array
        array = strided
    if node.get("frozen"):
        array.setflags(write=False)
    return array


def _extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """Byte offsets of the lowest and the highest element from the first."""
    offsets = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    return sum(offset for offset in offsets if offset < 0), sum(offset for offset in offsets if offset > 0)


def _write_scalar(value: np.generic, writer: Writer, path: str) -> dict[str, Node]:
    array = np.asarray(value)
    return {"dtype": dtype_to_node(array.dtype, path), "bytes": array.tobytes().hex()}


def _read_scalar(node: dict[str, Node], reader: Reader) -> Any:
    return np.ndarray((), dtype_from_node(node["dtype"]), bytearray.fromhex(node["bytes"]))[()]


def _write_sparse(value: Any, writer: Writer, path: str) -> dict[str, Node]:
    parts = {part: writer.write(getattr(value, part), f"{path}.{part}") for part in ("data", "indices", "indptr")}
    return {"type": type(value).__name__, "shape": list(value.shape), **parts}


def _read_sparse(node: dict[str, Node], reader: Reader) -> Any:
    import scipy.sparse

    if node["type"] not in SPARSE:
        raise ValueError(f"it holds an unknown sparse type {node['type']!r}")
    data, indices, indptr = (reader.read(node[part]) for part in ("data", "indices", "indptr"))
    sparse = getattr(scipy.sparse, node["type"])((data, indices, indptr), shape=tuple(node["shape"]))
    sparse.check_format(full_check=True)  # compiled code trusts the indices
    sparse.data, sparse.indices, sparse.indptr = data, indices, indptr  # SciPy may have narrowed the indices
    return sparse


def is_sparse(value: Any) -> bool:
    """Whether SciPy made it, in a form a model file holds; found without importing SciPy."""
    return type(value).__module__.startswith("scipy.sparse") and type(value).__name__ in SPARSE


ARRAY = Codec("array", _write_array, _read_array)
OBJECTS = Codec("object array", _write_objects, _read_objects)
SCALAR = Codec("scalar", _write_scalar, _read_scalar, shared=False)
SPARSE_ARRAY = Codec("sparse", _write_sparse, _read_sparse)
