"""Codecs of numpy dtypes, as portable strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise.persistence.tree import Codec, Node, Reader, Writer


def dtype_to_node(dtype: np.dtype[Any], path: str) -> Node:
    """A dtype as text, or as its parts if it is a record or holds small arrays."""
    if dtype.kind not in "biufcmMSUV":
        raise ValueError(
            f"{path} is of dtype {dtype}, which a model file can't hold; astype(object) or astype(str) would do"
        )
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return {"base": dtype_to_node(base, path), "shape": list(shape)}
    if dtype.fields is None or dtype.names is None:
        return dtype.str
    return {
        "names": list(dtype.names),
        "formats": [dtype_to_node(dtype.fields[name][0], path) for name in dtype.names],
        "offsets": [dtype.fields[name][1] for name in dtype.names],
        "itemsize": dtype.itemsize,
        "aligned": dtype.isalignedstruct,
    }


def dtype_from_node(node: Node) -> np.dtype[Any]:
    """The dtype that `dtype_to_node` wrote."""
    if isinstance(node, str):
        dtype = np.dtype(node)
        if dtype.hasobject:
            raise ValueError("an array of numbers has an object dtype")
        return dtype
    if "base" in node:
        return np.dtype((dtype_from_node(node["base"]), tuple(node["shape"])))
    parts: Any = {key: node[key] for key in ("names", "offsets", "itemsize")}
    parts["formats"] = [dtype_from_node(part) for part in node["formats"]]
    record: np.dtype[Any] = np.dtype(parts, align=node["aligned"])
    return record


def _write_dtype(value: np.dtype[Any], writer: Writer, path: str) -> dict[str, Node]:
    return {"dtype": "|O" if value.kind == "O" else dtype_to_node(value, path)}


def _read_dtype(node: dict[str, Node], reader: Reader) -> np.dtype[Any]:
    return np.dtype(object) if node["dtype"] == "|O" else dtype_from_node(node["dtype"])


def _write_number_type(value: type, writer: Writer, path: str) -> dict[str, Node]:
    return {"dtype": dtype_to_node(np.dtype(value), path)}


def _read_number_type(node: dict[str, Node], reader: Reader) -> type:
    return dtype_from_node(node["dtype"]).type


DTYPE = Codec("dtype", _write_dtype, _read_dtype, shared=False)
NUMBER_TYPE = Codec("number type", _write_number_type, _read_number_type, shared=False)
