"""The file format: a safetensors file with one JSON document and a checksum over both, written atomically."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from noisewise._files import replace_files

FORMAT, SCHEMA = "noisewise", 1
LONGEST_HEADER = 100_000_000  # safetensors refuses to read a longer one
UNREADABLE = (SafetensorError, OSError, TypeError, AttributeError, LookupError)  # the last three: unknown dtypes
Document = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


def write_container(path: str | os.PathLike[str], document: Document, arrays: Arrays) -> None:
    """Write a document and its arrays; the file is there in full, or is what it was before."""
    target = _target(path)
    document = {"format": FORMAT, **document}
    text = _to_text({**document, "checksum": _checksum(document, arrays)})
    names = sum(len(name) + 200 for name in arrays)
    if len(json.dumps(text)) + names > LONGEST_HEADER:  # it is put in quotes once more
        raise ValueError("the model holds too much outside its arrays; numpy arrays in place of long lists would do")
    try:
        replace_files({Path(target): lambda part: save_file(arrays, part, metadata={FORMAT: text})}, sync=True)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        kind = type(error) if isinstance(error, OSError) else OSError
        raise kind(f"can't write {target}: {reason}; nothing was saved") from error


def read_container(path: str | os.PathLike[str]) -> tuple[Document, Arrays]:
    """A document and its arrays, with every byte checked."""
    name = os.fspath(path)
    if os.path.isdir(name):
        raise IsADirectoryError(f"{name} is a folder; the path of a model file is needed")
    if os.path.exists(name) and not os.path.isfile(name):
        raise ValueError(f"{name} is no ordinary file; the path of a model file is needed")
    try:
        with open(name, "rb"):
            pass
    except OSError as error:
        raise type(error)(f"can't read {name}: {error.strerror}") from None
    try:
        with safe_open(name, framework="np") as file:
            document = _document(name, file.metadata() or {})
            arrays = {key: file.get_tensor(key) for key in sorted(file.keys())}
    except UNREADABLE as error:
        raise ValueError(f"{name} is no model file, or a damaged one ({error}); save the model again") from None
    checksum = document.pop("checksum", None)
    if checksum != _checksum(document, arrays):
        raise ValueError(f"{name} is damaged: its checksum does not fit its contents; save the model again")
    return document, arrays


def _document(name: str, metadata: Mapping[str, str]) -> Document:
    if FORMAT not in metadata:
        raise ValueError(f"{name} is a safetensors file, but not one that noisewise wrote")
    try:
        document = json.loads(metadata[FORMAT])
    except (ValueError, RecursionError):
        raise ValueError(f"{name} is damaged: its description can't be read; save the model again") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT or type(document.get("schema")) is not int:
        raise ValueError(f"{name} is damaged: its description is not that of a noisewise model; save the model again")
    if document["schema"] > SCHEMA:
        versions = document.get("versions")
        writer = versions.get("noisewise", "of a newer version") if isinstance(versions, dict) else "of a newer version"
        raise ValueError(
            f"{name} was written by noisewise {writer} with schema {document['schema']}; "
            f"this version reads up to {SCHEMA}: upgrade noisewise"
        )
    return document


def _checksum(document: Document, arrays: Arrays) -> str:
    digest = hashlib.sha256(_to_text(document).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}\n{array.dtype.str}\n{array.shape}\n".encode("utf-8", "surrogatepass"))
        if array.nbytes:
            digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _to_text(document: Document) -> str:
    try:
        return json.dumps(document, separators=(",", ":"))
    except RecursionError:
        raise ValueError("the model is nested too deeply for a model file; a flatter one would do") from None


def _target(path: str | os.PathLike[str]) -> str:
    target = os.path.realpath(os.fspath(path))  # through a link, to what it points at
    if os.path.isdir(target):
        raise IsADirectoryError(f"{target} is a folder; the path of a file in it is needed")
    if not os.path.isdir(os.path.dirname(target)):
        raise FileNotFoundError(f"there is no folder {os.path.dirname(target)}; make it first")
    if os.path.exists(target) and not os.path.isfile(target):
        raise ValueError(f"{target} is no ordinary file; the path of a new or an ordinary file is needed")
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError(f"{target} may not be written to; change its permissions or choose another path")
    return target
