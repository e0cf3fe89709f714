"""`noisewise teach`: sketches are drawn, a learner names them, and a person says yes or no."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from noisewise._words import counted, percent
from noisewise.cli.talk import say

LESSON = Path("lesson.jsonl")
SHAPES = ["circle", "square", "triangle", "star"]


class Learner(StrEnum):
    """Learners from binary feedback."""

    ucwl = "ucwl"
    linucb = "linucb"
    confidit = "confidit"
    banditron = "banditron"


class Digits(StrEnum):
    """Sets of handwritten digits."""

    digits = "digits"
    optdigits = "optdigits"


def teach(
    names: Annotated[
        list[str] | None, typer.Argument(help="What to teach; by default circle, square, triangle and star.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File of the rounds; a lesson goes on where it ended.")
    ] = LESSON,
    learner: Annotated[Learner, typer.Option("--learner", help="Who is taught.")] = Learner.ucwl,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Let a simulated teacher teach all learners digits, and compare them.")
    ] = False,
    data: Annotated[
        Digits, typer.Option("--data", help="What the simulated teacher shows: scikit-learn's digits, or optdigits.")
    ] = Digits.digits,
    port: Annotated[int, typer.Option("--port", help="Port on 127.0.0.1; 0 is any.", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
) -> None:
    """Teach a learner sketches that you draw in a browser, by yes and no alone.

    The learner knows the names and nothing else. Every answer is in the file before the next round.
    """
    from noisewise.teach import Lesson, serve_lesson, simulate_teacher

    if simulate:
        say("mistakes in the first 200 rounds / the last 200 / all, where the teacher errs so often")
        found: dict[str, dict[str, str]] = {}
        for row in simulate_teacher(data=data.value):
            numbers = " / ".join(f"{row[key]:.3f}" for key in ("first", "last", "all"))
            found.setdefault(row["learner"], {})[percent(row["teacher errs"])] = numbers
        errors = list(next(iter(found.values())))
        typer.echo(f"| learner | {' | '.join(errors)} |\n|{'---|' * (len(errors) + 1)}")
        for name, numbers_of in found.items():
            typer.echo(f"| {name} | {' | '.join(numbers_of.values())} |")
        return
    lesson = Lesson(names or SHAPES, out, learner.value)

    def ready(url: str) -> None:
        say(f"{counted(len(lesson.rights), 'round')} so far, kept in {out}; Ctrl-C stops")
        say(url)

    serve_lesson(lesson, port, not no_browser, ready)
