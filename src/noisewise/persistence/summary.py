"""Parameters of a stored model as plain values, without building it."""

from __future__ import annotations

from typing import Any

from noisewise.persistence.dtypes import dtype_from_node
from noisewise.persistence.tree import AGAIN, Node


def summarise(node: Node) -> dict[str, Any]:
    """Parameters of an estimator or fields of a dataclass; empty for anything else."""
    if not isinstance(node, dict):
        return {}
    shared: dict[int, Any] = {}
    named = node.get("parameters") or node.get("fields") or {}
    return {name: _plain(item, shared) for name, item in named.items()}


def _plain(node: Node, shared: dict[int, Any]) -> Any:
    if not isinstance(node, dict):
        return node
    if node["kind"] == AGAIN:
        return shared.get(node["id"], "an object mentioned before")
    value = _of_kind(node, shared)
    if "id" in node:
        shared[node["id"]] = value
    return value


def _of_kind(node: dict[str, Node], shared: dict[int, Any]) -> Any:
    kind = node["kind"]
    if kind in ("array", "object array", "sparse"):
        numbers = f"{dtype_from_node(node['dtype'])} array" if "dtype" in node else node.get("type", kind)
        return f"{numbers} of shape {tuple(node['shape'])}"
    if kind == "dict":
        return {str(_plain(key, shared)): _plain(item, shared) for key, item in node["items"]}
    if "items" in node:
        return [_plain(item, shared) for item in node["items"]]
    if "class" in node:
        named = node.get("parameters") or node.get("fields") or {}
        return {"class": node["class"], **{name: _plain(item, shared) for name, item in named.items()}}
    return node.get("text") or node.get("name") or f"a {kind}"
