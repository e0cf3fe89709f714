"""Progress of long calls: a line on the screen after two seconds, or a function of the caller's."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Report = Callable[[int, int], None]  # steps done, of so many

AFTER = 2.0  # seconds without a word
EVERY = 0.5  # seconds between two lines

_report: ContextVar[Report | None] = ContextVar("report", default=None)


def step(done: int, total: int) -> None:
    """Say how far the running call is, if somebody wants to know."""
    if (report := _report.get()) is not None:
        report(done, total)


def _nobody(done: int, total: int) -> None:
    """Where a call runs of which nobody wants to know how far it is."""


@contextmanager
def reporting(progress: bool | Report | None, what: str) -> Iterator[None]:
    """Report the steps of a call: to a function, or on the screen.

    None shows a line where a person looks on (a terminal or a notebook) and the call takes more than two seconds, True
    everywhere, False nowhere. Calls inside such a call, as fits in an audit, show none unless they are told to.

    >>> with reporting(lambda done, total: print(done, "of", total), "counting"):
    ...     step(1, 2)
    1 of 2
    """
    outermost = _report.get() is None
    line = Line(what) if progress is True or (progress is None and outermost and is_watched()) else None
    told = _nobody if line is None else line.report
    token = _report.set(progress if callable(progress) else told)
    try:
        yield
    finally:
        _report.reset(token)
        if line is not None:
            line.end()


def is_watched() -> bool:
    """Whether messages reach a person at once: stderr is a terminal, or that of a notebook; not from workers."""
    if threading.current_thread() is not threading.main_thread() or multiprocessing.parent_process() is not None:
        return False
    return "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", lambda: False)())


class Line:
    """A line on stderr that a thread writes anew until the call ends, and then removes."""

    def __init__(self, what: str) -> None:
        self._what, self._steps, self._length = what, "", 0
        self._start, self._ended = time.monotonic(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def report(self, done: int, total: int) -> None:
        """Steps done, of so many."""
        self._steps = f", {done:,} of {total:,}"

    def end(self) -> None:
        """Remove the line."""
        self._ended.set()
        self._thread.join()
        if self._length:
            self._write("")

    def _run(self) -> None:
        if self._ended.wait(AFTER):
            return
        while True:
            self._write(f"{self._what}{self._steps}: {time.monotonic() - self._start:.0f} s")
            if self._ended.wait(EVERY):
                return

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text:<{self._length}}\r{text}")
        sys.stderr.flush()
        self._length = len(text)
