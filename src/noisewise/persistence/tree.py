"""A model as a tree of JSON nodes and a dictionary of arrays, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.persistence.registry import Registry

Node = Any  # None, bool, int, float and str stand for themselves; all else is a dict with its "kind"
AGAIN = "again"


@dataclass(frozen=True)
class Codec:
    """One kind of value: how it becomes a node, and a node becomes it again."""

    kind: str
    write: Callable[[Any, Writer, str], dict[str, Node]]
    read: Callable[[dict[str, Node], Reader], Any]
    shared: bool = True  # two mentions of one object come back as one object


class Writer:
    """Turns values into nodes, and gathers the arrays on the way."""

    def __init__(self, find: Callable[[Any, str, Registry], Codec], registry: Registry) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.registry = registry
        self._find = find
        self._written: dict[int, tuple[Any, dict[str, Node]]] = {}  # holds the value too, so that its id stays its own
        self._open: dict[int, str] = {}
        self._n_shared = 0

    def write(self, value: Any, path: str) -> Node:
        """The node of a value; `path` is how errors and array names call it."""
        if stands_for_itself(value):
            return value
        if id(value) in self._written:
            return self._mention(self._written[id(value)][1])
        if id(value) in self._open:
            raise ValueError(
                f"{path} refers back to {self._open[id(value)]}; a model file can't hold a circle: "
                "break it, or leave the attribute out by naming it in the class's _not_saved_"
            )
        codec = self._find(value, path, self.registry)
        self._open[id(value)] = path
        node = {"kind": codec.kind, **codec.write(value, self, path)}
        del self._open[id(value)]
        if codec.shared:
            self._written[id(value)] = value, node
        return node

    def keep(self, array: NDArray[Any], path: str) -> str:
        """Store an array, contiguous and in row order; the name it is stored under."""
        name, n = path, 1
        while name in self.arrays:
            n += 1
            name = f"{path} ({n})"
        self.arrays[name] = np.asarray(array, order="C")
        return name

    def _mention(self, node: dict[str, Node]) -> Node:
        if "id" not in node:
            self._n_shared += 1
            node["id"] = self._n_shared
        return {"kind": AGAIN, "id": node["id"]}


class Reader:
    """Turns nodes into values, in the order in which they were written."""

    def __init__(self, codecs: Mapping[str, Codec], arrays: Mapping[str, NDArray[Any]], registry: Registry) -> None:
        self.arrays = arrays
        self.registry = registry
        self._codecs = codecs
        self._shared: dict[int, Any] = {}

    def read(self, node: Node) -> Any:
        """The value of a node."""
        if not isinstance(node, dict):
            if not stands_for_itself(node):
                raise ValueError(f"a node is {type(node).__name__}")
            return node
        if node["kind"] == AGAIN:
            return self._shared[node["id"]]
        if node["kind"] not in self._codecs:
            raise ValueError(f"it holds a value of unknown kind {node['kind']!r}")
        value = self._codecs[node["kind"]].read(node, self)
        if "id" in node:
            self._shared[node["id"]] = value
        return value

    def array(self, name: str) -> NDArray[Any]:
        """A stored array."""
        if name not in self.arrays:
            raise ValueError(f"the array {name!r} is missing")
        return self.arrays[name]


def stands_for_itself(value: Any) -> bool:
    """Whether JSON keeps the value exactly (whole numbers only as far as every JSON reader does)."""
    if value is None or type(value) in (bool, str):
        return True
    if type(value) is int:
        return bool(-(2**63) <= value < 2**64)
    return type(value) is float and math.isfinite(value)
