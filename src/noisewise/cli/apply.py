"""`noisewise apply`: decisions of a review put into the table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise.cli import completion
from noisewise.cli.images import is_image_folder
from noisewise.cli.talk import say


def apply(
    data: Annotated[
        str,
        typer.Argument(help="The table that was audited: CSV, TSV, Parquet, JSON or Excel; or the folder of pictures."),
    ],
    patch: Annotated[
        str, typer.Argument(help="Its patch.csv with decisions, or an export of Label Studio or Argilla (JSON).")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the mended table; its ending says the format.")],
    label: completion.Label = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", help="Its column of numbers, audited with --target.", autocompletion=completion.columns
        ),
    ] = None,
    separator: Annotated[
        str | None, typer.Option("--separator", help='What joins several tags in a cell, as ";"; "(none)" is no tag.')
    ] = None,
    new: Annotated[
        bool, typer.Option("--new-labels", help="Put in decisions that are no label so far; numbers always may be new.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Write a table again with the labels that reviewers decided on.

    The table itself is never changed. Decisions about rows whose label was another one when it was reviewed are
    refused. From CSV to CSV and from Excel to Excel nothing but the changed labels differs. Of a folder of pictures the
    new table has their paths and labels.
    """
    from noisewise.audit import given_decisions
    from noisewise.tables import check_ending, mend_table, read_table

    check_ending(out)
    if target is not None and (label is not None or separator is not None):
        raise ValueError("--target is for numbers, --label and --separator for labels and tags; give one of them")
    given = list(given_decisions(patch))
    if is_image_folder(data):
        n_decided, changes = _apply_to_folder(data, given, new, out)
        _report(given, n_decided, changes, "label", out, as_json)
        return
    named = target or label or _label_column(read_table(data, say), given, data)
    table = read_table(data, as_they_are=[] if target else [named])
    cells = _column(table, named, data)
    if separator:
        n_decided, changes = _changed_tags(given, cells, separator, new)
    elif target is not None:
        n_decided, changes = _changed_numbers(given, cells)
    else:
        n_decided, changes = _changed_labels(given, cells, new, table[named].dtype.is_float())
    mend_table(data, named, changes, out)
    _report(given, n_decided, changes, named, out, as_json)


def _report(given: list[Any], n_decided: int, changes: dict[int, Any], named: str, out: Path, as_json: bool) -> None:
    n_rows = len({str(one.row) for one in given})
    counts = {"changed": len(changes), "kept": n_decided - len(changes), "undecided": n_rows - n_decided}
    if as_json:
        typer.echo(json.dumps(counts | {"label": named, "file": str(out)}))
    said = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    say(f"wrote {out}: of the labels in column {named!r}, {said}")


def _apply_to_folder(folder: str, given: list[Any], new: bool, out: Path) -> tuple[int, dict[int, Any]]:
    """Write a table of pictures and labels, as decided."""
    from functools import partial

    import polars

    from noisewise._files import replace_files
    from noisewise.audit import readable_in
    from noisewise.tables import write_frame

    paths, labels = readable_in(folder)
    n_decided, changes = _changed_labels(given, labels, new, numbers=False)
    frame = polars.DataFrame({"image": paths, "label": [changes.get(row, label) for row, label in enumerate(labels)]})
    replace_files({out: partial(write_frame, frame, out.suffix.lower())})
    return n_decided, changes


def _changed_labels(given: list[Any], labels: list[Any], new: bool, numbers: bool) -> tuple[int, dict[int, Any]]:
    """How many rows are decided, and the labels that change."""
    import numpy as np

    from noisewise._validation import listed
    from noisewise.audit import new_labels, verdicts_of

    classes = list(dict.fromkeys(labels))
    added = new_labels(given, classes)
    if added and not (new or numbers):
        raise ValueError(
            f"the decision {added[0]!r:.60} is not among the labels {listed(classes)}; --new-labels puts it in all the "
            "same, and '?' leaves a row open"
        )
    classes += [_as(float if numbers else str, text) for text in added]
    code_of = {name: code for code, name in enumerate(classes)}
    observed = np.array([code_of[name] for name in labels], dtype=np.intp)
    verdicts = {row: code for row, code in verdicts_of(given, classes, observed).items() if code is not None}
    return len(verdicts), {row: classes[code] for row, code in verdicts.items() if code != observed[row]}


def _changed_numbers(given: list[Any], cells: list[Any]) -> tuple[int, dict[int, Any]]:
    """How many rows are decided, and the numbers that change; whole ones stay whole in a column of whole numbers."""
    import numpy as np

    from noisewise.audit import number_verdicts

    whole = all(isinstance(cell, int) for cell in cells if cell is not None)
    observed = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    verdicts = {row: number for row, number in number_verdicts(given, observed).items() if number is not None}
    changed = {row: number for row, number in verdicts.items() if number != observed[row]}
    return len(verdicts), {row: int(one) if whole and one.is_integer() else one for row, one in changed.items()}


def _changed_tags(given: list[Any], cells: list[Any], separator: str, new: bool) -> tuple[int, dict[int, Any]]:
    """How many rows are decided, and the cells that change: tags that stay keep their order, new ones follow."""
    from noisewise.audit import split_tags, tag_verdicts

    tags_of = split_tags(cells, separator)
    known = sorted({tag for tags in tags_of for tag in tags})
    verdicts = {
        row: tags for row, tags in tag_verdicts(given, tags_of, known, separator, new).items() if tags is not None
    }
    between = f"{separator} " if any(f"{separator} " in str(cell) for cell in cells) else separator
    changes = {}
    for row, tags in verdicts.items():
        if set(tags) != set(tags_of[row]):
            stay = [tag for tag in tags_of[row] if tag in tags]
            changes[row] = between.join([*stay, *(tag for tag in tags if tag not in stay)])
    return len(verdicts), changes


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
