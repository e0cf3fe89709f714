"""`noisewise apply`: from a filled-in patch to the mended table."""

import json

import polars as pl
import pytest


def decide(folder, decisions):
    """Fill in the decisions of patch.csv by row."""
    patch = pl.read_csv(folder / "patch.csv", infer_schema=False)
    filled = [decisions.get(int(row), decision) for row, decision in zip(patch["row"], patch["decision"], strict=True)]
    patch.with_columns(pl.Series("decision", filled, dtype=pl.String)).write_csv(folder / "patch.csv")


@pytest.fixture
def audited(run, iris):
    """The iris table after an audit, two of its three wrong labels decided, one row kept, one can't be told."""
    run("audit", "iris.csv", "-l", "species", "--precision", "0.2", cwd=iris)
    rows = pl.read_csv(iris / "patch.csv")["row"].to_list()
    kept, unsure = [row for row in rows if row not in (3, 110)][:2]
    observed = dict(pl.read_csv(iris / "patch.csv").select("row", "observed").iter_rows())
    decide(iris, {3: "setosa", 110: "virginica", kept: observed[kept], unsure: "?"})
    return iris


def test_decisions_go_into_a_new_file_and_nothing_else_changes(run, audited):
    before = (audited / "iris.csv").read_text()
    done = run("apply", "iris.csv", "patch.csv", "-o", "mended.csv", "--json", cwd=audited)
    assert done.returncode == 0, done.stderr
    undecided = pl.read_csv(audited / "patch.csv").height - 3
    assert json.loads(done.stdout) == {
        "changed": 2,
        "kept": 1,
        "undecided": undecided,
        "label": "species",
        "file": "mended.csv",
    }
    assert f"2 changed, 1 kept, {undecided} undecided" in done.stderr
    assert (audited / "iris.csv").read_text() == before
    old, new = before.splitlines(), (audited / "mended.csv").read_text().splitlines()
    assert [row - 1 for row, (a, b) in enumerate(zip(old, new, strict=True)) if a != b] == [3, 110]


@pytest.mark.parametrize("ending", ["parquet", "json", "tsv"])
def test_the_ending_says_the_format(run, audited, ending):
    assert run("apply", "iris.csv", "patch.csv", "--label", "species", "-o", f"m.{ending}", cwd=audited).returncode == 0
    again = run("apply", f"m.{ending}", "patch.csv", "-l", "species", "-o", "again.csv", "--json", cwd=audited)
    assert json.loads(again.stdout)["changed"] == 0  # they are in already


def test_running_the_audit_again_keeps_the_decisions(run, audited):
    filled = decisions(audited)
    done = run("audit", "iris.csv", "-l", "species", cwd=audited)
    assert "4 decisions in patch.csv are kept" in done.stderr
    assert decisions(audited) == filled
    frame = pl.read_csv(audited / "iris.csv")
    frame.reverse().write_csv(audited / "iris.csv")
    before = (audited / "patch.csv").read_bytes()
    done = run("audit", "iris.csv", "-l", "species", cwd=audited)
    assert done.returncode == 2
    assert "patch.csv is left as it is, with its decisions" in done.stderr
    assert (audited / "patch.csv").read_bytes() == before


def decisions(folder):
    patch = pl.read_csv(folder / "patch.csv", infer_schema=False)
    return {row: decision for row, decision in zip(patch["row"], patch["decision"], strict=True) if decision}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["iris.csv", "patch.csv", "-o", "iris.csv"], "is the table itself, which is never changed"),
        (["iris.csv", "patch.csv", "-o", "mended.doc"], "the ending says the format"),
        (["iris.csv", "nowhere.csv", "-o", "mended.csv"], "there is no file 'nowhere.csv'"),
        (["nowhere.csv", "patch.csv", "-o", "mended.csv"], "there is no file 'nowhere.csv'"),
        (["iris.csv", "patch.csv", "-l", "grower", "-o", "mended.csv"], "is not among the labels"),
        (["iris.csv", "patch.csv", "-l", "kind", "-o", "mended.csv"], "there is no column 'kind'"),
        (["other.csv", "patch.csv", "-o", "mended.csv"], "which column of other.csv holds the labels?"),
        (["other.csv", "patch.csv", "-l", "species", "-o", "mended.csv"], "about another table"),
    ],
)
def test_what_cannot_be_applied_gets_one_sentence(run, audited, arguments, sentence):
    pl.read_csv(audited / "iris.csv").reverse().write_csv(audited / "other.csv")
    before = {path.name: path.read_bytes() for path in audited.iterdir()}
    done = run("apply", *arguments, cwd=audited)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert {path.name: path.read_bytes() for path in audited.iterdir()} == before
