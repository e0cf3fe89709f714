"""`noisewise audit --item`: rows of one item are labels by several annotators."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris


@pytest.fixture
def annotated(tmp_path):
    """A CSV with two or three labels for most of the irises."""
    X, truth = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    items, who = np.sort(rng.integers(150, size=400)), rng.integers(5, size=400)
    labels = np.where(rng.random(400) < 0.1 + 0.08 * who, rng.integers(3, size=400), truth[items])
    columns = {
        "id": [f"flower {i}" for i in items],
        "who": [f"w{a}" for a in who],
        "kind": np.array(list("abc"))[labels],
    }
    pl.DataFrame(columns | {f"x{j}": X[items, j] for j in range(4)}).write_csv(tmp_path / "data.csv")
    return tmp_path


def test_items_labels_annotators_and_questions_are_written(run, annotated):
    done = run("audit", "data.csv", "--label", "kind", "--annotator", "who", "--item", "id", cwd=annotated)
    assert done.returncode == 0, done.stderr
    assert "rows with the same 'id' are labels of one item: 400 labels of" in done.stderr
    assert "P(consensus is right)" in done.stdout
    n_items = pl.read_csv(annotated / "data.csv")["id"].n_unique()
    assert pl.read_csv(annotated / "consensus.csv").height == n_items
    assert pl.read_csv(annotated / "labels.csv").height == 400
    assert set(pl.read_csv(annotated / "annotators.csv")["annotator"]) == {f"w{a}" for a in range(5)}
    assert pl.read_csv(annotated / "questions.csv").columns[:2] == ["item", "annotator"]
    assert "<title>Audit of annotations: data.csv" in (annotated / "audit.html").read_text()


def test_json_and_another_classifier(run, annotated):
    arguments = ("--label", "kind", "--annotator", "who", "--item", "id", "--model", "logistic", "--out", "found")
    summary = json.loads(run("audit", "data.csv", *arguments, "--json", cwd=annotated).stdout)
    assert summary["labels"] == 400
    assert summary["expected_consensus_errors"] < summary["expected_errors"]
    assert len(summary["by_annotator"]) == 5
    assert summary["files"][0] == "found/consensus.csv"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--item", "id"], "--item needs --annotator"),
        (["--item", "nothing", "--annotator", "who"], "no column 'nothing' for --item"),
        (["--item", "id", "--annotator", "who", "--precision", "0.5"], "--item is for one data file"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(run, annotated, arguments, sentence):
    done = run("audit", "data.csv", "--label", "kind", *arguments, cwd=annotated)
    assert done.returncode == 2
    assert sentence in done.stderr
