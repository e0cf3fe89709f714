"""`noisewise audit`: data on stdout, talk on stderr, one sentence and exit code 2 for bad input."""

import json

import numpy as np
import polars as pl
import pytest


@pytest.mark.parametrize("name", ["iris.csv", "iris.parquet", "iris.jsonl", "iris.tsv"])
def test_every_kind_of_file_gives_the_same_audit(run, iris, name):
    done = run("audit", name, "--label", "species", cwd=iris)
    assert done.returncode == 0, done.stderr
    assert "'grower' has 50 missing values" in done.stderr
    audit = pl.read_csv(iris / "audit.csv")
    assert audit.columns == ["row", "observed", "suggested", "probability"]
    assert audit.height == 150
    assert {3, 110} <= set(audit["row"][:5])
    assert "<title>Label audit" in (iris / "audit.html").read_text()


def test_json_is_all_there_is_on_stdout(run, iris):
    done = run("audit", "-", "--label", "species", "--json", cwd=iris, stdin=(iris / "iris.csv").read_text())
    summary = json.loads(done.stdout)
    assert summary["rows"] == 150
    assert summary["classes"] == ["setosa", "versicolor", "virginica"]
    low, high = summary["expected_errors_interval"]
    assert low <= summary["expected_errors"] <= high
    assert summary["files"] == ["audit.csv", "patch.csv", "audit.html"]
    assert summary["picked_rows"] == pl.read_csv(iris / "patch.csv")["row"].to_list()
    assert len(summary["picked_rows"]) == summary["picked"]


def test_the_demonstration_knows_the_true_labels(run, tmp_path):
    done = run("audit", "--demo", "--json", "--out", "report", cwd=tmp_path)
    found = json.loads(done.stdout)["demonstration"]
    assert found["wrong"] == 359
    assert found["found"] >= 0.9 * found["wrong"]
    assert "labels were changed on purpose" in (tmp_path / "report" / "audit.html").read_text()


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        (
            "a,y\n1,p\n2,q\n",
            ["data.csv", "--label", "z"],
            "no column 'z' in data.csv; the columns are 'a', 'y'",
        ),
        ("a,kind\n1,p\n2,q\n", ["data.csv", "--label", "knd"], "did you mean 'kind'?"),
        ("a,y\n1,p\n2,q\n", ["data.csv"], "which column holds the labels?"),
        ("a,y\n1,p\n2,p\n", ["data.csv", "--label", "y"], "1 class only"),
        ("a,y\n1,p\n2,\n3,q\n", ["data.csv", "--label", "y"], "1 of 3 rows have no label in column 'y'"),
        ("a,y\n1,p\n2,q\n3,r\n4,s\n", ["data.csv", "--label", "y"], "4 distinct values in 4 rows"),
        ("a,y\n", ["data.csv", "--label", "y"], "no rows"),
        ("", ["data.csv", "--label", "y"], "empty"),
        ("a,y,y\n1,p,p\n2,q,q\n", ["data.csv", "--label", "y"], "two columns called 'y'"),
        ("y\np\nq\np\nq\np\nq\n", ["data.csv", "--label", "y"], "one column only"),
        ("a,y\n1,p\n2,q,8,9\n", ["data.csv", "--label", "y"], "can't be read as a table"),
        ("a,y\n1,p\n", ["nowhere.csv", "--label", "y"], "there is no file 'nowhere.csv'"),
        ("a,y\n1,p\n", ["data.csv", "--lable", "y"], "No such option"),
        ("a,y\n1,p\n", ["data.csv", "--label", "y", "--demo"], "name one data file"),
        ("a,y\n1,p\n", ["data.csv", "--label", "y", "--out", "data.csv"], "name a folder"),
    ],
)
def test_bad_input_ends_with_one_sentence_and_writes_nothing(run, tmp_path, content, arguments, sentence):
    (tmp_path / "data.csv").write_text(content)
    done = run("audit", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_a_precision_cuts_the_rows_everywhere(run, iris):
    done = run("audit", "iris.csv", "-l", "species", "--precision", "0.3", "--seed", "1", "--json", cwd=iris)
    summary = json.loads(done.stdout)
    patch = pl.read_csv(iris / "patch.csv")
    assert patch["row"].to_list() == summary["picked_rows"]
    assert {3, 60, 110} <= set(summary["picked_rows"])
    assert 1 - patch["probability"].mean() >= 0.3
    assert "at 30% precision" in (iris / "audit.html").read_text()


def test_annotators_have_error_rates_and_are_no_feature(run, iris):
    done = run("audit", "iris.parquet", "-l", "species", "--annotator", "grower", "--json", cwd=iris)
    annotators = json.loads(done.stdout)["annotators"]
    assert {one["annotator"]: one["labels"] for one in annotators} == {"a": 50, "b": 50, "(nobody)": 50}
    assert "grower" not in done.stderr
    assert "Error rate by annotator" in (iris / "audit.html").read_text()


@pytest.mark.parametrize("model", ["logistic", "RobustKNeighborsClassifier", "svc"])
def test_other_models_judge_out_of_fold(run, iris, model):
    done = run("audit", "iris.parquet", "-l", "species", "--model", model, "--seed", "0", "--json", cwd=iris)
    assert done.returncode == 0, done.stderr
    assert {3, 110} <= set(pl.read_csv(iris / "audit.csv")["row"][:8])


def test_long_labels_are_shown_whole(run, iris):
    names = {"setosa": "the bristly one from the far north", "versicolor": "v", "virginica": "w"}
    pl.read_csv(iris / "iris.csv").with_columns(pl.col("species").replace(names)).write_csv(iris / "long.csv")
    done = run("audit", "long.csv", "-l", "species", cwd=iris)
    assert done.stdout.count("the bristly one from the far north") >= 2
    lines = done.stdout.splitlines()
    assert len({line.rstrip()[:-5].rstrip() and line.index(line.split()[-1]) for line in lines[1:]}) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["iris.csv", "-l", "species", "--precision", "2"], "--precision is 2"),
        (["iris.csv", "-l", "species", "--annotator", "growr"], "did you mean 'grower'?"),
        (["iris.csv", "-l", "species", "--annotator", "species"], "both the labels and who gave them"),
        (["iris.csv", "-l", "species", "--model", "LogisticRegresion"], "did you mean 'LogisticRegression'?"),
        (["iris.csv", "-l", "species", "--model", "arow"], "has no predict_proba"),
        (["iris.csv", "-l", "species", "--engine", "dask"], "--engine dask audits a Parquet file"),
        (["iris.csv", "-l", "species", "--scheduler", "tcp://nobody:1"], "--scheduler is for --engine dask"),
        (["iris.csv", "-l", "species", "--out", "iris.csv/there"], "iris.csv is a file"),
        (["--demo", "--annotator", "who"], "the demonstration has none"),
    ],
)
def test_options_that_cannot_be_get_one_sentence(run, iris, arguments, sentence):
    before = sorted(iris.iterdir())
    done = run("audit", *arguments, cwd=iris)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(iris.iterdir()) == before


@pytest.mark.slow
def test_a_cluster_writes_the_same_files(run, tmp_path):
    pytest.importorskip("dask.distributed", reason="dask is an extra")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 5000)
    X = rng.normal(size=(5000, 3)) + 2 * y[:, None]
    pl.DataFrame(X).with_columns(y=pl.Series(np.where(rng.random(5000) < 0.1, 0, y))).write_parquet(
        tmp_path / "a.parquet"
    )
    for engine in ("local", "dask"):
        done = run("audit", "a.parquet", "-l", "y", "--engine", engine, "--out", engine, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    for name in ("audit.csv", "patch.csv", "audit.html"):
        assert (tmp_path / "local" / name).read_text() == (tmp_path / "dask" / name).read_text()
