"""Atomic writes: a file is replaced by a complete one, or stays as it was."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
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
    """Write a text file atomically: readers see the old file or the new one, never a part of it."""
    write_all({Path(path): text})


def write_all(texts: Mapping[Path, str]) -> None:
    """Write several text files: all are complete, under temporary names, before the first is renamed."""
    replace_files({target: partial(_write_text, text) for target, text in texts.items()})


def replace_files(writers: Mapping[Path, Callable[[str], Any]], sync: bool = False) -> None:
    """Write files under temporary names by their functions, then rename all; on an error nothing is left behind.

    With `sync`, a file is on the disk before it is renamed. Errors of the system name the target.
    """
    waiting: dict[Path, str] = {}
    target = Path()
    try:
        for target, write in writers.items():
            temporary = f"{target}.{secrets.token_hex(8)}.part"
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # permissions as any new file's
            waiting[target] = temporary
            write(temporary)
            if sync:
                with open(temporary, "rb+") as file:
                    os.fsync(file.fileno())
        for target in list(waiting):
            os.replace(waiting[target], target)
            del waiting[target]
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), str(target)) from error
    finally:
        for temporary in waiting.values():
            with suppress(OSError):
                os.unlink(temporary)


def _write_text(text: str, path: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
