"""A row as the page shows it: plain values for JSON."""

from __future__ import annotations

from typing import Any

from noisewise.audit import FIRST_SPREADSHEET_ROW
from noisewise.review.compared import ComparedRows
from noisewise.review.evidence import Evidences, as_text
from noisewise.review.session import ReviewSession
from noisewise.review.subjects import Comparison

MOST_COLUMNS = 24  # of a row that are shown, the most telling first
SIDE, SMALL_SIDE = 640, 160  # pixels of a picture, and of one beside it
BRIEF = 240  # characters of a text of another row


class RowViews:
    """What a person needs to judge a row: its picture, texts and columns, candidates, and rows like it."""

    def __init__(self, review: ReviewSession) -> None:
        self._review, self._subject = review, review.subject
        self._made: dict[int, tuple[ComparedRows, Evidences]] = {}
        self._compared, self._evidences = self._rows_to_compare(self._subject.comparison(int(review.rows[0])))

    def _rows_to_compare(self, comparison: Comparison) -> tuple[ComparedRows, Evidences]:
        """Rows of two classes; of tags those of the one in question."""
        key = id(comparison.audit)
        if key not in self._made:
            compared = ComparedRows(comparison.audit, self._review.rows)
            self._made[key] = compared, Evidences(compared)
        return self._made[key]

    def view(self, row: int) -> dict[str, Any]:
        """A row with all that is shown beside it."""
        comparison = self._subject.comparison(row)
        self._compared, self._evidences = self._rows_to_compare(comparison)
        observed, suggested = comparison.observed, comparison.suggested
        columns = self._evidences.columns(row, suggested, observed)
        telling = [one.name for one in columns[:6]]
        return {
            **self._identity(row),
            "observed": self._candidate(row, self._subject.observed(row)) | {"kin": comparison.names[0]},
            "suggested": self._candidate(row, self._subject.suggested(row)) | {"kin": comparison.names[1]},
            "candidates": [self._candidate(row, text) for text in self._subject.candidates(row)],
            "picture": (self._compared.pictures([row], SIDE) or [""])[0],
            "texts": [
                {"name": name, "parts": self._evidences.words(name, row, suggested, observed)}
                for name in self._compared.texts
            ],
            "columns": [one._asdict() | {"value": as_text(one.value)} for one in columns[:MOST_COLUMNS]],
            "hidden": max(0, len(columns) - MOST_COLUMNS),
            "unused": [[name, as_text(self._compared.cell(name, row))] for name in self._compared.unused],
            "nearest": {
                "suggested": self._brief(self._compared.nearest(row, suggested), telling),
                "observed": self._brief(self._compared.nearest(row, observed), telling),
            },
            "sampled": self._compared.sampled,
        }

    def _identity(self, row: int) -> dict[str, int | None]:
        """The row, and where a spreadsheet has it, if there is a table to open in one."""
        return {"row": row, "spreadsheet_row": None if self._review.table is None else row + FIRST_SPREADSHEET_ROW}

    def _candidate(self, row: int, text: str) -> dict[str, Any]:
        """A value that may be chosen: labels by their code, tags and numbers by their text."""
        names = self._review.names
        code = names.index(text) if names else text
        return {"code": code, "name": text, "probability": self._subject.probability(row, text)}

    def _value(self, row: int) -> list[list[str]]:
        """The tags or the number of another row; its label is that of its class."""
        column = "value" if self._review.table is None else self._review.table[1]
        return [] if self._review.names else [[column, self._subject.observed(row)]]

    def _brief(self, rows: list[int], telling: list[str]) -> list[dict[str, Any]]:
        """Rows beside another: picture, the beginning of texts, and the columns that tell most there."""
        pictures = self._compared.pictures(rows, SMALL_SIDE) or [""] * len(rows)
        texts = [[as_text(self._compared.cell(name, row)) for name in self._compared.texts] for row in rows]
        return [
            self._identity(row)
            | {
                "picture": picture,
                "texts": [text[:BRIEF] + ("…" if len(text) > BRIEF else "") for text in some],
                "values": [*self._value(row), *([name, as_text(self._compared.cell(name, row))] for name in telling)],
            }
            for row, picture, some in zip(rows, pictures, texts, strict=True)
        ]
