"""JSON bodies that say a thing twice: parsers keep the last one, so two programs may read the same body differently."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import from_json

NAME = re.compile(rb'"([^"\\]*)"\s*:')
END_OF_NAME = re.compile(rb'"\s*:')
SPACED = (b" :", b"\t:", b"\n:", b"\r:")
LONG = 2000  # bytes: objects of a list have the same names, so that these are counted, not compared
MANY = 20  # names of a long body that is not one long vector
_last: tuple[bytes, Any] = (b"", None)  # a long body, and what it holds


def repeated_name(body: bytes) -> str | None:
    """A name that an object of a JSON body has twice; None for a body without one, or that is no JSON.

    >>> repeated_name(b'{"right": true, "person": "ann", "right": false}')
    'right'
    >>> repeated_name(b'{"first": {"name": 1}, "second": {"name": 2}}') is None
    True
    """
    if len(body) > LONG and body.count(b'":') > MANY and _has_as_many_names(body):
        return None
    names = NAME.findall(body)
    if len(names) == len(set(names)) and b"\\" not in body:  # nearly every body: no name twice anywhere
        return None
    repeated: list[str] = []

    def checked(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        repeated.extend(name for name in names if names.count(name) > 1)

    try:
        json.loads(body, object_pairs_hook=checked)
    except (ValueError, RecursionError):
        return None  # the parser will say so
    return repeated[0] if repeated else None


def parsed(body: bytes) -> Any:
    """A JSON body, which is parsed once, though it is checked here and read elsewhere."""
    global _last
    (known, found), _last = _last, (b"", None)  # whoever asks may change it
    return found if known is body else from_json(body)


def _has_as_many_names(body: bytes) -> bool:
    """Whether the parsed body has as many names as the text seems to have: then none is there twice."""
    global _last
    try:
        found = from_json(body)
    except ValueError:
        return False
    _last = body, found
    spaced = any(space in body for space in SPACED)
    return _count(found) == (len(END_OF_NAME.findall(body)) if spaced else body.count(b'":'))


def _count(item: Any) -> int:
    """How many names all objects of a parsed body have."""
    values = item.values() if type(item) is dict else item if type(item) is list else ()
    total = len(item) if type(item) is dict else 0
    for value in values:
        if type(value) is dict or type(value) is list:
            total += _count(value)
    return total
