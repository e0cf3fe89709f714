"""What a page is made of: text, tables, figures, and printed numbers beside ours with a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noisewise.experiments.harness.rows import Rows

Printed = Mapping[str, Any]  # what a paper prints, and what was verified: its printed.json

RULES = """\
**within the paper's std**: ours is no further from the printed mean than the printed standard deviation s and two
standard errors of our mean, s / sqrt(runs), added as squares: 1.7 s for two runs, 1.4 s for four, 1.05 s for forty.
**as verified**: ours is within the stated tolerance of a number that was checked by an independent implementation,
or on the right side of a stated limit; two standard errors of our mean are added to the tolerance as squares, but never
more than the tolerance itself. **within tolerance**: the paper prints no standard deviation, and ours
is within the stated tolerance. **differs**: none of these, with the reason. **not run**: with the reason.
A dash: nothing to compare. Where a number is both printed and verified, the verified one decides: a cell near print
that misses it says so and counts as different, one that meets it and is not as printed says so too. The column "runs"
has the number of cells behind a number."""
UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Entry:
    """A printed number beside ours.

    Parameters
    ----------
    labels : what the number is
    ours, error : our mean and its standard error
    printed, std : the paper's mean and its standard deviation
    verified, tolerance : a checked number; `side` tells whether it is met "near", at "most" or at "least"
    printed_tolerance : how near to print counts as near where the paper gives no standard deviation
    reason : why ours differs, or why there is none
    runs : number of cells behind ours

    Examples
    --------
    >>> Entry(("heart",), ours=0.83, printed=0.85, std=0.04).verdict
    "within the paper's std"
    >>> Entry(("heart",), ours=0.70, verified=0.82, tolerance=0.02, side="least", reason="two splits only").verdict
    'differs: two splits only'
    """

    labels: tuple[str, ...]
    ours: float | None = None
    error: float | None = None
    printed: float | None = None
    std: float | None = None
    verified: float | None = None
    tolerance: float = 0.0
    side: str = "near"
    printed_tolerance: float = 0.0
    reason: str = ""
    runs: int | None = None

    @classmethod
    def of(
        cls, labels: tuple[str, ...], rows: Rows, measure: str, check: Mapping[str, Any] | None = None, **known: Any
    ) -> Entry:
        """Mean and standard error of a measure over rows; `check` has the verified measure and its tolerance."""
        verified = {} if check is None else {"verified": check[measure], "tolerance": check["tolerance"]}
        found = {"runs": len(rows), **verified, **known}
        return cls(labels, rows.mean(measure), rows.standard_error(measure), **found)

    @property
    def is_verified(self) -> bool | None:
        """Whether ours is as verified; None where there is nothing verified or nothing of ours.

        Two standard errors of ours are added to the tolerance as squares, and no more than it has itself: runs that
        failed do not excuse themselves by their own scatter.
        """
        if self.ours is None or self.verified is None:
            return None
        above = self.ours - self.verified
        off = {"near": abs(above), "most": above, "least": -above}[self.side]
        ours = min(2 * (self.error or 0.0), self.tolerance)
        return bool(off <= (self.tolerance**2 + ours**2) ** 0.5 + 1e-12)

    @property
    def is_as_printed(self) -> bool | None:
        """Whether ours is within the paper's own standard deviation of the printed number, or within the tolerance.

        A mean over few runs is itself off by a standard error, by the paper's standard deviation and not by ours, which
        a run that failed would make large.
        """
        if self.ours is None or self.printed is None:
            return None
        few = (1 + 4 / self.runs) ** 0.5 if self.runs else 1.0
        allowed = self.std * few if self.std is not None else self.printed_tolerance
        return abs(self.ours - self.printed) <= allowed + 1e-12 if allowed else None

    @property
    def verdict(self) -> str:
        """By the rules stated on every page."""
        if self.ours is None:
            return f"not run: {self.reason or 'not in this run'}"
        near = "within the paper's std" if self.std is not None else "within tolerance"
        why = f": {self.reason}" if self.reason else ""
        match self.is_as_printed, self.is_verified:
            case None, None:
                return "—"
            case True, True:
                return f"{near}; as verified"
            case False, True:
                return "as verified, not as printed"
            case True, False:
                return f"{near}, but misses the verified number{why}"
            case True, None:
                return near
            case None, True:
                return "as verified"
        return f"differs{why}"

    @property
    def agrees(self) -> bool | None:
        """Whether ours is as verified or, where nothing is, as printed; None where there is nothing to compare."""
        return self.is_as_printed if self.is_verified is None else self.is_verified


@dataclass(frozen=True)
class Text:
    """A paragraph of Markdown."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table of ready words."""

    title: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]


def claim(said: str, verified: str, holds: bool | None, found: str) -> list[str]:
    """A line of a table of claims: what the paper says, what an independent check says, and what these rows say.

    >>> claim("B is faster", "yes", False, "3 times slower")
    ['B is faster', 'yes', 'does not hold: 3 times slower']
    """
    return [said, verified, "not run" if holds is None else f"{'holds' if holds else 'does not hold'}: {found}"]


CLAIMS = ["claim of the paper", "verified", "here"]


@dataclass(frozen=True)
class Comparison:
    """Printed | ours | difference | verdict, one line an entry."""

    title: str
    labels: Sequence[str]
    entries: Sequence[Entry]
    digits: int = 3

    def table(self) -> Table:
        """As words."""
        columns = ["printed"] if any(entry.printed is not None for entry in self.entries) else []
        columns += ["verified"] if any(entry.verified is not None for entry in self.entries) else []
        counted = ["runs"] if any(entry.runs for entry in self.entries) else []
        header = [*self.labels, *columns, "ours", *counted, "difference", "verdict"]
        return Table(self.title, header, [self._line(entry, columns, bool(counted)) for entry in self.entries])

    def _line(self, entry: Entry, columns: Sequence[str], counted: bool) -> list[str]:
        known = {"printed": self._number(entry.printed, entry.std), "verified": self._verified(entry)}
        beside = entry.printed if entry.printed is not None else entry.verified
        apart = None if entry.ours is None or beside is None else entry.ours - beside
        return [
            *entry.labels,
            *(known[column] for column in columns),
            self._number(entry.ours, entry.error),
            *([f"{entry.runs or ''}"] if counted else []),
            "" if apart is None else self._plain(apart, "+"),
            entry.verdict,
        ]

    def _verified(self, entry: Entry) -> str:
        if entry.verified is None:
            return ""
        sign = {"near": "", "most": "≤ ", "least": "≥ "}[entry.side]
        return sign + self._number(entry.verified, entry.tolerance or None)

    def _number(self, value: float | None, std: float | None) -> str:
        if value is None:
            return ""
        return self._plain(value) + ("" if std is None else f" ± {self._plain(std)}")

    def _plain(self, value: float, sign: str = "") -> str:
        """What the digits would show as nothing is written with its power of ten."""
        return f"{value:{sign}.1e}" if 0 < abs(value) < 0.5 * 10**-self.digits else f"{value:{sign}.{self.digits}f}"


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG."""

    name: str
    caption: str
    svg: str


Block = Text | Table | Comparison | Figure


def tally(blocks: Sequence[Block]) -> dict[str, int]:
    """How many compared numbers ran, how many agree, differ with a reason or without one, and what they agree with.

    Numbers of ours with nothing to compare them with, a dash on the page, do not count.

    >>> entries = [Entry(("heart",), 0.83, printed=0.85, std=0.04), Entry(("w8a",)), Entry(("ours alone",), 0.7)]
    >>> tally([Comparison("", ["set"], entries)])  # doctest: +NORMALIZE_WHITESPACE
    {'cells': 2, 'ran': 1, 'agree': 1, 'differ': 0, 'unexplained': 0,
     'verified': 0, 'of verified': 0, 'printed': 1, 'of printed': 1}
    """
    shown = [entry for block in blocks if isinstance(block, Comparison) for entry in block.entries]
    entries = [entry for entry in shown if entry.agrees is not None or entry.ours is None]
    checked = [entry.is_verified for entry in entries if entry.is_verified is not None]
    beside = [entry.is_as_printed for entry in entries if entry.is_as_printed is not None]
    differing = [entry.reason for entry in entries if entry.agrees is False]
    unexplained = sum(not reason or reason.startswith(UNEXPLAINED) for reason in differing)
    return {
        "cells": len(entries),
        "ran": sum(entry.ours is not None for entry in entries),
        "agree": sum(entry.agrees is True for entry in entries),
        "differ": len(differing) - unexplained,
        "unexplained": unexplained,
        "verified": sum(checked),
        "of verified": len(checked),
        "printed": sum(beside),
        "of printed": len(beside),
    }
