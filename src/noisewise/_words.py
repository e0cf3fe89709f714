"""Numbers of things in sentences for a reader."""

from __future__ import annotations

SINGULAR = {"are": "is", "have": "has", "look": "looks", "were": "was"}


def counted(number: float, noun: str, verb: str = "") -> str:
    """A number of things, and what they do: "1 row is", "1,200 rows are".

    >>> counted(1, "row", "are"), counted(1200, "pair"), counted(0.7, "label", "look")
    ('1 row is', '1,200 pairs', '1 label looks')
    """
    shown = f"{number:,.0f}"
    words = (shown, noun, SINGULAR.get(verb, verb)) if shown == "1" else (shown, f"{noun}s", verb)
    return " ".join(words).rstrip()
