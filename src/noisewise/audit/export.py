"""Rows with probable label errors, exported for review: CSV, JSON, Label Studio."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise._files import write_whole
from noisewise._typing import Codes
from noisewise.audit.report.features import features_of
from noisewise.audit.summaries import columns_of_rows

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit


def patch_text(audit: LabelAudit, rows: Codes, as_json: bool = False) -> str:
    """The rows as CSV or JSON, with a column `decision` for the reviewer's label, empty but for reviewed rows."""
    columns = columns_of_rows(audit, rows) | {"suggested_probability": audit.suggested_probability[rows]}
    entries = [dict(zip(columns, values, strict=True)) for values in _plain_rows(columns)]
    decisions = dict.fromkeys(audit.undecided, "?") | audit.verdicts
    for entry in entries:
        entry["decision"] = decisions.get(entry["row"], "")
    if as_json:
        return json.dumps(entries, indent=1, default=str)
    text = io.StringIO()
    writer = csv.DictWriter(text, [*columns, "decision"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(entries)
    return text.getvalue()


def write_label_studio(audit: LabelAudit, path: Any, rows: Codes) -> None:
    """Tasks with the row's features as data and the suggested label as a prediction to accept or change."""
    features = features_of(audit.X, rows)
    tasks = []
    for i, row in enumerate(rows.tolist()):
        suggested, probability = str(audit.suggested[row]), float(audit.suggested_probability[row])
        choice = {"from_name": "label", "to_name": "row", "type": "choices", "value": {"choices": [suggested]}}
        data = {name: values[i] for name, values in features.items()}
        data |= {"row": row, "observed": str(audit.classes[audit.observed[row]])}
        prediction = {"model_version": "noisewise", "score": probability, "result": [choice]}
        tasks.append({"data": data, "predictions": [prediction]})
    write_whole(json.dumps(tasks, indent=1, default=str), path)


def _plain_rows(columns: dict[str, Any]) -> Any:
    return zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)
