"""Imports point down, and importing is quick."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def modules_after(statement):
    code = f"{statement}; import sys; print(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_imports_point_down():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "1 kept, 0 broken" in result.stdout, result.stdout + result.stderr


def test_importing_noisewise_loads_nothing_heavy():
    loaded = modules_after("import noisewise")
    assert not loaded & {"numba", "sklearn", "pandas", "polars", "torch", "scipy"}


def test_importing_the_public_names_does_not_load_numba():
    loaded = modules_after("from noisewise import FlipMatrix, GaussianNoise, audit_labels, save, load")
    assert not loaded & {"numba", "polars", "torch", "matplotlib"}


def test_help_loads_no_numerics():
    loaded = modules_after("import noisewise.cli")
    assert not loaded & {"numpy", "sklearn", "numba", "polars"}
