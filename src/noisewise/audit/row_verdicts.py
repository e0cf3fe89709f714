"""Verdicts about numbers and about cells of tags, read from what reviewers hand back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from noisewise._typing import Floats
from noisewise._validation import is_missing, listed
from noisewise.audit.verdicts import Given, is_blank, is_undecided, row_of

NO_TAGS = "(none)"  # a cell without tags, where an empty one means that nobody has decided
SAME = 1e-9  # relative difference of two numbers that are one

Verdict = TypeVar("Verdict")


def number_verdicts(decisions: Iterable[Given], observed: Floats) -> dict[int, float | None]:
    """Row to the right number; None where the reviewer can't tell.

    >>> number_verdicts([Given(1, "2.5"), Given(2, "?"), Given(0, "")], [1.0, 25.0, 3.0])
    {1: 2.5, 2: None}
    """
    return _read(decisions, len(observed), as_number, lambda row, seen: _same(as_number(seen), float(observed[row])))


def tag_verdicts(
    decisions: Iterable[Given], cells: Sequence[Collection[Any]], tags: Sequence[Any], separator: str, new: bool = False
) -> dict[int, tuple[Any, ...] | None]:
    """Row to its right tags, in the order of `tags`; None where the reviewer can't tell.

    Tags may come in any order, as a collection or joined; "(none)" is a row without tags. With `new`, tags that are in
    no cell so far are taken, too.

    >>> tag_verdicts([Given(0, "b; a", "a"), Given(1, "(none)")], [["a"], ["a", "b"]], ["a", "b"], ";")
    {0: ('a', 'b'), 1: ()}
    """
    known = {str(tag): tag for tag in tags}

    def read(decision: Any) -> tuple[Any, ...]:
        return as_tags(decision, known, separator, new)

    return _read(
        decisions, len(cells), read, lambda row, seen: set(as_tags(seen, known, separator, True)) == set(cells[row])
    )


def as_number(decision: Any) -> float:
    """A decision as a number; decimal commas are understood."""
    try:
        return float(str(decision).strip().replace(",", ".") if isinstance(decision, str) else decision)
    except (TypeError, ValueError):
        raise ValueError(f"the decision {decision!r:.60} is no number") from None


def as_tags(decision: Any, known: dict[str, Any], separator: str, new: bool = False) -> tuple[Any, ...]:
    """A decision as tags, in their order."""
    given = decision.split(separator) if isinstance(decision, str) else list(decision)
    names = [str(tag).strip() for tag in given]
    names = [name for name in names if name and name.casefold() != NO_TAGS]
    if not new and (unknown := [name for name in names if name not in known]):
        raise ValueError(f"the tag {unknown[0]!r:.60} is not among {listed(list(known))}")
    places = {name: place for place, name in enumerate(known)}
    ordered = sorted(dict.fromkeys(names), key=lambda name: places.get(name, len(places)))
    return tuple(known.get(name, name) for name in ordered)


def _read(
    decisions: Iterable[Given], n: int, read: Callable[[Any], Verdict], was_seen: Callable[[int, Any], bool]
) -> dict[int, Verdict | None]:
    found: dict[int, Verdict | None] = {}
    for given in decisions:
        if isinstance(given.decision, str | None | float) and is_blank(given.decision):
            continue
        row = row_of(given.row, n)
        verdict = None if isinstance(given.decision, str) and is_undecided(given.decision) else read(given.decision)
        if not (is_missing(given.observed) or is_blank(given.observed) or was_seen(row, given.observed)):
            put_in = verdict is not None and was_seen(row, given.decision)
            if not put_in:
                raise ValueError(
                    f"row {row} had {given.observed!r:.60} when it was reviewed and has something else now: the "
                    "decisions are about another table"
                )
        if row in found and found[row] != verdict:
            raise ValueError(f"row {row} has two decisions, {found[row]!r:.60} and {verdict!r:.60}; one is needed")
        found[row] = verdict
    if not found:
        raise ValueError("no row has a decision; fill in the column 'decision', or pass a mapping of rows to values")
    return found


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * max(abs(one), abs(other)) or (one != one and other != other)
