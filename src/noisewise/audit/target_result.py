"""`TargetAudit`: the result of an audit of numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from noisewise._files import write_whole
from noisewise._frames import frame_like
from noisewise._typing import Codes, Floats
from noisewise.audit.export import FIRST_SPREADSHEET_ROW, entries_text, shown_features
from noisewise.audit.verdicts import refuse_decided
from noisewise.noise import Estimate, likely_wrong


@dataclass(frozen=True, eq=False)
class TargetAudit:
    """Result of an audit of numbers: for every row, the probability that its number is right and what it should be.

    Attributes
    ----------
    observed : array of shape (n,)
        NaN where a number is missing.
    suggested : array of shape (n,)
        The number in its usual unit where it seems to be in another one, else the prediction.
    low, high : arrays of shape (n,)
        90 % interval of a right number for such a row.
    probability : array of shape (n,)
        Probability that the observed number is right.
    reasons : array of shape (n,)
        What a probably wrong number looks like: "shifted", "another row's value", "10 times", ...; "" of the others.
    expected_errors : Estimate
        Expected number of wrong numbers; `.interval` gives a 90 % interval.
    notes : tuple of str
        What was done to the columns, and numbers that seem to be in another unit.
    """

    X: Any = field(repr=False)
    observed: Floats = field(repr=False)
    suggested: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    probability: Floats = field(repr=False)
    reasons: NDArray[Any] = field(repr=False)
    expected_errors: Estimate
    notes: tuple[str, ...] = ()

    @cached_property
    def order(self) -> Codes:
        """Rows by ascending probability that their number is right; equal ones by their distance from the interval."""
        middle, width = (self.low + self.high) / 2, np.maximum(self.high - self.low, 1e-300)
        return np.lexsort((-np.nan_to_num(np.abs(self.observed - middle) / width), self.probability))

    @cached_property
    def picked(self) -> Codes:
        """Rows worth a look, worst first: the number of rows with the highest expected F1 score."""
        return self.order[: len(likely_wrong(1 - self.probability))]

    def rows(self, precision: float = 0.8) -> Codes:
        """The most rows, worst first, of which a fraction of at least `precision` is expected to be wrong."""
        if not 0 < precision <= 1:
            raise ValueError(f"precision is {precision}; it must lie above 0 and at most at 1")
        expected = np.cumsum(1 - self.probability[self.order]) / np.arange(1, len(self.order) + 1)
        return self.order[: np.searchsorted(-expected, -precision, side="right")]

    def apply(self, rows: Any = None) -> Floats:
        """The numbers, replaced by the suggestions in `rows` (by default those worth a look)."""
        chosen = self.picked if rows is None else np.asarray(rows)
        numbers = self.observed.copy()
        numbers[chosen] = self.suggested[chosen]
        return numbers

    def columns(self, rows: Codes) -> dict[str, NDArray[Any]]:
        """Columns of the table for these rows."""
        return {
            "row": rows,
            "observed": self.observed[rows],
            "suggested": self.suggested[rows],
            "low": self.low[rows],
            "high": self.high[rows],
            "probability": self.probability[rows],
            "reason": self.reasons[rows],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """All rows, worst first: row, observed, suggested, low, high, probability (that it is right), reason.

        `backend` is "pandas" or "polars"; by default that of the data, or else what is installed.
        """
        return frame_like(self.columns(self.order), nw.from_native(self.X, pass_through=True), backend)

    def patch(self, path: Any, rows: Any = None) -> None:
        """Write the rows worth a look for review, with an empty column `decision`: CSV, or JSON if the path ends so."""
        refuse_decided(Path(path))
        chosen = self.picked if rows is None else np.asarray(rows)
        write_whole(self.patch_text(chosen, as_json=Path(path).suffix.lower() == ".json"), path)

    def patch_text(self, rows: Codes, as_json: bool = False) -> str:
        """The rows as CSV or JSON, with an empty column `decision` and the features of each row."""
        columns = self.columns(rows)
        fixed = (
            {"row": columns.pop("row"), "spreadsheet_row": rows + FIRST_SPREADSHEET_ROW} | columns | {"decision": ""}
        )
        features = {name: values for name, values in shown_features(self.X, rows).items() if name not in fixed}
        entries = [{name: _at(values, i) for name, values in (fixed | features).items()} for i in range(len(rows))]
        return entries_text(entries, [*fixed, *features], as_json)

    def to_html(self, path: Any, title: str = "Audit of numbers") -> None:
        """Write a report: one file that opens in any browser, without a network."""
        from noisewise.audit.report import target_page

        write_whole(target_page(self, title), path)

    def summary(self) -> dict[str, Any]:
        """The headline numbers, as plain values for JSON."""
        return {
            "rows": len(self.observed),
            "missing": int(np.isnan(self.observed).sum()),
            "expected_errors": round(float(self.expected_errors), 1),
            "expected_errors_interval": [round(end, 1) for end in self.expected_errors.interval],
            "picked": len(self.picked),
            "notes": list(self.notes),
        }


def _at(values: Any, i: int) -> Any:
    """One cell of a column, as a plain value."""
    return values if isinstance(values, str) else values[i].item() if hasattr(values[i], "item") else values[i]
