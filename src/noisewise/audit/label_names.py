"""What is odd about the labels themselves: case variants, misspellings, numbers that are no classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

RARE = 0.2  # of the rows of the label it is a misspelling of, at most
SHORTEST = 4  # letters; shorter names differ by a letter without being misspelt
MOST_COMPARED = 500  # names; more are no list that a person keeps
CONTINUOUS_CLASSES = 30  # whole numbers from which on they are perhaps no classes
SPREAD_ROWS = 30  # rows a class, on average, at most


def merge_labels(labels: Sequence[Any]) -> tuple[list[Any], dict[Any, Any]]:
    """The labels with case variants and misspellings merged, and what was merged into what.

    Names that differ in case and spaces only become the most frequent of them; a rare name that is one letter (or two
    swapped ones) away from a frequent one becomes that.

    >>> merge_labels(["account"] * 9 + ["Account ", "acount", "bug"])[1]
    {'Account ': 'account', 'acount': 'account'}
    """
    counts = Counter(label for label in labels if isinstance(label, str))
    found: dict[Any, Any] = {}
    folded: dict[str, list[str]] = {}
    for name in counts:
        folded.setdefault(_folded(name), []).append(name)
    best = {key: max(names, key=lambda name: counts[name]) for key, names in folded.items()}
    total = {key: sum(counts[name] for name in names) for key, names in folded.items()}
    target = {key: _corrected(key, total) for key in folded}
    for key, names in folded.items():
        for name in names:
            if name != best[target[key]]:
                found[name] = best[target[key]]
    return [found.get(label, label) if isinstance(label, str) else label for label in labels], found


def _folded(name: str) -> str:
    """A name without what case and spaces tell."""
    return " ".join(name.casefold().split())


def merge_sentence(merged: dict[Any, Any]) -> str:
    """What is, or would be, merged, for a reader.

    >>> merge_sentence({"acount": "account"})
    "'acount' into 'account'"
    """
    return ", ".join(f"{name!r} into {into!r}" for name, into in merged.items())


def looks_continuous(labels: Sequence[Any]) -> bool:
    """Whether labels are numbers that look like amounts: many of them, each in few rows, or with decimals.

    >>> looks_continuous([round(1.5 * i) for i in range(72)] * 3), looks_continuous([1, 2, 3, 4, 5] * 50)
    (True, False)
    """
    if not labels or not all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels):
        return False
    distinct = set(labels)
    if len(distinct) < CONTINUOUS_CLASSES or len(labels) / len(distinct) > SPREAD_ROWS:
        return False
    return max(distinct) - min(distinct) + 1 > len(distinct) or any(number != int(number) for number in distinct)


def _corrected(name: str, rows: dict[str, int]) -> str:
    """The frequent name that this one seems to be a misspelling of, or itself."""
    if len(name) < SHORTEST or len(rows) > MOST_COMPARED:
        return name
    near = [other for other in rows if rows[name] <= RARE * rows[other] and one_letter_apart(name, other)]
    return max(near, key=lambda other: rows[other], default=name)


def one_letter_apart(one: str, other: str) -> bool:
    """Whether a letter was left out, added, changed, or swapped with the next one; digits are never misspelt.

    >>> [one_letter_apart("account", other) for other in ("acount", "acconut", "amount")]
    [True, True, False]
    >>> one_letter_apart("level 1", "level 2")
    False
    """
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    start = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    left, right = one[start:], other[start:]
    if any(character.isdigit() for character in left[:1] + right[:1]):
        return False
    swapped = len(left) > 1 and left[:2] == right[1::-1] and left[2:] == right[2:]
    return swapped or left[1:] == right[1:] or left[1:] == right or left == right[1:]


def label_notes(labels: Sequence[Any]) -> tuple[str, ...]:
    """Notes on labels that are misspelt, or numbers that are no classes; `alike_classes` notes case and spaces.

    >>> label_notes(["account"] * 9 + ["acount"])
    ("labels look misspelt: merge_labels (--merge-labels) merges 'acount' into 'account'",)
    """
    merged = {name: into for name, into in merge_labels(labels)[1].items() if _folded(name) != _folded(into)}
    notes = [f"labels look misspelt: merge_labels (--merge-labels) merges {merge_sentence(merged)}"] if merged else []
    if looks_continuous(labels):
        distinct = len(set(labels))
        notes.append(f"{distinct} numbers as labels look like amounts: audit_targets (--target) audits them")
    return tuple(notes)
