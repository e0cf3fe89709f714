"""`noisewise stress`: a table on stdout, a drawing in a file."""

import json

import pytest


def test_the_table_has_a_line_for_each_method(run, iris):
    done = run("stress", "iris.csv", "-l", "species", "-k", "feedback", "--rates", "0,0.2", "--seeds", "2", cwd=iris)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["0", "0.2", "stands"]
    assert len(lines) == 7
    assert "linucb" in done.stdout
    assert "<title>Stress test of feedback: iris.csv</title>" in (iris / "stress.html").read_text()


def test_json_has_everything(run, iris):
    arguments = ["--kind", "feedback", "--rates", "0,0.3", "--seeds", "2", "--rows", "120", "--json", "--out", "there"]
    done = run("stress", "iris.parquet", "--label", "species", *arguments, cwd=iris)
    found = json.loads(done.stdout)
    assert (found["kind"], found["rows"], found["rates"]) == ("feedback", 120, [0.0, 0.3])
    for method in found["methods"]:
        for low, mean, high in zip(method["low"], method["accuracy"], method["high"], strict=True):
            assert low <= mean <= high
    assert found["files"] == ["there/stress.html"]
    assert (iris / "there" / "stress.html").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rates", "0,a lot"], "numbers with commas"),
        (["--rates", "0,2"], "below 1"),
        (["--kind", "clicks"], "clicks"),
        (["--out", "iris.csv"], "iris.csv is a file"),
        (["--label", "specis"], "did you mean 'species'?"),
    ],
)
def test_bad_options_get_one_sentence_and_no_file(run, iris, arguments, sentence):
    done = run("stress", "iris.csv", "--label", "species", *arguments, cwd=iris)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (iris / "stress.html").exists()
