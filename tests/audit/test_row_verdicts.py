"""Verdicts about numbers and tags: taken in by their audits."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

from noisewise import audit_multilabel, audit_targets
from noisewise.audit.row_verdicts import number_verdicts, tag_verdicts
from noisewise.audit.verdicts import Given


@pytest.fixture(scope="module")
def numbers():
    X, y = make_friedman1(300, noise=0.7, random_state=0)
    observed = y + 20.0
    observed[:15] *= 10
    return y + 20.0, observed, audit_targets(pd.DataFrame(X), observed)


@pytest.fixture(scope="module")
def tags():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    truth = X > 0.3
    observed = truth.copy()
    wrong = rng.permutation(np.flatnonzero(np.abs(X[:, 0] - 0.3) > 0.6))[:20]
    observed[wrong, 0] ^= True
    return truth, wrong, audit_multilabel(pd.DataFrame(X), observed, tags=["a", "b", "c"])


def test_reviewed_numbers_are_known_and_not_picked_again(numbers):
    truth, observed, audit = numbers
    rows = audit.order[:30]
    later = audit.update({int(row): float(truth[row]) for row in rows})
    np.testing.assert_array_equal(later.probability[rows], truth[rows] == observed[rows])
    np.testing.assert_allclose(later.apply()[rows], truth[rows])
    assert not set(later.picked.tolist()) & set(rows.tolist())
    assert later.expected_errors >= 15
    assert later.remaining.low == 0
    assert "30 of 300 rows were reviewed, 15 of them (50 %) were wrong" in later.progress
    twice = audit.update({int(row): float(truth[row]) for row in rows[:10]}).update(
        {int(row): float(truth[row]) for row in rows[10:]}
    )
    np.testing.assert_allclose(twice.probability, later.probability)


def test_a_filled_in_patch_of_numbers_is_taken_in(numbers, tmp_path):
    _, _, audit = numbers
    audit.patch(tmp_path / "patch.csv")
    patch = pd.read_csv(tmp_path / "patch.csv", dtype=str).assign(decision=lambda frame: frame["suggested"])
    patch.loc[0, "decision"] = "?"
    patch.to_csv(tmp_path / "patch.csv", index=False)
    later = audit.update(tmp_path / "patch.csv")
    assert len(later.verdicts) == len(patch) - 1
    assert later.undecided == (int(patch.loc[0, "row"]),)
    with pytest.raises(ValueError, match="decisions, which would be lost"):
        audit.patch(tmp_path / "patch.csv")


def test_reviewed_tags_are_known_and_each_tag_is_updated(tags):
    truth, wrong, audit = tags
    rows = audit.order[:40]
    verdicts = {int(row): [tag for tag, there in zip("abc", truth[row], strict=True) if there] for row in rows}
    later = audit.update(verdicts)
    mended = later.apply()
    assert all(mended[row] == tags for row, tags in verdicts.items())
    assert later.audits["a"].verdicts.keys() == verdicts.keys()
    assert not set(later.picked.tolist()) & set(rows.tolist())
    found = int(np.isin(rows, wrong).sum())
    assert f"40 of 300 rows were reviewed, {found} of them" in later.progress
    assert later.update({5: "?"}).undecided == ((5,) if 5 not in verdicts else ())


def test_tags_come_back_in_any_order_and_none_is_a_decision(tags, tmp_path):
    _, _, audit = tags
    audit.patch(tmp_path / "patch.csv")
    patch = pd.read_csv(tmp_path / "patch.csv", dtype=str, keep_default_na=False)
    assert {"row", "spreadsheet_row", "observed", "suggested", "decision"} <= set(patch.columns)
    assert "" not in set(patch["suggested"])  # what is copied into the decision is one
    patch["decision"] = [";".join(reversed(text.split(";"))) for text in patch["suggested"]]
    patch.loc[0, "decision"] = "(none)"
    patch.to_csv(tmp_path / "patch.csv", index=False)
    later = audit.update(tmp_path / "patch.csv")
    assert later.verdicts[int(patch.loc[0, "row"])] == ()
    for row in patch["row"].astype(int)[1:]:
        assert list(later.verdicts[row]) == audit.tags_of(audit.suggested, row)


@pytest.mark.parametrize(
    ("decisions", "sentence"),
    [
        ([Given(0, "many")], "'many' is no number"),
        ([Given(9, "1")], "row 9 is not among the 3 rows"),
        ([Given(0, "2", "7")], "row 0 had '7' when it was reviewed"),
        ([Given(0, "2"), Given(0, "3")], "row 0 has two decisions"),
        ([Given(0, "")], "no row has a decision"),
    ],
)
def test_what_is_no_verdict_on_a_number_gets_a_sentence(decisions, sentence):
    with pytest.raises(ValueError, match=sentence):
        number_verdicts(decisions, np.array([1.0, 2.0, 3.0]))


def test_what_is_no_verdict_on_tags_gets_a_sentence():
    cells = [["a"], ["b"]]
    with pytest.raises(ValueError, match="the tag 'c' is not among 'a', 'b'"):
        tag_verdicts([Given(0, "a;c")], cells, ["a", "b"], ";")
    assert tag_verdicts([Given(0, "a;c")], cells, ["a", "b"], ";", new=True) == {0: ("a", "c")}
    with pytest.raises(ValueError, match="about another table"):
        tag_verdicts([Given(0, "a;b", "b")], cells, ["a", "b"], ";")


def test_a_notebook_shows_headline_and_worst_rows(numbers, tags):
    for audit in (numbers[-1], tags[-1]):
        html = audit._repr_html_()
        assert "rows are worth a look" in html
        assert html.count("<tr>") == 11
        assert "<style" not in html
