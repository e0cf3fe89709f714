"""Reading tables from files: format, encoding and separator are found from the name and the first bytes."""

from __future__ import annotations

import gzip
import math
import re
import sys
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

from noisewise.tables.localized_values import has_commas, parse_localized

NULL_VALUES = ["", "NA", "NaN", "nan", "null", "NULL"]
UNDERSTOOD = "CSV, TSV, Parquet, JSON, JSON lines (also .gz) and Excel are understood"
PARQUET = (".parquet", ".pq")
CODE_ROWS = 10_000  # in which codes are told from numbers
HEAD = 2**16  # bytes that format, encoding and separator are found from
MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def is_parquet(data: str) -> bool:
    """Whether the name is that of a Parquet file, or of a folder of them."""
    path = Path(data)
    return path.suffix.lower() in PARQUET or (path.is_dir() and any(path.glob("*.parquet")))


def scan_table(data: str) -> Any:
    """A lazy polars frame of a Parquet file or a folder of them; rows are read when they are needed."""
    polars = _polars()
    _check_there(data)
    try:
        frame = polars.scan_parquet(Path(data) / "*.parquet" if Path(data).is_dir() else data)
        columns = dict(frame.collect_schema())
        for file in sorted(Path(data).glob("*.parquet")):
            if dict(polars.read_parquet_schema(file)) != columns:
                raise ValueError(f"{file} has other columns, or types of them, than the first file of its folder")
    except (polars.exceptions.PolarsError, OSError) as error:
        raise _unreadable(data, error) from None
    return frame


def read_table(
    data: str,
    say: Callable[[str], None] = lambda sentence: None,
    as_they_are: Collection[str] = (),
    may_lack_header: bool = False,
) -> Any:
    """A polars frame from a file; - is stdin. `say` is called with what had to be guessed.

    In a CSV, localized numbers and dates are parsed, except in the columns `as_they_are`. With `may_lack_header` a
    first line of numbers is a row, unless it may be names: different whole numbers.
    """
    polars = _polars()
    if data != "-":
        _check_there(data)
    try:
        frame = scan_table(data).collect() if is_parquet(data) else _parsed(data, say, as_they_are)
    except polars.exceptions.NoDataError:
        raise ValueError(f"{data} is empty; a header and rows are needed") from None
    except (polars.exceptions.PolarsError, OSError, EOFError, UnicodeDecodeError) as error:
        raise _unreadable(data, error) from None
    firsts = [re.sub(r"_duplicated_\d+$", "", name) for name in frame.columns]  # polars: the same name again
    names = [first if first in firsts[:i] else name for i, (first, name) in enumerate(zip(firsts, frame.columns))]
    if may_lack_header and _is_row(names) and all(kind.is_numeric() for kind in frame.dtypes):
        say(f"{data} has no header: its first line is taken for a row")
        columns = [f"column_{i}" for i in range(len(names))]
        row = polars.DataFrame([[float(name) for name in names]], schema=columns, orient="row")
        return row.vstack(frame.cast(polars.Float64).rename(dict(zip(frame.columns, columns))))
    for name, column in zip(names, frame.columns, strict=True):
        if name != column:
            raise ValueError(f"{data} has two columns called {name!r}; every column needs a name of its own")
    if frame.height == 0:
        raise ValueError(f"{data} has a header and no rows; rows are needed")
    return frame


def _is_row(names: list[str]) -> bool:
    """Whether the first line is a row of numbers, and not names of classes, as frames write 0, 1 or 0.0, 1.0.

    >>> [_is_row(names) for names in (["0", "1"], ["1", "0", "0"], ["1.0e+00", "0.0e+00"], ["a", "1.5"])]
    [False, True, True, False]
    """
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    may_be_names = len(set(numbers)) == len(numbers) and all(re.fullmatch(r"-?\d+(\.0)?", name) for name in names)
    return all(map(math.isfinite, numbers)) and not may_be_names


def column_names(data: str) -> list[str]:
    """Names of the columns of a file, without reading its rows where possible."""
    if is_parquet(data):
        return list(scan_table(data).collect_schema().names())
    if Path(data).suffix.lower() in (".csv", ".tsv", ".tab"):
        with open(data, "rb") as file:
            lines = b"".join(file.readline() for _ in range(2))
        return list(_delimited(lines, lines, Path(data).suffix.lower() != ".csv", lambda sentence: None).columns)
    return list(read_table(data).columns)


def _parsed(data: str, say: Callable[[str], None], as_they_are: Collection[str]) -> Any:
    polars = _polars()
    path = Path(data)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] in ([".xlsx"], [".xls"], [".ods"]):
        return _spreadsheet(data)
    source: Any = data
    if data == "-":
        source = sys.stdin.buffer.read()
    elif not path.is_file():  # a pipe can be read only once
        source = path.read_bytes()
    head = source[:HEAD] if isinstance(source, bytes) else _head(path)
    if head[:2] == b"\x1f\x8b":
        source = gzip.decompress(source if isinstance(source, bytes) else path.read_bytes())
        head = source[:HEAD]
    if head[:4] == b"PAR1":
        return polars.read_parquet(source)
    if (encoding := _encoding(head, source)) != "utf-8":
        text = (source if isinstance(source, bytes) else path.read_bytes()).decode(encoding)
        say(f"{data} is not UTF-8: read as {encoding}")
        source, head = text.encode(), text[:HEAD].encode()
    first = head.lstrip()[:1]
    if first in (b"[", b"{") and not {".csv", ".tsv", ".tab"} & set(suffixes):
        reader = polars.read_json if first == b"[" else polars.read_ndjson
        return reader(source, infer_schema_length=None)
    tabs = bool({".tsv", ".tab"} & set(suffixes))
    return _delimited(source, head, tabs, lambda sentence: say(f"{data} {sentence}"), as_they_are)


def _delimited(
    source: Any, head: bytes, tabs: bool, say: Callable[[str], None], as_they_are: Collection[str] = ()
) -> Any:
    """CSV, with the separator found in its header."""
    usual, separator = "\t" if tabs else ",", separator_of(head, tabs)
    if separator != usual:
        say(f"has no {MARKS[usual]} in its header: read with {MARKS[separator]}")
    comma = separator == ";" and bool(re.search(rb"\d,\d", head))
    frame = _fields(source, separator, comma)
    if padded := [name for name in frame.columns if name != name.strip()]:
        say(f"has spaces around {padded[0].strip()!r} in its header: taken off there and in the rows")
        source = _without_spaces(source, separator)
        frame = _fields(source, separator, comma)
    if comma and not has_commas(frame):
        comma, frame = False, _fields(source, separator, False)
    return parse_localized(frame, "," if comma else ".", as_they_are, say)


def separator_of(head: bytes, tabs: bool) -> str:
    """The separator of a CSV by its first bytes: a comma (or a tab), or what its header has instead.

    >>> separator_of(b'a;"b, c";d', tabs=False)
    ';'
    """
    header = re.sub(rb'"[^"]*"', b"", head.split(b"\n", 1)[0])  # what is quoted separates nothing
    counts = {mark: header.count(mark.encode()) for mark in MARKS}
    usual = "\t" if tabs else ","
    return usual if counts[usual] or not any(counts.values()) else max(counts, key=lambda mark: counts[mark])


def decoded(data: str) -> tuple[str, str]:
    """The text of a file, and its encoding."""
    raw = Path(data).read_bytes()
    encoding = _encoding(raw[:HEAD], raw)
    return raw.decode(encoding, errors="surrogateescape"), encoding


def _fields(source: Any, separator: str, comma: bool) -> Any:
    """The fields with their types; whole numbers with leading zeros in the first rows are codes, and stay strings."""
    polars = _polars()
    read = partial(polars.read_csv, source, separator=separator, null_values=NULL_VALUES)
    typed = partial(read, infer_schema_length=None, decimal_comma=comma)
    frame = typed()
    if whole := [name for name, kind in frame.schema.items() if kind.is_integer()]:
        first = read(columns=whole, infer_schema=False, n_rows=CODE_ROWS)
        if codes := [name for name in whole if first[name].str.contains(r"^0\d").any()]:
            frame = typed(schema_overrides=dict.fromkeys(codes, polars.String))
    return _with_dates(frame)


def _with_dates(frame: Any) -> Any:
    """Strings as dates and times, where polars takes a column's first value for one: trying every field is slow."""
    polars = _polars()

    def parsed(strings: Any) -> Any:
        text = strings.write_csv(include_header=False, null_value=NULL_VALUES[1]).encode()
        typed = partial(polars.read_csv, infer_schema_length=None, try_parse_dates=True)
        return typed(text, has_header=False, new_columns=strings.columns, null_values=NULL_VALUES)

    strings = frame.select(name for name, kind in frame.schema.items() if kind == polars.String)
    if not strings.width:
        return frame
    firsts = parsed(strings.select(polars.all().drop_nulls().first()))
    dates = [name for name, kind in firsts.schema.items() if kind.is_temporal()]
    return frame.with_columns(parsed(strings.select(dates))) if dates else frame


def _without_spaces(source: Any, separator: str) -> bytes:
    """The same table as CSV, names and fields stripped of surrounding spaces."""
    texts = _polars().read_csv(source, separator=separator, infer_schema=False, null_values=NULL_VALUES)
    texts = texts.with_columns(_polars().all().str.strip_chars())
    return bytes(texts.rename(str.strip).write_csv(separator=separator).encode())


def _spreadsheet(data: str) -> Any:
    try:
        return _polars().read_excel(data)
    except ImportError:
        raise ImportError(
            f"reading {data} needs fastexcel; `pip install 'noisewise[excel]'` brings it; or save the sheet as CSV"
        ) from None
    except Exception as error:  # of the library that reads spreadsheets
        raise _unreadable(data, error) from None


def _encoding(head: bytes, source: Any) -> str:
    """UTF-8 if the bytes are valid, UTF-16 by its byte order mark, else Latin-1 unless the file is binary."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if b"\0" in head:
        return "utf-8"
    try:
        if isinstance(source, bytes):
            source.decode()
        else:
            with open(source, encoding="utf-8") as file:
                while file.read(HEAD):
                    pass
    except UnicodeDecodeError:
        control = sum(byte < 32 and byte not in b"\t\r\n" for byte in head)
        return "utf-8" if control > len(head) / 100 else "latin-1"
    return "utf-8"


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


def _check_there(data: str) -> None:
    path = Path(data)
    if not path.exists():
        near = [other.name for other in path.absolute().parent.glob("*")] if path.absolute().parent.is_dir() else []
        from difflib import get_close_matches

        close = get_close_matches(path.name, near, n=1, cutoff=0.75)
        raise ValueError(f"there is no file {data!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    if path.is_dir() and not is_parquet(data):
        raise ValueError(f"{data} is a folder without Parquet files and without pictures; name a file")


def _unreadable(data: str, error: Exception) -> ValueError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "more fields than defined" in reason:
        reason = "a row has more fields than the header; are texts with commas in quotes?"
    return ValueError(f"{data} can't be read as a table ({reason}); {UNDERSTOOD}")


def _polars() -> Any:
    import polars  # heavy

    return polars
