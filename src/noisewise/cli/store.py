"""`noisewise store`: backup, restore, check and compaction of a service's store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noisewise._words import counted
from noisewise.cli.talk import say

store = typer.Typer(help="Care of the store of a service.", no_args_is_help=True)
Address = Annotated[str, typer.Argument(metavar="STORE", help="sqlite:///FILE or postgresql://USER@HOST/NAME.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The backup, an SQLite file.")]


@store.command()
def backup(address: Address, file: File) -> None:
    """Copy a store, which may be in use, to a new file."""
    from noisewise.serve import maintenance

    say(f"{counted(maintenance.backup(address, file), 'event', 'are')} in {file}")


@store.command()
def restore(file: File, address: Address) -> None:
    """Copy a backup into an empty store; also from SQLite to PostgreSQL, or back."""
    from noisewise.serve import maintenance

    say(f"{counted(maintenance.restore(file, address), 'event')} restored")


@store.command()
def check(
    address: Address,
    replay: Annotated[bool, typer.Option("--replay", help="Replay the log, and compare snapshots with it.")] = False,
) -> None:
    """Say what is wrong with a store; exit code 1 if anything is."""
    from noisewise.serve import maintenance

    found = maintenance.check(address, replay)
    for fault in found:
        typer.echo(fault)
    say(f"faults: {len(found)}" if found else "nothing is wrong")
    raise typer.Exit(1 if found else 0)


@store.command()
def compact(
    address: Address,
    keep_days: Annotated[float | None, typer.Option(help="Remove the log that is older.", min=0)] = None,
) -> None:
    """Give room back, and remove the log that is older than some days; the service must be stopped."""
    from noisewise.serve import maintenance

    say(f"{counted(maintenance.compact(address, keep_days), 'row')} removed")
