"""`TargetAudit`: the result of an audit of numbers."""

from __future__ import annotations

from collections.abc import Mapping
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
from noisewise.audit.review import review_sentence
from noisewise.audit.row_verdicts import SAME, number_verdicts
from noisewise.audit.summaries import chosen_rows, rows_worth_a_look
from noisewise.audit.verdicts import given_decisions, refuse_decided
from noisewise.noise import Estimate, recalibrate

MOST_WRONG = 0.3  # fraction of targets; beyond, wrong and right ones can't be told apart
MOST_UNFIT = 0.1  # fraction worth a look of a table with more: those that the model fits worst


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
    verdicts : mapping of row to number
        The verdicts that `update` took in.
    undecided : tuple of int
        Rows of which a reviewer could not tell.
    before : TargetAudit, optional
        The audit before the verdicts.
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
    verdicts: Mapping[int, float] = field(default_factory=dict, repr=False)
    undecided: tuple[int, ...] = field(default=(), repr=False)
    before: TargetAudit | None = field(default=None, repr=False)

    @cached_property
    def order(self) -> Codes:
        """Rows by ascending probability that their number is right; equal ones by their distance from the interval."""
        middle, width = (self.low + self.high) / 2, np.maximum(self.high - self.low, 1e-300)
        return np.lexsort((-np.nan_to_num(np.abs(self.observed - middle) / width), self.probability))

    @cached_property
    def picked(self) -> Codes:
        """Rows worth a look, worst first: the number of rows with the highest expected F1 score.

        Where so many look wrong that it is the model that does not fit, they are one row in ten.
        """
        n = len(rows_worth_a_look(1 - self.probability[self.unreviewed]))
        if self.expected_errors > MOST_WRONG * len(self.observed):
            n = min(n, round(MOST_UNFIT * len(self.observed)))
        return self.order[np.isin(self.order, self.unreviewed)][:n]

    @cached_property
    def unreviewed(self) -> Codes:
        """The rows without a verdict."""
        return np.setdiff1d(np.arange(len(self.observed)), np.array(list(self.verdicts), dtype=np.intp))

    @property
    def remaining(self) -> Estimate:
        """Expected number of wrong numbers among the rows without a verdict; `.interval` gives a 90 % interval."""
        wrong, (low, high) = self.expected_errors, self.expected_errors.interval
        return Estimate(*(max(0.0, end - self._n_wrong) for end in (float(wrong), low, high)))

    @property
    def progress(self) -> str:
        """How far the review is."""
        return review_sentence(len(self.observed), len(self.verdicts), self._n_wrong, float(self.remaining))

    @property
    def _n_wrong(self) -> int:
        return sum(not np.isclose(number, self.observed[row], rtol=SAME) for row, number in self.verdicts.items())

    def update(self, reviewed: Any) -> TargetAudit:
        """The audit with the verdicts of reviewers taken in: their rows are known, all others estimated again.

        Parameters
        ----------
        reviewed : mapping, frame, path or list of dict
            Row to right number; or a frame or file with columns `row` and `decision` (patch.csv, filled in): a blank
            means not reviewed, "?" can't tell.
        """
        first = self.before or self
        found = number_verdicts(given_decisions(reviewed), self.observed)
        verdicts = {**self.verdicts, **{row: number for row, number in found.items() if number is not None}}
        undecided = tuple(
            sorted({*self.undecided, *(row for row, one in found.items() if one is None)} - set(verdicts))
        )
        if not verdicts:
            return replace(self, undecided=undecided)
        rows, numbers = np.array(list(verdicts)), np.array(list(verdicts.values()))
        wrong = ~np.isclose(numbers, first.observed[rows], rtol=SAME)
        recalibrated = recalibrate([1 - first.probability], rows, wrong)
        right, suggested = 1 - recalibrated.probability_wrong, first.suggested.copy()
        right[rows], suggested[rows] = ~wrong, numbers
        n_wrong, left = int(wrong.sum()), recalibrated.n_wrong
        return replace(
            first,
            suggested=suggested,
            probability=right,
            expected_errors=Estimate(n_wrong + left, n_wrong + left.low, n_wrong + left.high),
            verdicts=verdicts,
            undecided=undecided,
            before=first,
        )

    def rows(self, precision: float = 0.8) -> Codes:
        """The most rows, worst first, of which a fraction of at least `precision` is expected to be wrong."""
        if not 0 < precision <= 1:
            raise ValueError(f"precision is {precision}; it must lie above 0 and at most at 1")
        order = self.order[np.isin(self.order, self.unreviewed)]
        expected = np.cumsum(1 - self.probability[order]) / np.arange(1, len(order) + 1)
        return order[: np.searchsorted(-expected, -precision, side="right")]

    def apply(self, rows: Any = None) -> Floats:
        """The numbers, replaced by the verdicts and the suggestions in `rows` (by default those worth a look)."""
        chosen = chosen_rows(self, rows)
        numbers = self.observed.copy()
        for changed in (chosen, list(self.verdicts)):
            numbers[changed] = self.suggested[changed]
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
        write_whole(self.patch_text(chosen_rows(self, rows), as_json=Path(path).suffix.lower() == ".json"), path)

    def patch_text(self, rows: Codes, as_json: bool = False, decisions: Mapping[int, str] | None = None) -> str:
        """The rows as CSV or JSON, with a column `decision`, empty but for these, and the features of each row."""
        columns = self.columns(rows)
        fixed = {"row": columns.pop("row"), "spreadsheet_row": rows + FIRST_SPREADSHEET_ROW} | columns
        return row_entries_text(self.X, rows, fixed, decisions, as_json)

    def to_html(self, path: Any, title: str = "Audit of numbers") -> None:
        """Write a report: one file that opens in any browser, without a network."""
        from noisewise.audit.report import target_page

        write_whole(target_page(self, title), path)

    def show(self, height: int = 700) -> None:
        """Show the report: in a notebook below the cell, elsewhere in the browser."""
        from noisewise.audit.report import show_page, target_page

        show_page(target_page(self, "Audit of numbers"), height)

    def _repr_html_(self) -> str:
        from noisewise.audit.report import targets_html

        return targets_html(self)

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
