"""The report: whole, self-contained, and alive in a real browser."""

import base64
import re
from io import BytesIO

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import softmax
from sklearn.datasets import load_digits

from noisewise import FlipMatrix, audit_labels, audit_probabilities
from noisewise.audit.report.charts import class_bars, histogram, matrix_map
from noisewise.audit.report.pages import worst_rows
from noisewise.audit.report.thumbnails import thumbnails
from noisewise.audit.summaries import confusions
from noisewise.stress import StressResult


@pytest.fixture(scope="module")
def audited():
    X, truth = load_digits(n_class=4, return_X_y=True)
    observed = FlipMatrix.symmetric(0.2, 4).corrupt(truth, 0)
    names = np.array(["ann", "<b>bob</b>"])[np.arange(len(truth)) % 2]
    return audit_labels(X, np.array(["zero", "one", "two", "<three>"])[observed], annotators=names)


@pytest.fixture
def page(audited, tmp_path):
    audited.to_html(tmp_path / "audit.html", title="A & B")
    return tmp_path / "audit.html"


def test_the_page_needs_no_network_and_escapes_names(page):
    text = page.read_text()
    assert not re.search(r"(src|href)=[\"'](?!data:)", text)
    assert "<title>A &amp; B</title>" in text
    assert "&lt;three&gt;" in text
    assert "<three>" not in text
    assert "&lt;b&gt;bob" in text
    assert "Error rate by annotator" in text


def test_where_noise_is_not_proven_the_page_says_so(tmp_path):
    X, y = load_digits(n_class=3, return_X_y=True)
    audit = audit_labels(X, y, labels_are="outcomes")
    assert audit.expected_errors.low == 0
    audit.to_html(tmp_path / "audit.html")
    assert "Label noise is not proven" in (tmp_path / "audit.html").read_text()
    assert len(audit.picked) == 0


@pytest.mark.parametrize(("labels_are", "ranked"), [(None, "judgements"), ("judgements",) * 2, ("outcomes",) * 2])
def test_two_readings_are_shown_with_what_they_assume_unless_one_is_chosen(labels_are, ranked, tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 6000)
    p = softmax(rng.normal(size=(6000, 3)) + 5 * np.eye(3)[truth], axis=1)
    audit = audit_probabilities(p, FlipMatrix.symmetric(0.3, 3).corrupt(truth, rng), labels_are=labels_are)
    audit.to_html(tmp_path / "audit.html")
    text = (tmp_path / "audit.html").read_text()
    assert ("Two readings of a wrong label" in text) == (labels_are is None)
    if labels_are is None:
        section = text[text.index("Two readings of a wrong label") : text.index("Noise transition matrix")]
        for reading in audit.readings.values():
            low, high = reading.expected_errors.interval
            assert f"<td>{reading.expected_errors:,.0f} ({low:,.0f} to {high:,.0f})</td>" in section
        assert f"as if labels were {ranked}" in section
    assert ("Label noise is class-conditional" in text) == (ranked == "outcomes")
    assert ("what most of them would say" in text) == (ranked == "judgements")


def test_one_reading_needs_no_table(tmp_path):
    X, y = load_digits(n_class=3, return_X_y=True)
    audit_labels(X, y, labels_are="outcomes").to_html(tmp_path / "audit.html")
    text = (tmp_path / "audit.html").read_text()
    assert "Two readings" not in text
    assert "Label noise is class-conditional" in text


def test_frames_show_their_columns(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    frame = pd.DataFrame(
        {"weight": y + 0.1 * rng.normal(size=80), "colour": np.where(y, "red", "blue"), "age": [None] * 80}
    )
    audit_labels(frame, y).to_html(tmp_path / "audit.html")
    text = (tmp_path / "audit.html").read_text()
    assert "colour</button>" in text
    assert ">red</td>" in text


def test_thumbnails_are_only_for_square_pictures():
    few = np.array([0])
    assert thumbnails(np.zeros((3, 50)), few) is None
    assert len(thumbnails(np.arange(128).reshape(2, 64), np.array([0, 1]))) == 2
    pixels = pd.DataFrame(np.arange(128).reshape(2, 64) * 1.0, columns=[f"pixel_{i // 8}_{i % 8}" for i in range(64)])
    assert len(thumbnails(pixels, few)) == 1
    assert thumbnails(pl.from_pandas(pixels).lazy(), few) == thumbnails(pixels, few)
    assert thumbnails(pixels - 1, few) is None  # no picture has negative light
    assert thumbnails(pixels.rename(columns={"pixel_0_0": "age"}), few) is None


def test_a_thumbnail_is_the_picture():
    plt = pytest.importorskip("matplotlib.pyplot", reason="it reads the image back")
    pixels = np.arange(64).reshape(1, 64)
    (encoded,) = thumbnails(pixels, np.array([0]))
    image = plt.imread(BytesIO(base64.b64decode(encoded)))
    np.testing.assert_allclose(image * 255, np.floor(pixels.reshape(8, 8) / 63 * 255), atol=1e-3)


def test_drawings_count_every_row():
    titles = re.findall(r": (\d+) rows?", histogram(np.array([0.01, 0.02, 0.7, 1.0])))
    assert sum(map(int, titles)) == 4
    assert "30.0 %" in class_bars(["a", "b"], np.array([0.1, 0.3]))


def test_bars_are_as_long_as_the_error_rates():
    def widths(*rates):
        drawn = class_bars(list("abcd")[: len(rates)], np.array(rates))
        return [float(width) for width in re.findall(r'class="wrong" .*? width="([0-9.]+)"', drawn)]

    assert widths(0.0, 0.0002) == [0.4, 0.0]  # of 180; the largest is not the measure
    assert widths(0.4, 0.1) == [180, 45]
    assert widths(0.05, np.nan) == [90]
    assert ">10 %<" in class_bars(["a"], np.array([0.0]))
    assert ">40 %<" in class_bars(["a"], np.array([0.4]))


@pytest.mark.parametrize("n_class", [4, 30])
def test_classes_too_small_to_judge_are_marked_and_get_no_numbers(n_class, tmp_path):
    rng = np.random.default_rng(0)
    y = np.append(np.arange(24 * n_class) % n_class, [n_class] * 3)
    names = np.array([*(f"c{k:02d}" for k in range(n_class)), "a rare"])[y]
    audit = audit_labels(4 * np.eye(n_class + 1)[y] + rng.normal(size=(len(y), n_class + 1)), names)
    audit.to_html(tmp_path / "audit.html")
    text = (tmp_path / "audit.html").read_text()
    table = text[text.index("Noise transition matrix") : text.index("Confidence in the labels")]
    assert "true a rare" not in table
    assert "<td>a rare</td><td>c" not in table
    if n_class == 4:
        assert '<th>a rare</th><td class="small" colspan="5">too few rows to judge</td>' in table
        assert re.findall(r"<th>(?!true)(.*?)</th>", table) == 2 * ["c00", "c01", "c02", "c03", "a rare"]  # last
        bars = text[text.index("Error rate by class") : text.index("Rows by their probability of being wrong")]
        assert re.search(r">a rare</text><text [^>]*>too few rows to judge<", bars)


def test_a_browser_opens_and_sorts_the_page(page, browser, tmp_path):
    browser.get(page.as_uri())
    heading = browser.find_element("css selector", "#rows th:first-child button")
    heading.click()
    shown = [int(cell.text) for cell in browser.find_elements("css selector", "#rows tbody td:first-child")]
    assert shown == sorted(shown)
    heading.click()
    shown = [int(cell.text) for cell in browser.find_elements("css selector", "#rows tbody td:first-child")]
    assert shown == sorted(shown, reverse=True)
    browser.set_window_size(390, 800)
    wide = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.execute_script(wide), "the page scrolls sideways on a phone"
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        brightness = sum(int(part) for part in re.findall(r"\d+", background)[:3])
        assert (brightness > 600) == (scheme == "light")
    accuracy = np.random.default_rng(0).uniform(0.5, 0.9, size=(3, 2, 4))
    stressed = StressResult("labels", ("k-NN", "a method with a long name", "third"), (0.0, 0.3), accuracy, 100)
    stressed.to_html(tmp_path / "stress.html")
    browser.get((tmp_path / "stress.html").as_uri())
    assert browser.execute_script(wide), "the stress test scrolls sideways on a phone"
    assert len(browser.find_elements("css selector", "svg circle.dot")) == 6
    assert browser.get_log("browser") == []


def test_the_strongest_confusions_are_sentences(tmp_path):
    X, truth = load_digits(return_X_y=True)
    observed = truth.copy()
    observed[np.flatnonzero(truth == 3)[::6]] = 8
    audit = audit_labels(X, observed)
    [(true, label, rows), *_] = confusions(audit)
    assert (true, label) == ("3", "8")
    assert rows == pytest.approx(np.sum(observed != truth), rel=0.3)
    audit.to_html(tmp_path / "audit.html")
    assert f"<li>3 is labelled 8: {rows:,.0f} rows</li>" in (tmp_path / "audit.html").read_text()


@pytest.mark.parametrize("n_classes", [30, 120])
def test_many_classes_are_drawn_with_confused_ones_side_by_side(n_classes):
    matrix = np.eye(n_classes)
    far = n_classes - 1
    matrix[0, [0, far]] = 0.7, 0.3  # the first and the last are confused
    drawing = matrix_map(matrix, [f"<{k}>" for k in range(n_classes)])
    [(x, y)] = re.findall(r'class="wrong" x="([\d.]+)" y="([\d.]+)"', drawing)
    assert abs(float(x) - float(y)) == pytest.approx(360 / n_classes, abs=0.02)  # next to the diagonal
    assert f"true &lt;0&gt;, observed &lt;{far}&gt;: 30.0 %" in drawing


def test_rows_that_are_nearly_surely_right_are_shown_only_where_there_are_few_others():
    order = np.arange(500)
    for n_doubtful, n_shown in ((0, 20), (30, 30), (400, 200)):
        probability = np.where(order < n_doubtful, 0.5, 1.0)
        np.testing.assert_array_equal(worst_rows(order, probability), order[:n_shown])
