"""`save`, `load` and `describe`."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from importlib.metadata import version
from typing import Any

from noisewise.persistence.codecs import BY_KIND, find_codec
from noisewise.persistence.container import SCHEMA, Document, read_container, write_container
from noisewise.persistence.dtypes import dtype_from_node
from noisewise.persistence.migrations import current_class, current_fields
from noisewise.persistence.registry import Registry
from noisewise.persistence.tree import AGAIN, Node, Reader, Writer

ROOT = "model"
VERSIONED = ("noisewise", "numpy", "scikit-learn")  # packages whose versions a file records
BROKEN = (ArithmeticError, AttributeError, ImportError, LookupError, RecursionError, TypeError, ValueError)


def save(model: Any, path: str | os.PathLike[str], *, extra: Iterable[Any] = ()) -> None:
    """Save a model to one file; the model that `load` returns continues bit for bit.

    Parameters
    ----------
    model : estimator, noise or plain values
        Anything made of public noisewise classes, simple scikit-learn ones (scalers, encoders, linear models,
        pipelines of these), arrays, random generators and plain Python values.
    path : str or path
        The file; one that is there is replaced in one step, when all is written.
    extra : classes
        Classes of your own that the model holds; `load` must be given them too.

    Examples
    --------
    >>> import os, tempfile
    >>> from noisewise.noise import FlipMatrix
    >>> path = os.path.join(tempfile.mkdtemp(), "noise.model")
    >>> save(FlipMatrix.binary(false_positive=0.1, false_negative=0.3), path)
    >>> load(path)
    FlipMatrix.binary(false_positive=0.1, false_negative=0.3)
    """
    registry = Registry(extra)
    writer = Writer(find_codec, registry)
    kind = registry.name(type(model)) or type(model).__name__
    versions = {"python": platform.python_version(), **{package: version(package) for package in VERSIONED}}
    with getattr(model, "_lock", nullcontext()):  # of a learner that other threads may be using
        try:
            state = writer.write(model, ROOT)
        except RecursionError:
            raise ValueError("the model is nested too deeply for a model file; a flatter one would do") from None
        write_container(path, {"schema": SCHEMA, "class": kind, "state": state, "versions": versions}, writer.arrays)


def load(path: str | os.PathLike[str], *, extra: Iterable[Any] = ()) -> Any:
    """The model that `save` wrote; nothing in the file is run, and a damaged or foreign file is a ValueError.

    Parameters
    ----------
    path : str or path
        A file written by `save`.
    extra : classes
        Classes of your own that the file may hold, as given to `save`.
    """
    document, arrays = read_container(path)
    registry = Registry(extra)
    try:
        model = Reader(BY_KIND, arrays, registry).read(document["state"])
    except BROKEN as error:
        raise ValueError(f"{os.fspath(path)} can't be made into a model: {error}") from error
    _warn_of_other_versions(document, registry)
    return model


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file holds (class, parameters, arrays, versions, size in bytes), without building the model.

    >>> import os, tempfile
    >>> from noisewise.noise import FlipMatrix
    >>> path = os.path.join(tempfile.mkdtemp(), "noise.model")
    >>> save(FlipMatrix.symmetric(0.1, n_classes=3), path)
    >>> describe(path)["class"], describe(path)["parameters"]
    ('noisewise.noise.FlipMatrix', {'matrix': 'float64 array of shape (3, 3)'})
    """
    document, arrays = read_container(path)
    try:
        state = document["state"]
        parameters = _named(state, {}) if isinstance(state, dict) else {}
    except BROKEN as error:
        raise ValueError(f"{os.fspath(path)} can't be described: {error}") from error
    return {
        "class": current_class(document["class"]),
        "parameters": parameters,
        "arrays": {name: f"{array.dtype} {array.shape}" for name, array in arrays.items()},
        "versions": document["versions"],
        "schema": document["schema"],
        "size": os.path.getsize(path),
    }


def _warn_of_other_versions(document: Document, registry: Registry) -> None:
    """The insides of scikit-learn's classes may change from one minor version to the next."""
    written, here = str(document["versions"].get("scikit-learn")), version("scikit-learn")
    if written.split(".")[:2] != here.split(".")[:2] and any(name.startswith("sklearn.") for name in registry.used):
        warnings.warn(
            f"the model was saved with scikit-learn {written} and loaded with {here}: "
            "its scikit-learn parts may predict differently; install that version or fit again",
            RuntimeWarning,
            stacklevel=3,
        )


def _named(node: dict[str, Node], shared: dict[int, Any]) -> dict[str, Any]:
    """Parameters of an estimator or fields of a dataclass; empty for anything else."""
    named = node.get("parameters") or node.get("fields") or {}
    return current_fields(node.get("class", ""), {name: _plain(item, shared) for name, item in named.items()})


def _plain(node: Node, shared: dict[int, Any]) -> Any:
    if not isinstance(node, dict):
        return node
    if node["kind"] == AGAIN:
        return shared.get(node["id"], "an object mentioned before")
    value = _of_kind(node, shared)
    if "id" in node:
        shared[node["id"]] = value
    return value


def _of_kind(node: dict[str, Node], shared: dict[int, Any]) -> Any:
    kind = node["kind"]
    if kind in ("array", "object array", "sparse"):
        numbers = f"{dtype_from_node(node['dtype'])} array" if "dtype" in node else node.get("type", kind)
        return f"{numbers} of shape {tuple(node['shape'])}"
    if kind == "dict":
        return {str(_plain(key, shared)): _plain(item, shared) for key, item in node["items"]}
    if "items" in node:
        return [_plain(item, shared) for item in node["items"]]
    if "class" in node:
        return {"class": current_class(node["class"]), **_named(node, shared)}
    return node.get("text") or node.get("name") or f"a {kind}"
