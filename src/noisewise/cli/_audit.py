"""`noisewise audit`: which rows of a table have wrong labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli._talk import say

if TYPE_CHECKING:
    from noisewise.audit import LabelAudit


def audit(
    data: Annotated[
        str | None, typer.Argument(help="CSV, TSV, Parquet or JSON-lines file with a header; - reads CSV from stdin.")
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", "-l", help="Name of the column that holds the labels.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for audit.csv and audit.html.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the headline numbers as JSON.")] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Audit the digits of scikit-learn with 20 % wrong labels.")
    ] = False,
) -> None:
    """Find the rows of a table whose labels are probably wrong.

    Prints the worst rows, and writes all of them to audit.csv and a report to audit.html.
    """
    from noisewise.audit import audit_labels, read_labelled, write_whole

    if demo == (data is not None):
        raise ValueError("name one data file (noisewise audit data.csv --label y), or --demo")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file; name a folder for audit.csv and audit.html")
    if demo:
        X, y, truth = _demonstration()
        say("scikit-learn's 1,797 handwritten digits, 20 % of the labels changed by chance")
    else:
        X, y = read_labelled(str(data), label)
        truth = None
    say(f"auditing {len(y):,} rows ...")
    result = audit_labels(X, y)
    out.mkdir(parents=True, exist_ok=True)
    write_whole(result.to_frame("polars").write_csv(), out / "audit.csv")
    result.to_html(
        out / "audit.html", title="Label audit: " + ("digits" if demo else Path(str(data)).name), truth=truth
    )
    _print_audit(result, truth, as_json)
    say(
        f"wrote {out / 'audit.csv'} (all rows, worst first) and {out / 'audit.html'} (the report; open it in a browser)"
    )


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


def _print_audit(result: LabelAudit, truth: Any, as_json: bool) -> None:
    found = None if truth is None else result.found(truth)
    if as_json:
        typer.echo(json.dumps(result.summary() | ({"demonstration": found} if found else {})))
        return
    for note in result.notes:
        say(f"note: {note}")
    wrong = result.expected_errors
    if wrong.low > 0:
        say(f"about {wrong:,.0f} labels look wrong ({wrong.low:,.0f} to {wrong.high:,.0f})")
        say(f"{len(result.picked):,} rows are worth a look; the worst are")
    else:
        say(f"label noise is not proven: between 0 and {wrong.high:,.0f} labels may be wrong; the most doubtful are")
    typer.echo(f"{'row':>8}  {'observed':<16}{'suggested':<16}P(label is right)")
    for row in result.order[:10]:
        observed, suggested = result.classes[result.observed[row]], result.suggested[row]
        typer.echo(f"{row:>8}  {observed!s:<16.15}{suggested!s:<16.15}{result.probability[row]:.3f}")
    if found:
        n = found["wrong"]
        say(f"{found['found']} of the {n} changed labels ({found['found'] / n:.0%}) are among the {n} worst rows")
