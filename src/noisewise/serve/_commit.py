"""Group commit: requests that come while one transaction is being written share the next one."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from noisewise.serve._write import Entry, LogWriter, Outcome

LARGEST_BATCH, MOST_WAITING = 512, 20_000


class Busy(Exception):
    """More requests wait for the log than it can take soon."""


class Unwritten(Exception):
    """The log could not be written; what was asked for may or may not be in it."""


class Committer:
    """One thread that writes what others hand in, and answers them when it is on disk.

    `committed` is called with the outcomes of each batch, in the order of the log, before anybody is answered; `failed`
    when a batch could not be written.
    """

    def __init__(
        self, writer: LogWriter, committed: Callable[[list[Outcome]], None], failed: Callable[[Exception], None]
    ) -> None:
        self.writer = writer
        self.committed = committed
        self.failed = failed
        self.batches = 0
        self._waiting: deque[tuple[Entry, asyncio.Future[Outcome] | None]] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="noisewise-log", daemon=True)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to write."""
        self._loop = loop
        self._thread.start()

    def submit(self, entry: Entry) -> asyncio.Future[Outcome]:
        """Hand in an entry from the event loop; the future is done when it is on disk."""
        if self._closing or len(self._waiting) >= MOST_WAITING:
            raise Busy("the log has more to write than it can take; try again in a moment")
        assert self._loop is not None
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._waiting.append((entry, future))
        self._wake.set()
        return future

    def leave(self, entries: list[Entry]) -> None:
        """Hand in entries that nobody waits for, from any thread."""
        self._waiting.extend((entry, None) for entry in entries)
        self._wake.set()

    def close(self) -> None:
        """Write what is waiting, then stop."""
        self._closing = True
        self._wake.set()
        self._thread.join()

    @property
    def waiting(self) -> int:
        """Entries not yet written."""
        return len(self._waiting)

    @property
    def alive(self) -> bool:
        """Whether entries are still being written."""
        return self._thread.is_alive()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), LARGEST_BATCH))]
                self._write([entry for entry, _ in batch], [future for _, future in batch])
            if self._closing:
                return

    def _write(self, entries: list[Entry], futures: list[asyncio.Future[Outcome] | None]) -> None:
        results: list[Any]
        try:
            outcomes = self.writer.write(entries)
        except Exception as error:
            self.failed(error)
            results = [Unwritten("the log can't be written now; ask again with the same decision_id")] * len(entries)
        else:
            self.batches += 1
            self.committed(outcomes)
            results = outcomes
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_answer, futures, results)


def _answer(futures: list[asyncio.Future[Outcome] | None], results: list[Any]) -> None:
    for future, result in zip(futures, results):
        if future is None or future.done():  # nobody waits, or not any more
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
