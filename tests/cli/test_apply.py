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
    assert "4 decisions in patch.csv kept" in done.stderr
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


def spaced(folder):
    """The iris table with a space behind every seventh label."""
    frame = pl.read_csv(folder / "iris.csv")
    labels = [name + " " * (row % 7 == 0) for row, name in enumerate(frame["species"])]
    frame.with_columns(species=pl.Series(labels)).write_csv(folder / "spaced.csv")
    return labels


def test_decisions_after_merging_put_in_the_merged_spelling(run, iris):
    labels = spaced(iris)
    done = run("audit", "spaced.csv", "-l", "species", "--merge-labels", "--next", "60", cwd=iris)
    assert "noisewise review spaced.csv --label species --merge-labels, which" in done.stderr
    rows = pl.read_csv(iris / "patch.csv")["row"].to_list()
    assert any(row % 7 == 0 for row in rows)
    decide(iris, dict.fromkeys(rows, "setosa"))
    done = run("apply", "spaced.csv", "patch.csv", "-l", "species", "-o", "mended.csv", cwd=iris)
    assert done.returncode == 0, done.stderr
    mended = pl.read_csv(iris / "mended.csv")["species"].to_list()
    assert mended == ["setosa" if row in rows else label for row, label in enumerate(labels)]


def test_without_merging_labels_keep_their_spaces(run, iris):
    labels = spaced(iris)
    run("audit", "spaced.csv", "-l", "species", "--next", "60", cwd=iris)
    patch = pl.read_csv(iris / "patch.csv", infer_schema=False)
    patch.with_columns(decision="observed").write_csv(iris / "patch.csv")
    done = run("apply", "spaced.csv", "patch.csv", "-l", "species", "-o", "mended.csv", "--json", cwd=iris)
    assert json.loads(done.stdout)["changed"] == 0
    assert pl.read_csv(iris / "mended.csv")["species"].to_list() == labels


def test_a_label_that_is_new_has_to_be_meant(run, audited):
    decide(audited, {3: "iris of my own"})
    refused = run("apply", "iris.csv", "patch.csv", "-o", "mended.csv", cwd=audited)
    assert "'iris of my own' is not among the labels" in refused.stderr
    assert "--new-labels puts it in all the same" in refused.stderr
    done = run("apply", "iris.csv", "patch.csv", "-o", "mended.csv", "--new-labels", cwd=audited)
    assert done.returncode == 0, done.stderr
    assert pl.read_csv(audited / "mended.csv")["species"][3] == "iris of my own"


def test_numbers_may_be_new_and_other_rows_stay_as_they_are_written(run, tmp_path):
    (tmp_path / "a.csv").write_text("x,price\n1,1.50\n2,20.00\n3,3.50\n")
    (tmp_path / "patch.csv").write_text("row,observed,decision\n1,20.0,2.0\n2,3.5,3.5\n")
    done = run("apply", "a.csv", "patch.csv", "-o", "b.csv", "--label", "price", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b.csv").read_text() == "x,price\n1,1.50\n2,2.0\n3,3.50\n"


@pytest.mark.parametrize("options", [["-l", "t", "--separator", ";"], ["--target", "a"]], ids=["tags", "numbers"])
def test_decisions_about_tags_and_numbers_are_not_overwritten(run, tmp_path, options):
    (tmp_path / "a.csv").write_text("a,b,t\n" + "".join(f"{row / 7},{row % 5},red;blue\n" for row in range(60)))
    (tmp_path / "patch.csv").write_text("row,observed,decision\n1,x,y\n")
    done = run("audit", "a.csv", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert "patch.csv holds 1 decision, which would be lost" in done.stderr
    assert (tmp_path / "patch.csv").read_text() == "row,observed,decision\n1,x,y\n"


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


def test_tags_are_put_in_whatever_their_order(run, tmp_path, rng):
    x = rng.normal(size=(120, 2))
    cells = [";".join(name for name, value in zip(("idea", "bug"), row, strict=True) if value > 0) for row in x]
    cells[int(x[:, 0].argmax())] = "bug"  # it is an idea
    cells[int(x[:, 1].argmin())] = "bug"  # it is none, and the next is no idea
    cells[int(x[:, 0].argmin())] = "idea"
    pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "tags": cells}).write_csv(tmp_path / "t.csv")
    options = ("--label", "tags", "--separator", ";")
    done = run("audit", "t.csv", *options, cwd=tmp_path)
    assert "next: noisewise review t.csv --label tags --separator ';'" in done.stderr
    patch = pl.read_csv(tmp_path / "patch.csv", infer_schema=False)
    rows = patch["row"].cast(int).to_list()
    decide(tmp_path, {rows[0]: "bug; idea", rows[1]: "(none)"})
    done = run("apply", "t.csv", "patch.csv", *options, "-o", "mended.csv", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    mended = pl.read_csv(tmp_path / "mended.csv")["tags"].fill_null("").to_list()
    assert sorted(mended[rows[0]].split(";")) == ["bug", "idea"]
    assert mended[rows[1]] == ""
    others = [row for row in range(120) if row not in rows[:2]]
    assert [mended[row] for row in others] == [cells[row] for row in others]
    decide(tmp_path, {rows[0]: "bug;new"})
    refused = run("apply", "t.csv", "patch.csv", *options, "-o", "m.csv", cwd=tmp_path)
    assert "the tag 'new' is not among" in refused.stderr


def test_numbers_are_put_in_as_they_are_suggested(run, tmp_path, rng):
    x = rng.uniform(10, 100, 150)
    price = (1000 + 13.57 * x + rng.normal(0, 3, 150)).round(2)
    price[4] = round(10 * price[4], 1)
    price[100] = None
    pl.DataFrame({"x": x, "price": price}, nan_to_null=True).write_csv(tmp_path / "p.csv")
    assert run("audit", "p.csv", "--target", "price", cwd=tmp_path).returncode == 0
    patch = pl.read_csv(tmp_path / "patch.csv", infer_schema=False)
    suggested = dict(zip(patch["row"].cast(int), patch["suggested"], strict=True))
    decide(tmp_path, {4: suggested[4]})
    done = run("apply", "p.csv", "patch.csv", "--target", "price", "-o", "mended.csv", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["changed"] == 1
    old, new = ((tmp_path / name).read_text().splitlines() for name in ("p.csv", "mended.csv"))
    assert [row for row, (a, b) in enumerate(zip(old, new, strict=True)) if a != b] == [5]
    assert new[5].endswith(f",{suggested[4]}")
    assert len(suggested[4]) < 12
