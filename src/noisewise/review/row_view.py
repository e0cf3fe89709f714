"""A row as the page shows it: plain values for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise.audit import FIRST_SPREADSHEET_ROW
from noisewise.review.compared import ComparedRows
from noisewise.review.evidence import Evidences, as_text
from noisewise.review.session import ReviewSession

MOST_COLUMNS = 24  # of a row that are shown, the most telling first
MOST_CANDIDATES = 9  # labels that a digit key chooses
SIDE, SMALL_SIDE = 640, 160  # pixels of a picture, and of one beside it
BRIEF = 240  # characters of a text of another row


class RowViews:
    """What a person needs to judge a row: its picture, texts and columns, candidates, and rows like it."""

    def __init__(self, review: ReviewSession) -> None:
        self._review = review
        self._compared = ComparedRows(review.audit, review.rows)
        self._evidences = Evidences(self._compared)

    def view(self, row: int) -> dict[str, Any]:
        """A row with all that is shown beside it."""
        observed, suggested = int(self._review.audit.observed[row]), self._review.suggested(row)
        columns = self._evidences.columns(row, suggested, observed)
        telling = [one.name for one in columns[:6]]
        return {
            **self._identity(row),
            "observed": self._candidate(row, observed),
            "suggested": self._candidate(row, suggested),
            "candidates": self._candidates(row, {observed, suggested}),
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

    def _identity(self, row: int) -> dict[str, int]:
        return {"row": row, "spreadsheet_row": row + FIRST_SPREADSHEET_ROW}

    def _candidates(self, row: int, named: set[int]) -> list[dict[str, Any]]:
        """The most probable labels besides those named already."""
        order = np.argsort(-self._review.audit.posterior[row], kind="stable").tolist()
        return [self._candidate(row, code) for code in order if code not in named][:MOST_CANDIDATES]

    def _candidate(self, row: int, code: int) -> dict[str, Any]:
        probability = float(self._review.audit.posterior[row, code])
        return {"code": code, "name": self._review.names[code], "probability": probability}

    def _brief(self, rows: list[int], telling: list[str]) -> list[dict[str, Any]]:
        """Rows beside another: picture, the beginning of texts, and the columns that tell most there."""
        pictures = self._compared.pictures(rows, SMALL_SIDE) or [""] * len(rows)
        texts = [[as_text(self._compared.cell(name, row)) for name in self._compared.texts] for row in rows]
        return [
            self._identity(row)
            | {
                "picture": picture,
                "texts": [text[:BRIEF] + ("…" if len(text) > BRIEF else "") for text in some],
                "values": [[name, as_text(self._compared.cell(name, row))] for name in telling],
            }
            for row, picture, some in zip(rows, pictures, texts, strict=True)
        ]
