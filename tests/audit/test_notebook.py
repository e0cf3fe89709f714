"""The audit in a notebook, and the browser outside of one."""

import sys
import types
import webbrowser
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import load_iris

from noisewise import audit_annotations, audit_labels
from noisewise.labels import dawid_skene


@pytest.fixture(scope="module")
def audited():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "<b>versicolor</b>", "virginica"])[y]
    names[7] = "virginica"
    return audit_labels(X, names)


class Tags(HTMLParser):
    """The tags of a page that are open, and all that were."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_notebook_shows_headline_and_worst_rows_without_a_style_sheet(audited):
    text = audited._repr_html_()
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert not tags.seen & {"style", "b", "script", "link"}  # names are escaped, nothing leaks into the notebook
    assert "about 1 of 150 labels looks wrong" in text
    assert ">7</td>" in text
    assert "&lt;b&gt;versicolor" in text


@pytest.fixture(scope="module")
def crowd():
    """Three labels of each of 60 items by six annotators, of whom one is careless."""
    rng = np.random.default_rng(0)
    truth, items, who = rng.integers(2, size=60), np.repeat(np.arange(60), 3), rng.integers(6, size=180)
    labels = np.where(rng.random(180) < np.where(who == 2, 0.45, 0.05), 1 - truth[items], truth[items])
    return items, np.array([f"<i>{name}" for name in who]), labels


@pytest.mark.parametrize("result", [audit_annotations, dawid_skene, lambda *crowd: dawid_skene(*crowd).annotators])
def test_a_notebook_shows_who_errs_most(crowd, result):
    text = result(*crowd)._repr_html_()
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.seen == {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert "6 annotators, 180 labels; least accurate: &lt;i&gt;2 (" in text


def test_a_notebook_shows_the_items_whose_consensus_is_least_certain(crowd):
    audit = audit_annotations(*crowd)
    first = audit._repr_html_().partition("<tbody>")[2].partition("</td>")[0]
    assert first.endswith(f">{audit.order[0]}")


def test_the_report_is_shown_in_a_frame_of_its_own(audited, monkeypatch):
    shown = []
    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    display.HTML, display.display = str, shown.append
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    audited.show(height=300)
    [page] = shown
    assert page.startswith('<iframe srcdoc="')
    assert "height:300px" in page
    assert "<style" not in page  # it is inside the frame, escaped


def test_outside_of_a_notebook_the_browser_opens_the_report(audited, monkeypatch, tmp_path):
    opened = []
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    audited.show()
    [file] = tmp_path.iterdir()
    assert opened == [file.as_uri()]
    assert "Label audit" in file.read_text()
