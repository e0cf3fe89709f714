"""`noisewise log`: logs of decisions and their rewards."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from noisewise._words import counted
from noisewise.cli.talk import say

log = typer.Typer(help="Logs of decisions and their rewards.", no_args_is_help=True)


class Format(StrEnum):
    """How a log is written."""

    dsjson = "dsjson"
    adf = "adf"
    plain = "plain"


@log.callback()
def commands() -> None:
    """Logs of decisions and their rewards."""


@log.command()
def check(
    file: Annotated[Path, typer.Argument(help="A log in DSJSON or Vowpal Wabbit's text, packed as gz or not.")],
    format: Annotated[
        Format | None, typer.Option("--format", help="dsjson, adf or plain; found from the first lines otherwise.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Check a log before it is learnt from: propensities, chosen actions, rewards, duplicates, drift.

    The exit code is 1 if there are problems.
    """
    from noisewise.online import check_log

    found = check_log(file, None if format is None else format.value)
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        typer.echo(f"{counted(found.rounds, 'round')} in {found.format}")
        for name, ends in (("propensities", found.propensities), ("rewards", found.rewards)):
            if ends is not None:
                typer.echo(f"{name} from {ends[0]:.4g} to {ends[1]:.4g}")
        if found.mean_rewards is not None:
            typer.echo("mean reward {:.4g} in the first half, {:.4g} in the second".format(*found.mean_rewards))
        for kind, sentences in (("problem", found.problems), ("note", found.notes)):
            for sentence in sentences:
                typer.echo(f"{kind}: {sentence}")
    if found.problems:
        raise typer.Exit(1)
    say("no problems found")
