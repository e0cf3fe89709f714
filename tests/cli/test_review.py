"""`noisewise review`: what it refuses, before a page is opened. The page itself is tested in tests/review."""

import pytest

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
