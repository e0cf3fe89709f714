"""What the commands say when they are done."""

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
