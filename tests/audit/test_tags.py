"""Rows with several tags: which are wrong, how many of each, and cells that look so."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from noisewise import audit_labels, audit_multilabel
from noisewise.audit.tags import find_separator, separator_sentence, split_tags, tag_matrix


def tagged(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    Y = (X > 0.3).astype(int)
    wrong = np.zeros(Y.shape, dtype=bool)
    clear = rng.permutation(np.flatnonzero(np.abs(X[:, 0] - 0.3) > 0.6))[:20]
    wrong[clear, 0] = True
    return X, np.where(wrong, 1 - Y, Y), wrong


@pytest.fixture(scope="module")
def audited():
    X, Y, wrong = tagged()
    return X, Y, wrong, audit_multilabel(X, Y, tags=["a", "b", "c"])


def test_rows_with_a_wrong_tag_come_first(audited):
    _, _, wrong, audit = audited
    assert wrong.any(axis=1)[audit.order[:20]].mean() > 0.8
    assert wrong[:, 0].sum() == 20
    low, high = audit.audits["a"].expected_errors.interval
    assert low <= 20 <= high


def test_rows_with_nothing_to_change_are_not_picked(audited, rng):
    X, Y, wrong, _ = audited
    about_nothing = rng.random(len(Y)) < 0.3  # a tag that the columns do not tell about
    audit = audit_multilabel(X, np.column_stack([Y, about_nothing]))
    assert (audit.suggested[audit.picked] != audit.observed[audit.picked]).any(axis=1).all()
    assert wrong.any(axis=1)[audit.picked].sum() >= 15


def test_the_audit_of_a_tag_is_that_of_two_classes(audited):
    X, Y, _, audit = audited
    alone = audit_labels(X, Y[:, 1], labels_are="outcomes")
    np.testing.assert_array_equal(audit.audits["b"].probability, alone.probability)
    np.testing.assert_allclose(audit.probability, np.prod([one.probability for one in audit.audits.values()], axis=0))


def test_every_form_of_tags_gives_the_same(audited):
    X, Y, *_ = audited
    p = np.clip(0.5 + X[:, :3] / 4, 0.02, 0.98)
    lists = [[name for name, there in zip("abc", row) if there] for row in Y]
    found = [
        audit_multilabel(None, form, probabilities=p).probability
        for form in (Y, sparse.csr_array(Y), pd.DataFrame(Y, columns=list("abc")), lists)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    assert tag_matrix(lists)[0] == list("abc")


def test_suggestions_change_the_doubtful_tags_alone(audited):
    _, Y, _, audit = audited
    changed = audit.suggested != Y.astype(bool)
    np.testing.assert_array_equal(changed, audit.tag_probability < 0.5)
    mended = audit.apply()
    row = int(audit.picked[0])
    assert mended[row] == audit.tags_of(audit.suggested, row)


def test_a_rare_tag_is_noted(audited):
    X, Y, *_ = audited
    rare = np.column_stack([Y[:, 1], np.arange(len(Y)) == 5])
    audit = audit_multilabel(X, rare, tags=["b", "rare"])
    assert any("'rare' is too rare" in note for note in audit.notes)
    assert list(audit.audits) == ["b"]


def test_report_and_patch(audited, tmp_path):
    audit = audited[-1]
    audit.to_html(tmp_path / "tags.html")
    assert "rows have a wrong tag" in (tmp_path / "tags.html").read_text()
    audit.patch(tmp_path / "patch.csv")
    head = (tmp_path / "patch.csv").read_text().partition("\n")[0]
    assert head == "row,spreadsheet_row,observed,suggested,wrong,probability,decision,x0,x1,x2"
    assert set(audit.summary()["tags"]) == {"a", "b", "c"}
    assert len(audit.by_tag()) == 3


@pytest.mark.parametrize(
    ("labels", "separator"),
    [
        (["billing;feature", "billing", "feature;bug", "bug;billing", "bug"], ";"),
        (["a|b", "b|c", "a|c", "c"], "|"),
        (["London, UK", "Paris, FR", "Rome, IT", "Oslo, NO"], None),
        (["yes", "no", "yes"], None),
        (["n/a", "yes", "no", "n/a"], None),
        ([1, 2, 3], None),
    ],
)
def test_the_separator_is_found_where_tags_recur(labels, separator):
    assert find_separator(labels) == separator
    sentence = separator_sentence(labels)
    assert (sentence is None) == (separator is None)


def test_empty_cells_have_no_tags():
    assert split_tags(["a; b", None, ""], ";") == [["a", "b"], [], []]


@pytest.mark.parametrize(
    ("X", "Y", "options", "sentence"),
    [
        (None, np.eye(3), {}, "rows X or probabilities"),
        (np.ones((4, 1)), np.full((4, 2), 3), {}, "other numbers than 0 and 1"),
        (None, np.eye(3), {"probabilities": np.ones((3, 2))}, "must be the same"),
        (None, np.eye(3), {"probabilities": 2 * np.ones((3, 3))}, "between 0 and 1"),
        (None, np.eye(3), {"probabilities": np.ones((3, 3))}, "none can be judged"),
        (None, [["a"]], {"tags": ["b"]}, "not among tags"),
    ],
)
def test_what_can_not_be_judged_is_refused(X, Y, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        audit_multilabel(X, Y, **options)


def test_missing_cells_have_no_tags():
    X, Y, _ = tagged()
    cells = [[name for name, there in zip("abc", row, strict=True) if there] or np.nan for row in Y]
    lists = [[] if isinstance(cell, float) else cell for cell in cells]
    found = audit_multilabel(X, pd.Series(cells))
    np.testing.assert_array_equal(found.probability, audit_multilabel(X, lists).probability)
    with pytest.raises(ValueError, match="Y holds 3; a list of tags"):
        audit_multilabel(X, [3] * len(X))


def test_joined_tags_are_noted_and_split_on_request():
    X, Y, _ = tagged()
    lists = [[name for name, there in zip("abc", row, strict=True) if there] for row in Y]
    cells = ["; ".join(row) for row in lists]
    assert "separator=';' splits them" in audit_multilabel(X, cells).notes[0]
    split = audit_multilabel(X, cells, separator=";")
    assert split.tags == list("abc")
    np.testing.assert_array_equal(split.probability, audit_multilabel(X, lists).probability)
    assert split.columns(split.order[:1])["observed"][0] == ";".join(split.tags_of(split.observed, split.order[0]))


def test_texts_are_embedded_as_in_the_audit_of_labels(monkeypatch):
    _, Y, _ = tagged()
    seen = []

    def encode(texts):
        seen.append(len(texts))
        return np.array([[len(text), text.count("a")] for text in texts], dtype=float)

    texts = [f"ticket {i} about " + "a" * (i % 7) + " things that went wrong today" for i in range(len(Y))]
    audit_multilabel(pd.DataFrame({"text": texts}), Y, encoder=encode)
    assert sum(seen) >= len(Y)
