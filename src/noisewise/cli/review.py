"""`noisewise review`: a page on which a person goes through the doubtful rows."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise._words import some_of
from noisewise.cli import audit_options, completion
from noisewise.cli.label_options import LabelOptions
from noisewise.cli.labels import TableOptions, audited_labels
from noisewise.cli.probabilities import Files, audit_files
from noisewise.cli.tags import audited_tags
from noisewise.cli.talk import noting, say
from noisewise.cli.targets import audited_numbers


def review(
    data: Annotated[
        str, typer.Argument(help="CSV, TSV, Parquet, JSON or Excel file, or a folder with a sub-folder for each class.")
    ],
    label: completion.Label = None,
    separator: audit_options.Separator = None,
    merge_labels: audit_options.MergeLabels = False,
    ordered: audit_options.Ordered = None,
    missing: audit_options.MissingLabels = None,
    target: audit_options.Target = None,
    probabilities: audit_options.Probabilities = None,
    classes: audit_options.Classes = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the decisions; by default that of the table's name.")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows", "-n", help="A budget: how many rows to look at, to mend and to estimate what is left.", min=1
        ),
    ] = None,
    reviewer: Annotated[
        str | None, typer.Option("--reviewer", help="Who decides; by default the user of this machine.")
    ] = None,
    model: audit_options.Model = None,
    labels_are: audit_options.LabelKind = None,
    encoder: audit_options.Encoder = None,
    images: audit_options.ImageColumn = None,
    annotator: audit_options.Annotator = None,
    groups: audit_options.Groups = None,
    seed: audit_options.Seed = None,
    port: Annotated[int, typer.Option("--port", help="Port on 127.0.0.1; 0 is any.", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print address and folder as JSON.")] = False,
) -> None:
    """Go through the doubtful rows of a table in a browser, by keyboard.

    Every decision is on the disk before the next row appears; the same command goes on where the last one ended. At the
    end the mended table, the decisions and their history are written beside them.

    With --separator tags are reviewed, with --target numbers. With --missing skip the rows that have a label are
    written to labelled.csv, and mended.csv is the mended table of these.
    """
    from noisewise._files import check_folder
    from noisewise.review import ReviewSession, serve_review

    if data == "-":
        raise ValueError("a review goes on after a restart, so that it needs a file; stdin can't be read again")
    folder = out or Path(f"{Path(data).stem}-review")
    check_folder(folder, "the decisions")
    if sum(option is not None for option in (separator or None, target, probabilities)) > 1:
        raise ValueError("--separator, --target and --probabilities are for tags, numbers and labels; give one of them")
    audit_options.check_labels(ordered, missing, bool(separator or target or probabilities))
    if merge_labels and (separator or target or probabilities):
        raise ValueError("--merge-labels is for labels of one class a row that are scored here; leave it out")
    if classes is not None and not probabilities:
        raise ValueError("--classes is for --probabilities; of a table, --label names the column")
    if probabilities and groups is not None:
        raise ValueError("--groups is for rows that are scored here by folds, not for --probabilities")
    audit: Any
    table = data
    if target is not None:
        audit = audited_numbers(data, target, model, seed, groups)
    elif separator:
        audit = audited_tags(data, _needed(label), separator, model, seed, groups)
    elif probabilities:
        files = Files(probabilities, None, classes, [data], _needed(label), annotator)
        with noting():
            audit = audit_files(files, labels_are and labels_are.value, as_written=True)
    else:
        of_labels = LabelOptions(separator is None, merge_labels, missing, folder, data, label, ordered)
        options = TableOptions(annotator, groups, model, labels_are, encoder, images, seed, of_labels)
        audit, _ = audited_labels(data, label, options)
        table = str(of_labels.labelled or data)
    column = target or label
    chosen = None if rows is None else (audit.next(rows).rows if hasattr(audit, "next") else audit.order[:rows])
    one = ReviewSession(audit, folder, chosen, reviewer or _user(), None if column is None else (table, column))

    def decided() -> str:
        return some_of(len(one.decisions), len(one.rows), "row", "are") + " decided"

    def ready(url: str) -> None:
        if as_json:
            typer.echo(json.dumps({"url": url, "folder": str(folder), "rows": len(one.rows)}))
        say(f"{decided()}; decisions go to {folder}; Ctrl-C stops")
        say(url)

    serve_review(one, port, f"Review of {Path(data).name}", not no_browser, ready)
    say(f"{decided()}; the same command goes on from there")


def _needed(label: str | None) -> str:
    if label is None:
        raise ValueError("which column holds the labels? add --label NAME")
    return label


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no such user, as in a container
        return ""
