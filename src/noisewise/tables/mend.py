"""A table written again with other labels in some rows, everything else as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from noisewise._files import replace_files
from noisewise.tables.read import HEAD, decoded, read_table, separator_of
from noisewise.tables.write import check_ending, workbook_library, write_frame

TEXT = (".csv", ".tsv", ".tab", ".txt")


def mend_table(data: str, label: str, labels: Mapping[int, Any], out: Path) -> None:
    """Write the table of a file to another one, with these labels (row, from 0, to label) put in.

    From CSV to CSV and from Excel to Excel only the cells of these labels change: formats of numbers and dates, quotes,
    encoding, colours and other sheets stay. Labels that are put in are written as in other rows.
    """
    check_ending(out)
    if out.exists() and Path(data).exists() and out.samefile(data):
        raise ValueError(f"{out} is the table itself, which is never changed; name another file")
    frame = read_table(data, as_they_are=[label])
    mended = frame[label].to_list()
    ending = out.suffix.lower()
    write: Any = None
    if Path(data).suffix.lower() == ending and ending in TEXT:
        write = _splice_text(data, frame.columns.index(label), mended, labels)
    elif Path(data).suffix.lower() == ending == ".xlsx":
        write = _splice_sheet(data, label, labels, frame.height)
    if write is None:
        for row, value in labels.items():
            mended[row] = value
        kind = frame[label].dtype
        whole = not kind.is_integer() or all(value is None or value == int(value) for value in mended)
        column = type(frame[label])(label, mended, dtype=kind if whole else None, strict=False)
        write = partial(write_frame, frame.with_columns(column), ending)
    replace_files({out: write})


def raw_table(data: str) -> Any:
    """The table of a file; the cells of a text file as they are written, codes with their leading zeros."""
    import polars

    frame = read_table(data)
    if Path(data).suffix.lower() not in TEXT:
        return frame
    text, _ = decoded(data)
    separator = separator_of(text[:HEAD].encode(errors="replace"), Path(data).suffix.lower() in (".tsv", ".tab"))
    raw = polars.read_csv(text.encode(errors="replace"), separator=separator, infer_schema=False)
    return raw if (raw.columns, raw.height) == (frame.columns, frame.height) else frame


def _splice_text(data: str, column: int, present: list[Any], labels: Mapping[int, Any]) -> Any:
    """A function that writes the text of a CSV with these cells replaced; None if they are not those of the table."""
    text, encoding = decoded(data)
    separator = separator_of(text[:HEAD].encode(errors="replace"), Path(data).suffix.lower() in (".tsv", ".tab"))
    spans = list(cell_spans(text, separator, column))[1:]
    raw = [text[start:end] for start, end in spans]
    written = dict(zip(raw, present))
    if len(raw) != len(present) or any(written[cell] != value for cell, value in zip(raw, present)):
        return None
    cell_of = {value: cell for cell, value in reversed(written.items())}
    if new := set(labels.values()) - set(cell_of):
        if separator == ";" or any(re.search(r'["\r\n]|' + re.escape(separator), str(value)) for value in new):
            return None  # decimal commas or quotes may be needed
        cell_of |= {value: str(value) for value in new}
    parts, end = [], 0
    for row in sorted(labels):
        start, stop = spans[row]
        parts += [text[end:start], cell_of[labels[row]]]
        end = stop
    mended = "".join([*parts, text[end:]]).encode(encoding, errors="surrogateescape")
    return lambda path: Path(path).write_bytes(mended)


def cell_spans(text: str, separator: str, column: int) -> Iterator[tuple[int, int]]:
    r"""Where the cells of a column begin and end in the text of a CSV, quotes included; blank lines have none.

    >>> text = 'a,"b, c"\n\n1,x\n'
    >>> [text[start:end] for start, end in cell_spans(text, ",", 1)]
    ['"b, c"', 'x']
    """
    mark = re.escape(separator)
    cell = re.compile(rf'(?:"(?:[^"]|"")*"|[^{mark}\r\n"])[^{mark}\r\n]*|')
    at, j = 0, 0
    while at < len(text):
        start, at = cell.match(text, at).span()  # type: ignore[union-attr]  # it matches nothing, too
        blank = j == 0 and start == at and text[at : at + 1] != separator
        if j == column and not blank:
            yield start, at
        if text[at : at + 1] == separator:
            j += 1
            at += 1
        else:
            j = 0
            at += 2 if text.startswith("\r\n", at) else 1


def _splice_sheet(data: str, label: str, labels: Mapping[int, Any], n_rows: int) -> Any:
    """A function that saves the workbook with these cells of its first sheet replaced; None if the rows are others."""
    book = workbook_library().load_workbook(data)
    rows = [row for row in book.worksheets[0].iter_rows() if any(cell.value is not None for cell in row)]
    names = [str(cell.value) for cell in rows[0]]
    if len(rows) != n_rows + 1 or label not in names:
        return None
    column = names.index(label)
    for row, value in labels.items():
        rows[row + 1][column].value = value
    return book.save
