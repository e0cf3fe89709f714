"""`noisewise reproduce`: the papers' tables and figures beside the printed numbers."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise._words import counted
from noisewise.cli.talk import say

if TYPE_CHECKING:
    from noisewise.experiments import Paper, Ran


def reproduce(
    paper: Annotated[str, typer.Argument(help="A paper, `all` of them, or `list`.")],
    table: Annotated[str | None, typer.Argument(help="One table or figure, for instance table-2.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="Fewer seeds and sets (minutes), or all that are declared (hours).")
    ] = True,
    engine: Annotated[str, typer.Option("--engine", help="Where the cells run: local, dask or ray.")] = "local",
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", "--address", help="Address of a running Dask or Ray cluster.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Processes, where no cluster is given; all processors.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, help="Start no cells after this time; show what is there.")
    ] = None,
    rows: Annotated[
        Path | None, typer.Option("--rows", help="Folder of finished rows; a cell found there is not run again.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run again the cells whose rows were made by other code than this.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write Markdown and HTML pages.")] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pages.")] = Path("docs/papers/reproduced"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the pages as JSON.")] = False,
) -> None:
    """Run the papers' experiments and set their numbers beside the printed ones.

    Every finished cell is kept: a second run does nothing twice, and a run that was killed goes on where it was.
    """
    from joblib import cpu_count

    from noisewise import experiments as library

    if paper == "list":
        _list(as_json)
        return
    names = library.paper_names() if paper == "all" else [paper]
    if paper == "all" and table is not None:
        raise ValueError(f"name the paper of {table!r}; all papers have tables of their own")
    papers = [library.find_paper(name) for name in names]
    wanted = {key: one for each in papers for key, one in library.keyed(each, table).items()}
    store = library.RowStore(_ready(rows or _default_rows()))
    if write:
        _ready(out)
    with _kept_when_stopped(), _progress() as on_row:
        ran = library.run(wanted, store, quick, engine, jobs or cpu_count(), scheduler, minutes, fresh, on_row)
    _tell(ran, sorted({name for each in papers for part in each.find(table) for name in part.absent(quick)}))
    found = {}
    for each in papers:
        parts = library.parts_of(each, each.find(table), store, library.printed_numbers(each.name), quick)
        say(f"{each.name}: {library.summary(parts)}")
        if write:
            for path in library.write(each, parts, out):
                say(f"wrote {path}")
        if as_json:
            found[each.name] = library.to_json(each, parts)
        elif not write:
            typer.echo(library.to_markdown(each, parts)[0])
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))


def _list(as_json: bool) -> None:
    from noisewise.experiments import find_paper, paper_names

    papers: list[Paper] = [find_paper(name) for name in paper_names()]
    if as_json:
        typer.echo(json.dumps({one.name: {part.name: part.title for part in one.experiments} for one in papers}))
        return
    for one in papers:
        typer.echo(f"{one.name}: {one.title}")
        for part in one.experiments:
            cells, quick = part.size(), part.size(quick=True)
            typer.echo(f"  {part.name:<18} {part.title} ({counted(cells, 'cell')}; {quick:,} in a quick run)")


def _tell(ran: Ran, absent: list[str]) -> None:
    say(f"{counted(ran.finished, 'cell')} run, {ran.found:,} found finished, {len(ran.failed):,} failed")
    if absent:
        say(
            f"cells of {', '.join(absent)} were not run: their data are not here; "
            "set NOISEWISE_DATA to a folder with them as .npz files"
        )
    if ran.by_other_code:
        say(f"{counted(ran.by_other_code, 'row', 'were')} made by other code than this; --fresh runs the cells again")
    for reason in dict.fromkeys(ran.failed.values()):
        say(f"failed: {reason}")


def _default_rows() -> Path:
    from sklearn.datasets import get_data_home

    return Path(get_data_home()) / "noisewise" / "rows"


def _ready(folder: Path) -> Path:
    """A folder that can be written to, made if need be: better refused now than after the first cells."""
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "can't be written to", str(folder))
    return folder


@contextmanager
def _kept_when_stopped() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say("stopped; finished cells are kept, and the same command goes on from there")
        raise


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left, on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), "cells", TimeElapsedColumn(), "left", TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("cells", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
