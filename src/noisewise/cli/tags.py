"""`noisewise audit data.csv --label y --separator ";"`: rows with several tags, some of them wrong."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from noisewise._words import counted
from noisewise.cli.talk import SHOWN, say, say_next, say_worst, say_written, working

if TYPE_CHECKING:
    from noisewise.audit import TagAudit


def audit_tags(
    data: str,
    label: str,
    separator: str,
    model: str | None,
    seed: int | None,
    out: Path,
    as_json: bool,
    groups: str | None = None,
) -> None:
    """Audit each tag, write the three files and print counts by tag and the worst rows, or all numbers as JSON."""
    from noisewise._files import write_all
    from noisewise.audit import refuse_decided, tag_page

    refuse_decided(out / "patch.csv")
    result = audited_tags(data, label, separator, model, seed, groups)
    texts = {
        out / "audit.csv": result.to_frame("polars").write_csv(),
        out / "patch.csv": result.patch_text(result.picked),
        out / "audit.html": tag_page(result, f"Audit of tags: {Path(data).name}"),
    }
    out.mkdir(parents=True, exist_ok=True)
    write_all(texts)
    if as_json:
        found = {"picked_rows": result.picked.tolist(), "files": [str(path) for path in texts]}
        typer.echo(json.dumps(result.summary() | found))
    else:
        for note in result.notes:
            say(f"note: {note}")
        for tag, audit in result.audits.items():
            wrong = audit.expected_errors
            say(f"{tag}: about {counted(wrong, 'row')} wrong ({wrong.low:,.0f} to {wrong.high:,.0f})")
        say_worst(len(result.picked))
        worst = (result.picked if len(result.picked) else result.order)[:SHOWN]
        for row, observed, suggested, *_ in zip(*result.columns(worst).values(), strict=True):
            typer.echo(f"{row:>8}  {observed}  ->  {suggested}")
    say_written(list(texts))
    say_next(data, f"--label {shlex.quote(label)} --separator {shlex.quote(separator)}", out / "patch.csv")


def audited_tags(
    data: str, label: str, separator: str, model: str | None, seed: int | None, groups: str | None = None
) -> TagAudit:
    """The audit of a column of tags."""
    from noisewise.audit import audit_multilabel
    from noisewise.cli.estimators import estimator_named
    from noisewise.tables import read_tagged

    table = read_tagged(data, label, groups, say=say)
    classifier = None if model is None else estimator_named(model, seed)
    with working(f"auditing the tags of {len(table.labels):,} rows") as progress:
        return audit_multilabel(
            table.features, table.labels, separator=separator, model=classifier, groups=table.groups, progress=progress
        )
