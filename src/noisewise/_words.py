"""Numbers of things in sentences for a reader."""

from __future__ import annotations

from typing import SupportsFloat

LARGEST_IN_FULL = 1e15  # beyond, a double has no digits to show
SINGULAR = {"are": "is", "have": "has", "look": "looks", "were": "was"}


def counted(number: SupportsFloat, noun: str, verb: str = "") -> str:
    """A number of things, and what they do: "1 row is", "1,200 rows are".

    >>> counted(1, "row", "are"), counted(1200, "pair"), counted(0.7, "label", "look")
    ('1 row is', '1,200 pairs', '1 label looks')
    """
    shown = f"{float(number):,.0f}"
    words = (shown, noun, SINGULAR.get(verb, verb)) if shown == "1" else (shown, f"{noun}s", verb)
    return " ".join(words).rstrip()


def some_of(part: SupportsFloat, whole: int, noun: str, verb: str) -> str:
    """Some of all things, and what they do: "1 of 600 rows is", "3 of 600 rows are".

    >>> some_of(1, 600, "row", "have"), some_of(2, 1200, "label", "are")
    ('1 of 600 rows has', '2 of 1,200 labels are')
    """
    shown = f"{float(part):,.0f}"
    return f"{shown} of {counted(whole, noun)} {SINGULAR.get(verb, verb) if shown == '1' else verb}"


def percent(fraction: SupportsFloat, digits: int = 0) -> str:
    """A fraction in percent.

    >>> percent(0.934), percent(0.0521, 1)
    ('93 %', '5.2 %')
    """
    return f"{100 * float(fraction):.{digits}f} %"


def number_text(value: float, digits: int = 6) -> str:
    """A number with so many significant digits, large ones in full: a price is no power of ten.

    >>> number_text(2480000.0), number_text(0.123456789, 4), number_text(-12345.678, 4)
    ('2480000', '0.1235', '-12346')
    """
    return f"{value:.0f}" if 10**digits <= abs(value) < LARGEST_IN_FULL else f"{value:.{digits}g}"
