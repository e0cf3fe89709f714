"""`noisewise audit --separator`: cells of several tags."""

import json

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def tickets(tmp_path, rng):
    X = rng.normal(size=(200, 3))
    cells = [";".join(n for n, x in zip(["billing", "bug", "idea"], row, strict=True) if x > 0) or None for row in X]
    table = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "tags": cells})
    table.write_csv(tmp_path / "tickets.csv")
    return tmp_path


def test_each_tag_is_audited(run, tickets):
    done = run("audit", "tickets.csv", "--label", "tags", "--separator", ";", "--json", cwd=tickets)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert set(summary["tags"]) == {"billing", "bug", "idea"}
    assert summary["rows"] == 200
    assert "rows have a wrong tag" in (tickets / "audit.html").read_text()
    assert pl.read_csv(tickets / "audit.csv").height == 200


def test_the_separator_is_found_and_asked_for(run, tickets):
    frame = pl.read_csv(tickets / "tickets.csv").with_columns(pl.col("tags").fill_null("idea"))
    frame.write_csv(tickets / "full.csv")
    done = run("audit", "full.csv", "--label", "tags", cwd=tickets)
    assert done.returncode == 2
    assert "labels look like several tags separated by ';': --separator ';' audits each tag" in done.stderr
    as_classes = run("audit", "full.csv", "--label", "tags", "--separator", "", "--json", cwd=tickets)
    assert len(json.loads(as_classes.stdout)["classes"]) == len(np.unique(frame["tags"]))


def test_a_separator_needs_a_label_column(run, tickets):
    done = run("audit", "tickets.csv", "--separator", ";", cwd=tickets)
    assert done.returncode == 2
    assert "--separator goes with a data file and --label" in done.stderr


def test_rows_on_the_screen_are_those_worth_a_look(run, tickets):
    table = pl.read_csv(tickets / "tickets.csv")
    changed = [("bug" if tags != "bug" else "idea") if i in (3, 5) else tags for i, tags in enumerate(table["tags"])]
    table.with_columns(pl.Series("tags", changed)).write_csv(tickets / "changed.csv")
    done = run("audit", "changed.csv", "--label", "tags", "--separator", ";", cwd=tickets)
    lines = done.stdout.splitlines()
    sentence = next(line for line in done.stderr.splitlines() if "worth a look" in line)
    assert int(sentence.split()[0]) >= len(lines) > 0
    assert all(observed != suggested for observed, suggested in (line.split()[1::2] for line in lines))
