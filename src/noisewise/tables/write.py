"""Writing tables to files, the format by the ending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from noisewise._files import replace_files

ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".xlsx")
PLAIN = (str, int, float, bool)  # what a cell of a sheet holds as it is; other values as text


def check_ending(path: Path) -> None:
    """Refuse, before any work is done, a file of a format that is not written."""
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"{path} ends in none of {', '.join(ENDINGS)}; the ending says the format")


def write_frame(frame: Any, ending: str, path: str) -> None:
    """Write a polars frame in the format of an ending."""
    if ending in (".parquet", ".pq"):
        frame.write_parquet(path)
    elif ending == ".json":
        frame.write_json(path)
    elif ending in (".jsonl", ".ndjson"):
        frame.write_ndjson(path)
    elif ending == ".xlsx":
        _write_sheet(frame.columns, frame.rows(), path)
    else:
        frame.write_csv(path, separator="," if ending in (".csv", ".txt") else "\t")


def write_rows(entries: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write entries with the same keys as an Excel file."""
    names = list(entries[0]) if entries else []
    replace_files({path: partial(_write_sheet, names, [list(entry.values()) for entry in entries])})


def workbook_library() -> Any:
    """openpyxl, or a sentence on where it comes from."""
    try:
        import openpyxl
    except ImportError:
        raise ImportError("writing .xlsx needs openpyxl; `pip install 'noisewise[excel]'` brings it") from None
    return openpyxl


def _write_sheet(names: Sequence[str], rows: Sequence[Sequence[Any]], path: str) -> None:
    """One sheet; the header stays in sight, and text that begins like a formula stays text."""
    book = workbook_library().Workbook()
    sheet = book.active
    sheet.freeze_panes = "A2"
    for line, values in enumerate([names, *rows], start=1):
        for column, value in enumerate(values, start=1):
            if value is None:
                continue
            cell = sheet.cell(line, column, value if isinstance(value, PLAIN) else str(value))
            if isinstance(value, str):
                cell.data_type = "s"
    book.save(path)
