"""Misspelt labels, numbers that are no classes, missing labels, odd rows."""

import numpy as np
import polars as pl
import pytest

from noisewise import audit_labels
from noisewise.audit import merge_labels, predict_labels, table_issues
from noisewise.audit.label_names import label_notes, looks_continuous, one_letter_apart


def edit_distance_is_one(one, other):
    """Every string one edit away, by enumeration."""
    letters = set(other)
    edits = {one[:i] + one[i + 1 :] for i in range(len(one))}
    edits |= {one[:i] + c + one[i:] for i in range(len(one) + 1) for c in letters}
    edits |= {one[:i] + c + one[i + 1 :] for i in range(len(one)) for c in letters}
    edits |= {one[:i] + one[i + 1] + one[i] + one[i + 2 :] for i in range(len(one) - 1)}
    return other in edits - {one}


def test_one_letter_apart_agrees_with_enumeration(rng):
    words = ["".join(rng.choice(list("abc"), rng.integers(1, 5))) for _ in range(60)]
    for one in words:
        for other in words:
            assert one_letter_apart(one, other) == edit_distance_is_one(one, other), (one, other)


def test_rare_misspellings_and_case_variants_are_merged():
    labels = ["account"] * 30 + ["Account"] * 4 + ["acount"] + ["bug"] * 20 + ["but"] * 3
    merged, what = merge_labels(labels)
    assert what == {"Account": "account", "acount": "account"}  # three letters are too short to be sure
    assert set(merged) == {"account", "bug", "but"}
    assert merge_labels(["left side"] * 9 + ["left tide"] * 8)[1] == {}  # both frequent
    assert merge_labels([1, 2, None])[1] == {}


def test_the_audit_notes_odd_labels(rng):
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] > 0, "account", "billing").astype(object)
    y[5] = "acount"
    assert any("merges 'acount' into 'account'" in note for note in audit_labels(X, y).notes)
    assert label_notes(["account"] * 9 + ["account "]) == ()  # spaces are noted as such, not as a misspelling
    assert "look like amounts" in label_notes([3 * i for i in range(72)] * 4)[0]


@pytest.mark.parametrize(
    ("labels", "amounts"),
    [
        ([10 * i for i in range(72)] * 4, True),
        (list(range(100)) * 5, False),
        (["a"] * 9, False),
        ([0.5, 1.5] * 40, False),
    ],
)
def test_many_numbers_with_gaps_look_like_amounts(labels, amounts):
    assert looks_continuous(labels) == amounts


def test_missing_labels_are_predicted(rng):
    X = rng.normal(size=(100, 2))
    y = [None if i % 10 == 0 else "yes" if x > 0 else "no" for i, x in enumerate(X[:, 0])]
    found = predict_labels(pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}), y)
    assert found["row"].to_list() == list(range(0, 100, 10))
    truth = np.where(X[::10, 0] > 0, "yes", "no")
    assert (found["label"].to_numpy() == truth).mean() >= 0.8


def test_odd_rows_are_named(rng):
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] > 0).astype(int)
    X[3], y[3] = X[4], 1 - y[4]
    X[10] = X[11]
    y[10] = y[11]
    X[20] = 40.0
    issues = {issue.kind: issue.rows for issue in table_issues(X, audit_labels(X, y))}
    assert issues["duplicates with two labels"] == ((3, 4),)
    assert issues["duplicates"] == ((10, 11),)
    assert issues["outliers"][0] == 20


def test_a_rare_class_and_a_hard_group_are_named(rng):
    X = np.r_[rng.normal(size=(600, 2)), rng.normal(8, 1, size=(150, 2))]
    y = np.r_[(X[:600, 0] > 0).astype(int), rng.integers(0, 2, 150)]  # labels of the second group mean nothing
    y[:6] = 2
    found = {issue.kind: issue for issue in table_issues(X, audit_labels(X, y, labels_are="judgements"))}
    assert found["class imbalance"].rows == tuple(range(6))
    assert min(found["underperforming group"].rows) >= 600
