"""Group commit: requests that come while one transaction is being written share the next one."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from noisewise.serve._write import Entry, LogWriter, Outcome

LARGEST_BATCH, MOST_WAITING = 512, 20_000
Waiting = tuple[Entry, "asyncio.Future[Outcome] | None"]


class Busy(Exception):
    """More requests wait for the log than it can take soon."""


class Unwritten(Exception):
    """The log could not be written; what was asked for may or may not be in it."""


class Committer:
    """Gathers what comes within one turn of the event loop, writes it, and answers when it is on disk.

    A log in a file is written by the event loop itself: a sync takes less time than handing Python's lock to another
    thread and back. A log across a network is written by a thread, and the loop goes on meanwhile.

    `committed` is called with the outcomes of each batch, in the order of the log, before anybody is answered; `failed`
    when a batch could not be written.
    """

    def __init__(
        self,
        writer: LogWriter,
        committed: Callable[[list[Outcome]], None],
        failed: Callable[[Exception], None],
        in_thread: bool,
    ) -> None:
        self.writer = writer
        self.committed = committed
        self.failed = failed
        self.batches = 0
        self._waiting: deque[Waiting] = deque()
        self._flushing = False
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = ThreadPoolExecutor(1, "noisewise-log") if in_thread else None
        self._writing = threading.Lock()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to write."""
        self._loop = loop

    def submit(self, entry: Entry) -> asyncio.Future[Outcome]:
        """Hand in an entry from the event loop; the future is done when it is on disk."""
        if self._loop is None or self._closed or len(self._waiting) >= MOST_WAITING:
            raise Busy("the log has more to write than it can take; try again in a moment")
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._waiting.append((entry, future))
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)
        return future

    def leave(self, entries: list[Entry]) -> None:
        """Write entries that nobody waits for, now, from any thread but the event loop's."""
        for start in range(0, len(entries), LARGEST_BATCH):
            self._write(entries[start : start + LARGEST_BATCH])

    def close(self) -> None:
        """Write what is waiting, then no more; from any thread but the event loop's, which has stopped asking."""
        self._closed = True
        if self._thread is not None:
            self._thread.shutdown(wait=True)
        while batch := self._next_batch():
            self._answer(batch, self._write([entry for entry, _ in batch]))

    @property
    def waiting(self) -> int:
        """Entries not yet written."""
        return len(self._waiting)

    @property
    def alive(self) -> bool:
        """Whether entries are being taken."""
        return self._loop is not None and not self._closed

    def _next_batch(self) -> list[Waiting]:
        return [self._waiting.popleft() for _ in range(min(len(self._waiting), LARGEST_BATCH))]

    def _flush(self) -> None:
        """Write one batch; what comes meanwhile is the next one."""
        assert self._loop is not None
        batch = self._next_batch()
        if not batch:
            self._flushing = False
            return
        entries = [entry for entry, _ in batch]
        if self._thread is None:
            self._answer(batch, self._write(entries))
            self._loop.call_soon(self._flush)
        elif not self._closed:
            written = self._loop.run_in_executor(self._thread, self._write, entries)
            written.add_done_callback(lambda done: self._written(batch, done.result()))

    def _written(self, batch: list[Waiting], results: list[Any]) -> None:
        self._answer(batch, results)
        self._flush()

    def _write(self, entries: list[Entry]) -> list[Any]:
        with self._writing:
            try:
                outcomes = self.writer.write(entries)
            except Exception as error:
                self.failed(error)
                sorry = Unwritten("the log can't be written now; ask again with the same decision_id")
                return [sorry] * len(entries)
            self.batches += 1
            self.committed(outcomes)
            return outcomes

    def _answer(self, batch: list[Waiting], results: list[Any]) -> None:
        for (_, future), result in zip(batch, results):
            if future is None or future.done():  # nobody waits, or not any more
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)
