"""Messages and progress on stderr; stdout is for data."""

from __future__ import annotations

import shlex
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from noisewise._words import counted

SHOWN = 10  # rows on the screen
KEPT_ENDINGS = (".xlsx", ".parquet", ".tsv", ".json", ".jsonl")  # of a table, and of its mended copy
Progress = Callable[[int, int], None]  # steps done, of so many


def say(sentence: str) -> None:
    """Print a sentence to stderr."""
    typer.echo(sentence, err=True)


def say_next(data: str, options: str, patch: Path, audited_by: str = "") -> None:
    """Say by which two commands a person decides about the rows; a table from stdin can't be read again."""
    if data == "-":
        return
    table, rest = shlex.quote(data), f" {options}" if options else ""
    ending = Path(data).suffix.lower()
    mended = f"mended{ending if ending in KEPT_ENDINGS else '.csv'}"
    called = _called()
    say(f"next: {called} review {table}{rest}{audited_by}, which shows the rows one by one;")
    say(f"or decide in {patch}, then {called} apply {table} {patch}{rest} --out {mended}")


def _called() -> str:
    """How a shell finds this program: by its name, or by the path it was called by where PATH does not have it."""
    path = sys.argv[0]
    return "noisewise" if shutil.which("noisewise") or Path(path).stem != "noisewise" else shlex.quote(path)


def say_written(files: Sequence[Path]) -> None:
    """Say which files were written; the last is a report."""
    others = ", ".join(map(str, files[:-1]))
    say(f"wrote {others} and {files[-1]} (rows are counted from 0); open the last in a browser")


def say_worst(n_picked: int, ranked: str = "") -> None:
    """Say how many rows are worth a look, above the worst of them; above the most suspicious ones, if none is."""
    picked = (
        f"{counted(n_picked, 'row', 'are')} worth a look{ranked}; the worst" if n_picked else "the most suspicious rows"
    )
    say(f"{picked} {'is' if n_picked == 1 else 'are'}")


@contextmanager
def working(what: str) -> Iterator[Progress]:
    """Say what is being done and, on a terminal, show a progress bar, which the caller updates."""
    if not sys.stderr.isatty():
        say(f"{what} ...")
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:  # rich respects NO_COLOR
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def noting() -> Iterator[None]:
    """Say each warning once, as a note, instead of pointing at lines of code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for sentence in dict.fromkeys(str(warning.message) for warning in caught):
        say(f"note: {sentence}")


def stop_cleanly() -> None:
    """Exit on SIGTERM as on an exception, so that temporary files are removed."""

    def leave(number: int, frame: object) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, leave)
