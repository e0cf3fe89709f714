"""One line of Vowpal Wabbit's text: label, tag, and features in namespaces."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

from noisewise.online._formats import NUMBER, finite, join_name, number_in, split_name
from noisewise.online._logged_round import Features

BLANKS = " \t"
UNFIT = re.compile(r"[ \t\r\n|]")


class Line(NamedTuple):
    """A line of text: what comes before the first bar, the tag that may end it, and the features."""

    label: list[str]
    tag: str
    features: Features


def parse_line(text: str) -> Line:
    """A line in its parts; features of value 0 are left out, and those that come twice add up.

    >>> parse_line("2:-1:0.5 'first|user:10 age:3 |city:2")
    Line(label=['2:-1:0.5'], tag='first', features={'user^age': 30.0})
    """
    head, *segments = text.split("|")
    label, tag = _words(head), ""
    if label and segments and (head[-1] not in BLANKS or label[-1].startswith("'")):
        tag = label.pop().removeprefix("'")
        if NUMBER.fullmatch(tag.rpartition(":")[2]) and tag.count(":") == 2:
            raise ValueError(f"{tag!r} touches the bar, which makes it a tag; put a space before the bar")
    features: dict[str, float] = {}
    for segment in segments:
        namespace, scale, tokens = "", 1.0, _words(segment)
        if segment and segment[0] not in BLANKS:
            namespace, mark, weight = tokens.pop(0).partition(":")
            scale = number_in(weight, f"weight of namespace {namespace!r}") if mark else 1.0
        for token in tokens:
            name, value = _parse_feature(token)
            joined = join_name(namespace, name)
            features[joined] = finite(features.get(joined, 0.0) + scale * value, f"value of feature {joined!r}")
    return Line(label, tag, {name: value for name, value in features.items() if value})


def _parse_feature(token: str) -> tuple[str, float]:
    name, mark, value = token.partition(":")
    if not name or (mark and not value) or ":" in value:
        raise ValueError(f"{token!r} is not a feature; name or name:value is needed")
    if not mark:
        return name, 1.0
    if NUMBER.fullmatch(value):
        return name, float(value)
    if value.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise ValueError(f"feature {name!r} is {value}; drop it or fill it in")
    return token, 1.0  # a word: its own feature, as in city:paris


def _words(text: str) -> list[str]:
    return [word for word in re.split(f"[{BLANKS}]", text) if word]


def tag_text(name: str | None) -> str:
    """A tag as it stands before the bar."""
    if name is None:
        return ""
    if not name or UNFIT.search(name):
        raise ValueError(f"{name!r} can't be written as a tag: blanks, bars and nothing at all are not allowed there")
    return f"'{name}"


def features_text(features: Features) -> str:
    """Features after their bars.

    >>> features_text({"a": 1.0, "b": 0.5, "user^age": 30.0})
    '| a b:0.5 |user age:30.0'
    """
    groups: dict[str, list[str]] = {}
    for joined, value in features.items():
        namespace, name = split_name(joined)
        if namespace not in groups:
            groups[namespace] = [_namespace_text(namespace)]
        groups[namespace].append(_feature_text(name, value))
    return " ".join(" ".join(tokens) for tokens in groups.values()) or "|"


def _namespace_text(namespace: str) -> str:
    if UNFIT.search(namespace) or ":" in namespace:
        raise ValueError(f"namespace {namespace!r} can't be written: it has blanks, bars or colons")
    return f"|{namespace}"


def _feature_text(name: str, value: float) -> str:
    token = name if value == 1 else f"{name}:{float(value)!r}"
    if _is_simple(name) and isfinite(value):
        return token
    with suppress(ValueError):
        if not UNFIT.search(name) and _parse_feature(token) == (name, value):
            return token
    raise ValueError(f"feature {name!r} can't be written with value {value}; rename it without blanks, bars and colons")


@lru_cache(maxsize=65536)  # the same names come in every row
def _is_simple(name: str) -> bool:
    return bool(name) and not UNFIT.search(name) and ":" not in name
