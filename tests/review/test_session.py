"""A review: decisions become labels, files and verdicts, and go on after a restart."""

import csv
import json

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from noisewise import audit_labels
from noisewise.audit.verdicts import read_verdicts
from noisewise.review import ReviewSession, session

NAMES = np.array(["setosa", "versicolor", "virginica"])


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    labels = NAMES[y]
    labels[[3, 60, 110]] = NAMES[[1, 2, 0]]
    return X, labels


@pytest.fixture(scope="module")
def audit(iris):
    return audit_labels(*iris)


@pytest.fixture
def review(audit, tmp_path):
    return ReviewSession(audit, tmp_path / "review", rows=audit.order[:20], reviewer="ann")


def test_decisions_become_labels(audit, review):
    review.decide(3, "setosa")
    review.decide(60, "virginica")  # as it is
    review.decide(110, None)
    review.decide(5, "versicolor")
    assert review.verdicts == {3: "setosa", 60: "virginica", 5: "versicolor"}
    wanted = audit.classes[audit.observed]
    wanted[[3, 5]] = ["setosa", "versicolor"]
    np.testing.assert_array_equal(review.apply(), wanted)
    assert [entry.action for entry in review.log.entries] == ["suggestion", "keep", "unsure", review_action(review, 5)]


def review_action(review, row):
    return "suggestion" if review.names[review.suggested(row)] == "versicolor" else "other"


def test_the_suggestion_is_never_the_label_itself(audit, review):
    assert all(review.suggested(row) != audit.observed[row] for row in range(150))


def test_progress_counts_what_was_found_and_what_is_left(audit, review):
    assert review.progress()["precision"] is None
    review.decide(3, "setosa")
    review.decide(60, "virginica")
    review.decide(110, None)
    assert review.progress() == {
        "rows": 20 + sum(row not in audit.order[:20] for row in (3, 60, 110)),
        "decided": 3,
        "unsure": 1,
        "wrong": 1,
        "left": max(0, round(float(audit.expected_errors)) - 1),
        "precision": 0.5,
    }


def test_what_is_left_is_estimated_again_by_the_decisions(audit, review, monkeypatch):
    monkeypatch.setattr(session, "RECALIBRATED", 10)
    truth = NAMES[load_iris().target]
    for row in audit.order[:19].tolist():
        review.decide(row, truth[row])
    first = dict(list(review.verdicts.items())[:10])
    found = sum(truth[row] != audit.classes[audit.observed[row]] for row in audit.order[10:19])
    assert review.progress()["left"] == max(0, round(float(audit.update(first).remaining)) - found)
    assert review.updated.verdicts == review.verdicts
    assert "19 of 150 rows were reviewed" in review.updated.progress
    left = round(float(review.updated.remaining))
    assert review.progress()["left"] == left  # what was estimated from all decisions is shown
    later = int(audit.order[19])
    review.decide(later, truth[later])
    assert review.progress()["left"] == round(float(review.updated.remaining))  # twenty: estimated again
    review.undo()
    assert review.progress()["left"] == max(0, round(float(audit.update(first).remaining)) - found)


def test_a_review_goes_on_after_a_restart_and_forgets_nothing(audit, review):
    review.decide(3, "setosa")
    review.decide(3, "virginica")
    assert review.undo() == 3
    again = ReviewSession(audit, review.folder, rows=[0, 1], reviewer="bob")
    assert again.verdicts == {3: "setosa"}
    assert again.rows.tolist() == [0, 1, 3]  # what was decided stays in sight
    assert again.undo() is None  # it was ann's decision
    assert review.undo() == 3
    assert review.undo() is None
    assert review.verdicts == {}
    assert len(review.log.entries) == 4


@pytest.mark.parametrize("labels", [NAMES, np.array([7, 8, 9]), np.array([1, "1", None], dtype=object)])
def test_labels_of_any_kind_come_back_as_they_are(iris, tmp_path, labels):
    if labels[2] is None:
        labels = np.array([1, "1", ("a", 2)], dtype=object)
    y = np.empty(150, dtype=object)
    y[:] = [labels[code] for code in load_iris().target]
    audit = audit_labels(iris[0], y.tolist())
    review = ReviewSession(audit, tmp_path, rows=[0])
    for row in range(3):
        review.decide_code(row, row)
    assert list(ReviewSession(audit, tmp_path).verdicts.values()) == audit.classes.tolist()


def test_the_files_of_a_finished_review(audit, iris, tmp_path):
    X, y = iris
    table = pl.DataFrame(X, schema=list("abcd"), orient="row").with_columns(pl.Series("kind", y))
    table.write_csv(tmp_path / "iris.csv")
    review = ReviewSession(audit, tmp_path / "review", reviewer="ann", table=(str(tmp_path / "iris.csv"), "kind"))
    for row, label in [(3, "setosa"), (60, "virginica"), (110, None), (7, "virginica")]:
        review.decide(row, label)
    reviewed, history, mended = review.finish()
    assert (reviewed.name, history.name, mended.name) == ("reviewed.csv", "history.csv", "mended.csv")
    assert pl.read_csv(mended)["kind"].to_list() == review.apply().tolist()
    assert pl.read_csv(mended).drop("kind").equals(table.drop("kind"))
    codes = {row: NAMES.tolist().index(label) for row, label in review.verdicts.items()}
    assert read_verdicts(reviewed, audit) == codes | {110: None}
    with history.open() as file:
        entries = list(csv.DictReader(file))
    assert [(entry["row"], entry["reviewer"], entry["decision"]) for entry in entries] == [
        ("3", "ann", "setosa"),
        ("60", "ann", "virginica"),
        ("110", "ann", ""),
        ("7", "ann", "virginica"),
    ]
    assert all(entry["time"].endswith("+00:00") for entry in entries)
    assert pl.read_csv(tmp_path / "iris.csv").equals(table)


def test_a_folder_of_another_table_is_refused(audit, iris, review):
    review.decide(3, "setosa")
    other = iris[1].copy()
    other[3] = "virginica"
    with pytest.raises(ValueError, match="decision about row 3 with the label 'versicolor', which is 'virginica' now"):
        ReviewSession(audit_labels(iris[0], other), review.folder)
    other[3] = "setosa"  # as decided: the mended table may be reviewed again
    ReviewSession(audit_labels(iris[0], other), review.folder)
    with pytest.raises(ValueError, match="of another table"):
        ReviewSession(audit_labels(iris[0][::-1], iris[1][::-1]), review.folder)


@pytest.mark.parametrize("rows", [[150], [-1]])
def test_rows_that_are_not_there_are_refused(audit, tmp_path, rows):
    with pytest.raises(ValueError, match="numbers of rows below 150"):
        ReviewSession(audit, tmp_path, rows=rows)


def test_an_audit_without_picked_rows_is_reviewed_from_the_most_suspicious(iris, tmp_path):
    audit = audit_labels(iris[0], NAMES[load_iris().target])
    rows = ReviewSession(audit, tmp_path).rows
    assert len(rows) >= 1
    assert rows.tolist() == (audit.picked if len(audit.picked) else audit.order[:50]).tolist()


def test_rows_of_numpy_are_taken_and_others_refused(audit, review):
    review.decide(audit.order[0], audit.classes[0])
    assert review.verdicts == {int(audit.order[0]): audit.classes[0]}
    for row in (-1, 150):
        with pytest.raises(ValueError, match=f"row {row} is not among the 150 rows"):
            review.decide(row, "setosa")
    with pytest.raises(ValueError, match="label 'rose' was not seen"):
        review.decide(3, "rose")


def test_the_log_is_plain_json(review):
    review.decide(3, "setosa")
    (line,) = (review.folder / "decisions.jsonl").read_text().splitlines()
    entry = json.loads(line)
    assert (entry["row"], entry["observed"], entry["decision"], entry["reviewer"]) == (3, "versicolor", "setosa", "ann")
