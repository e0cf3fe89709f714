"""Imports point down, importing is quick, and the architecture page is a true map."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "noisewise"
PACKAGES = sorted(
    path.stem for path in SOURCE.iterdir() if not path.name.startswith(("_", ".")) and path.suffix != ".typed"
)


def modules_after(statement):
    code = f"{statement}; import sys; print(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_imports_point_down():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "1 kept, 0 broken" in result.stdout, result.stdout + result.stderr


def imports_across(package):
    """Pairs (file, what it imports) for everything a package imports from the other packages."""
    files = (SOURCE / package).rglob("*.py") if (SOURCE / package).is_dir() else [SOURCE / f"{package}.py"]
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("noisewise."):
                yield from ((file.relative_to(SOURCE), node.module.split(".")[1:], name.name) for name in node.names)


def offered(package):
    module = import_module(f"noisewise.{package}")
    lists = (getattr(module, name, []) for name in ("__all__", "__shared__", "__model_parts__"))
    return {name for names in lists for name in names}


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_only_what_others_offer(package):
    """Names that another package's `__init__` lists, or its public submodules; never its inside."""
    inside = []
    for file, (other, *deeper), name in imports_across(package):
        if other == package or other.startswith("_"):  # `_loops`, `_numerics` and their like are there for all
            continue
        public = (
            [*deeper, name][0] in offered(other) if deeper or (SOURCE / other).is_dir() else not name.startswith("_")
        )
        if not public or len(deeper) > 1:
            inside.append(f"{file}: from noisewise.{'.'.join([other, *deeper])} import {name}")
    assert not inside, "\n".join(inside)


def test_importing_noisewise_loads_nothing_heavy():
    loaded = modules_after("import noisewise")
    assert not loaded & {"numba", "sklearn", "pandas", "polars", "torch", "scipy"}


def test_importing_the_public_names_does_not_load_numba():
    loaded = modules_after("from noisewise import FlipMatrix, GaussianNoise, audit_labels, save, load")
    assert not loaded & {"numba", "polars", "torch", "matplotlib"}


def test_help_loads_no_numerics():
    loaded = modules_after("import noisewise.cli")
    assert not loaded & {"numpy", "sklearn", "numba", "polars"}


def test_the_architecture_page_names_every_module_and_no_other_file():
    page = (ROOT / "docs" / "architecture.md").read_text()
    modules = {file.stem for file in SOURCE.rglob("*.py") if not file.stem.startswith("__")}
    assert not {name for name in modules if not re.search(rf"\b{name}\b", page)}
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*/[a-z_]+\.(?:py|json|html))`", page)
    assert not [name for name in named if not list(SOURCE.glob(name)) and not (ROOT / name).exists()]
