"""`noisewise audit`: labels that are misspelt or missing, and odd rows."""

import json

import polars as pl
import pytest


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
    assert "1 rows have no label and are left out" in done.stderr
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
