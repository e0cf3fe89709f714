"""Rows with probable label errors, exported for review: CSV, JSON, Excel, Label Studio, Argilla."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from noisewise._files import write_whole
from noisewise._typing import Codes
from noisewise.audit.report.features import features_of
from noisewise.audit.summaries import columns_of_rows
from noisewise.audit.verdicts import earlier_decisions

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit

FIRST_SPREADSHEET_ROW = 2  # of the data: row 0 of a table stands below its header
MOST_NUMBERS = 100  # numeric columns; more are pixels or embeddings, which nobody reads in a spreadsheet
CANT_TELL = "?"
AGENT = "noisewise"  # who suggests


def label_names(classes: NDArray[Any]) -> list[str]:
    """Labels as text, told apart where two read the same or one is empty.

    >>> label_names(np.array([1, 2])), label_names(np.array([1, "1"], dtype=object))
    (['1', '2'], ['1', "'1'"])
    """
    labels = classes.tolist()
    names = [str(label) for label in labels]
    return names if len(set(names)) == len(names) and all(names) else [repr(label) for label in labels]


def patch_text(
    audit: LabelAudit, rows: Codes, as_json: bool = False, decisions: Mapping[int, str] | None = None
) -> str:
    """The rows as CSV or JSON, with a column `decision` for the reviewer's label and the features of each row.

    The decision is empty but for reviewed rows. Those of `decisions` are added where they are not among `rows`.
    """
    entries = patch_entries(audit, rows, decisions or {})
    names = entries[0] if entries else [*_patch_columns(audit, rows), "decision"]
    return entries_text(entries, list(names), as_json)


def entries_text(entries: list[dict[str, Any]], names: list[str], as_json: bool) -> str:
    """Rows to review as CSV with these columns, or as JSON."""
    if as_json:
        return json.dumps(entries, indent=1, default=str)
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(entries)
    return text.getvalue()


def row_entries_text(
    X: Any, rows: Codes, fixed: dict[str, Any], decisions: Mapping[int, str] | None = None, as_json: bool = False
) -> str:
    """Rows to review as CSV or JSON: these columns, a column `decision`, and the features of each row."""
    known = decisions or {}
    fixed = fixed | {"decision": [known.get(row, "") for row in rows.tolist()]}
    features = shown_features(X, rows)
    renamed = {f"{name} (data)" if name in fixed else name: values for name, values in features.items()}
    entries = [dict(zip([*fixed, *renamed], values)) for values in _plain_rows(fixed | renamed)]
    return entries_text(entries, [*fixed, *renamed], as_json)


def patch_entries(audit: LabelAudit, rows: Codes, decisions: Mapping[int, str]) -> list[dict[str, Any]]:
    """An entry for each row: where it is, its labels, the decision, its features."""
    chosen = set(rows.tolist())
    added = [row for row in decisions if row not in chosen]
    rows = np.concatenate([rows, np.array(added, dtype=np.intp)])
    known = dict.fromkeys(audit.undecided, CANT_TELL) | audit.verdicts | dict(decisions)
    fixed = _patch_columns(audit, rows) | {"decision": [known.get(row, "") for row in rows.tolist()]}
    features = shown_features(audit.X, rows)
    renamed = {f"{name} (data)" if name in fixed else name: values for name, values in features.items()}
    return [dict(zip([*fixed, *renamed], values)) for values in _plain_rows(fixed | renamed)]


def write_patch(audit: LabelAudit, path: Path, rows: Codes) -> None:
    """Write the rows for review by the ending of the path; decisions in an earlier file of this name are kept."""
    decisions = earlier_decisions(path, audit)
    if path.suffix.lower() == ".xlsx":
        from noisewise.tables import write_rows

        write_rows(patch_entries(audit, rows, decisions), path)
    else:
        write_whole(patch_text(audit, rows, path.suffix.lower() == ".json", decisions), path)


def shown_features(X: Any, rows: Codes) -> dict[str, list[Any]]:
    """The columns of these rows that a person can read: none of sparse rows, of pixels or of embeddings."""
    if sparse.issparse(X):
        return {}
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return features_of(X, rows) if np.asarray(X).shape[1] <= MOST_NUMBERS else {}
    schema = frame.collect_schema()
    numeric = [str(name) for name, kind in schema.items() if kind.is_numeric()]
    features = features_of(X, rows)
    return features if len(numeric) <= MOST_NUMBERS else {n: v for n, v in features.items() if n not in numeric}


def write_label_studio(audit: LabelAudit, path: Any, rows: Codes) -> None:
    """Tasks with the row's features as data and the suggested label as a prediction to accept or change."""
    features = features_of(audit.X, rows)
    tasks = []
    for i, row in enumerate(rows.tolist()):
        suggested, probability = str(audit.suggested[row]), float(audit.suggested_probability[row])
        choice = {"from_name": "label", "to_name": "row", "type": "choices", "value": {"choices": [suggested]}}
        data = {name: values[i] for name, values in features.items()}
        data |= {"row": row, "observed": str(audit.classes[audit.observed[row]])}
        prediction = {"model_version": AGENT, "score": probability, "result": [choice]}
        tasks.append({"data": data, "predictions": [prediction]})
    write_whole(json.dumps(tasks, indent=1, default=str), path)


def write_argilla(audit: LabelAudit, path: Any, rows: Codes) -> None:
    """Records with the row as one text field `row`, the suggested label as a suggestion for the question `label`."""
    features = shown_features(audit.X, rows)
    records = []
    for i, row in enumerate(rows.tolist()):
        values = {name: "" if column[i] is None else str(column[i]) for name, column in features.items()}
        lines = [f"{name}: {value}" for name, value in values.items()] if len(values) > 1 else list(values.values())
        suggestion = {
            "value": str(audit.suggested[row]),
            "score": float(audit.suggested_probability[row]),
            "agent": AGENT,
        }
        observed = str(audit.classes[audit.observed[row]])
        records.append(
            {
                "id": f"row-{row}",
                "fields": {"row": "\n".join(lines) or f"row {row}"},
                "metadata": {"row": row, "observed": observed, "probability": float(audit.probability[row])},
                "suggestions": {"label": suggestion},
                "responses": {},
            }
        )
    write_whole(json.dumps(records, indent=1), path)


def _patch_columns(audit: LabelAudit, rows: Codes) -> dict[str, Any]:
    columns = columns_of_rows(audit, rows) | {"suggested_probability": audit.suggested_probability[rows]}
    return {"row": columns.pop("row"), "spreadsheet_row": rows + FIRST_SPREADSHEET_ROW} | columns


def _plain_rows(columns: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    return zip(*(getattr(values, "tolist", lambda values=values: values)() for values in columns.values()), strict=True)
