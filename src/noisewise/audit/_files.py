"""Tables in files: read whole, written whole or not at all."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from difflib import get_close_matches
from pathlib import Path
from typing import Any

MISSING = ["", "NA", "NaN", "nan", "null", "NULL"]


def read_labelled(data: str, label: str | None) -> tuple[Any, list[Any]]:
    """Features as a polars frame and labels as a list, from a file (- is stdin) and the label's column."""
    frame = read_table(data)
    if label is None:
        raise ValueError(f"which column holds the labels? add --label NAME; the columns are {_listed(frame.columns)}")
    if label not in frame.columns:
        raise ValueError(f"there is no column {label!r} in {data}; {_nearest(label, frame.columns)}")
    if frame.width < 2:
        raise ValueError(f"{data} has one column only; a label and at least one feature are needed")
    labels = frame[label].to_list()
    missing = [row for row, value in enumerate(labels) if value is None or value != value]
    if missing:
        raise ValueError(
            f"{len(missing)} of {len(labels)} rows have no label in column {label!r}, the first is row {missing[0]}; "
            "fill them in or drop these rows"
        )
    try:
        distinct = len(set(labels))
    except TypeError:
        raise ValueError(
            f"column {label!r} holds lists or records; a label column holds one name or number a row"
        ) from None
    if distinct > max(2, len(labels) / 3):
        raise ValueError(
            f"column {label!r} has {distinct} distinct values in {len(labels)} rows; "
            "a label column has classes, each with three rows or more on average"
        )
    return frame.drop(label), labels


def read_table(data: str) -> Any:
    """A polars frame from CSV, TSV, Parquet or JSON lines, told apart by the file's ending; - is CSV from stdin."""
    try:
        import polars
    except ImportError:
        raise ImportError("reading files needs polars; `pip install 'noisewise[cli]'` brings it") from None
    if data != "-" and not Path(data).is_file():
        raise ValueError(f"there is no file {data!r}")
    source: Any = sys.stdin.buffer.read() if data == "-" else data
    suffix = Path(data).suffix.lower()
    try:
        if suffix in (".parquet", ".pq"):
            frame = polars.read_parquet(source)
        elif suffix in (".jsonl", ".ndjson"):
            frame = polars.read_ndjson(source)
        else:
            separator = "\t" if suffix in (".tsv", ".tab") else ","
            frame = polars.read_csv(
                source, separator=separator, infer_schema_length=None, null_values=MISSING, try_parse_dates=True
            )
    except polars.exceptions.NoDataError:
        raise ValueError(f"{data} is empty; a header and rows are needed") from None
    except (polars.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"{data} can't be read as a table ({reason}); CSV, TSV, Parquet and JSON lines are understood"
        ) from None
    for name in frame.columns:
        first = re.sub(r"_duplicated_\d+$", "", name)  # how polars calls a second column of the same name
        if first != name and first in frame.columns:
            raise ValueError(f"{data} has two columns called {first!r}; every column needs a name of its own")
    if frame.height == 0:
        raise ValueError(f"{data} has a header and no rows; rows are needed")
    return frame


def write_whole(text: str, path: Any) -> None:
    """Write a text file so that nobody ever sees half of it."""
    target = Path(path)
    with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False, encoding="utf-8") as temporary:
        temporary.write(text)
    try:
        os.chmod(temporary.name, 0o644)
        os.replace(temporary.name, target)
    except OSError:
        os.unlink(temporary.name)
        raise


def _nearest(name: str, names: list[str]) -> str:
    by_lower = {other.lower(): other for other in names}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    return f"did you mean {by_lower[near[0]]!r}?" if near else f"the columns are {_listed(names)}"


def _listed(names: list[str], most: int = 12) -> str:
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
