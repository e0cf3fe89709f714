"""Arguments that several commands have, with shell completion."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def columns(context: typer.Context, incomplete: str) -> list[str]:
    """Columns of the file named before."""
    named = [
        *(context.params.get("data") or []),
        *context.args,
    ]  # with an option half typed, the parser leaves the rest here
    data = next((word for word in named if word and Path(word).exists()), None)
    if data is None:
        return []
    try:
        from noisewise.tables import column_names

        return [name for name in column_names(data) if name.startswith(incomplete)]
    except (ValueError, ImportError, OSError):
        return []  # the shell shows no errors


def estimators(incomplete: str) -> list[str]:
    """Names of classifiers."""
    from noisewise.cli.estimators import known_names

    return [name for name in known_names() if name.lower().startswith(incomplete.lower())]


Data = Annotated[str, typer.Argument(help="CSV, TSV, Parquet, JSON, JSON-lines or Excel file; - reads stdin.")]
Label = Annotated[
    str | None, typer.Option("--label", "-l", help="Column that holds the labels.", autocompletion=columns)
]
