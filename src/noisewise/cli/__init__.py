"""The command line: data on stdout, messages on stderr, exit code 2 and one clear sentence for bad input."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from noisewise.cli.apply import apply
from noisewise.cli.audit import audit
from noisewise.cli.log import log
from noisewise.cli.models import fit, predict
from noisewise.cli.reproduce import reproduce
from noisewise.cli.review import review
from noisewise.cli.serve import serve
from noisewise.cli.store import store
from noisewise.cli.stress import stress
from noisewise.cli.talk import say, stop_cleanly
from noisewise.cli.teach import teach

__all__ = ["app", "main"]

app = typer.Typer(
    name="noisewise",
    help="Learn what is true from labels, clicks and sensors that are not.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def noisewise(version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False) -> None:
    """Learn what is true from labels, clicks and sensors that are not."""
    if version:
        import noisewise

        typer.echo(noisewise.__version__)
        raise typer.Exit


for command in (audit, review, apply, fit, predict, reproduce, serve, stress, teach):
    app.command()(command)
app.add_typer(log, name="log")
app.add_typer(store, name="store")


def main() -> None:
    """Run a command; bad input ends with one sentence and exit code 2."""
    stop_cleanly()
    try:
        sys.exit(app(prog_name="noisewise", standalone_mode=False))
    except (ValueError, ImportError) as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        if not hasattr(error, "format_message"):  # usage errors of the parser know how to say what is wrong
            raise
        _fail(error.format_message())


def _fail(sentence: str) -> None:
    say(f"noisewise: {' '.join(sentence.split())}")
    sys.exit(2)
