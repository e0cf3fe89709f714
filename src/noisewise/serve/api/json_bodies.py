"""JSON bodies that say a thing twice: parsers keep the last one, so two programs may read the same body differently."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import from_json

from noisewise.serve.models.known_objects import KnownObject

NAME = re.compile(rb'"([^"\\]*)"\s*:')
END_OF_NAME = re.compile(rb'"\s*:')
ACTIONS = re.compile(rb'"actions"\s*:\s*')
LONG = 2000  # bytes: objects of a list have the same names, so that these are counted, not compared
MANY = 20  # names of a long body that is not one long vector
MOST_KNOWN, LONGEST_KNOWN = 4_000, 4_000  # objects that are remembered, and bytes of each: some ten megabytes
_last: tuple[bytes, Any] = (b"", None)  # a long body, and what it holds
_known: dict[bytes, KnownObject] = {}  # objects by their text, without its braces


def repeated_name(body: bytes) -> str | None:
    """A name that an object of a JSON body has twice; None for a body without one, or that is no JSON.

    >>> repeated_name(b'{"right": true, "person": "ann", "right": false}')
    'right'
    >>> repeated_name(b'{"first": {"name": 1}, "second": {"name": 2}}') is None
    True
    """
    global _last
    if len(body) > LONG and body.count(b'":', 0, LONG) > MANY:
        _last = body, _parsed_in_parts(body)
        if _last[1] is not None or _has_as_many_names(body):
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
    return found if known is body and found is not None else from_json(body)


def _parsed_in_parts(body: bytes) -> Any:
    """A body that has `actions`, of which those whose text was sent before are not parsed again; None for other bodies.

    It is cut where one action seems to end and the next to begin. If a cut were within a text or an inner object, what
    lies before it would be no whole object, and is refused: so are all bodies but those that mean the same in parts.
    """
    start, end = body.find(b"[{"), body.rfind(b"}]")
    if start < 0 or end < start or b"\\" in body:
        return None
    head, tail = body[:start], body[end + 2 :]
    name = ACTIONS.search(head)
    if name is None or name.end() != len(head) or b'"actions"' in tail:
        return None
    rest = head + b"[]" + tail
    try:
        made = from_json(rest)
    except ValueError:
        return None
    if type(made) is not dict or made.get("actions") != [] or repeated_name(rest) is not None:
        return None
    inner = body[start + 2 : end]
    parts = inner.split(b"}, {" if b"}, {" in inner else b"},{")
    objects = [_known.get(part) or _known_object(part) for part in parts]
    if None in objects:
        return None
    made["actions"] = objects
    return made


def _known_object(part: bytes) -> KnownObject | None:
    """The object of a text without its braces, which is remembered; None if it is no object, or says a thing twice."""
    text = b"{" + part + b"}"
    try:
        found = from_json(text)
    except ValueError:
        return None
    if type(found) is not dict or repeated_name(text) is not None:
        return None
    made = KnownObject(found)
    if len(part) <= LONGEST_KNOWN:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[part] = made
    return made


def _has_as_many_names(body: bytes) -> bool:
    """Whether the parsed body has as many names as the text seems to have: then none is there twice."""
    global _last
    try:
        found = from_json(body)
    except ValueError:
        return False
    _last = body, found
    return _count(found) in (body.count(b":"), len(END_OF_NAME.findall(body)))


def _count(item: Any) -> int:
    """How many names all objects of a parsed body have."""
    values = item.values() if type(item) is dict else item if type(item) is list else ()
    total = len(item) if type(item) is dict else 0
    for value in values:
        if type(value) is dict or type(value) is list:
            total += _count(value)
    return total
