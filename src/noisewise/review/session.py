"""`ReviewSession`: decisions about the doubtful rows of an audit, stored as they are made."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np

from noisewise._files import check_folder, write_all
from noisewise._typing import Codes
from noisewise._validation import row_numbers
from noisewise.audit import CANT_TELL, LabelAudit, TagAudit, TargetAudit
from noisewise.review.decision_log import Action, Decision, DecisionLog, now
from noisewise.review.subjects import LabelSubject, subject_of
from noisewise.tables import check_ending, mend_table, read_table

LOG, VERDICTS, HISTORY, MENDED = "decisions.jsonl", "reviewed.csv", "history.csv", "mended"
RECALIBRATED = 25  # verdicts after which the number of wrong labels is estimated again; it takes a moment


class ReviewSession:
    """A review of the rows of an audit that are worth a look.

    Every decision is appended to `decisions.jsonl` in `folder` and is on the disk before `decide` returns; a review of
    the same folder goes on where the last one ended. Nothing is overwritten: a decision that is changed or taken back
    stays in the log.

    Parameters
    ----------
    audit : LabelAudit, TagAudit or TargetAudit
    folder : path
        Where decisions are stored; made if need be.
    rows : array of int, optional
        The rows to look at, in this order; by default those worth a look, likeliest wrong first, which mends most.
    reviewer : str
        Who decides; it is written beside every decision.
    table : (str, str), optional
        File of the table and name of its label column; `finish` then writes the mended table, too.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from sklearn.datasets import load_iris
    >>> from noisewise import audit_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> y[0] = 2
    >>> folder = mkdtemp()
    >>> review = ReviewSession(audit_labels(X, y), folder, rows=[0, 70], reviewer="ann")
    >>> review.decide(0, 0)
    >>> review.decide(70, None)  # can't tell
    >>> ReviewSession(review.audit, folder).verdicts  # as after a restart
    {0: 0}
    """

    def __init__(
        self,
        audit: LabelAudit | TagAudit | TargetAudit,
        folder: Any,
        rows: Any = None,
        reviewer: str = "",
        table: tuple[str, str] | None = None,
    ) -> None:
        self.audit, self.folder, self.reviewer, self.table = audit, Path(folder), reviewer, table
        check_folder(self.folder, "the decisions")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = DecisionLog(self.folder / LOG)
        self.subject = subject_of(audit)
        self.names = self.subject.names
        self.rows: Codes = row_numbers(self.subject.default_rows() if rows is None else rows, len(audit.observed))
        self._taken_in: tuple[dict[int, Any], Any] = {}, audit
        self._check()
        chosen = set(self.rows.tolist())
        found = np.array([row for row in self.log.decided if row not in chosen], dtype=np.intp)
        self.rows = np.concatenate([self.rows, found])  # what was decided stays in sight

    def suggested(self, row: int) -> int:
        """Code of the most probable label besides the observed one."""
        assert isinstance(self.subject, LabelSubject)
        return self.subject.suggested_code(row)

    def decide(self, row: int, value: Any) -> None:
        """Store the label, the tags or the number of a row, or None if it can't be told."""
        if not 0 <= row < len(self.audit.observed):
            raise ValueError(f"row {row} is not among the {len(self.audit.observed)} rows of the audit")
        self.decide_text(int(row), None if value is None else self.subject.text_of(value))

    def decide_code(self, row: int, code: int | None) -> None:
        """Store the label of a row by its index in `audit.classes`."""
        self.decide_text(row, None if code is None else self.names[code])

    def decide_text(self, row: int, text: str | None) -> None:
        """Store a decision as the subject writes it."""
        action: Action = "other"
        if text is None:
            action = "unsure"
        elif text in (self.subject.observed(row), self.subject.suggested(row)):
            action = "keep" if text == self.subject.observed(row) else "suggestion"
        self._write(row, action, text or "")

    def undo(self) -> int | None:
        """Take back the reviewer's last decision; the row it was about, or None if there is none."""
        self.log.refresh()
        last = self.log.last_of(self.reviewer)
        if last is None:
            return None
        self._write(last.row, "undo", "")
        return last.row

    def _write(self, row: int, action: Action, decision: str) -> None:
        observed, suggested = self.subject.observed(row), self.subject.suggested(row)
        self.log.append(Decision(row, observed, suggested, action, decision, self.reviewer, now()))

    @property
    def decisions(self) -> dict[int, str]:
        """The label of each decided row, by name; empty where it could not be told."""
        return {row: entry.decision for row, entry in self.log.decided.items()}

    @property
    def verdicts(self) -> dict[int, Any]:
        """The value of each decided row, as `audit.update` takes them; rows that could not be told are left out."""
        return {row: self.subject.value_of(text) for row, text in self.decisions.items() if text}

    def apply(self) -> Any:
        """The labels, tags or numbers of all rows, as decided; those of the other rows as they were observed."""
        if not isinstance(self.audit, LabelAudit):
            return self._updated(self.verdicts).apply([])
        labels = self.audit.classes[self.audit.observed]
        for row, label in self.verdicts.items():
            labels[row] = label
        return labels

    def progress(self) -> dict[str, Any]:
        """How far the review is: rows, decided ones, those among them that were wrong, and expected wrong ones left."""
        verdicts, n_decided = self.verdicts, len(self.log.decided)
        wrong = self._n_wrong(verdicts)
        known = self._estimated_from(verdicts)
        found_since = wrong - self._n_wrong(known)
        return {
            "rows": len(self.rows),
            "decided": n_decided,
            "unsure": n_decided - len(verdicts),
            "wrong": wrong,
            "left": max(0, round(float(self._updated(known).remaining)) - found_since),
            "precision": wrong / len(verdicts) if verdicts else None,
        }

    def _estimated_from(self, verdicts: dict[int, Any]) -> dict[int, Any]:
        """Verdicts that the number of wrong ones left is estimated from: those last taken in, if they still stand."""
        taken_in, n = self._taken_in[0], len(verdicts) // RECALIBRATED * RECALIBRATED
        if len(taken_in) >= n and taken_in.items() <= verdicts.items():
            return taken_in
        return dict(list(verdicts.items())[:n])

    @property
    def updated(self) -> Any:
        """The audit with the decisions taken in: how many wrong labels are left, and whether to go on."""
        return self._updated(self.verdicts)

    def _updated(self, verdicts: dict[int, Any]) -> Any:
        if not verdicts:
            return self.audit
        if verdicts != self._taken_in[0]:
            self._taken_in = verdicts, self.audit.update(verdicts)
        return self._taken_in[1]

    def _n_wrong(self, verdicts: Mapping[int, Any]) -> int:
        return sum(self._changes(row) for row in verdicts)

    def _changes(self, row: int) -> bool:
        """Whether the decision about a row is another value than the observed one."""
        return self.decisions[row] != self.subject.observed(row)

    def finish(self) -> list[Path]:
        """Write the files of the review: `reviewed.csv`, `history.csv` and, where the table's file is known, `mended`.

        `reviewed.csv` are the decided rows in the form of patch.csv, for `noisewise apply` and `audit.update`;
        `history.csv` says who decided what and when.
        """
        self.log.refresh()
        texts = {self.folder / VERDICTS: self._reviewed(), self.folder / HISTORY: self._history()}
        write_all(texts)
        return [*texts, *([] if self.table is None else [self._mended(*self.table)])]

    def _reviewed(self) -> str:
        decisions = {row: name or CANT_TELL for row, name in self.decisions.items()}
        return self.subject.patch_text(self.rows[np.isin(self.rows, list(decisions))], decisions)

    def _history(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([field.name for field in fields(Decision)])
        writer.writerows(astuple(entry) for entry in self.log.entries)
        return text.getvalue()

    def _mended(self, data: str, label: str) -> Path:
        path = self.folder / f"{MENDED}{Path(data).suffix.lower()}"
        changes = {row: verdict for row, verdict in self.verdicts.items() if self._changes(row)}
        if isinstance(self.audit, LabelAudit):  # labels that were merged before the audit are put in so, changed or not
            cells = read_table(data, as_they_are=[label])[label].to_list()
            changes |= {row: one for row, one in self.verdicts.items() if str(cells[row]) != str(one)}
        mend_table(data, label, {row: self._cell(verdict) for row, verdict in changes.items()}, path)
        return path

    def _cell(self, verdict: Any) -> Any:
        """A verdict as a cell of the table: tags joined, whole numbers whole where all are."""
        if isinstance(self.audit, TagAudit):
            return self.audit.separator.join(map(str, verdict))
        if isinstance(self.audit, TargetAudit):
            numbers = self.audit.observed[np.isfinite(self.audit.observed)]
            return int(verdict) if verdict == int(verdict) and np.all(numbers == np.round(numbers)) else verdict
        return verdict

    def _check(self) -> None:
        """Refuse decisions that were made about another table."""
        n = len(self.audit.observed)
        if self.table is not None:
            check_ending(Path(self.table[0]))
        for row, entry in self.log.decided.items():
            label = self.subject.observed(row) if row < n else None
            if label not in (entry.observed, entry.decision):
                raise ValueError(
                    f"{self.log.path} holds a decision about row {row} with the label {entry.observed!r}, which is "
                    f"{label!r} now: they are of another table; name another folder"
                )
            try:
                self.subject.value_of(entry.decision or label)
            except ValueError as error:
                raise ValueError(f"{self.log.path}, row {row}: {error}") from None
