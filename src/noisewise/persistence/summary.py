"""A model's parameters as plain values to print, from its nodes alone."""

from __future__ import annotations

from typing import Any

from noisewise.persistence.dtypes import dtype_from_node
from noisewise.persistence.tree import AGAIN, Node


def summarise(node: Node) -> dict[str, Any]:
    """Parameters of an estimator or fields of a dataclass; empty for anything else."""
    if not isinstance(node, dict):
        return {}
    seen: dict[int, Any] = {}
    named = node.get("parameters") or node.get("fields") or {}
    return {name: _plain(item, seen) for name, item in named.items()}


def _plain(node: Node, seen: dict[int, Any]) -> Any:
    if not isinstance(node, dict):
        return node
    if node["kind"] == AGAIN:
        return seen.get(node["id"], "an object mentioned before")
    value = _of_kind(node, seen)
    if "id" in node:
        seen[node["id"]] = value
    return value


def _of_kind(node: dict[str, Node], seen: dict[int, Any]) -> Any:
    kind = node["kind"]
    if kind in ("array", "object array", "sparse"):
        numbers = f"{dtype_from_node(node['dtype'])} array" if "dtype" in node else node.get("type", kind)
        return f"{numbers} of shape {tuple(node['shape'])}"
    if kind == "dict":
        return {str(_plain(key, seen)): _plain(item, seen) for key, item in node["items"]}
    if "items" in node:
        return [_plain(item, seen) for item in node["items"]]
    if "class" in node:
        named = node.get("parameters") or node.get("fields") or {}
        return {"class": node["class"], **{name: _plain(item, seen) for name, item in named.items()}}
    return node.get("text") or node.get("name") or f"a {kind}"
