"""`noisewise audit`: rows of a table whose labels are probably wrong."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise.cli import audit_options, completion, label_output
from noisewise.cli.annotations import audit_items
from noisewise.cli.label_options import LabelOptions, with_issues
from noisewise.cli.labels import Engine, TableOptions, audited_labels
from noisewise.cli.probabilities import Files, audit_files, split_files
from noisewise.cli.tags import audit_tags
from noisewise.cli.talk import noting, say_next, say_written, working
from noisewise.cli.targets import audit_numbers

FILES = "audit.csv, patch.csv and audit.html"
AHEAD = 50  # rows to review next, unless said otherwise


def audit(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            help="CSV, TSV, Parquet, JSON, JSON-lines or Excel file, a folder of Parquet files, or one with a "
            "sub-folder of pictures for each class; - reads stdin."
        ),
    ] = None,
    label: completion.Label = None,
    separator: audit_options.Separator = None,
    merge_labels: audit_options.MergeLabels = False,
    ordered: audit_options.Ordered = None,
    missing: audit_options.MissingLabels = None,
    issues: Annotated[
        bool, typer.Option("--issues", help="Also name outliers, near duplicates, rare classes and hard groups.")
    ] = False,
    target: audit_options.Target = None,
    model: audit_options.Model = None,
    probabilities: audit_options.Probabilities = None,
    labels: Annotated[
        str | None, typer.Option("--labels", help="The labels of these probabilities: .npy, or a file of one column.")
    ] = None,
    classes: audit_options.Classes = None,
    labels_are: audit_options.LabelKind = None,
    encoder: audit_options.Encoder = None,
    images: audit_options.ImageColumn = None,
    precision: Annotated[
        float | None,
        typer.Option("--precision", "-p", help="Pick the most rows of which this fraction is expected to be wrong."),
    ] = None,
    reviewed: Annotated[
        list[Path] | None,
        typer.Option("--reviewed", help="Verdicts to take in: patch.csv filled in, or a Label Studio export (JSON)."),
    ] = None,
    ahead: Annotated[
        int | None,
        typer.Option("--next", min=1, help="Put so many rows to review next in patch.csv; 50 with --reviewed."),
    ] = None,
    annotator: audit_options.Annotator = None,
    item: Annotated[
        str | None,
        typer.Option(
            "--item",
            help="Column of what was labelled: rows of one item are labels by several annotators.",
            autocompletion=completion.columns,
        ),
    ] = None,
    groups: audit_options.Groups = None,
    seed: audit_options.Seed = None,
    out: Annotated[Path, typer.Option("--out", "-o", help=f"Folder for {FILES}.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers, picked rows and files as JSON.")] = False,
    engine: Annotated[Engine, typer.Option("--engine", help="dask reads Parquet on a cluster.")] = Engine.local,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a Dask scheduler; without it one is started here.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Audit the digits of scikit-learn with 20 % wrong labels.")
    ] = False,
) -> None:
    """Find the rows of a table whose labels are probably wrong.

    Prints the worst rows. Writes all rows, worst first, to audit.csv, those worth a look to patch.csv (with an empty
    column for the decision) and a report to audit.html. Parquet files may be larger than memory.

    Of pictures (a folder with a sub-folder for each class, or a table with a column of paths) the pictures are audited,
    and shown in the report: noisewise audit images/

    With --probabilities, those of any model are audited: noisewise audit --probabilities p.npy more.npy --labels
    y.npy; instead of --labels a data file and --label give the labels, and its rows are shown.

    With --reviewed the decisions in patch.csv are taken in, all other rows estimated again, and patch.csv written with
    the rows to review next and the decisions so far.

    With --item and --annotator, rows of one item are labels by several annotators: consensus labels, the quality of
    each label and annotator, and whom to ask next; --probabilities has a row for each item, in the order in which they
    first come, or for each label.

    With --separator, which tags of a cell such as billing;feature are wrong.

    With --target, which numbers of a column are wrong (shifted, of another row, in another unit).
    """
    from noisewise._files import check_folder, write_all

    _check_review(precision, reviewed, ahead)
    if not probabilities:
        _check_table(data, demo, labels, classes)
    else:
        if demo or model is not None or engine is Engine.dask or encoder is not None or images is not None:
            raise ValueError(
                "--probabilities are scored rows already; --demo, --model, --encoder, --image-column and --engine dask "
                "are for tables"
            )
        _check_probabilities(label, labels, merge_labels, issues)
    if engine is Engine.local and scheduler is not None:
        raise ValueError("--scheduler is for --engine dask")
    if item is not None:
        others = precision, labels_are, encoder, images, reviewed, ahead, groups, ordered, missing, labels
        if not data or engine is Engine.dask or any(option is not None for option in others):
            raise ValueError(
                "--item is for one data file, with --label, --annotator, --model, --probabilities, --classes, --seed, "
                "--out and --json"
            )
        files = Files(probabilities or [], None, classes, data, label, annotator)
        audit_items(files, item, model, seed, out, as_json)
        return
    check_folder(out, FILES)
    if (target is not None or separator) and (reviewed or ahead is not None):
        raise ValueError("--reviewed and --next are for labels of one class a row, not for --target and --separator")
    if demo and (encoder is not None or images is not None or missing is not None):
        raise ValueError("--encoder, --image-column and --missing are for a data file; the demonstration has its own")
    audit_options.check_labels(ordered, missing, bool(probabilities or separator or target is not None))
    if groups is not None and (demo or probabilities or engine is Engine.dask):
        raise ValueError("--groups names a column of a data file, whose rows are scored here by folds")
    if target is not None:
        if not data or label is not None or probabilities or annotator is not None or engine is Engine.dask:
            raise ValueError("--target goes with a data file, without --label, --probabilities, --annotator and dask")
        audit_numbers(data[0], target, model, precision, seed, out, as_json, groups)
        return
    if separator:
        if not data or label is None or probabilities or annotator is not None or engine is Engine.dask:
            raise ValueError("--separator goes with a data file and --label, without --probabilities and --annotator")
        audit_tags(data[0], label, separator, model, seed, out, as_json, groups)
        return
    truth, named = None, data[0] if data else None
    of_labels = LabelOptions(separator is None and not demo, merge_labels, missing, out, named, label, ordered)
    options = TableOptions(annotator, groups, model, labels_are, encoder, images, seed, of_labels, engine, scheduler)
    if probabilities:
        files = Files(probabilities, labels, classes, data or [], label, annotator)
        with working("auditing probabilities"), noting():
            result = audit_files(files, labels_are and labels_are.value)
    else:
        result, truth = audited_labels(named, label, options)
    title = "Label audit: " + ("digits" if demo else Path((probabilities or data or [""])[0]).name)
    if issues:
        result = with_issues(result)
    for file in reviewed or []:
        result = result.update(file)
    rows = label_output.to_review(result, precision, ahead or (AHEAD if reviewed else None))
    texts = label_output.texts(result, rows, out, title, truth, precision)
    out.mkdir(parents=True, exist_ok=True)
    write_all(texts)
    if as_json:
        label_output.print_json(result, rows, truth, list(texts))
    else:
        label_output.print_worst(result, rows, truth, in_batches=bool(reviewed or ahead))
    table_file, patch_file, report_file = texts
    say_written([table_file, patch_file, report_file])
    if named is not None and label is not None and probabilities and classes is None:
        more, table = split_files(data or [], label)
        scored = "".join(f" --probabilities {shlex.quote(name)}" for name in [*probabilities, *more])
        say_next(str(table), f"--label {shlex.quote(label)}", patch_file, scored + options.to_repeat())
    elif named is not None and not probabilities:
        column = "" if label is None else f"--label {shlex.quote(label)}"
        say_next(str(of_labels.labelled or named), column, patch_file, options.to_repeat())


def _check_review(precision: float | None, reviewed: list[Path] | None, ahead: int | None) -> None:
    """Refuse options on the rows of patch.csv that contradict each other, and verdicts that are nowhere."""
    if precision is not None and not 0 < precision <= 1:
        raise ValueError(f"--precision is {precision:g}; it must lie above 0 and at most at 1")
    if precision is not None and (reviewed or ahead):
        raise ValueError("--precision picks the rows of patch.csv, and so do --next and --reviewed; give one of them")
    for file in reviewed or []:
        if not file.is_file():
            raise ValueError(f"there is no file {str(file)!r}")


def _check_probabilities(label: str | None, labels: str | None, merge_labels: bool, issues: bool) -> None:
    """Refuse what labels and probabilities alone have no use for."""
    if merge_labels:
        raise ValueError("--merge-labels makes classes that the columns of --probabilities do not have; leave it out")
    if issues and label is None and labels is not None:
        raise ValueError("--issues looks at the rows of a table; add data.csv --label NAME instead of --labels")


def _check_table(data: list[str] | None, demo: bool, labels: Any, classes: Any) -> None:
    """Refuse what a table has no use for, and none or several of them."""
    if labels is not None or classes is not None:
        raise ValueError("--labels and --classes are for --probabilities; of a table, --label names the column")
    if demo == bool(data) or len(data or []) > 1:
        raise ValueError("name one data file (noisewise audit data.csv --label y), or --demo")
