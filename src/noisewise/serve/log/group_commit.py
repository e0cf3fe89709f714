"""Group commit: requests that come while one transaction is being written share the next one."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from noisewise.serve.log.write import Entry, LogWriter, Outcome

LARGEST_BATCH, MOST_WAITING = 512, 20_000
Waiting = tuple[Entry, "asyncio.Future[Outcome]"]


class Busy(Exception):
    """More requests wait for the log than it can take soon."""


class Unwritten(Exception):
    """The log could not be written; what was asked for may or may not be in it."""


class Committer:
    """Gathers what comes while a transaction is on its way to the disk, and writes it in the next one.

    A log in a file is prepared by the event loop, and only the sync is left to a thread: anything more there would hand
    Python's lock to and fro. A log across a network is written by the thread alone.

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
        self._waiting: deque[Waiting] = deque()
        self._flushing = False
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = ThreadPoolExecutor(1, "noisewise-log")
        self._writing = threading.Lock()  # one batch at a time, whoever hands it in

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
            with self._writing:
                try:
                    outcomes = self.writer.prepare(entries[start : start + LARGEST_BATCH]).commit()
                except Exception as error:
                    self.failed(error)
                    return
                self.committed(outcomes)

    async def close(self) -> None:
        """Write what is waiting, then no more."""
        self._closed = True
        while self._flushing:
            await asyncio.sleep(0.005)
        self._thread.shutdown(wait=True)

    @property
    def waiting(self) -> int:
        """Entries not yet written."""
        return len(self._waiting)

    @property
    def alive(self) -> bool:
        """Whether entries are being taken."""
        return self._loop is not None and not self._closed

    def _flush(self) -> None:
        """Write one batch; what comes meanwhile is the next one."""
        assert self._loop is not None
        if not self._waiting:
            self._flushing = False
            return
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), LARGEST_BATCH))]
        entries = [entry for entry, _ in batch]
        self._writing.acquire()
        if self.writer.store.sqlite:
            try:
                prepared = self.writer.prepare(entries)
            except Exception as error:
                self._finish(batch, error)
                return
            written = self._loop.run_in_executor(self._thread, prepared.commit)
        else:
            written = self._loop.run_in_executor(self._thread, lambda: self.writer.prepare(entries).commit())
        written.add_done_callback(lambda done: self._finish(batch, done.exception() or done.result()))

    def _finish(self, batch: list[Waiting], result: Any) -> None:
        """Learn from a batch, answer those who wait for it, and go on."""
        results: list[Any]
        try:
            if isinstance(result, BaseException):
                self.failed(result)  # type: ignore[arg-type]
                results = [Unwritten("the log can't be written now; ask again with the same decision_id")] * len(batch)
            else:
                self.batches += 1
                self.committed(result)
                results = result
        finally:
            self._writing.release()
        for (_, future), one in zip(batch, results):
            if not future.done():  # some do not wait any more
                future.set_exception(one) if isinstance(one, Exception) else future.set_result(one)
        self._flush()
