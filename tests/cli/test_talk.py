"""What the commands say when they are done."""

import sys
from pathlib import Path

import pytest

from noisewise.cli.talk import say_next


@pytest.mark.parametrize(
    ("data", "mended"),
    [
        ("my table.csv", "mended.csv"),
        ("t.XLSX", "mended.xlsx"),
        ("t.parquet", "mended.parquet"),
        ("t.csv.gz", "mended.csv"),
        ("pictures", "mended.csv"),
    ],
)
def test_the_mended_table_is_of_the_kind_of_the_table(data, mended, capsys):
    say_next(data, "--label y", Path("patch.csv"))
    assert capsys.readouterr().err.endswith(f" --label y --out {mended}\n")


def test_a_table_from_stdin_has_no_next_step(capsys):
    say_next("-", "", Path("patch.csv"))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("path", "called"),
    [(".venv/bin/noisewise", ".venv/bin/noisewise"), ("noisewise", "noisewise"), ("cli/__main__.py", "noisewise")],
)
def test_the_next_commands_are_found_where_path_lacks_them(path, called, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", [path])
    monkeypatch.setenv("PATH", str(tmp_path))
    say_next("t.csv", "--label y", Path("patch.csv"))
    assert capsys.readouterr().err.startswith(f"next: {called} review t.csv --label y, which")
