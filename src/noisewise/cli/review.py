"""`noisewise review`: a page on which a person goes through the doubtful rows."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise.cli import completion
from noisewise.cli.audit import Engine, LabelsAre, audit_table
from noisewise.cli.probabilities import Files, audit_files
from noisewise.cli.tags import audited_tags
from noisewise.cli.talk import say
from noisewise.cli.targets import audited_numbers


def review(
    data: Annotated[
        str, typer.Argument(help="CSV, TSV, Parquet, JSON or Excel file, or a folder with a sub-folder for each class.")
    ],
    label: completion.Label = None,
    separator: Annotated[
        str | None, typer.Option("--separator", help='What joins several tags in a cell, as ";": tags are reviewed.')
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", help="Column of numbers to review.", autocompletion=completion.columns),
    ] = None,
    probabilities: Annotated[
        list[str] | None,
        typer.Option("--probabilities", help="Out-of-fold probabilities of your own model, as in `audit`."),
    ] = None,
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
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help="Audit by another classifier, as in `audit`.", autocompletion=completion.estimators
        ),
    ] = None,
    labels_are: Annotated[
        LabelsAre | None, typer.Option("--labels-are", help="What the labels are, as in `audit`.")
    ] = None,
    encoder: Annotated[
        str | None, typer.Option("--encoder", help="What embeds texts or pictures, as in `audit`.")
    ] = None,
    images: Annotated[
        str | None,
        typer.Option("--image-column", help="Column of paths.", autocompletion=completion.columns),
    ] = None,
    annotator: Annotated[
        str | None,
        typer.Option("--annotator", "-a", help="Column of who gave each label.", autocompletion=completion.columns),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Random seed of the audit.")] = None,
    port: Annotated[int, typer.Option("--port", help="Port on 127.0.0.1; 0 is any.", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print address and folder as JSON.")] = False,
) -> None:
    """Go through the doubtful rows of a table in a browser, by keyboard.

    Every decision is on the disk before the next row appears; the same command goes on where the last one ended. At the
    end the mended table, the decisions and their history are written beside them.

    With --separator tags are reviewed, with --target numbers.
    """
    from noisewise.review import ReviewSession, serve_review

    if data == "-":
        raise ValueError("a review goes on after a restart, so that it needs a file; stdin can't be read again")
    folder = out or Path(f"{Path(data).stem}-review")
    if sum(option is not None for option in (separator or None, target, probabilities)) > 1:
        raise ValueError("--separator, --target and --probabilities are for tags, numbers and labels; give one of them")
    reading, column = labels_are and labels_are.value, target or label
    audit: Any
    if target is not None:
        audit = audited_numbers(data, target, model, seed)
    elif separator:
        audit = audited_tags(data, _needed(label), separator, model, seed)
    elif probabilities:
        audit = audit_files(Files(probabilities, None, None, [data], _needed(label), annotator), reading)
    else:
        audit, _ = audit_table(data, label, annotator, model, reading, seed, Engine.local, None, encoder, images)
    chosen = None if rows is None else (audit.next(rows).rows if hasattr(audit, "next") else audit.order[:rows])
    one = ReviewSession(audit, folder, chosen, reviewer or _user(), table=None if column is None else (data, column))

    def ready(url: str) -> None:
        if as_json:
            typer.echo(json.dumps({"url": url, "folder": str(folder), "rows": len(one.rows)}))
        say(f"{len(one.decisions):,} of {len(one.rows):,} rows are decided; decisions go to {folder}; Ctrl-C stops")
        say(url)

    serve_review(one, port, f"Review of {Path(data).name}", not no_browser, ready)
    say(f"{len(one.decisions):,} of {len(one.rows):,} rows are decided; the same command goes on from there")


def _needed(label: str | None) -> str:
    if label is None:
        raise ValueError("which column holds the labels? add --label NAME")
    return label


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no such user, as in a container
        return ""
