"""`TagAudit`: the result of an audit of rows with several tags."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from noisewise._files import write_whole
from noisewise._frames import frame_like
from noisewise._typing import Codes, Floats
from noisewise.audit.export import FIRST_SPREADSHEET_ROW, row_entries_text
from noisewise.audit.result import LabelAudit
from noisewise.audit.review import review_sentence
from noisewise.audit.row_verdicts import NO_TAGS, tag_verdicts
from noisewise.audit.summaries import chosen_rows, rows_worth_a_look
from noisewise.audit.verdicts import given_decisions, refuse_decided

SURE = 0.5  # a tag less probable than this is taken back, one more probable is added


@dataclass(frozen=True, eq=False)
class TagAudit:
    """Result of an audit of tags: an audit of each, and rows in which some are wrong.

    Attributes
    ----------
    tags : list
        Names of the tags, in the order of the columns.
    observed : array of bool of shape (n, n_tags)
    audits : dict of tag to LabelAudit
        Class 1 has the tag; tags too rare to judge are missing.
    notes : tuple of str
    separator : str
        What joins the tags of a row in tables and files.
    verdicts : mapping of row to tags
        The verdicts that `update` took in.
    undecided : tuple of int
        Rows of which a reviewer could not tell.
    """

    X: Any = field(repr=False)
    tags: list[Any]
    observed: NDArray[np.bool_] = field(repr=False)
    audits: dict[Any, LabelAudit] = field(repr=False)
    notes: tuple[str, ...] = ()
    separator: str = ";"
    verdicts: Mapping[int, tuple[Any, ...]] = field(default_factory=dict, repr=False)
    undecided: tuple[int, ...] = field(default=(), repr=False)

    @cached_property
    def tag_probability(self) -> Floats:
        """For each row and tag, the probability that it is rightly there, or rightly missing."""
        right = np.ones(self.observed.shape)
        for k, tag in enumerate(self.tags):
            if tag in self.audits:
                right[:, k] = self.audits[tag].probability
        return right

    @cached_property
    def probability(self) -> Floats:
        """For each row, the probability that all its tags are right."""
        return np.asarray(self.tag_probability.prod(axis=1))

    @cached_property
    def order(self) -> Codes:
        """Rows by ascending probability that all their tags are right."""
        return np.argsort(self.probability, kind="stable")

    @cached_property
    def picked(self) -> Codes:
        """Rows worth a look, worst first: the number of rows with the highest expected F1 score.

        Rows whose own tags are the likeliest are left out: where the columns hardly tell about a tag, each of its rows
        may be wrong.
        """
        rows = self.unreviewed
        found = rows[rows_worth_a_look(1 - self.probability[rows])]
        return np.asarray(found[(self.suggested[found] != self.observed[found]).any(axis=1)])

    @cached_property
    def unreviewed(self) -> Codes:
        """The rows without a verdict."""
        return np.setdiff1d(np.arange(len(self.observed)), np.array(list(self.verdicts), dtype=np.intp))

    @property
    def remaining(self) -> float:
        """Expected number of rows with a wrong tag among those without a verdict."""
        return float(np.sum(1 - self.probability[self.unreviewed]))

    @property
    def progress(self) -> str:
        """How far the review is."""
        return review_sentence(len(self.observed), len(self.verdicts), self._n_wrong, self.remaining)

    @property
    def _n_wrong(self) -> int:
        return sum(set(tags) != set(self.tags_of(self.observed, row)) for row, tags in self.verdicts.items())

    def update(self, reviewed: Any) -> TagAudit:
        """The audit with the verdicts of reviewers taken in: the audit of each tag, updated.

        Parameters
        ----------
        reviewed : mapping, frame, path or list of dict
            Row to its right tags (a collection, or joined); or a frame or file with columns `row` and `decision`
            (patch.csv, filled in): a blank means not reviewed, "?" can't tell, "(none)" no tags.
        """
        cells = [self.tags_of(self.observed, row) for row in range(len(self.observed))]
        found = tag_verdicts(given_decisions(reviewed), cells, self.tags, self.separator)
        verdicts = {**self.verdicts, **{row: tags for row, tags in found.items() if tags is not None}}
        undecided = {*self.undecided, *(row for row, tags in found.items() if tags is None)} - set(verdicts)
        audits = self.audits
        if verdicts:
            audits = {
                tag: audit.update({row: int(tag in tags) for row, tags in verdicts.items()})
                for tag, audit in self.audits.items()
            }
        return replace(self, audits=audits, verdicts=verdicts, undecided=tuple(sorted(undecided)))

    @cached_property
    def suggested(self) -> NDArray[np.bool_]:
        """Which tags each row should have."""
        found = np.asarray(self.observed ^ (self.tag_probability < SURE))
        for row, tags in self.verdicts.items():
            found[row] = [tag in tags for tag in self.tags]
        return found

    def tags_of(self, matrix: NDArray[np.bool_], row: int) -> list[Any]:
        """Names of the tags that a row of `observed` or `suggested` has."""
        return [self.tags[k] for k in np.flatnonzero(matrix[row])]

    def apply(self, rows: Any = None) -> list[list[Any]]:
        """The tags of all rows: of `rows` (by default those worth a look) as suggested, of reviewed ones as decided."""
        matrix, chosen = self.observed.copy(), chosen_rows(self, rows)
        changed = np.concatenate([chosen, np.array(list(self.verdicts), dtype=np.intp)])
        matrix[changed] = self.suggested[changed]
        return [self.tags_of(matrix, row) for row in range(len(matrix))]

    def by_tag(self, backend: str | None = None) -> Any:
        """By tag: rows with it, expected wrong rows with a 90 % interval, how many miss it or should not have it."""
        judged = list(self.audits)
        index = [self.tags.index(tag) for tag in judged]
        wrong, there = 1 - self.tag_probability[:, index], self.observed[:, index]
        counts = [audit.expected_errors for audit in self.audits.values()]
        columns = {
            "tag": np.array(judged, dtype=object),
            "rows": there.sum(axis=0),
            "expected_wrong": np.array([float(count) for count in counts]),
            "low": np.array([count.low for count in counts]),
            "high": np.array([count.high for count in counts]),
            "missing": (wrong * ~there).sum(axis=0),
            "superfluous": (wrong * there).sum(axis=0),
        }
        return frame_like(columns, nw.from_native(self.X, pass_through=True), backend)

    def columns(self, rows: Codes, separator: str | None = None) -> dict[str, NDArray[Any]]:
        """Columns of the table for these rows; tags are joined."""
        between = self.separator if separator is None else separator

        def joined(matrix: NDArray[np.bool_]) -> NDArray[Any]:
            return np.array([self.joined(self.tags_of(matrix, row), between) for row in rows], dtype=object)

        suspicious = self.tag_probability < SURE
        return {
            "row": np.asarray(rows),
            "observed": joined(self.observed),
            "suggested": joined(self.suggested),
            "wrong": np.array([between.join(map(str, self.tags_of(suspicious, row))) for row in rows], dtype=object),
            "probability": self.probability[rows],
        }

    def joined(self, tags: Collection[Any], separator: str | None = None) -> str:
        """Tags as one text; "(none)" where there are none."""
        return (self.separator if separator is None else separator).join(map(str, tags)) or NO_TAGS

    def to_frame(self, backend: str | None = None) -> Any:
        """All rows, worst first: row, observed, suggested and wrong tags, probability that all are right."""
        return frame_like(self.columns(self.order), nw.from_native(self.X, pass_through=True), backend)

    def patch_text(self, rows: Codes, decisions: Mapping[int, str] | None = None) -> str:
        """The rows as CSV, with a column `decision`, empty but for these, and the features of each row."""
        columns = self.columns(rows)
        fixed = {"row": columns.pop("row"), "spreadsheet_row": rows + FIRST_SPREADSHEET_ROW} | columns
        return row_entries_text(self.X, rows, fixed, decisions)

    def patch(self, path: Any, rows: Any = None) -> None:
        """Write the rows worth a look for review as CSV, with an empty column `decision`; never over decisions.

        A decision is the right tags, joined; "(none)" no tags, "?" can't tell, a blank not reviewed.
        """
        refuse_decided(Path(path))
        write_whole(self.patch_text(chosen_rows(self, rows)), path)

    def to_html(self, path: Any, title: str = "Audit of tags") -> None:
        """Write a report: one file that opens in any browser, without a network."""
        from noisewise.audit.report import tag_page

        write_whole(tag_page(self, title), path)

    def show(self, height: int = 700) -> None:
        """Show the report: in a notebook below the cell, elsewhere in the browser."""
        from noisewise.audit.report import show_page, tag_page

        show_page(tag_page(self, "Audit of tags"), height)

    def _repr_html_(self) -> str:
        from noisewise.audit.report import tags_html

        return tags_html(self)

    def summary(self) -> dict[str, Any]:
        """The headline numbers, as plain values for JSON."""
        return {
            "rows": len(self.observed),
            "tags": {
                str(tag): {
                    "expected_errors": round(float(audit.expected_errors), 1),
                    "expected_errors_interval": [round(end, 1) for end in audit.expected_errors.interval],
                }
                for tag, audit in self.audits.items()
            },
            "expected_wrong_rows": round(float((1 - self.probability).sum()), 1),
            "picked": len(self.picked),
            "notes": list(self.notes),
        }
