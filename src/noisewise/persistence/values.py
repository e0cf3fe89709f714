"""Codecs of plain Python values: containers, numbers that JSON lacks, bytes, dates, decimals and fractions."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from noisewise.persistence.tree import Codec, Node, Reader, Writer


def _sequence(kind: type[list] | type[tuple] | type[set] | type[frozenset], shared: bool) -> Codec:
    def write(value: Any, writer: Writer, path: str) -> dict[str, Node]:
        if kind in (set, frozenset):
            value = sorted(value, key=lambda item: (type(item).__name__, repr(item)))  # one model, one file
        return {"items": [writer.write(item, f"{path}[{i}]") for i, item in enumerate(value)]}

    def read(node: dict[str, Node], reader: Reader) -> Any:
        return kind(reader.read(item) for item in node["items"])

    return Codec(kind.__name__, write, read, shared)


def _write_dict(value: dict[Any, Any], writer: Writer, path: str) -> dict[str, Node]:
    items = []
    for i, (key, item) in enumerate(value.items()):
        name = f"{path}[{ascii(key)[:60] if type(key) in (str, int) else i}]"
        items.append([writer.write(key, f"key {i} of {path}"), writer.write(item, name)])
    return {"items": items}


def _read_dict(node: dict[str, Node], reader: Reader) -> dict[Any, Any]:
    return {reader.read(key): reader.read(item) for key, item in node["items"]}


def _as_text(kind: type, to_text: Callable[[Any], str], from_text: Callable[[str], Any], check: bool = True) -> Codec:
    def write(value: Any, writer: Writer, path: str) -> dict[str, Node]:
        text = to_text(value)
        if check and repr(from_text(text)) != repr(value):  # named time zones and repeated hours are lost in text
            raise ValueError(
                f"{path} is {value!r}, which a model file can't hold exactly; a plain {kind.__name__} would do"
            )
        return {"text": text}

    def read(node: dict[str, Node], reader: Reader) -> Any:
        return from_text(node["text"])

    return Codec(kind.__name__, write, read, shared=False)


def _as_bits(kind: type, layout: str) -> Codec:
    """Floats by their bits: JSON has no NaN, no infinity and no payload."""

    def write(value: Any, writer: Writer, path: str) -> dict[str, Node]:
        parts = (value,) if kind is float else (value.real, value.imag)
        return {"bits": struct.pack(layout, *parts).hex()}

    def read(node: dict[str, Node], reader: Reader) -> Any:
        return kind(*struct.unpack(layout, bytes.fromhex(node["bits"])))

    return Codec(kind.__name__, write, read, shared=False)


def _write_slice(value: slice, writer: Writer, path: str) -> dict[str, Node]:
    return {"items": [writer.write(part, path) for part in (value.start, value.stop, value.step)]}


def _read_slice(node: dict[str, Node], reader: Reader) -> slice:
    start, stop, step = (reader.read(part) for part in node["items"])
    return slice(start, stop, step)


VALUE_CODECS: dict[type, Codec] = {
    list: _sequence(list, shared=True),
    tuple: _sequence(tuple, shared=False),
    set: _sequence(set, shared=True),
    frozenset: _sequence(frozenset, shared=False),
    dict: Codec("dict", _write_dict, _read_dict),
    slice: Codec("slice", _write_slice, _read_slice, shared=False),
    int: _as_text(
        int, hex, lambda text: int(text, 16), check=False
    ),  # decimal text of long numbers is refused by Python
    float: _as_bits(float, "<d"),
    complex: _as_bits(complex, "<dd"),
    bytes: _as_text(bytes, bytes.hex, bytes.fromhex, check=False),
    date: _as_text(date, date.isoformat, date.fromisoformat),
    datetime: _as_text(datetime, datetime.isoformat, datetime.fromisoformat),
    Decimal: _as_text(Decimal, str, Decimal),
    Fraction: _as_text(Fraction, str, Fraction),
}
