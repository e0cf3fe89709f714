"""Numbers of things in sentences for a reader."""

from __future__ import annotations

LARGEST_IN_FULL = 1e15  # beyond, a double has no digits to show
SINGULAR = {"are": "is", "have": "has", "look": "looks", "were": "was"}


def counted(number: float, noun: str, verb: str = "") -> str:
    """A number of things, and what they do: "1 row is", "1,200 rows are".

    >>> counted(1, "row", "are"), counted(1200, "pair"), counted(0.7, "label", "look")
    ('1 row is', '1,200 pairs', '1 label looks')
    """
    shown = f"{number:,.0f}"
    words = (shown, noun, SINGULAR.get(verb, verb)) if shown == "1" else (shown, f"{noun}s", verb)
    return " ".join(words).rstrip()


def number_text(value: float, digits: int = 6) -> str:
    """A number with so many significant digits, large ones in full: a price is no power of ten.

    >>> number_text(2480000.0), number_text(0.123456789, 4), number_text(-12345.678, 4)
    ('2480000', '0.1235', '-12346')
    """
    return f"{value:.0f}" if 10**digits <= abs(value) < LARGEST_IN_FULL else f"{value:.{digits}g}"
