"""Rows of finished cells: kept in files that survive a kill at any moment, and picked by their settings."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from noisewise._typing import Floats

Row = dict[str, Any]


class RowStore:
    """A folder of finished rows, one JSON line each; every run of an experiment appends to a file of its own.

    A line is written in one piece and synced to the disk. A kill can only truncate the last line of a file; a line that
    can't be parsed is skipped, and its cell is run again. Of several rows of a cell the last made counts.

    >>> import tempfile
    >>> store = RowStore(tempfile.mkdtemp())
    >>> store.add("toy/table-1", {"id": "a", "result": {"error": 0.25}})
    >>> RowStore(store.folder).rows["a"]["result"]
    {'error': 0.25}
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.rows: dict[str, Row] = {}
        self._files: dict[str, Path] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            for row in _read(path):
                if row.get("made", 0) >= self.rows.get(row["id"], row).get("made", 0):
                    self.rows[row["id"]] = row

    def add(self, experiment: str, row: Row) -> None:
        """Keep a row."""
        if experiment not in self._files:
            self.folder.mkdir(parents=True, exist_ok=True)
            name = f"{experiment.replace('/', '-')}.{os.getpid()}-{secrets.token_hex(4)}.jsonl"
            self._files[experiment] = self.folder / name
        with self._files[experiment].open("ab", buffering=0) as file:
            file.write(json.dumps(row).encode() + b"\n")
            os.fsync(file.fileno())
        self.rows[row["id"]] = row


class Rows:
    """Rows of an experiment as flat records, to be picked by settings.

    >>> rows = Rows([{"method": "knn", "error": 0.25}, {"method": "knn", "error": 0.75}, {"method": "svm", "error": 0}])
    >>> rows.where(method="knn").mean("error"), len(rows.where(method="svm")), rows.where(method="gp").mean("error")
    (0.5, 1, None)
    """

    def __init__(self, records: Iterable[Row]) -> None:
        self.records = list(records)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.records)

    def where(self, **settings: Any) -> Rows:
        """The rows with these settings."""
        wanted = json.loads(json.dumps(settings))  # pairs are lists in rows
        return Rows(row for row in self.records if all(row.get(name) == value for name, value in wanted.items()))

    def values(self, name: str) -> Floats:
        """One number a row, in the order of the repeats."""
        rows = sorted(self.records, key=lambda row: row.get("repeat", 0))
        return np.array([row[name] for row in rows if row.get(name) is not None], dtype=np.float64)

    def paired(self, other: Rows, name: str) -> tuple[Floats, Floats]:
        """One number a row of these and of others, for the repeats that both have."""
        shared = set(self.unique("repeat")) & set(other.unique("repeat"))
        mine, theirs = (Rows(row for row in rows if row["repeat"] in shared).values(name) for rows in (self, other))
        return mine, theirs

    def mean(self, name: str) -> float | None:
        """The mean, or None without rows."""
        values = self.values(name)
        return float(values.mean()) if len(values) else None

    def mean_curve(self, name: str) -> Floats:
        """The mean of a list of numbers, element by element."""
        return np.asarray(np.mean([row[name] for row in self.records], axis=0))

    def standard_error(self, name: str) -> float | None:
        """Standard error of the mean, or None with fewer than two rows."""
        values = self.values(name)
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None

    def unique(self, name: str) -> list[Any]:
        """The values of a setting, in order of appearance."""
        return list({json.dumps(row[name]): row[name] for row in self.records if name in row}.values())


def gaps(settings: Iterable[Rows], first: str, second: str, measure: str = "error") -> list[float]:
    """Mean of one method minus that of another, for each of several settings in which both ran."""
    means = [[rows.where(method=method).mean(measure) for method in (first, second)] for rows in settings]
    return [one - other for one, other in means if one is not None and other is not None]


def _read(path: Path) -> Iterator[Row]:
    for line in path.read_bytes().splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and "id" in row and "result" in row:
            yield row
