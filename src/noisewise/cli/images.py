"""Pictures of `noisewise audit`: a folder with a sub-folder for each class, or a column of paths in a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisewise.cli.talk import say, working

if TYPE_CHECKING:
    from noisewise.audit import LabelAudit, Settings
    from noisewise.tables import LabelledTable

LOOKED_AT = 20  # rows by which a column of paths is known


def is_image_folder(data: str) -> bool:
    """Whether this is a folder with pictures in it."""
    from noisewise.embeddings import SUFFIXES
    from noisewise.tables import is_parquet

    folder = Path(data)
    return (
        folder.is_dir() and not is_parquet(data) and any(path.suffix.lower() in SUFFIXES for path in folder.rglob("*"))
    )


def image_column(frame: Any, data: str, named: str | None) -> str | None:
    """The column of paths: the one named, or the first whose values are pictures of which one at least is there."""
    from noisewise._validation import listed
    from noisewise.embeddings import SUFFIXES

    head = frame.lazy().head(LOOKED_AT).collect()
    if named is not None:
        if named not in head.columns:
            raise ValueError(f"there is no column {named!r} in {data}; the columns are {listed(head.columns, most=12)}")
        return named
    for name in head.columns:
        paths = [value for value in head[name].to_list() if value is not None]
        if paths and all(isinstance(path, str) and path.lower().endswith(SUFFIXES) for path in paths):
            if any(Path(path).is_file() for path in _resolved(paths, data)):
                return str(name)
            say(f"column {name!r} names pictures, but there is no file {_resolved(paths, data)[0]!r}: not looked at")
    return None


def audit_folder(folder: str, settings: Settings) -> LabelAudit:
    """The audit of a folder with a sub-folder of pictures for each class."""
    from noisewise._progress import reporting
    from noisewise.audit import run_image_audit

    with working(f"auditing the pictures in {folder}") as progress, reporting(progress, ""):
        return run_image_audit(folder, None, settings)


def audit_column(table: LabelledTable, data: str, column: str, settings: Settings) -> LabelAudit:
    """The audit of a table by the pictures that a column names; paths are relative to the table, or to where we are."""
    from noisewise._progress import reporting
    from noisewise.audit import run_image_audit

    frame = table.features.lazy().collect()
    if frame.width > 1:
        say(f"the pictures of column {column!r} are audited; the other columns are shown, and not used")
    paths = _resolved(frame[column].to_list(), data)
    settings = replace(settings, annotators=table.annotators, groups=table.groups)
    with working(f"auditing {len(paths):,} pictures") as progress, reporting(progress, ""):
        return run_image_audit(paths, table.labels, settings, frame)


def _resolved(paths: list[Any], data: str) -> list[Any]:
    """Paths that can be opened from here."""
    folder = Path() if data == "-" else Path(data).parent
    return [None if path is None else _from_here(str(path), folder) for path in paths]


def _from_here(path: str, folder: Path) -> str:
    beside = folder / path
    return path if not beside.exists() and Path(path).exists() else str(beside)
