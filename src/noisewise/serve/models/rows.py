"""Encoding of a request's features as a feature vector: by position, by name, or by feature hashing."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise._words import counted
from noisewise.serve.models.spec import Features

MAX_VALUE = 1e100  # squares and products of two features stay finite
MAX_DEPTH = 8  # of nested JSON objects


def row_of(given: list[float] | dict[str, Any], features: Features) -> Floats:
    """The feature vector of a request, for a model with these features.

    >>> row_of({"age": 3, "income": 4}, Features(names=["income", "age"], unit_norm=True, constant=1.0))
    array([0.8, 0.6, 1. ])
    """
    if features.hashed is not None:
        values = _hashed(given, features.hashed)
    elif features.names is not None:
        values = _named(given, features.names)
    else:
        values = _vector(given, features.count or 0)
    if features.unit_norm:
        values /= max(float(np.sqrt(values @ values)), 1e-12)
    return np.append(values, features.constant) if features.constant else values


def _vector(given: Any, count: int) -> Floats:
    if not isinstance(given, list) or len(given) != count:
        kind = counted(len(given), "number") if isinstance(given, list) else "an object"
        raise ValueError(f"features is {kind}; this model needs a list of {counted(count, 'number')}")
    return np.array(given, dtype=np.float64)


def _named(given: Any, names: list[str]) -> Floats:
    if not isinstance(given, dict):
        raise ValueError(f"features is a list; this model needs an object with {shortened(names)}")
    known = set(names)
    if given.keys() != known:
        unknown = [name for name in given if name not in known]
        absent = [name for name in names if name not in given]
        reason = f"unknown: {shortened(unknown)}" if unknown else f"missing: {shortened(absent)}"
        raise ValueError(f"features must have each of the model's {len(names)} names; {reason}")
    return np.array([_number(name, given[name]) for name in names], dtype=np.float64)


def _hashed(given: Any, width: int) -> Floats:
    """Signed feature hashing: each leaf of the JSON object is added to, or subtracted from, one column [1]_.

    References
    ----------
    .. [1] Weinberger, K., Dasgupta, A., Langford, J., Smola, A., Attenberg, J. (2009). Feature hashing for large scale
       multitask learning. ICML 2009.
    """
    if not isinstance(given, dict):
        raise ValueError("features is a list; this model needs an object")
    row = np.zeros(width)
    for name, value in _leaves(given, ""):
        digest = int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
        row[digest % width] += value if digest >> 63 else -value
    return row


def _leaves(item: Any, name: str, depth: int = 0) -> Iterator[tuple[str, float]]:
    """Numbers by their path; a text or true at a path is an indicator feature of its own."""
    if depth > MAX_DEPTH:
        raise ValueError(f"features are nested more than {MAX_DEPTH} deep; flatter ones would do")
    if isinstance(item, dict):
        for key, value in item.items():
            yield from _leaves(value, f"{name}.{key}" if name else key, depth + 1)
    elif isinstance(item, list):
        for value in item:
            yield from _leaves(value, name, depth + 1)
    elif isinstance(item, str):
        yield f"{name}={item}", 1.0
    elif isinstance(item, bool):
        if item:
            yield name, 1.0
    elif item is not None:
        yield name, _number(name, item)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -MAX_VALUE <= value <= MAX_VALUE:
        raise ValueError(f"feature {name!r} is {str(value)[:40]!r}; it must be a finite number")
    return float(value)


def shortened(names: list[str], most: int = 5) -> str:
    """The first names of a list, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
