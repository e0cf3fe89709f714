"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any


def check_folder(folder: Path, files: str) -> None:
    """Refuse, before any work is done, a folder into which nothing can be written."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder for {files}")
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not nearest.is_dir():
        raise ValueError(f"{nearest} is a file, so that there can be no folder {folder} for {files}")
    try:
        with tempfile.TemporaryDirectory(dir=nearest, prefix="."):  # permissions do not tell all: try
            pass
    except OSError as error:
        raise ValueError(
            f"the folder {nearest} can't be written to ({error.strerror}); name another one for {files}"
        ) from None


def write_whole(text: str, path: Any) -> None:
    """Write a text file so that nobody ever sees half of it."""
    write_all({Path(path): text})


def write_all(texts: dict[Path, str]) -> None:
    """Write several text files: all are on the disk, under other names, before the first takes its place."""
    waiting: dict[Path, str] = {}
    target = Path()
    try:
        for target, text in texts.items():
            with tempfile.NamedTemporaryFile(
                "w", dir=target.parent, prefix=f".{target.name}.", delete=False, encoding="utf-8", newline=""
            ) as temporary:
                waiting[target] = temporary.name
                temporary.write(text)
            os.chmod(temporary.name, 0o644)
        for target in list(waiting):
            os.replace(waiting[target], target)
            del waiting[target]
    except OSError as error:  # the name people know, not that of the temporary file
        raise OSError(error.errno, error.strerror, str(target)) from None
    finally:
        for name in waiting.values():
            with suppress(OSError):
                os.unlink(name)
