"""`noisewise stress`: which methods withstand noise, on a table of one's own."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli import completion
from noisewise.cli.talk import say, working

if TYPE_CHECKING:
    from noisewise.stress import StressResult


class Kind(StrEnum):
    """What is corrupted."""

    labels = "labels"
    features = "features"
    feedback = "feedback"


class Flips(StrEnum):
    """Which label noise."""

    symmetric = "symmetric"
    pair = "pair"


def stress(
    data: completion.Data,
    label: completion.Label = None,
    kind: Annotated[Kind, typer.Option("--kind", "-k", help="What the noise is put into.")] = Kind.labels,
    flips: Annotated[
        Flips, typer.Option("--flips", help="Labels change to any other class, or always to the next.")
    ] = Flips.symmetric,
    rates: Annotated[str | None, typer.Option("--rates", help="Rates of noise, such as 0,0.1,0.3.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="Repetitions, from which the intervals come.")] = 5,
    rows: Annotated[int, typer.Option("--rows", help="Most rows to use, sampled at random.")] = 2000,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for stress.html.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Put more and more noise into the training rows and see which methods withstand it.

    Prints accuracies on clean test rows, with 90 % confidence intervals, and plots them in stress.html.
    """
    from noisewise._files import check_folder
    from noisewise.stress import stress_test
    from noisewise.tables import read_labelled

    check_folder(out, "stress.html")
    levels = None if rates is None else _numbers(rates)
    table = read_labelled(data, label, say=say)
    with working(f"stressing {kind.value} of {min(rows, len(table.labels)):,} rows") as progress:
        result = stress_test(
            table.features,
            table.labels,
            kind.value,
            levels,
            flips=flips.value,
            n_seeds=seeds,
            max_rows=rows,
            random_state=seed,
            progress=progress,
        )
    out.mkdir(parents=True, exist_ok=True)
    result.to_html(out / "stress.html", title=f"Stress test of {kind.value}: {Path(data).name}")
    if as_json:
        typer.echo(json.dumps(result.summary() | {"files": [str(out / "stress.html")]}))
    else:
        for note in result.notes:
            say(f"note: {note}")
        _print(result)
    say(f"wrote {out / 'stress.html'}; open it in a browser")


def _numbers(rates: str) -> list[float]:
    try:
        return [float(rate) for rate in rates.split(",")]
    except ValueError:
        raise ValueError(
            f"--rates is {rates!r}; numbers with commas between them are needed, such as 0,0.1,0.3"
        ) from None


def _print(result: StressResult) -> None:
    low, high = result.interval
    width = max(map(len, result.methods))
    typer.echo(" " * width + "".join(f"  {rate:>16g}" for rate in result.rates) + "  stands")
    for m, name in enumerate(result.methods):
        cells = (
            f"{100 * mean:.1f} ({100 * low[m, r]:.1f}-{100 * high[m, r]:.1f})" if mean == mean else "-"
            for r, mean in enumerate(result.mean[m])
        )
        rate = result.stands[name]
        typer.echo(
            f"{name:<{width}}" + "".join(f"  {cell:>16}" for cell in cells) + f"  {'-' if rate is None else rate}"
        )
