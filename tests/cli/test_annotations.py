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


def test_probabilities_of_the_items_are_taken_in(run, annotated):
    table = pl.read_csv(annotated / "data.csv")
    truth = load_iris().target[table["id"].str.split(" ").list.last().cast(int).to_numpy()]
    of_labels = 0.9 * np.eye(3)[truth] + 0.1 / 3
    np.save(annotated / "labels.npy", of_labels)
    np.save(annotated / "items.npy", of_labels[table["id"].is_first_distinct().to_numpy()])
    (annotated / "names.txt").write_text("a\nb\nc\n")
    arguments = ("data.csv", "--label", "kind", "--annotator", "who", "--item", "id", "--json")
    found = [
        json.loads(run("audit", "--probabilities", *files, *arguments, cwd=annotated).stdout)
        for files in (
            ["items.npy"],
            ["labels.npy"],
            ["items.npy", "--classes", "names.txt"],
            ["items.npy", "labels.npy"],
        )
    ]
    assert found[0] == found[1] == found[2]
    assert len(found[0]["model_weights"]) == 1
    assert len(found[3]["model_weights"]) == 2
    right = np.array(list("abc"))[truth][table["id"].is_first_distinct().to_numpy()]
    consensus = pl.read_csv(annotated / "consensus.csv").sort("item")["consensus"]
    wanted = pl.DataFrame({"item": table["id"].unique(maintain_order=True), "right": right}).sort("item")["right"]
    assert (consensus == wanted).mean() > 0.97


def test_probabilities_of_other_items_are_refused(run, annotated):
    np.save(annotated / "p.npy", np.full((7, 3), 1 / 3))
    arguments = ("data.csv", "--label", "kind", "--annotator", "who", "--item", "id")
    done = run("audit", "--probabilities", "p.npy", *arguments, cwd=annotated)
    assert done.returncode == 2
    assert "there are 7 rows of probabilities; one for each of the" in done.stderr


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
