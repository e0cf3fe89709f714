"""Codecs of objects of registered classes: estimators, dataclasses, named tuples, and classes with their own state."""

from __future__ import annotations

import dataclasses
from typing import Any

from noisewise.persistence.migrations import current_fields
from noisewise.persistence.tree import Codec, Node, Reader, Writer


def _write_by_itself(value: Any, writer: Writer, path: str) -> dict[str, Node]:
    return {"class": writer.registry.name(type(value)), "state": writer.write(value.__noisewise_state__(), path)}


def _read_by_itself(node: dict[str, Node], reader: Reader) -> Any:
    kind = reader.registry.find_class(node["class"])
    return kind.__from_noisewise_state__(current_fields(node["class"], reader.read(node["state"])))


def _write_estimator(value: Any, writer: Writer, path: str) -> dict[str, Node]:
    parameters = value.get_params(deep=False)
    left_out = {*parameters, *getattr(type(value), "_not_saved_", ())}
    attributes = {name: item for name, item in vars(value).items() if name not in left_out}
    return {
        "class": writer.registry.name(type(value)),
        "parameters": _write_named(parameters, writer, path),
        "attributes": _write_named(attributes, writer, path),
    }


def _read_estimator(node: dict[str, Node], reader: Reader) -> Any:
    kind = reader.registry.find_class(node["class"])
    value = kind(**_read_named(node, "parameters", reader))
    _put(value, _read_named(node, "attributes", reader))
    return value


def _write_dataclass(value: Any, writer: Writer, path: str) -> dict[str, Node]:
    fields = {
        field.name: getattr(value, field.name) for field in dataclasses.fields(value) if hasattr(value, field.name)
    }
    return {"class": writer.registry.name(type(value)), "fields": _write_named(fields, writer, path)}


def _read_dataclass(node: dict[str, Node], reader: Reader) -> Any:
    kind = reader.registry.find_class(node["class"])
    fields = _read_named(node, "fields", reader)
    wanted = (field for field in dataclasses.fields(kind) if field.init)
    known = (field.name for field in wanted if field.name in fields or field.default is dataclasses.MISSING)
    value = kind(**{name: fields[name] for name in known})  # fields that an earlier version did not have: defaults
    _put(value, fields)  # the constructor checked them, and may have rounded them once more
    return value


def _write_named_tuple(value: Any, writer: Writer, path: str) -> dict[str, Node]:
    return {"class": writer.registry.name(type(value)), "fields": _write_named(value._asdict(), writer, path)}


def _read_named_tuple(node: dict[str, Node], reader: Reader) -> Any:
    return reader.registry.find_class(node["class"])(**_read_named(node, "fields", reader))


def _write_function(value: Any, writer: Writer, path: str) -> dict[str, Node]:
    return {"name": writer.registry.name(value)}


def _read_function(node: dict[str, Node], reader: Reader) -> Any:
    return reader.registry.find_function(node["name"])


def _write_named(items: dict[str, Any], writer: Writer, path: str) -> dict[str, Node]:
    return {name: writer.write(item, f"{path}.{name}") for name, item in items.items()}


def _read_named(node: dict[str, Node], part: str, reader: Reader) -> dict[str, Any]:
    return current_fields(node["class"], {name: reader.read(item) for name, item in node[part].items()})


def _put(value: Any, items: dict[str, Any]) -> None:
    for name, item in items.items():
        if name.startswith("__"):
            raise ValueError(f"it sets {name}, which is no attribute of a model")
        object.__setattr__(value, name, item)  # frozen classes too


BY_ITSELF = Codec("state", _write_by_itself, _read_by_itself)
ESTIMATOR = Codec("estimator", _write_estimator, _read_estimator)
DATACLASS = Codec("dataclass", _write_dataclass, _read_dataclass)
NAMED_TUPLE = Codec("named tuple", _write_named_tuple, _read_named_tuple, shared=False)
FUNCTION = Codec("function", _write_function, _read_function, shared=False)


def object_codec(value: Any) -> Codec | None:
    """How an object of a class on the list is kept; None if its class gives no way."""
    kind = type(value)
    if hasattr(kind, "__noisewise_state__"):
        return BY_ITSELF
    if hasattr(kind, "get_params"):
        return ESTIMATOR
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return NAMED_TUPLE
    return DATACLASS if dataclasses.is_dataclass(kind) else None
