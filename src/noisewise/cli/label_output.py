"""What `noisewise audit` writes and prints of the labels of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from noisewise._words import counted, percent
from noisewise.cli.talk import SHOWN, say, say_worst

if TYPE_CHECKING:
    from noisewise.audit import LabelAudit


def texts(result: LabelAudit, rows: Any, out: Path, title: str, truth: Any, precision: float | None) -> dict[Path, str]:
    """The texts of audit.csv, patch.csv and audit.html, decisions of an earlier patch.csv kept."""
    import numpy as np

    from noisewise.audit import earlier_decisions, patch_text, report_page

    decided = np.array(
        [*result.verdicts, *result.undecided], dtype=np.intp
    )  # so that writing over patch.csv loses no decision
    decisions = earlier_decisions(out / "patch.csv", result)
    if decisions:
        say(f"{counted(len(decisions), 'decision')} in {out / 'patch.csv'} kept")
    return {
        out / "audit.csv": result.to_frame("polars").write_csv(),
        out / "patch.csv": patch_text(result, np.concatenate([rows, decided]), decisions=decisions),
        out / "audit.html": report_page(result, title, truth, precision),
    }


def to_review(result: LabelAudit, precision: float | None, ahead: int | None) -> Any:
    """The rows of patch.csv: the next ones of a review, or those worth a look."""
    if ahead is not None:
        return result.next(ahead).rows
    return result.picked if precision is None else result.rows(precision)


def print_json(result: LabelAudit, picked: Any, truth: Any, paths: list[Path]) -> None:
    """All numbers, the rows of patch.csv and the files as JSON."""
    found = result.summary() | {"picked": len(picked), "picked_rows": picked.tolist(), "files": [str(p) for p in paths]}
    if result.annotators is not None:
        found["annotators"] = result.by_annotator("polars").to_dicts()
    if truth is not None:
        found["demonstration"] = result.found(truth, picked)
    typer.echo(json.dumps(found, default=str))


def print_worst(result: LabelAudit, picked: Any, truth: Any, in_batches: bool) -> None:
    """What is known of the number of wrong labels, and the worst rows."""
    from noisewise.audit import is_open, order_sentences, readings_sentence

    for note in result.notes:
        say(f"note: {note}")
    wrong = result.expected_errors
    proven = wrong.low > 0 or result.labels_are != "outcomes"
    if is_open(result):
        say(readings_sentence(result))
    elif proven:
        say(f"about {counted(wrong, 'label', 'look')} wrong ({wrong.low:,.0f} to {wrong.high:,.0f})")
    for sentence in order_sentences(result) if result.ordered else []:
        say(sentence)
    if in_batches:
        mended = (1 - result.probability[picked]).sum()
        likeliest = "; the likeliest are" if len(picked) else ""
        say(f"{counted(len(picked), 'row')} to review next, about {mended:,.0f} of them wrong{likeliest}")
    else:
        if not proven:
            say(f"label noise is not proven: between 0 and {wrong.high:,.0f} labels may be wrong")
        if len(picked):
            say_worst(len(picked), ", ranked as judgements" if is_open(result) else "")
        else:
            say("no row is worth a look; audit.csv has all of them, the most suspicious first")
    if len(picked):
        _print_rows(result, picked[:SHOWN])
    if truth is not None:
        found = result.found(truth)
        n = found["wrong"]
        say(f"{found['found']} of the {n} changed labels ({percent(found['found'] / n)}) are among the {n} worst rows")


def _print_rows(result: LabelAudit, rows: Any) -> None:
    """The labels of some rows, or pictures, in columns."""
    from noisewise.audit import probability_text

    names: Any = range(len(result.observed)) if result.images is None else result.images
    lines = [("row" if result.images is None else "picture", "observed", "suggested", "P(label is right)")]
    for row in rows:
        observed, suggested = result.classes[result.observed[row]], result.suggested[row]
        lines.append((str(names[row]), str(observed), str(suggested), probability_text(result.probability[row])))
    first, second, third = (max(len(line[column]) for line in lines) for column in range(3))
    for row_text, observed, suggested, probability in lines:
        typer.echo(f"{row_text:>{max(first, 8)}}  {observed:<{second}}  {suggested:<{third}}  {probability}")
