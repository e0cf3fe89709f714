"""Audits of pictures and texts: a folder, a list, a table; and what the report shows of them."""

import re

import numpy as np
import polars as pl
import pytest

from noisewise import audit_images, audit_labels
from noisewise.audit import pictures_of, texts_of

pytest.importorskip("PIL")
from PIL import Image

NAMES = ("across", "down")
TOPICS = {
    "billing": ["the invoice shows a wrong amount", "please refund my last payment", "I was charged twice this month"],
    "bug": ["the app crashes when I log in", "an error appears after the update", "the page stays blank and freezes"],
}


def stripes(rng, kind, side=24):
    """Noisy stripes, across or down."""
    wave = np.sin(np.arange(side) * 0.9 + rng.uniform(0, 6)) * 60 + 128
    picture = np.tile(wave, (side, 1)) if kind == "down" else np.tile(wave[:, None], (1, side))
    return np.clip(picture + rng.normal(0, 25, (side, side)), 0, 255).astype(np.uint8)


@pytest.fixture
def folder(tmp_path):
    """Sixty pictures in two sub-folders, of which three lie in the wrong one."""
    rng = np.random.default_rng(0)
    for i in range(60):
        kind = NAMES[i % 2]
        where = tmp_path / "pictures" / (NAMES[1 - i % 2] if i < 3 else kind)
        where.mkdir(parents=True, exist_ok=True)
        Image.fromarray(stripes(rng, kind)).save(where / f"{i:02}.png")
    return tmp_path / "pictures"


def tickets(n=120):
    rng = np.random.default_rng(1)
    topics = list(TOPICS)
    y = np.array([topics[i % 2] for i in range(n)])
    ends = ["today", "since Monday", "again", "on my phone", "for our team", "as before", "at work", "in spring"]
    texts = [f"{rng.choice(TOPICS[topic])} {rng.choice(ends)}, case {i}" for i, topic in enumerate(y)]
    y[:4] = y[[1, 0, 3, 2]]
    return texts, y


def test_pictures_in_the_wrong_folder_are_found(folder):
    audit = audit_images(folder)
    worst = audit.to_frame("polars")["image"][:3].to_list()
    assert {re.sub(r".*/", "", path) for path in worst} == {"00.png", "01.png", "02.png"}
    assert audit.classes.tolist() == ["across", "down"]
    assert len(audit.images) == 60


def test_a_list_of_paths_and_arrays_give_the_audit_of_the_folder(folder):
    of_folder = audit_images(folder)
    labels = of_folder.classes[of_folder.observed]
    of_paths = audit_images(of_folder.images.tolist(), labels)
    of_arrays = audit_images([np.asarray(Image.open(path)) for path in of_folder.images], labels)
    np.testing.assert_array_equal(of_folder.posterior, of_paths.posterior)
    np.testing.assert_array_equal(of_folder.posterior, of_arrays.posterior)


def test_pictures_of_a_folder_that_cant_be_read_are_left_out_and_named(folder):
    (folder / "down" / "99.png").write_text("no picture")
    (folder / "down" / ".hidden.png").write_text("no picture")
    (folder / "down" / "notes.txt").write_text("no picture, and not called one")
    audit = audit_images(folder)
    assert len(audit.images) == 60
    assert "1 of 61 pictures can't be read" in audit.notes[0]
    assert "99.png (no picture): left out" in audit.notes[0]


def test_a_list_with_a_picture_that_is_gone_is_refused(folder):
    with pytest.raises(ValueError, match=r"1 of 2 pictures can't be read: .*gone.png \(no such file\); mend"):
        audit_images([folder / "down" / "05.png", folder / "gone.png"], ["a", "b"])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (lambda folder: {"images": folder / "nowhere"}, "there is no folder"),
        (lambda folder: {"images": folder / "down"}, "pictures, but no sub-folders"),
        (lambda folder: {"images": folder, "y": ["a"]}, "its sub-folders"),
        (lambda folder: {"images": [folder / "down" / "01.png"]}, "1 pictures and 0 labels"),
    ],
)
def test_bad_input_is_told_in_a_sentence(folder, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        audit_images(**given(folder))


def test_features_are_those_of_the_encoder(folder):
    def brightness(pictures):
        return [[np.asarray(picture).mean(), np.asarray(picture).std()] for picture in pictures]

    audit = audit_images(folder, encoder=brightness)
    rows = np.array(brightness([Image.open(path).convert("RGB") for path in audit.images]))
    plain = audit_labels(rows, audit.classes[audit.observed])
    np.testing.assert_allclose(audit.posterior, plain.posterior, atol=1e-9)


def test_the_report_shows_the_pictures(folder):
    audit = audit_images(folder)
    assert all(uri.startswith("data:image/png;base64,") for uri in pictures_of(audit, audit.order[:5]))
    audit.to_html(folder / "report.html")
    page = (folder / "report.html").read_text()
    assert page.count("<img") == 20
    assert str(audit.images[audit.order[0]]) in page


def test_a_picture_that_is_gone_by_then_is_said_to_be(folder):
    audit = audit_images(folder)
    gone = audit.order[0]
    (folder / audit.images[gone]).unlink()
    assert pictures_of(audit, audit.order[:1]) == [""]
    audit.to_html(folder / "report.html")
    assert "the file is gone" in (folder / "report.html").read_text()


@pytest.mark.parametrize("encoder", ["words", "wordllama"])
def test_texts_with_the_wrong_label_are_found(encoder):
    if encoder == "wordllama":
        pytest.importorskip("wordllama")
    texts, y = tickets()
    audit = audit_labels(texts, y, encoder=encoder)
    assert set(audit.order[:4].tolist()) == {0, 1, 2, 3}
    assert texts_of(audit.X, audit.order[:1]) == {"text": [texts[audit.order[0]]]}


def test_texts_come_as_lists_arrays_and_series():
    texts, y = tickets()
    first = audit_labels(texts, y, encoder="words")
    for given in (np.array(texts), pl.Series(texts)):
        np.testing.assert_array_equal(audit_labels(given, y, encoder="words").posterior, first.posterior)


def test_text_columns_are_embedded_where_asked_or_installed_and_notes_say_so():
    texts, y = tickets()
    frame = pl.DataFrame({"text": texts})

    def lengths(block):
        return [[len(text), text.count("a")] for text in block]

    hashed = audit_labels(frame, y, encoder="words")
    assert "column 'text' holds text: its words are hashed into 1024 columns" in hashed.notes
    assert "column 'text' holds text: embedded by lengths in 2 columns" in audit_labels(frame, y, encoder=lengths).notes
    pytest.importorskip("wordllama")
    assert "column 'text' holds text: embedded by wordllama in 256 columns" in audit_labels(frame, y).notes


def test_without_the_package_words_are_hashed_as_by_name(monkeypatch):
    monkeypatch.setattr("noisewise.embeddings.texts.find_spec", lambda name: None)
    texts, y = tickets()
    frame = pl.DataFrame({"text": texts})
    default, named = audit_labels(frame, y), audit_labels(frame, y, encoder="words")
    assert default.notes == named.notes
    np.testing.assert_array_equal(default.posterior, named.posterior)


def test_streamed_texts_have_the_embeddings_of_those_in_memory(tmp_path):
    texts, y = tickets()
    frame = pl.DataFrame({"text": texts, "length": [len(text) for text in texts]})
    frame.write_parquet(tmp_path / "tickets.parquet")

    def by_block(block):
        return np.column_stack([[len(text) for text in block], np.full(len(block), len(block)), range(len(block))])

    streamed = audit_labels(pl.scan_parquet(tmp_path / "tickets.parquet"), y, encoder=by_block)
    np.testing.assert_array_equal(streamed.posterior, audit_labels(frame, y, encoder=by_block).posterior)


def test_long_texts_are_whole_and_folded_in_the_report(tmp_path):
    texts, y = tickets()
    texts[0] = "a very long story " * 40 + "<with its end>"
    frame = pl.DataFrame({f"x{i}": np.arange(120) % (i + 2) for i in range(8)} | {"text": texts})
    audit = audit_labels(frame, y, encoder="words")
    audit.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count("<details>") == 1
    assert "&lt;with its end&gt;</details>" in page
    assert "Show all texts whole" in page
