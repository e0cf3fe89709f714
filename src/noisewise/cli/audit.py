"""`noisewise audit`: rows of a table whose labels are probably wrong."""

from __future__ import annotations

import json
import shlex
from contextlib import ExitStack
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli import completion
from noisewise.cli.annotations import audit_items
from noisewise.cli.images import audit_column, audit_folder, image_column, is_image_folder
from noisewise.cli.label_options import AS_THEY_ARE, LabelOptions, Missing, with_issues
from noisewise.cli.probabilities import Files, audit_files
from noisewise.cli.tags import audit_tags
from noisewise.cli.talk import Progress, noting, say, say_next, working
from noisewise.cli.targets import audit_numbers

if TYPE_CHECKING:
    from noisewise.audit import LabelAudit, Settings
    from noisewise.tables import LabelledTable

FILES = "audit.csv, patch.csv and audit.html"
AHEAD, SHOWN = 50, 10  # rows to review next, unless said otherwise; rows on the screen


class LabelsAre(StrEnum):
    """What a label is: a judgement of what the row shows, or an outcome that the row only hints at."""

    judgements = "judgements"
    outcomes = "outcomes"


class Engine(StrEnum):
    """Where the work is done."""

    local = "local"
    dask = "dask"


def audit(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            help="CSV, TSV, Parquet, JSON or JSON-lines file, a folder of Parquet files, or one with a sub-folder of "
            "pictures for each class; - reads stdin."
        ),
    ] = None,
    label: completion.Label = None,
    separator: Annotated[
        str | None,
        typer.Option("--separator", help='What joins several tags in a label, as ";"; "" if nothing does.'),
    ] = None,
    merge_labels: Annotated[
        bool, typer.Option("--merge-labels", help="Merge labels that differ in case, spaces or a misspelt letter.")
    ] = False,
    ordered: Annotated[
        str | None,
        typer.Option("--ordered", help="Classes from low to high, as none,mild,severe; or numbers, where they are."),
    ] = None,
    missing: Annotated[
        Missing | None, typer.Option("--missing", help="Rows without a label: leave them out, or predict their labels.")
    ] = None,
    issues: Annotated[
        bool, typer.Option("--issues", help="Also name outliers, near duplicates, rare classes and hard groups.")
    ] = False,
    target: Annotated[
        str | None,
        typer.Option("--target", help="Column of numbers to audit.", autocompletion=completion.columns),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="Score rows out of fold by another classifier: of `fit -e`, of scikit-learn, or svc, knn, forest ...",
            autocompletion=completion.estimators,
        ),
    ] = None,
    probabilities: Annotated[
        list[str] | None,
        typer.Option(
            "--probabilities",
            help="Out-of-fold probabilities of your own model, .npy, .npz, CSV or Parquet; several models one by one.",
        ),
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", help="The labels of these probabilities: .npy, or a file of one column.")
    ] = None,
    classes: Annotated[
        str | None, typer.Option("--classes", help="Text file: the classes in the order of the columns, one a line.")
    ] = None,
    labels_are: Annotated[
        LabelsAre | None,
        typer.Option("--labels-are", help="What the labels are; without it both readings are shown."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder", help="What embeds texts or pictures: wordllama, words (hashed), hog, or an .onnx file."
        ),
    ] = None,
    images: Annotated[
        str | None,
        typer.Option(
            "--image-column",
            help="Column of the paths of pictures, where it is not found by itself.",
            autocompletion=completion.columns,
        ),
    ] = None,
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
    annotator: Annotated[
        str | None,
        typer.Option("--annotator", "-a", help="Column of who gave each label.", autocompletion=completion.columns),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option(
            "--item",
            help="Column of what was labelled: rows of one item are labels by several annotators.",
            autocompletion=completion.columns,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            help="Column of groups (patients, users): rows of one group never judge each other.",
            autocompletion=completion.columns,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Random seed.")] = None,
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
    each label and annotator, and whom to ask next.

    With --separator, which tags of a cell such as billing;feature are wrong.

    With --target, which numbers of a column are wrong (shifted, of another row, in another unit).
    """
    from noisewise._files import check_folder, write_all

    if precision is not None and not 0 < precision <= 1:
        raise ValueError(f"--precision is {precision:g}; it must lie above 0 and at most at 1")
    if precision is not None and (reviewed or ahead):
        raise ValueError("--precision picks the rows of patch.csv, and so do --next and --reviewed; give one of them")
    for file in reviewed or []:
        if not file.is_file():
            raise ValueError(f"there is no file {str(file)!r}")
    if not probabilities:
        _check_table(data, demo, labels, classes)
    elif demo or model is not None or engine is Engine.dask or encoder is not None or images is not None:
        raise ValueError(
            "--probabilities are scored rows already; --demo, --model, --encoder, --image-column and --engine dask are "
            "for tables"
        )
    if engine is Engine.local and scheduler is not None:
        raise ValueError("--scheduler is for --engine dask")
    if item is not None:
        others = precision, labels_are, encoder, images, reviewed, ahead
        if probabilities or not data or engine is Engine.dask or any(option is not None for option in others):
            raise ValueError(
                "--item is for one data file, with --label, --annotator, --model, --seed, --out and --json"
            )
        audit_items(data[0], label, annotator, item, model, seed, out, as_json)
        return
    check_folder(out, FILES)
    if (target is not None or separator) and (reviewed or ahead is not None):
        raise ValueError("--reviewed and --next are for labels of one class a row, not for --target and --separator")
    if demo and (encoder is not None or images is not None or missing is not None):
        raise ValueError("--encoder, --image-column and --missing are for a data file; the demonstration has its own")
    if ordered is not None and (probabilities or separator or target is not None):
        raise ValueError("--ordered is for the classes of a label column")
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
    truth, reading = None, labels_are and labels_are.value
    if probabilities:
        files = Files(probabilities, labels, classes, data or [], label, annotator)
        with working("auditing probabilities"), noting():
            result = audit_files(files, reading)
    else:
        named = data[0] if data else None
        options = LabelOptions(separator is None and not demo, merge_labels, missing, out, named, label, ordered)
        result, truth = audit_table(
            named, label, annotator, model, reading, seed, engine, scheduler, encoder, images, options, groups
        )
    title = "Label audit: " + ("digits" if demo else Path((probabilities or data or [""])[0]).name)
    if issues:
        result = with_issues(result)
    for file in reviewed or []:
        result = result.update(file)
    rows = _to_review(result, precision, ahead or (AHEAD if reviewed else None))
    texts = _texts(result, rows, out, title, truth, precision)
    out.mkdir(parents=True, exist_ok=True)
    write_all(texts)
    if as_json:
        _print_json(result, rows, truth, list(texts))
    else:
        _print_worst(result, rows, truth, in_batches=bool(reviewed or ahead))
    table_file, patch_file, report_file = texts
    say(f"wrote {table_file}, {patch_file} and {report_file} (rows are counted from 0); open the last in a browser")
    if label is not None and data and data[0] != "-" and not probabilities:
        say_next(str(options.labelled or data[0]), f"--label {shlex.quote(label)}", patch_file)
    elif label is None and data and not probabilities:
        say_next(data[0], "", patch_file)


def _check_table(data: list[str] | None, demo: bool, labels: Any, classes: Any) -> None:
    """Refuse what a table has no use for, and none or several of them."""
    if labels is not None or classes is not None:
        raise ValueError("--labels and --classes are for --probabilities; of a table, --label names the column")
    if demo == bool(data) or len(data or []) > 1:
        raise ValueError("name one data file (noisewise audit data.csv --label y), or --demo")


def audit_table(
    data: str | None,
    label: str | None,
    annotator: str | None,
    model: str | None,
    labels_are: Any,
    seed: int | None,
    engine: Engine,
    scheduler: str | None,
    encoder: str | None,
    images: str | None,
    options: LabelOptions = AS_THEY_ARE,
    groups: str | None = None,
) -> tuple[LabelAudit, Any]:
    """The audit of a table or of pictures, and the true labels of the demonstration."""
    from noisewise.audit import Settings
    from noisewise.cli.estimators import estimator_named

    chosen = None if model is None else estimator_named(model, seed)
    settings = Settings(chosen, labels_are=labels_are, encoder=encoder, random_state=seed)
    if data is not None and is_image_folder(data):
        others = label, annotator, images, groups, options.ordered
        if any(option is not None for option in others) or engine is Engine.dask:
            raise ValueError(
                f"{data} is a folder of pictures, whose labels are its sub-folders; --label, --annotator, --groups, "
                "--ordered, --image-column and --engine dask are for tables"
            )
        return audit_folder(data, settings), None
    in_memory = any(option is not None for option in (chosen, options.missing, options.ordered, groups))
    table, truth = _table(data, label, annotator, groups, engine, in_memory, options)
    table = options.cleaned(table)
    if options.ordered is not None:
        settings = replace(settings, ordered=options.in_kind(table.labels))
    column = None if data is None else image_column(table.features, data, images)
    if data is not None and column is not None:
        if engine is Engine.dask:
            raise ValueError(f"the pictures of column {column!r} are read here; leave --engine dask out")
        return audit_column(table, data, column, settings), None
    with working(f"auditing {len(table.labels):,} rows") as progress:
        return _run(table, settings, engine, scheduler, progress), truth


def _table(
    data: str | None,
    label: str | None,
    annotator: str | None,
    groups: str | None,
    engine: Engine,
    in_memory: bool,
    options: LabelOptions,
) -> tuple[LabelledTable, Any]:
    from noisewise.tables import LabelledTable, is_parquet, read_labelled

    if engine is Engine.dask and (data is None or in_memory or not is_parquet(data)):
        raise ValueError("--engine dask audits a Parquet file, or a folder of them, with the default model")
    if data is not None:
        may_miss = options.missing is not None
        return read_labelled(data, label, annotator, not in_memory, say, may_miss, groups, options.ask), None
    if annotator is not None:
        raise ValueError("--annotator names a column of a data file; the demonstration has none")
    X, y, truth = _demonstration()
    say("scikit-learn's 1,797 handwritten digits, 20 % of the labels changed at random")
    return LabelledTable(X, y), truth


def _run(
    table: LabelledTable, settings: Settings, engine: Engine, scheduler: str | None, progress: Progress
) -> LabelAudit:
    from noisewise._progress import reporting
    from noisewise.audit import OnCluster, dask_client, run_audit, with_progress

    with ExitStack() as stack:
        run: Any = map
        if engine is Engine.dask:
            run = OnCluster(stack.enter_context(dask_client(scheduler)))
        settings = replace(settings, annotators=table.annotators, groups=table.groups)
        with reporting(progress, ""):
            return run_audit(table.features, table.labels, settings, with_progress(run, table.features, progress))


def _demonstration() -> tuple[Any, Any, Any]:
    """Digits with exactly 20 % of the labels changed to another digit."""
    import numpy as np
    from sklearn.datasets import load_digits

    X, truth = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    changed = rng.choice(len(truth), round(0.2 * len(truth)), replace=False)
    y = truth.copy()
    y[changed] = (y[changed] + rng.integers(1, 10, len(changed))) % 10
    return X, y, truth


def _texts(
    result: LabelAudit, rows: Any, out: Path, title: str, truth: Any, precision: float | None
) -> dict[Path, str]:
    import numpy as np

    from noisewise.audit import earlier_decisions, patch_text, report_page

    decided = np.array(
        [*result.verdicts, *result.undecided], dtype=np.intp
    )  # so that writing over patch.csv loses no decision
    decisions = earlier_decisions(out / "patch.csv", result)
    if decisions:
        say(f"{len(decisions):,} decisions in {out / 'patch.csv'} are kept")
    return {
        out / "audit.csv": result.to_frame("polars").write_csv(),
        out / "patch.csv": patch_text(result, np.concatenate([rows, decided]), decisions=decisions),
        out / "audit.html": report_page(result, title, truth, precision),
    }


def _to_review(result: LabelAudit, precision: float | None, ahead: int | None) -> Any:
    """The rows of patch.csv: the next ones of a review, or those worth a look."""
    if ahead is not None:
        return result.next(ahead).rows
    return result.picked if precision is None else result.rows(precision)


def _print_json(result: LabelAudit, picked: Any, truth: Any, paths: list[Path]) -> None:
    found = result.summary() | {"picked": len(picked), "picked_rows": picked.tolist(), "files": [str(p) for p in paths]}
    if result.annotators is not None:
        found["annotators"] = result.by_annotator("polars").to_dicts()
    if truth is not None:
        found["demonstration"] = result.found(truth, picked)
    typer.echo(json.dumps(found, default=str))


def _print_worst(result: LabelAudit, picked: Any, truth: Any, in_batches: bool) -> None:
    from noisewise.audit import is_open, order_sentences, probability_text, readings_sentence

    for note in result.notes:
        say(f"note: {note}")
    wrong = result.expected_errors
    proven = wrong.low > 0 or result.labels_are != "outcomes"
    if is_open(result):
        say(readings_sentence(result))
    elif proven:
        say(f"about {wrong:,.0f} labels look wrong ({wrong.low:,.0f} to {wrong.high:,.0f})")
    for sentence in order_sentences(result) if result.ordered else []:
        say(sentence)
    if in_batches:
        mended = (1 - result.probability[picked]).sum()
        say(f"{len(picked):,} rows to review next, about {mended:,.0f} of them wrong; the likeliest are")
    elif proven:
        ranked = ", ranked as judgements" if is_open(result) else ""
        say(f"{len(picked):,} rows are worth a look{ranked}; the worst are")
    else:
        say(f"label noise is not proven: between 0 and {wrong.high:,.0f} labels may be wrong; the most suspicious are")
    names: Any = range(len(result.observed)) if result.images is None else result.images
    lines = [("row" if result.images is None else "picture", "observed", "suggested", "P(label is right)")]
    for row in (picked if in_batches else result.order)[:SHOWN]:
        observed, suggested = result.classes[result.observed[row]], result.suggested[row]
        lines.append((str(names[row]), str(observed), str(suggested), probability_text(result.probability[row])))
    first, second, third = (max(len(line[column]) for line in lines) for column in range(3))
    for row_text, observed, suggested, probability in lines:
        typer.echo(f"{row_text:>{max(first, 8)}}  {observed:<{second}}  {suggested:<{third}}  {probability}")
    if truth is not None:
        found = result.found(truth)
        n = found["wrong"]
        say(f"{found['found']} of the {n} changed labels ({found['found'] / n:.0%}) are among the {n} worst rows")
