"""The scripts in benchmarks/, for tests of what they print."""

import importlib.util
from pathlib import Path


def benchmark(name):
    """The module that prints a table."""
    path = Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
