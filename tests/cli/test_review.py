"""`noisewise review`: what it refuses, before a page is opened. The page itself is tested in tests/review."""

import numpy as np
import polars as pl
import pytest

from noisewise import audit_labels
from noisewise.audit import LabelAudit
from noisewise.review import ReviewSession
from noisewise.review import server as served


@pytest.fixture
def opened(monkeypatch):
    """The server ends at once; what was served is kept."""
    found = []

    def serve(self):
        found.append(self)

    monkeypatch.setattr(served.ReviewServer, "serve_forever", serve)
    monkeypatch.setattr("webbrowser.open", lambda url: found.append(url))
    return found


def test_a_table_is_audited_and_its_page_opened(run, iris, opened):
    done = run("review", "iris.csv", "-l", "species", "--reviewer", "ann", "--rows", "12", "--json", cwd=iris)
    assert done.returncode == 0, done.stderr
    url, server = opened
    assert url == server.url
    assert f'"url": "{url}"' in done.stdout
    assert url in done.stderr
    assert isinstance(server.review, ReviewSession)
    assert (len(server.review.rows), server.review.reviewer) == (12, "ann")
    assert server.review.folder.name == "iris-review"


def test_decisions_are_there_again_and_the_browser_may_stay_closed(run, iris, opened):
    run("review", "iris.csv", "-l", "species", cwd=iris)
    opened[1].review.decide(110, "virginica")
    done = run("review", "iris.csv", "-l", "species", "--no-browser", cwd=iris)
    assert "1 of" in done.stderr
    assert len(opened) == 3
    assert opened[2].review.verdicts == {110: "virginica"}
    assert opened[2].review.finish()[-1].name == "mended.csv"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-", "-l", "species"], "it needs a file"),
        (["iris.csv"], "which column holds the labels?"),
        (["iris.csv", "-l", "spcies"], "did you mean 'species'?"),
        (["nowhere.csv", "-l", "species"], "there is no file 'nowhere.csv'"),
        (["iris.csv", "-l", "species", "--out", "iris.csv"], "name a folder"),
        (["iris.csv", "-l", "species", "--rows", "0"], "'--rows'"),
    ],
)
def test_what_cannot_be_reviewed_gets_one_sentence(run, iris, opened, arguments, sentence):
    before = sorted(iris.iterdir())
    done = run("review", *arguments, cwd=iris)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert opened == []
    assert sorted(iris.iterdir()) == before


@pytest.fixture
def visits(tmp_path, rng):
    """Three rows of each patient, nearly alike; one grade is missing and one patient's grades are wrong."""
    x = rng.normal(size=40).repeat(3) + 0.01 * rng.normal(size=120)
    grades = np.array(["none", "mild", "severe"])[np.searchsorted([-0.5, 0.5], x)].astype(object)
    grades[5], grades[9:12] = None, "none" if x[9] > 0 else "severe"
    columns = {"patient": np.arange(40).repeat(3).astype(str), "x": x, "z": rng.normal(size=120), "grade": grades}
    pl.DataFrame(columns).write_csv(tmp_path / "visits.csv")
    return tmp_path


def test_groups_order_and_missing_labels_are_as_in_an_audit(run, visits, opened):
    options = ("--groups", "patient", "--ordered", "none,mild,severe", "--missing", "skip")
    done = run("review", "visits.csv", "-l", "grade", *options, "--no-browser", cwd=visits)
    assert done.returncode == 0, done.stderr
    review = opened[0].review
    kept = pl.read_csv(visits / "visits.csv").filter(pl.col("grade").is_not_null())
    X, patient = kept.select("x", "z"), kept["patient"]
    audit = audit_labels(X, kept["grade"], groups=patient, ordered=["none", "mild", "severe"])
    np.testing.assert_array_equal(review.rows, audit.picked)
    assert list(review.audit.classes) == ["none", "mild", "severe"]
    review.decide(8, "mild")
    mended = pl.read_csv(review.finish()[-1])
    assert mended["grade"].to_list() == [*kept["grade"][:8], "mild", *kept["grade"][9:]]
    assert mended.drop("grade").equals(kept.drop("grade"))


@pytest.mark.parametrize("kind", [("--target", "x"), ("--label", "grade", "--separator", ";")])
def test_groups_are_kept_apart_in_reviews_of_numbers_and_tags(run, visits, opened, kind):
    apart = run("review", "visits.csv", *kind, "--groups", "patient", "--no-browser", cwd=visits)
    together = run("review", "visits.csv", *kind, "--no-browser", cwd=visits)
    assert apart.returncode == together.returncode == 0, apart.stderr
    assert not np.array_equal(*(one.review.audit.probability for one in opened))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--target", "x", "--ordered", "numbers"], "are for the classes of a label column"),
        (["-l", "grade", "--separator", ";", "--missing", "skip"], "are for the classes of a label column"),
        (["-l", "grade", "--probabilities", "p.npy", "--groups", "patient"], "not for --probabilities"),
        (["-l", "grade"], "--missing skip"),
        (["-l", "grade", "--separator", ";", "--merge-labels"], "--merge-labels is for labels of one class a row"),
        (["-l", "grade", "--classes", "names.txt"], "--classes is for --probabilities"),
    ],
)
def test_options_that_do_not_go_together_get_one_sentence(run, visits, opened, options, sentence):
    done = run("review", "visits.csv", *options, cwd=visits)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_labels_are_merged_as_in_an_audit_and_put_in_as_merged(run, iris, opened):
    frame = pl.read_csv(iris / "iris.csv")
    labels = [name + " " * (row % 7 == 0) for row, name in enumerate(frame["species"])]
    frame.with_columns(species=pl.Series(labels)).write_csv(iris / "iris.csv")
    done = run("review", "iris.csv", "-l", "species", "--merge-labels", "--no-browser", cwd=iris)
    assert done.returncode == 0, done.stderr
    review = opened[0].review
    assert list(review.audit.classes) == ["setosa", "versicolor", "virginica"]
    review.decide(7, "setosa")  # as it is, but for its space
    review.decide(8, "virginica")
    review.decide(9, "setosa")
    mended = pl.read_csv(review.finish()[-1])["species"].to_list()
    assert mended == [*labels[:7], "setosa", "virginica", *labels[9:]]


def test_classes_say_the_order_of_the_columns(run, iris, opened):
    species = pl.read_csv(iris / "iris.csv")["species"].to_numpy()
    names = ["virginica", "setosa", "versicolor"]
    rng = np.random.default_rng(0)
    p = 0.8 * (species[:, None] == names) + 0.2 * rng.dirichlet([1, 1, 1], 150)
    p[:20] = np.roll(p[:20], 1, axis=1)
    np.save(iris / "p.npy", p)
    (iris / "names.txt").write_text("\n".join(names))
    options = ("--probabilities", "p.npy", "--classes", "names.txt", "--no-browser")
    done = run("review", "iris.csv", "-l", "species", *options, cwd=iris)
    assert done.returncode == 0, done.stderr
    assert list(opened[0].review.audit.classes) == names
    codes = pl.read_csv(iris / "iris.csv").with_columns(species=pl.Series([names.index(name) for name in species]))
    codes.write_csv(iris / "codes.csv")
    done = run("review", "codes.csv", "-l", "species", *options, cwd=iris)
    assert "holds indices, and a review puts in what it holds; leave --classes out" in done.stderr


def test_a_review_without_picked_rows_shows_the_most_suspicious(run, iris, opened, monkeypatch):
    monkeypatch.setattr(LabelAudit, "picked", np.array([], dtype=np.intp))
    done = run("review", "iris.csv", "-l", "species", "--no-browser", cwd=iris)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(opened[0].review.rows, opened[0].review.audit.order[:50])


def test_the_audit_names_the_options_of_its_review(run, visits):
    options = ("--groups", "patient", "--ordered", "none,mild,severe", "--missing", "skip", "--out", "found")
    done = run("audit", "visits.csv", "-l", "grade", *options, cwd=visits)
    review = "review found/labelled.csv --label grade --groups patient --ordered none,mild,severe, which shows"
    assert review in done.stderr
