"""The log of a review: one JSON line for each decision, appended and on the disk before it counts."""

from __future__ import annotations

import errno
import json
import os
from collections import defaultdict
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

Action = Literal["keep", "suggestion", "other", "unsure", "undo"]


@dataclass(frozen=True)
class Decision:
    """What a reviewer decided about a row, and when; labels by name.

    `decision` is empty where the reviewer could not tell, or took an earlier decision back.
    """

    row: int
    observed: str
    suggested: str
    action: Action
    decision: str
    reviewer: str
    time: str


def now() -> str:
    """The time, to the second, as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class DecisionLog:
    """Decisions in a file that only grows; what other processes append is read too.

    A process that is killed while it writes leaves at most one incomplete last line, which was never acknowledged:
    it is skipped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Decision] = []
        self._of_row: dict[int, list[Decision]] = defaultdict(list)
        self._n_bytes = 0  # read so far: whole lines
        self.refresh()

    def refresh(self) -> None:
        """Read what was appended since, here or by another process."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._n_bytes)
            whole, _, _ = file.read().rpartition(b"\n")
        if whole:
            self._n_bytes += len(whole) + 1
            for line in whole.split(b"\n"):
                self._add(line)

    def append(self, entry: Decision) -> None:
        """Write a decision to the disk."""
        line = json.dumps(asdict(entry), ensure_ascii=False).encode() + b"\n"
        is_new = not self.path.exists()
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            if (size := os.lseek(file, 0, os.SEEK_END)) and _byte_before(file, size) != b"\n":
                line = b"\n" + line  # end what a killed process began
            if os.write(file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            os.fsync(file)
        finally:
            os.close(file)
        if is_new:
            _sync_folder(self.path.parent)
        self.refresh()

    def standing(self, row: int) -> Decision | None:
        """The decision about a row: the last one that was not taken back."""
        stack: list[Decision] = []
        for entry in self._of_row.get(row, ()):
            if entry.action != "undo":
                stack.append(entry)
            elif stack:
                stack.pop()
        return stack[-1] if stack else None

    @property
    def decided(self) -> dict[int, Decision]:
        """Standing decisions by row."""
        found = {row: self.standing(row) for row in self._of_row}
        return {row: entry for row, entry in found.items() if entry is not None}

    def version(self, row: int) -> int:
        """How many entries there are about a row; it tells whether somebody decided in the meantime."""
        return len(self._of_row.get(row, ()))

    def last_of(self, reviewer: str) -> Decision | None:
        """The newest standing decision of a reviewer."""
        return next((one for one in reversed(self.entries) if self._stands(one, reviewer)), None)

    def _stands(self, entry: Decision, reviewer: str) -> bool:
        return entry.reviewer == reviewer and self.standing(entry.row) is entry

    def _add(self, line: bytes) -> None:
        try:
            entry = Decision(**json.loads(line))
        except (ValueError, TypeError):  # an incomplete line
            return
        self.entries.append(entry)
        self._of_row[entry.row].append(entry)


def _sync_folder(folder: Path) -> None:
    """Bring the name of a new file to the disk, where folders can be synced."""
    if os.name == "posix":
        file = os.open(folder, os.O_RDONLY)
        os.fsync(file)
        os.close(file)


def _byte_before(file: int, size: int) -> bytes:
    os.lseek(file, size - 1, os.SEEK_SET)
    return os.read(file, 1)
