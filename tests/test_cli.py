"""The command line: data on stdout, talk on stderr, one sentence and exit code 2 for bad input."""

import json
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from noisewise import load
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
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return Done(stop.value.code or 0, captured.out, captured.err)

    return run


@pytest.fixture
def iris(tmp_path):
    X, y = load_iris(return_X_y=True)
    frame = pl.DataFrame(X, schema=["sepal length", "sepal width", "petal length", "petal width"], orient="row")
    names = np.array(["setosa", "versicolor", "virginica"])
    y = y.copy()
    y[[3, 60, 110]] = [1, 2, 0]
    frame = frame.with_columns(pl.Series("species", names[y]), pl.Series("grower", ["a", None, "b"] * 50))
    frame.write_csv(tmp_path / "iris.csv")
    frame.write_parquet(tmp_path / "iris.parquet")
    frame.write_ndjson(tmp_path / "iris.jsonl")
    frame.write_csv(tmp_path / "iris.tsv", separator="\t")
    return tmp_path


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


def test_the_demonstration_knows_the_true_answer(run, tmp_path):
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


@pytest.mark.parametrize("estimator", ["RobustRidgeClassifier", "arow"])
def test_a_fitted_model_predicts_the_same_later(run, iris, estimator):
    done = run("fit", "iris.csv", "-l", "species", "-e", estimator, "-o", "iris.nw", "--json", cwd=iris)
    assert json.loads(done.stdout)["classes"] == ["setosa", "versicolor", "virginica"]
    done = run("predict", "iris.nw", "iris.parquet", cwd=iris)
    predicted = pl.read_csv(done.stdout.encode())["predicted"].to_list()
    loaded = load(iris / "iris.nw")
    assert predicted == loaded.predict(pl.read_csv(iris / "iris.csv")).tolist()
    if estimator == "RobustRidgeClassifier":
        assert predicted[3] == "setosa"
    done = run("predict", "iris.nw", "iris.csv", "--json", cwd=iris)
    assert [json.loads(line)["predicted"] for line in done.stdout.splitlines()] == predicted


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit", "iris.csv", "-l", "species", "-e", "RobustRidge"], "did you mean 'RobustRidgeClassifier'?"),
        (["fit", "iris.csv", "-l", "species", "-e", "CrowdLabelling"], "there is no estimator 'CrowdLabelling'"),
        (["fit", "iris.csv", "-l", "species", "-o", "no/such/folder/model.nw"], "folder"),
        (["predict", "iris.csv", "iris.csv"], "iris.csv"),
    ],
)
def test_fit_and_predict_refuse_with_one_sentence(run, iris, arguments, sentence):
    done = run(*arguments, cwd=iris)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_junk_is_not_a_table(run, tmp_path):
    (tmp_path / "junk.csv").write_bytes(np.random.default_rng(0).bytes(3000))
    done = run("audit", "junk.csv", "--label", "y", cwd=tmp_path)
    assert done.returncode == 2
    assert "can't be read as a table" in done.stderr


def test_version_and_help_answer(run, tmp_path):
    assert run("--version", cwd=tmp_path).stdout.strip().count(".") == 2
    assert "audit" in run("--help", cwd=tmp_path).stdout


def test_the_module_runs_as_a_program(tmp_path):
    command = [sys.executable, "-m", "noisewise.cli", "audit", "nowhere.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "noisewise: there is no file 'nowhere.csv'\n"
