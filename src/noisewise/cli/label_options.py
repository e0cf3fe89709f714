"""Options of `noisewise audit` on the labels: tags, misspellings, and rows without a label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisewise._words import counted
from noisewise.cli.talk import say

if TYPE_CHECKING:
    from noisewise.audit import LabelAudit
    from noisewise.tables import LabelledTable


MOST_NAMED = 10  # rows in a note
NUMBERS = "numbers"  # the order of classes that are numbers


class Missing(StrEnum):
    """What is done with rows that have no label."""

    skip = "skip"
    predict = "predict"


@dataclass(frozen=True)
class LabelOptions:
    """What is done to the labels of a table before the audit."""

    ask_for_tags: bool = False
    merge: bool = False
    missing: Missing | None = None
    out: Path = Path()
    data: str | None = None
    label: str | None = None
    ordered: str | None = None

    @property
    def labelled(self) -> Path | None:
        """The table that rows are counted in, where those without a label are left out."""
        return None if self.missing is None else self.out / "labelled.csv"

    def ask(self, labels: list[Any]) -> None:
        """Refuse labels that look like several tags, before anything else is said of them."""
        from noisewise.audit import separator_sentence

        if self.ask_for_tags and (sentence := separator_sentence(labels)):
            raise ValueError(f"{sentence}; --separator '' takes them as they are")

    def in_kind(self, labels: list[Any]) -> Any:
        """The classes of `ordered` as the labels are: by their text, or True for numbers."""
        from noisewise._validation import listed

        if self.ordered == NUMBERS:
            return True
        names = [name.strip() for name in str(self.ordered).split(",")]
        by_text = {str(label): label for label in labels if label is not None}
        if missing := [name for name in names if name not in by_text]:
            raise ValueError(
                f"--ordered names {missing[0]!r}, which no row has; the classes are {listed(sorted(by_text))}"
            )
        return [by_text[name] for name in names]

    def cleaned(self, table: LabelledTable) -> LabelledTable:
        """The table with its labels merged and without rows that have none; what was done is said."""
        from noisewise.audit import merge_labels, merge_sentence

        if self.merge:
            labels, merged = merge_labels(table.labels)
            say(f"merged {merge_sentence(merged)}" if merged else "no label looks like another: nothing was merged")
            table = replace(table, labels=labels)
        return table if self.missing is None else self._without_missing(table)

    def _without_missing(self, table: LabelledTable) -> LabelledTable:
        """The rows with a label, written to labelled.csv; labels of the others in predicted.csv, if wanted."""
        from noisewise._files import write_all
        from noisewise.audit import predict_labels
        from noisewise.tables import raw_table

        assert self.data is not None
        assert self.labelled is not None
        known = [label is not None and label == label for label in table.labels]  # NaN is not equal to itself
        features = table.features.lazy().collect()
        labels = [label for label, there in zip(table.labels, known, strict=True) if there]
        kept = features.filter(known)
        whole = raw_table(self.data).filter(known).with_columns(_series(self.label, labels))
        texts = {self.labelled: whole.write_csv()}
        if self.missing is Missing.predict:
            texts[self.out / "predicted.csv"] = predict_labels(features, table.labels).write_csv()
        self.out.mkdir(parents=True, exist_ok=True)
        write_all(texts)
        say(
            f"{counted(known.count(False), 'row', 'have')} no label, left out; rows are counted as in "
            f"{', '.join(map(str, texts))}"
        )
        who, groups = (
            None if values is None else [one for one, there in zip(values, known, strict=True) if there]
            for values in (table.annotators, table.groups)
        )
        return replace(table, features=kept, labels=labels, annotators=who, groups=groups)


AS_THEY_ARE = LabelOptions()


def _series(name: str | None, labels: list[Any]) -> Any:
    import polars

    return polars.Series(name, labels, strict=False)


def with_issues(result: LabelAudit) -> LabelAudit:
    """The audit with a note on each oddity of the table, and its first rows."""
    from noisewise.audit import table_issues

    notes = []
    for issue in table_issues(result.X, result):
        named = [str(row) for row in issue.rows[:MOST_NAMED]] + ["..."] * (len(issue.rows) > MOST_NAMED)
        notes.append(f"{issue.sentence} (rows {', '.join(named)})")
    return replace(result, notes=(*result.notes, *notes))
