"""The page's server: for this machine and for who has the token; a decision is stored before it is acknowledged."""

import http.client
import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

from noisewise import audit_labels, audit_targets
from noisewise.review import ReviewSession
from noisewise.review.row_view import RowViews
from noisewise.review.server import ReviewServer


@pytest.fixture(scope="module")
def audit():
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    y[0] = "virginica"
    return audit_labels(X, y)


@pytest.fixture
def server(audit, serving, tmp_path):
    with serving(ReviewSession(audit, tmp_path, rows=[0, 70, 80], reviewer="ann")) as one:
        yield one


def ask(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    known = {"Authorization": f"Bearer {server.token}", "Host": f"127.0.0.1:{server.server_port}"} | headers
    known = {name: value for name, value in known.items() if value is not None}
    connection.request(method, path, None if body is None else json.dumps(body), known)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, json.loads(content) if response.headers["Content-Type"] == "application/json" else content


def test_a_row_is_shown_with_all_that_helps_to_judge_it(server):
    status, overview = ask(server, "GET", "/api/review")
    assert status == 200
    assert overview["rows"] == [0, 70, 80]
    assert overview["names"] == ["setosa", "versicolor", "virginica"]
    status, row = ask(server, "GET", "/api/rows/0")
    assert status == 200
    assert (row["observed"]["name"], row["suggested"]["name"]) == ("virginica", "setosa")
    assert (row["row"], row["spreadsheet_row"], row["version"], row["decision"]) == (0, None, 0, None)
    assert [one["name"] for one in row["candidates"]] == ["versicolor"]
    assert row["columns"][0]["name"].startswith("petal")
    assert len(row["nearest"]["suggested"]) == len(row["nearest"]["observed"]) == 3


def test_a_row_of_a_file_says_where_a_spreadsheet_has_it(audit, tmp_path):
    review = ReviewSession(audit, tmp_path, rows=[70], table=("iris.csv", "species"))
    assert RowViews(review).view(70)["spreadsheet_row"] == 72


def test_large_numbers_are_written_in_full(tmp_path, rng):
    X = rng.normal(size=(200, 2))
    prices = np.round(400_000 + 90_000 * X[:, 0] + 5_000 * rng.normal(size=200))
    review = ReviewSession(audit_targets(X, prices), tmp_path, rows=[0], table=("homes.csv", "price"))
    seen = RowViews(review).view(0)
    assert "e+" not in json.dumps(seen)
    assert all(value[0][0] == "price" for one in seen["nearest"].values() for value in [near["values"] for near in one])


def test_a_decision_is_on_the_disk_when_it_is_acknowledged(server):
    status, stored = ask(server, "POST", "/api/decide", {"row": 0, "code": 0, "version": 0})
    assert status == 200
    assert stored["decision"] == {"label": "setosa", "action": "suggestion"}
    line = json.loads((server.review.folder / "decisions.jsonl").read_text())
    assert (line["row"], line["decision"], line["reviewer"]) == (0, "setosa", "ann")
    assert ask(server, "POST", "/api/undo", {})[1]["row"] == 0
    assert ask(server, "POST", "/api/undo", {})[1]["row"] is None
    assert ask(server, "GET", "/api/rows/0")[1]["version"] == 2


def test_a_decision_made_elsewhere_is_not_overwritten(server, audit):
    other = ReviewSession(audit, server.review.folder, rows=[0], reviewer="bob")
    other.decide(0, "versicolor")
    status, refused = ask(server, "POST", "/api/decide", {"row": 0, "code": 0, "version": 0})
    assert (status, "decided elsewhere" in refused["error"]) == (409, True)
    assert ask(server, "GET", "/api/rows/0")[1]["decision"]["label"] == "versicolor"


@pytest.mark.parametrize(
    ("method", "path", "headers", "wanted"),
    [
        ("GET", "/api/review", {"Authorization": None}, 401),
        ("GET", "/api/review", {"Authorization": "Bearer wrong"}, 401),
        ("POST", "/api/undo", {"Authorization": None}, 401),
        ("GET", "/", {"Host": "evil.example"}, 403),
        ("GET", "/api/review", {"Host": "evil.example"}, 403),
        ("POST", "/api/undo", {"Origin": "http://evil.example"}, 403),
        ("POST", "/api/undo", {"Origin": "null"}, 403),
        ("GET", "/api/rows/1", {}, 404),
        ("GET", "/api/rows/../../etc/passwd", {}, 404),
        ("GET", "/../server.py", {}, 404),
        ("POST", "/api/nothing", {}, 404),
    ],
)
def test_others_are_refused(server, method, path, headers, wanted):
    status, body = ask(server, method, path, {} if method == "POST" else None, **headers)
    assert status == wanted
    assert body["error"]
    assert not (server.review.folder / "decisions.jsonl").exists()


@pytest.mark.parametrize(
    "body",
    [
        {"row": 1, "code": 0, "version": 0},
        {"row": 0, "code": 3, "version": 0},
        {"row": 0, "code": -1, "version": 0},
        {"row": "0", "code": 0, "version": 0},
        {"row": 0, "code": 0},
        [],
        "x" * 20_000,
    ],
)
def test_what_is_no_decision_is_refused(server, body):
    assert ask(server, "POST", "/api/decide", body)[0] == 400
    assert not (server.review.folder / "decisions.jsonl").exists()


def test_the_page_may_load_nothing_from_elsewhere(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request("GET", "/")
    response = connection.getresponse()
    page = response.read().decode()
    assert response.status == 200
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert "http://" not in page
    assert "https://" not in page
    assert server.token not in page
    connection.close()


def test_a_port_that_is_taken_gets_a_sentence(server):
    with pytest.raises(ValueError, match="can't be listened on"):
        ReviewServer(server.review, server.server_port)
