"""Parsing of strings as numbers, dates and times: JSON has no dates, and one "?" makes a CSV column strings."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from numbers import Real
from typing import Any

from noisewise._validation import is_missing
from noisewise._words import counted

WORDS = ("", "na", "n/a", "#na", "#n/a", "#n/a n/a", "<na>", "null", "none")
GAPS = frozenset([*WORDS, "nan", "-nan", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"])
LIKELY_GAPS = frozenset(["?", "-", "--", ".", "unknown", "missing", "not available"])
NEARLY_ALL = 0.95  # fraction of values that must be parsed
LEAST_READ = 24  # parsed values that a column must have where others can't be parsed
SAMPLE = 1000  # values for a first look
CODE_WIDTH = 4  # digits; postal codes and identifiers are that long or longer, and all of one length
CENTURIES = ("18", "19", "20")  # whole numbers of four digits that all begin so are years
MOST_NAMED = 3  # examples in a note

NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE | re.ASCII)
CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
DATE = re.compile(rf"\s*[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ]{CLOCK}(Z|[+-][0-9]{{2}}:?[0-9]{{2}})?)?\s*")
TIME = re.compile(rf"\s*{CLOCK}\s*")
EPOCH = datetime.datetime(1970, 1, 1)
DAY = datetime.timedelta(days=1)
FLAGS = {"true": 1.0, "false": 0.0}


def is_gap(value: Any) -> bool:
    """Whether a value is missing: None, NaN and the like, or one of the usual words for it."""
    return value.strip().lower() in GAPS if isinstance(value, str) else is_missing(value)


def number_of(value: Any) -> float:
    """A value or string as a number; NaN if it is none.

    >>> number_of(" 1.5e3 "), number_of("12 kg")
    (1500.0, nan)
    """
    if isinstance(value, str):
        text = value.strip()
        return float(text) if NUMBER.fullmatch(text) else math.nan
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return math.nan
    return float(value)


def flag_of(value: Any) -> float:
    """1 for true, 0 for false, also as strings; else the number."""
    return FLAGS.get(str(value).strip().lower(), number_of(value))


def day_of(value: Any) -> float:
    """Days since 1970 of a date or ISO string; NaN if it is none.

    >>> day_of("1970-01-02T12:00:00"), day_of("2.1.1970")
    (1.5, nan)
    """
    if isinstance(value, str) and DATE.fullmatch(value):
        try:
            value = datetime.datetime.fromisoformat(value.strip())
        except ValueError:  # the thirtieth of February
            return math.nan
    if is_gap(value) or not isinstance(value, datetime.date):
        return math.nan
    moment = value if isinstance(value, datetime.datetime) else datetime.datetime(value.year, value.month, value.day)
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return (moment - EPOCH) / DAY


def hour_of(value: Any) -> float:
    """Hours since midnight of a time or ISO string; NaN if it is none."""
    if isinstance(value, str) and TIME.fullmatch(value):
        try:
            value = datetime.time.fromisoformat(value.strip())
        except ValueError:
            return math.nan
    if not isinstance(value, datetime.time):
        return math.nan
    return value.hour + value.minute / 60 + (value.second + value.microsecond / 1e6) / 3600


def span_of(value: Any) -> float:
    """A duration in days; NaN if it is none."""
    return math.nan if is_gap(value) or not isinstance(value, datetime.timedelta) else value / DAY


PARSERS: dict[str, Callable[[Any], float]] = {
    "number": number_of,
    "flag": flag_of,
    "date": day_of,
    "time": hour_of,
    "duration": span_of,
}


def reading_of(values: list[Any], few: Callable[[], bool] = lambda: True) -> str:
    """What strings are: "number", "date" or "time" where nearly all can be parsed so, else "".

    Where they are so `few` that they can be categories, numbers that may be codes stay strings.

    >>> reading_of(["1.5", "N/A", "2"]), reading_of(["1", "2"])
    ('number', '')
    """
    present = [value for value in values if not is_gap(value)]
    sample = present[:: max(1, len(present) // SAMPLE)]
    for reading in ("number", "date", "time"):
        parse = PARSERS[reading]
        if sum(not math.isnan(parse(value)) for value in sample) < len(sample) / 2 or not sample:
            continue  # long texts are given up on early
        odd = [value for value in present if math.isnan(parse(value))]
        strange = [value for value in odd if not _likely_gap(value)]
        read = len(present) - len(odd)
        if (odd and read < LEAST_READ) or read < NEARLY_ALL * (read + len(strange)):
            continue
        if reading == "number" and _are_codes(values, present, odd, strange, few):
            continue
        return reading
    return ""


def unread_note(odd: Counter[str], what: str) -> str:
    """A note on values that can't be parsed.

    >>> unread_note(Counter({"?": 2, "bad": 1}), "numbers")
    "holds 3 values other than numbers ('?', 'bad'): taken as missing"
    """
    named = ", ".join(repr(text[:20]) for text, _ in odd.most_common(MOST_NAMED))
    more = ", ..." if len(odd) > MOST_NAMED else ""
    return f"holds {counted(odd.total(), 'value')} other than {what} ({named}{more}): taken as missing"


def _likely_gap(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in LIKELY_GAPS


def _are_codes(
    values: list[Any], present: list[Any], odd: list[Any], strange: list[Any], few: Callable[[], bool]
) -> bool:
    """Whether numbers look like codes: postal codes, identifiers, codes of which some have letters."""
    texts = [value.strip() for value in present if isinstance(value, str)]
    if any(re.search(r"[^\W\d]\d|\d[^\W\d]", str(value)) for value in odd):
        return True
    whole = [text for text in texts if text.isdigit()]
    if any(len(text) > 1 and text[0] == "0" for text in whole):
        return True
    if not whole or len(whole) + len(odd) < len(present):
        return False
    by_choice = not odd and not any(isinstance(value, str) and is_gap(value) for value in values)
    if len({len(text) for text in whole}) == 1 and len(whole[0]) >= CODE_WIDTH:
        return by_choice or bool(strange) or not all(text[:2] in CENTURIES and len(text) == 4 for text in whole)
    return bool(by_choice or strange) and few()
