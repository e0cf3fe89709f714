"""A command run in this process, and a table to run it on."""

import sys
from io import BytesIO, TextIOWrapper
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from noisewise.cli import main


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command in this process, in a folder."""

    def run(*arguments, cwd, stdin=""):
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["noisewise", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin if isinstance(stdin, bytes) else stdin.encode())))
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return Done(stop.value.code or 0, captured.out, captured.err)

    return run


def iris_table():
    X, y = load_iris(return_X_y=True)
    frame = pl.DataFrame(X, schema=["sepal length", "sepal width", "petal length", "petal width"], orient="row")
    names = np.array(["setosa", "versicolor", "virginica"])
    y = y.copy()
    y[[3, 60, 110]] = [1, 2, 0]
    return frame.with_columns(pl.Series("species", names[y]), pl.Series("grower", ["a", None, "b"] * 50))


@pytest.fixture
def iris(tmp_path):
    """A folder with the iris table in several formats, three of its labels wrong."""
    frame = iris_table()
    frame.write_csv(tmp_path / "iris.csv")
    frame.write_parquet(tmp_path / "iris.parquet")
    frame.write_ndjson(tmp_path / "iris.jsonl")
    frame.write_csv(tmp_path / "iris.tsv", separator="\t")
    return tmp_path
