"""Which code made a row: a digest of every module that a task reaches."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import noisewise

ROOT = Path(noisewise.__file__).parent


def code_of(task: Callable[..., Any]) -> str:
    """A digest of the module of a task and of all modules of this library that it imports, at the top or in functions.

    Comments, docstrings and layout do not count. A name is followed to the module that defines it, so a change of one
    classifier leaves the rows of the others what they are.

    >>> from noisewise.experiments.papers.bootkrajang.tasks import error_on_clean
    >>> from noisewise.experiments.papers.gao.tasks import accuracy, influence
    >>> code_of(accuracy) == code_of(influence)
    True
    >>> code_of(accuracy) == code_of(error_on_clean)
    False
    """
    return _digest(task.__module__)


@cache
def _digest(module: str) -> str:
    found, waiting = {module}, [module]
    while waiting:
        reached = {_home(*one) for one in _read(waiting.pop()).imports} - found
        found |= reached
        waiting += reached
    whole = hashlib.sha256("\n".join(f"{name} {_read(name).digest}" for name in sorted(found)).encode())
    return whole.hexdigest()[:12]


class Source(NamedTuple):
    """A module: its digest, and pairs (module of this library, name) that it imports, apart those for types alone."""

    digest: str
    imports: list[tuple[str, str]]
    for_types: list[tuple[str, str]]


@cache
def _read(module: str) -> Source:
    path = _path(module)
    if path is None:
        return Source("", [], [])
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    for_types = [node for node in tree.body if isinstance(node, ast.If) and _is_for_types(node.test)]
    rest = [node for node in tree.body if node not in for_types]
    return Source(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), _imports(rest), _imports(for_types))


def _is_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _imports(nodes: Sequence[ast.stmt]) -> list[tuple[str, str]]:
    every = (one for node in nodes for one in ast.walk(node) if isinstance(one, ast.ImportFrom))
    own = (one for one in every if (one.module or "").partition(".")[0] == "noisewise")
    return [(str(one.module), alias.name) for one in own for alias in one.names]


def _path(module: str) -> Path | None:
    package, *parts = module.split(".")
    if package == "noisewise":
        plain = ROOT.joinpath(*parts)
        files = [plain / "__init__.py", plain.with_suffix(".py")]
    else:
        files = [Path(getattr(sys.modules.get(module), "__file__", None) or "")]
    return next((file for file in files if file.is_file()), None)


def _home(module: str, name: str) -> str:
    """The module that a name comes from: itself a module, handed on by a package, or defined there."""
    if _path(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    source = _read(module)
    handed_on = [home for home, one in [*source.imports, *source.for_types] if one == name]
    return _home(handed_on[0], name) if handed_on else module
