"""Localized numbers and dates: decimal commas, thousands separators, currency signs, day or month first."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from noisewise._words import counted
from noisewise.tables.parse_strings import GAPS, LEAST_READ, LIKELY_GAPS, MOST_NAMED, NEARLY_ALL

SIGN = "[$€£¥%]"
EXPONENT = "(?:e[+-]?[0-9]+)?"
GROUPS = {",": r"[.'\x{a0}\x{202f} ]", ".": r"[,'\x{a0}\x{202f}]"}  # thousands separators, by the decimal mark
LOCAL_DATE = re.compile(r"\d{1,2}(?P<mark>[/.-])\d{1,2}(?P=mark)(?P<year>\d{4}|\d{2})(?P<clock> \d.*)?")
CLOCKS = {r" \d{1,2}:\d\d": " %H:%M", r" \d{1,2}:\d\d:\d\d": " %H:%M:%S", r" \d{1,2}:\d\d ?[ap]m": " %I:%M %p"}


def parse_localized(frame: Any, decimal: str, kept: Collection[str], say: Callable[[str], None]) -> Any:
    """The polars frame with string columns parsed as numbers and dates where they are; `kept` columns stay."""
    signed, months = [], []
    for name in frame.columns:
        column = frame[name]
        if name in kept or str(column.dtype) != "String":
            continue
        numbers = parse_numbers(column, decimal)
        if numbers is not None:
            frame = frame.with_columns(numbers.alias(name))
            if column.str.contains(SIGN).any() or decimal == ".":
                signed.append(name)
        elif (found := _dates(column)) is not None:
            frame = frame.with_columns(found[0].alias(name))
            months += [name] if found[1] else []
    if signed:
        say(f"has numbers with signs or marks between thousands in {_named(signed)}: read as numbers")
    if months:
        say(f"has dates with the month first in {_named(months)}: read as such")
    return frame


def has_commas(frame: Any) -> bool:
    """Whether a frame read with decimal commas has any: a float column, or strings with decimal commas."""
    return any(
        column.dtype.is_float() or (str(column.dtype) == "String" and parse_numbers(column, ",", ",") is not None)
        for column in frame.get_columns()
    )


def parse_numbers(column: Any, decimal: str, mark: str | None = None) -> Any:
    """A string column of numbers with currency signs or separators, parsed; None if it has none, or other strings.

    Words for a missing value stay, and so do a few other strings among very many numbers; it is a string column then.
    """
    words = column.str.strip_chars()
    group, point = GROUPS[decimal], re.escape(decimal)
    whole = rf"(?:[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+|[0-9]+)"
    number = rf"(?i)^[+-]?{SIGN}?[+-]?\s?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+){EXPONENT}\s?{SIGN}?$"
    matched = words.str.contains(number).fill_null(False)
    marks = re.escape(mark) if mark else rf"{SIGN}|{group}" + ("|," if decimal == "," else "")
    if not (matched & words.str.contains(marks).fill_null(False)).any():
        return None
    gaps = words.str.to_lowercase().is_in([*GAPS, *LIKELY_GAPS]).fill_null(True)
    strange, read = int((~matched & ~gaps).sum()), int(matched.sum())
    if strange and (read < LEAST_READ or read < NEARLY_ALL * (read + strange)):
        return None
    if words.filter(matched).str.extract(rf"({SIGN})").drop_nulls().n_unique() > 1:
        return None  # mixed currencies are not comparable
    plain = words.str.replace_all(rf"{SIGN}|{group}|\s", "").str.replace(decimal, ".", literal=True)
    if (matched | column.is_null()).all():
        return plain.cast(float, strict=False)
    return column.zip_with(~matched, plain)


def _dates(column: Any) -> tuple[Any, bool] | None:
    """Dates of a string column written by day and month, and whether the month comes first."""
    words = column.str.strip_chars()
    known = words.filter(~words.str.to_lowercase().is_in([*GAPS, *LIKELY_GAPS]).fill_null(True))
    first = LOCAL_DATE.fullmatch(known[0]) if len(known) else None
    if first is None:
        return None
    clock = first["clock"] or ""
    times = [written for shape, written in CLOCKS.items() if re.fullmatch(shape, clock, re.IGNORECASE)]
    if clock and not times:
        return None
    year = "%Y" if len(first["year"]) == 4 else "%y"
    for month_first, order in enumerate((("%d", "%m"), ("%m", "%d"))):
        shape = first["mark"].join((*order, year)) + "".join(times)
        if known.str.to_datetime(shape, strict=False).null_count() == 0:
            return words.str.to_datetime(shape, strict=False), bool(month_first)
    return None


def _named(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:MOST_NAMED]))
    return f"{shown} and {counted(len(names) - MOST_NAMED, 'more column')}" if len(names) > MOST_NAMED else shown
