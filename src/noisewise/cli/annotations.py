"""`noisewise audit --item`: a table in which rows of one item are labels by several annotators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from noisewise.cli.probabilities import Files, named_labels, read_names, read_probabilities, split_files
from noisewise.cli.talk import noting, say, working

if TYPE_CHECKING:
    from noisewise.audit import AnnotationAudit

FILES = "consensus.csv, labels.csv, annotators.csv, questions.csv and audit.html"
QUESTIONS = 100  # written to questions.csv
SHOWN = 10  # items on the screen


def audit_items(files: Files, item: str, model: str | None, seed: int | None, out: Path, as_json: bool) -> None:
    """Audit the labels of the items, print those whose consensus is least certain, and write the files."""
    from noisewise._files import check_folder, write_all

    check_folder(out, FILES)
    more, rows = split_files(files.data, files.label) if files.probabilities else ([], files.data[0])
    if rows is None:
        raise ValueError("which column holds the labels? add --label NAME")
    result = _audit(files._replace(probabilities=[*files.probabilities, *more], data=[rows]), item, model, seed)
    texts = _texts(result, out, f"Audit of annotations: {Path(rows).name}")
    out.mkdir(parents=True, exist_ok=True)
    write_all(texts)
    if as_json:
        found = result.summary() | {"by_annotator": result.by_annotator("polars").to_dicts()}
        typer.echo(json.dumps(found | {"files": [str(path) for path in texts]}, default=str))
    else:
        _print(result)
    say(f"wrote {FILES}{'' if out == Path() else f' in {out}'}; open the last in a browser")


def _audit(files: Files, item: str, model: str | None, seed: int | None) -> AnnotationAudit:
    from noisewise._validation import listed
    from noisewise.audit import audit_annotations
    from noisewise.cli.estimators import estimator_named
    from noisewise.tables import read_labelled

    [data], annotator = files.data, files.annotator
    if annotator is None:
        raise ValueError("--item needs --annotator: the column of who gave each label")
    chosen = None if model is None else estimator_named(model, seed)
    table = read_labelled(data, files.label, annotator, say=say)
    if item not in table.features.columns:
        others = listed(table.features.columns, most=12)
        raise ValueError(
            f"there is no column {item!r} for --item besides labels and annotators in {data}; the others are {others}"
        )
    items, names, first = _first_rows(table.features[item].to_list(), item)
    say(
        f"rows with the same {item!r} are labels of one item: {len(items):,} labels of {len(names):,} items; an item's "
        "features are those of its first row"
    )
    features = table.features.drop(item)[first]
    rows: dict[str, Any] = {"X": features, "model": chosen, "random_state": seed} if features.width else {}
    labels = table.labels
    if files.probabilities:
        arrays = [array for name in files.probabilities for array in read_probabilities(name)]
        rows["probabilities"] = [_of_items(array, len(items), first) for array in arrays]
    if files.classes is not None:
        rows["classes"], labels = named_labels(labels, read_names(files.classes))
    if rows:
        rows["item_names"] = names
    with working(f"auditing {len(names):,} items") as progress, noting():
        return audit_annotations(items, table.annotators, labels, **rows, progress=progress)


def _of_items(array: Any, n_labels: int, first: list[int]) -> Any:
    """The probabilities of each item, of which there may be a row for each of its labels."""
    if len(array) == n_labels:
        return array[first]
    if len(array) != len(first):
        raise ValueError(
            f"there are {len(array):,} rows of probabilities; one for each of the {len(first):,} items, in the order "
            f"in which they first come, or for each of the {n_labels:,} labels would do"
        )
    return array


def _first_rows(items: list[Any], column: str) -> tuple[list[Any], list[Any], list[int]]:
    """The item of each row, the distinct items in the order of their first rows, and these rows."""
    if None in items:
        raise ValueError(f"row {items.index(None)} has no item in column {column!r}; every label is about one")
    first: dict[Any, int] = {}
    for row, name in enumerate(items):
        first.setdefault(name, row)
    return items, list(first), list(first.values())


def _texts(result: AnnotationAudit, out: Path, title: str) -> dict[Path, str]:
    from noisewise.audit import annotations_page

    return {
        out / "consensus.csv": result.to_frame("polars").write_csv(),
        out / "labels.csv": result.by_label("polars").write_csv(),
        out / "annotators.csv": result.by_annotator("polars").write_csv(),
        out / "questions.csv": result.next(QUESTIONS, backend="polars").write_csv(),
        out / "audit.html": annotations_page(result, title),
    }


def _print(result: AnnotationAudit) -> None:
    from noisewise.audit import count_with_interval

    for note in result.notes:
        say(f"note: {note}")
    say(
        f"about {count_with_interval(result.expected_errors)} of the labels look wrong, and "
        f"{count_with_interval(result.expected_consensus_errors)} of the consensus labels; the least certain are"
    )
    lines = [("item", "consensus", "labels", "P(consensus is right)")]
    for row in result.order[:SHOWN]:
        texts = str(result.items[row]), str(result.consensus[row]), str(result.n_labels[row])
        lines.append((*texts, f"{result.probability[row]:.3f}"))
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    for line in lines:
        typer.echo("  ".join([*(f"{text:<{width}}" for text, width in zip(line, widths)), line[3]]))
