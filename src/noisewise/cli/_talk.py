"""Talk goes to stderr; stdout is for data."""

import typer


def say(sentence: str) -> None:
    """Talk to the person, not to the pipe."""
    typer.echo(sentence, err=True)
