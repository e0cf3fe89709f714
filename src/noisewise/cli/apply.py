"""`noisewise apply`: decisions of a review put into the table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise.cli import completion
from noisewise.cli.talk import say


def apply(
    data: Annotated[str, typer.Argument(help="The table that was audited: CSV, TSV, Parquet, JSON or Excel.")],
    patch: Annotated[
        str, typer.Argument(help="Its patch.csv with decisions, or an export of Label Studio or Argilla (JSON).")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the mended table; its ending says the format.")],
    label: completion.Label = None,
    new: Annotated[
        bool, typer.Option("--new-labels", help="Put in decisions that are no label so far; numbers always may be new.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Write a table again with the labels that reviewers decided on.

    The table itself is never changed. Decisions about rows whose label was another one when it was reviewed are
    refused. From CSV to CSV and from Excel to Excel nothing but the changed labels differs.
    """
    import numpy as np

    from noisewise.audit import given_decisions, new_labels, verdicts_of
    from noisewise.tables import check_ending, mend_table, read_table

    check_ending(out)
    given = list(given_decisions(patch))
    named = label or _label_column(read_table(data, say), given, data)
    table = read_table(data, as_they_are=[named])
    labels = _column(table, named, data)
    classes = list(dict.fromkeys(labels))
    if new or table[named].dtype.is_float():
        kind = float if table[named].dtype.is_float() else str
        classes += [_as(kind, text) for text in new_labels(given, classes)]
    code_of = {name: code for code, name in enumerate(classes)}
    observed = np.array([code_of[name] for name in labels], dtype=np.intp)
    verdicts = {row: code for row, code in verdicts_of(given, classes, observed).items() if code is not None}
    changes = {row: classes[code] for row, code in verdicts.items() if code != observed[row]}
    mend_table(data, named, changes, out)
    n_rows = len({str(one.row) for one in given})
    counts = {"changed": len(changes), "kept": len(verdicts) - len(changes), "undecided": n_rows - len(verdicts)}
    if as_json:
        typer.echo(json.dumps(counts | {"label": named, "file": str(out)}))
    said = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    say(f"wrote {out}: of the labels in column {named!r}, {said}")


def _as(kind: type, text: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"the decision {text!r} is no number, and the column holds numbers") from None


def _column(table: Any, name: str, data: str) -> list[Any]:
    if name not in table.columns:
        raise ValueError(f"there is no column {name!r} in {data}")
    return list(table[name].to_list())


def _label_column(table: Any, given: Sequence[Any], data: str) -> str:
    """The only column that holds the labels of the reviewed rows."""
    rows = [(int(one.row), str(one.observed)) for one in given if one.observed is not None and str(one.row).isdecimal()]
    rows = [(row, observed) for row, observed in rows if row < table.height]
    fits = [name for name in table.columns if rows and all(str(table[name][row]) == observed for row, observed in rows)]
    if len(fits) != 1:
        raise ValueError(f"which column of {data} holds the labels? add --label NAME")
    return str(fits[0])
