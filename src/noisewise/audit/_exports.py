"""Doubtful rows written out for people to review."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from scipy import sparse

from noisewise._inputs import Codes
from noisewise.audit._files import write_whole
from noisewise.audit._summaries import columns_of_rows

if TYPE_CHECKING:
    from noisewise.audit._audit import LabelAudit


def write_patch(audit: LabelAudit, path: Any, rows: Codes) -> None:
    """The rows with an empty column in which a person writes the right label."""
    columns = columns_of_rows(audit, rows)
    entries = [dict(zip(columns, values, strict=True)) | {"decision": ""} for values in _plain_rows(columns)]
    if Path(path).suffix.lower() == ".json":
        return write_whole(json.dumps(entries, indent=1, default=str), path)
    text = io.StringIO()
    writer = csv.DictWriter(text, [*columns, "decision"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(entries)
    return write_whole(text.getvalue(), path)


def write_label_studio(audit: LabelAudit, path: Any, rows: Codes) -> None:
    """Tasks with the row's features as data and the suggested label as a prediction to accept or change."""
    tasks = []
    for row, features in zip(rows.tolist(), _features(audit.X, rows), strict=True):
        suggested, probability = str(audit.suggested[row]), float(audit.posterior[row].max())
        choice = {"from_name": "label", "to_name": "row", "type": "choices", "value": {"choices": [suggested]}}
        data = {"row": row, "observed": str(audit.classes[audit.observed[row]]), **features}
        prediction = {"model_version": "noisewise", "score": probability, "result": [choice]}
        tasks.append({"data": data, "predictions": [prediction]})
    write_whole(json.dumps(tasks, indent=1, default=str), path)


def _plain_rows(columns: dict[str, Any]) -> Any:
    return zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)


def _features(X: Any, rows: Codes) -> list[dict[str, Any]]:
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        return list(frame[rows.tolist(), :].iter_rows(named=True))
    values = X[rows].toarray() if sparse.issparse(X) else np.asarray(X)[rows]
    return [{f"x{j}": value for j, value in enumerate(row)} for row in values.tolist()]
