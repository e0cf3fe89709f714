"""Reviews of tags, of numbers and of any model's probabilities."""

import csv
import json
import urllib.error
import urllib.request

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_friedman1

from noisewise import audit_multilabel, audit_probabilities, audit_targets
from noisewise.review import ReviewSession


@pytest.fixture(scope="module")
def tags():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    cells = [[name for name, x in zip("abc", row, strict=True) if x > 0.3] for row in X]
    row = int(X[:, 0].argmax())
    cells[row] = [tag for tag in cells[row] if tag != "a"]
    joined = [";".join(cell) for cell in cells]
    return row, joined, pd.DataFrame(X, columns=["x", "y", "z"]), audit_multilabel(pd.DataFrame(X), cells)


@pytest.fixture(scope="module")
def numbers():
    X, y = make_friedman1(200, noise=0.5, random_state=0)
    y = (y + 20).round(2)
    y[7] = round(10 * y[7], 1)
    return y, X, audit_targets(pd.DataFrame(X, columns=[f"c{j}" for j in range(10)]), y)


def test_tags_are_decided_as_texts_in_any_order(tags, tmp_path):
    row, _, _, audit = tags
    review = ReviewSession(audit, tmp_path, reviewer="ann")
    assert row in set(review.rows.tolist())
    review.decide(row, "c;a" if "c" in review.subject.observed(row) else ["a"])
    assert review.verdicts[row][0] == "a"
    review.decide(int(review.rows[1]), None)
    again = ReviewSession(audit, tmp_path)
    assert again.verdicts == review.verdicts
    assert again.progress()["decided"] == 2
    with pytest.raises(ValueError, match="the tag 'q' is not among"):
        review.decide(row, "a;q")


def test_a_suggestion_always_differs_from_what_is_there(tags, numbers):
    for audit in (tags[-1], numbers[-1]):
        subject = ReviewSession(audit, ".", rows=[0]).subject
        for row in audit.order[:30].tolist():
            assert subject.suggested(row) != subject.observed(row)


def test_the_mended_table_has_the_decided_tags(tags, tmp_path):
    row, joined, X, audit = tags
    X.assign(tags=joined).to_csv(tmp_path / "t.csv", index=False)
    review = ReviewSession(audit, tmp_path / "r", rows=[row, 3], table=(str(tmp_path / "t.csv"), "tags"))
    review.decide_text(row, review.subject.suggested(row))
    review.decide(3, "(none)")
    files = review.finish()
    mended = pd.read_csv(files[-1], keep_default_na=False)["tags"].tolist()
    assert "a" in mended[row].split(";")
    assert mended[3] == ""
    assert [cell for i, cell in enumerate(mended) if i not in (row, 3)] == [
        cell for i, cell in enumerate(joined) if i not in (row, 3)
    ]
    assert audit.update(files[0]).verdicts.keys() == {row, 3}


def test_the_mended_table_has_the_decided_numbers(numbers, tmp_path):
    y, X, audit = numbers
    pd.DataFrame(X).assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    review = ReviewSession(audit, tmp_path / "r", rows=[7, 9], table=(str(tmp_path / "t.csv"), "y"))
    review.decide_text(7, review.subject.suggested(7))
    review.decide(9, y[9])
    files = review.finish()
    mended = pd.read_csv(files[-1])["y"].to_numpy()
    assert mended[7] == audit.suggested[7]
    np.testing.assert_array_equal(np.delete(mended, 7), np.delete(y, 7))
    with files[1].open() as file:
        assert [entry["action"] for entry in csv.DictReader(file)] == ["suggestion", "keep"]
    assert set(audit.update(files[0]).verdicts) == {7, 9}
    assert review.progress()["wrong"] == 1


def asked(server, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.server_port}{path}", data, {"Authorization": f"Bearer {server.token}"}
    )
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_the_page_takes_numbers_and_tags_as_texts(numbers, tags, tmp_path, serving):
    for name, row, text, wrong, audit in (
        ("numbers", 7, "18,5", "many", numbers[-1]),
        ("tags", tags[0], "b; a", "a;q", tags[-1]),
    ):
        with serving(ReviewSession(audit, tmp_path / name, rows=[row, 11])) as server:
            assert asked(server, "/api/review")[1]["free"] is True
            _, seen = asked(server, f"/api/rows/{row}")
            assert seen["observed"]["name"] != seen["suggested"]["name"]
            assert seen["nearest"]["suggested"][0]["values"][0][0] == "value"
            assert seen["observed"]["kin"]
            status, refused = asked(server, "/api/decide", {"row": row, "code": wrong, "version": 0})
            assert status == 400
            assert "is no number" in refused["error"] or "is not among" in refused["error"]
            status, stored = asked(server, "/api/decide", {"row": row, "code": text, "version": 0})
            assert status == 200
            assert stored["decision"]["label"] in ("18.5", "a;b")
            assert asked(server, "/api/decide", {"row": 11, "code": 0, "version": 0})[0] == 400
            assert asked(server, "/api/finish", {})[0] == 200


def test_an_audit_of_probabilities_is_reviewed_as_any_other(tmp_path):
    X, y = load_iris(return_X_y=True)
    p = 0.9 * np.eye(3)[y] + 0.1 / 3
    wrong = y.copy()
    wrong[0] = 2
    for rows in (X, None):
        audit = audit_probabilities(p, wrong, X=rows)
        assert "worth a look" in audit._repr_html_()
        review = ReviewSession(audit, tmp_path / str(rows is None), rows=[0])
        review.decide(0, 0)
        assert audit.update(review.verdicts).verdicts == {0: 0}
