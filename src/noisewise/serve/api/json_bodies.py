"""JSON bodies that say a thing twice: parsers keep the last one, so two programs may read the same body differently."""

from __future__ import annotations

import json
import re
from typing import Any

NAME = re.compile(rb'"([^"\\]*)"\s*:')


def repeated_name(body: bytes) -> str | None:
    """A name that an object of a JSON body has twice; None for a body without one, or that is no JSON.

    >>> repeated_name(b'{"right": true, "person": "ann", "right": false}')
    'right'
    >>> repeated_name(b'{"first": {"name": 1}, "second": {"name": 2}}') is None
    True
    """
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
