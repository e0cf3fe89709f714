"""`noisewise audit`: labels that are misspelt or missing, and odd rows."""

import json

import numpy as np
import polars as pl
import pytest

from noisewise import audit_labels


@pytest.fixture
def tickets(tmp_path, rng):
    x = rng.normal(size=150)
    labels = ["account" if value > 0 else "billing" for value in x]
    labels[3], labels[7], labels[11] = "acount", None, "Billing"
    pl.DataFrame({"x": x, "z": rng.normal(size=150), "kind": labels}).write_csv(tmp_path / "tickets.csv")
    return tmp_path


def test_misspelt_labels_are_merged_on_request(run, tickets):
    arguments = ("audit", "tickets.csv", "--label", "kind", "--missing", "skip", "--merge-labels", "--json", "--issues")
    done = run(*arguments, cwd=tickets)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["classes"] == ["account", "billing"]
    assert "merged" in done.stderr
    assert "'acount' into 'account'" in done.stderr
    assert "1 row has no label, left out" in done.stderr
    assert pl.read_csv(tickets / "labelled.csv").height == 149


def test_decisions_after_missing_labels_were_left_out_reach_their_rows(run, tickets):
    rows = pl.read_csv(tickets / "tickets.csv", infer_schema=False).with_columns(code=pl.lit("007"))
    rows.write_csv(tickets / "tickets.csv")
    done = run("audit", "tickets.csv", "--label", "kind", "--missing", "skip", "--merge-labels", cwd=tickets)
    assert "noisewise apply labelled.csv patch.csv --label kind" in done.stderr
    assert "noisewise review labelled.csv --label kind" in done.stderr
    labelled = pl.read_csv(tickets / "labelled.csv", infer_schema=False)
    assert labelled.columns == rows.columns
    assert set(labelled["code"]) == {"007"}
    assert labelled["x"].to_list() == rows.filter(pl.col("kind").is_not_null())["x"].to_list()
    patch = pl.read_csv(tickets / "patch.csv").with_columns(decision=pl.col("suggested"))
    patch.write_csv(tickets / "patch.csv")
    assert patch["x"].cast(float).to_list() == labelled["x"].cast(float)[patch["row"].to_list()].to_list()
    applied = run("apply", "labelled.csv", "patch.csv", "--label", "kind", "--out", "mended.csv", cwd=tickets)
    assert applied.returncode == 0, applied.stderr
    mended = pl.read_csv(tickets / "mended.csv", infer_schema=False)
    assert mended["kind"][patch["row"].to_list()].to_list() == patch["suggested"].to_list()


@pytest.mark.parametrize("kind", [("--target", "x"), ("--label", "kind", "--separator", ";")])
def test_decisions_on_numbers_and_tags_are_not_ignored(run, tickets, kind):
    done = run("audit", "tickets.csv", *kind, "--reviewed", "tickets.csv", cwd=tickets)
    assert done.returncode == 2
    assert "--reviewed and --next are for labels" in done.stderr


def test_missing_labels_are_predicted_on_request(run, tickets):
    done = run("audit", "tickets.csv", "--label", "kind", "--missing", "predict", "--merge-labels", cwd=tickets)
    assert done.returncode == 0, done.stderr
    predicted = pl.read_csv(tickets / "predicted.csv")
    assert predicted["row"].to_list() == [7]
    assert predicted["label"][0] in {"account", "billing"}


def test_without_the_option_missing_labels_are_refused_with_a_hint(run, tickets):
    done = run("audit", "tickets.csv", "--label", "kind", cwd=tickets)
    assert done.returncode == 2
    assert "--missing skip" in done.stderr


def test_tags_are_asked_for_before_empty_cells_are_refused(run, tmp_path, rng):
    cells = [";".join(name for name in ("bug", "idea", "bill") if rng.random() < 0.4) or None for _ in range(90)]
    pl.DataFrame({"x": rng.normal(size=90), "tags": cells}).write_csv(tmp_path / "t.csv")
    done = run("audit", "t.csv", "--label", "tags", cwd=tmp_path)
    assert done.returncode == 2
    assert "--separator ';' audits each tag" in done.stderr
    assert "no label" not in done.stderr


@pytest.fixture
def visits(tmp_path, rng):
    patient = np.arange(40).repeat(3)
    X = rng.normal(size=(40, 2)).repeat(3, axis=0) + 0.01 * rng.normal(size=(120, 2))
    grade = np.array(["none", "mild", "severe"])[np.searchsorted([-0.5, 0.5], X[:, 0])]
    grade[0] = "severe" if X[0, 0] < 0 else "none"
    columns = {"patient": [f"p{one}" for one in patient], "a": X[:, 0], "b": X[:, 1], "grade": grade}
    pl.DataFrame(columns).write_csv(tmp_path / "visits.csv")
    return tmp_path


def test_groups_and_an_order_of_classes(run, visits):
    options = ("--groups", "patient", "--ordered", "none,mild,severe")
    done = run("audit", "visits.csv", "--label", "grade", *options, "--json", cwd=visits)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["classes"] == ["none", "mild", "severe"]
    assert set(found["mistakes"]) == {"near", "far"}
    frame = pl.read_csv(visits / "visits.csv")
    X, patient = frame.select("a", "b"), frame["patient"]
    audit = audit_labels(X, frame["grade"], groups=patient, ordered=["none", "mild", "severe"])
    assert found["picked_rows"] == audit.picked.tolist()
    shown = run("audit", "visits.csv", "--label", "grade", *options, cwd=visits)
    assert "near mistakes, one step from the true class" in shown.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--ordered", "none,low"], "--ordered names 'low', which no row has"),
        (["--ordered", "numbers"], "ordered=True is for numbers"),
        (["--groups", "grade"], "can't hold both the labels and the groups of rows"),
        (["--groups", "person"], "there is no column 'person'"),
    ],
)
def test_wrong_groups_and_orders_get_a_sentence(run, visits, options, sentence):
    done = run("audit", "visits.csv", "--label", "grade", *options, cwd=visits)
    assert done.returncode == 2
    assert sentence in done.stderr
