"""The audit finds the wrong rows, whatever the table looks like."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from noisewise import FlipMatrix, audit_labels


@pytest.fixture(scope="module")
def digits():
    X, truth = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    wrong = rng.choice(len(truth), round(0.2 * len(truth)), replace=False)
    y = truth.copy()
    y[wrong] = (y[wrong] + rng.integers(1, 10, len(wrong))) % 10
    return X, y, truth


@pytest.fixture(scope="module")
def audited(digits):
    X, y, _ = digits
    return audit_labels(X, y)


def test_nine_in_ten_flipped_digits_are_in_the_worst_fifth(audited, digits):
    _, y, truth = digits
    worst = audited.to_frame()["row"][: len(y) // 5]
    assert np.sum((y != truth)[worst]) >= 0.9 * np.sum(y != truth)


def test_the_frame_has_every_row_once_worst_first(audited, digits):
    frame = audited.to_frame()
    assert list(frame.columns) == ["row", "observed", "suggested", "probability"]
    assert sorted(frame["row"]) == list(range(len(digits[1])))
    assert frame["probability"].is_monotonic_increasing
    np.testing.assert_array_equal(frame["observed"], digits[1][frame["row"]])


def test_the_expected_number_is_near_the_truth(audited, digits):
    n_wrong = int(np.sum(digits[1] != digits[2]))
    low, high = audited.expected_errors.interval
    assert low <= float(audited.expected_errors) <= high
    assert 0.7 * n_wrong < float(audited.expected_errors) < 1.3 * n_wrong


def test_picked_rows_are_mostly_wrong(audited, digits):
    _, y, truth = digits
    assert np.mean((y != truth)[audited.picked]) > 0.8
    assert audited.found(truth)["right"] == np.sum((y != truth)[audited.picked])


def test_suggestions_are_mostly_the_truth(audited, digits):
    _, y, truth = digits
    assert np.mean(audited.suggested[y != truth] == truth[y != truth]) > 0.8


def test_any_classifier_judges_out_of_fold():
    X, truth = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = FlipMatrix.binary(0.0, 0.3).corrupt(truth, 0)
    audit = audit_labels(X, y, model=LogisticRegression(C=0.1, max_iter=1000))
    assert roc_auc_score(y != truth, 1 - audit.probability) > 0.9


def test_a_known_noise_is_used():
    X, y = load_digits(n_class=3, return_X_y=True)
    noise = FlipMatrix.symmetric(0.1, 3)
    assert audit_labels(X, y, noise=noise).noise == noise


def mixed_table(n=240, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    columns = {
        "size": np.where(rng.random(n) < 0.1, np.nan, truth * 3 + rng.normal(size=n)),
        "colour": np.where(truth == 1, "red", rng.choice(["blue", "green"], n)),
        "when": np.datetime64("2024-01-01") + rng.integers(0, 99, n).astype("timedelta64[D]"),
        "flag": truth == rng.integers(0, 2, n),
        "name": [f"id{i}" for i in range(n)],
        "remark": [f"{'good thing' if t else 'bad thing'} number {i}" for i, t in enumerate(truth)],
        "nothing": [None] * n,
    }
    y = np.where(rng.random(n) < 0.1, 1 - truth, truth)
    return columns, np.array(["no", "yes"])[y], np.array(["no", "yes"])[truth]


@pytest.mark.parametrize("library", [pd, pl])
def test_mixed_frames_are_audited_with_notes(library):
    columns, y, truth = mixed_table()
    audit = audit_labels(library.DataFrame(columns), library.Series(y))
    assert roc_auc_score(y != truth, 1 - audit.probability) > 0.9
    assert isinstance(audit.to_frame(), library.DataFrame)
    told = " ".join(audit.notes)
    for part in (
        "'size' has",
        "'when' holds dates",
        "'name' has 240 distinct",
        "'remark' holds text",
        "'nothing' is empty",
    ):
        assert part in told


def test_sparse_rows_are_audited(digits):
    X, y, truth = digits
    audit = audit_labels(sparse.csr_matrix(X[:600]), y[:600])
    assert roc_auc_score((y != truth)[:600], 1 - audit.probability) > 0.9


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        (np.zeros((4, 2)), [1, 1, 1, 1], "1 class only"),
        (np.zeros((4, 2)), [1.0, 0.0, np.nan, 1.0], "labels are missing"),
        (np.zeros((4, 2)), [1, 0, 1], "4 rows, y has 3 labels"),
        (np.zeros((8, 2)), [0, 1, 2, 3, 0, 1, 2, 3], "4 distinct labels in 8 rows"),
        (np.array([["a"], ["b"]]), [0, 1], "not numbers"),
        (np.full((4, 2), np.inf), [0, 1, 0, 1], "infinite"),
        (pd.DataFrame({"a": []}), [0, 1], "empty"),
        (pl.DataFrame({"a": [f"n{i}" for i in range(60)]}), [0, 1] * 30, "no column can be used"),
        (np.zeros(4), [0, 1, 0, 1], "shape"),
        (
            pd.DataFrame(np.zeros((6, 3)), columns=["a", "x", "x"]),
            [0, 1] * 3,
            "^X has two columns called 'x'; every column needs a name of its own$",
        ),
    ],
)
def test_bad_input_gets_a_sentence(X, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        audit_labels(X, y)


def test_a_model_without_probabilities_is_refused(digits):
    X, y, _ = digits
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        audit_labels(X, y, model=LinearSVC())


def test_frames_come_in_the_library_asked_for(audited):
    assert isinstance(audited.to_frame("polars"), pl.DataFrame)
    with pytest.raises(ValueError, match="'pandas' or 'polars'"):
        audited.to_frame("dask")


def test_a_wanted_precision_cuts_the_ranking(audited):
    wrong = 1 - audited.probability
    rows = audited.rows(precision=0.8)
    assert wrong[rows].mean() >= 0.8
    assert wrong[audited.order[: len(rows) + 1]].mean() < 0.8
    assert len(audited.rows(precision=0.99)) < len(rows)
    with pytest.raises(ValueError, match="precision is 0"):
        audited.rows(precision=0)


def test_applying_the_suggestions_makes_labels_better(audited, digits):
    _, y, truth = digits
    corrected = audited.apply()
    assert np.mean(corrected == truth) > np.mean(y == truth) + 0.15
    untouched = np.setdiff1d(np.arange(len(y)), audited.picked)
    np.testing.assert_array_equal(corrected[untouched], y[untouched])


def test_flip_rates_have_intervals_that_hold_the_truth(audited):
    low, high = audited.noise_interval
    true = FlipMatrix.symmetric(0.2, 10).matrix
    assert np.mean((low - 0.01 <= true) & (true <= high + 0.01)) > 0.85
    assert np.all(low <= audited.noise.matrix)


def test_classes_add_up(audited, digits):
    frame = audited.by_class()
    assert frame["rows"].sum() == len(digits[1])
    assert frame["expected_wrong"].sum() == pytest.approx(np.sum(1 - audited.probability), rel=1e-4)


def test_a_careless_annotator_comes_first():
    X, truth = load_digits(return_X_y=True)
    rng = np.random.default_rng(1)
    annotators = rng.choice(["ann", "bob", "cid"], len(truth))
    careless = (annotators == "bob") & (rng.random(len(truth)) < 0.3)
    y = np.where(careless, (truth + 1) % 10, truth)
    frame = audit_labels(X, y, annotators=annotators).by_annotator()
    assert frame["annotator"][0] == "bob"
    assert frame["low"][0] > frame["high"][1]
    assert abs(frame["share"][0] - 0.3) < 0.06
    with pytest.raises(ValueError, match="one name for each"):
        audit_labels(X, y, annotators=annotators[:5])


def test_without_annotators_there_is_no_table_of_them(audited):
    with pytest.raises(ValueError, match="pass annotators="):
        audited.by_annotator()


def test_small_classes_are_noted_as_too_small():
    X, y = load_digits(n_class=3, return_X_y=True)
    few = np.flatnonzero(y == 2)[3:]
    audit = audit_labels(np.delete(X, few, axis=0), np.delete(y, few))
    assert any("too small to judge: 2 (3)" in note for note in audit.notes)


def test_patches_are_written_for_review(audited, tmp_path):
    audited.patch(tmp_path / "patch.csv")
    patch = pd.read_csv(tmp_path / "patch.csv")
    judged = ["observed", "suggested", "probability", "suggested_probability", "decision"]
    assert list(patch.columns)[:7] == ["row", "spreadsheet_row", *judged]
    np.testing.assert_array_equal(patch["spreadsheet_row"], patch["row"] + 2)
    np.testing.assert_array_equal(patch["row"], audited.picked)
    audited.patch(tmp_path / "patch.json", rows=[3, 1])
    entries = json.loads((tmp_path / "patch.json").read_text())
    assert [entry["row"] for entry in entries] == [3, 1]


def test_label_studio_tasks_carry_features_and_predictions(tmp_path):
    columns, y, _ = mixed_table()
    audit = audit_labels(pd.DataFrame(columns), y)
    audit.to_label_studio(tmp_path / "tasks.json", rows=[5, 6])
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert [task["data"]["row"] for task in tasks] == [5, 6]
    assert tasks[0]["data"]["remark"] == columns["remark"][5]
    assert tasks[0]["predictions"][0]["result"][0]["value"]["choices"] == [str(audit.suggested[5])]


def test_frames_with_numbers_for_names_are_audited(digits):
    X, y, _ = digits
    frame = audit_labels(pd.DataFrame(X[:300]), y[:300]).to_frame()
    assert len(frame) == 300


@pytest.mark.parametrize("overlap", [0.0, 1.0])
def test_labels_that_features_cannot_tell_apart_prove_no_noise(overlap):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 2)) + overlap * y[:, None]
    assert audit_labels(X, y).expected_errors.low == 0
    audit = audit_labels(X, y, labels_are="outcomes")
    assert audit.expected_errors.low == 0
    assert len(audit.picked) == 0


def test_wrong_labels_too_few_to_prove_noise_still_rank_first():
    X, y = load_digits(return_X_y=True)
    changed = [484, 553, 917, 1142, 1525]
    y[changed] = (y[changed] + 1) % 10
    for labels_are in (None, "outcomes"):
        audit = audit_labels(X, y, labels_are=labels_are)
        assert audit.expected_errors.low == 0
        assert sorted(audit.order[:5]) == changed
        assert set(audit.picked) <= set(changed)
        assert (len(audit.picked) > 0) == (labels_are is None)  # the list is not emptied by what the count can't prove


def test_labels_that_differ_in_case_or_spaces_are_named():
    X, y = load_digits(n_class=3, return_X_y=True)
    labels = np.array(["bug", "refund", "other"], dtype=object)[y]
    labels[np.flatnonzero(y == 0)[:3]] = ["Bug", " bug", "BUG"]
    notes = audit_labels(X, labels).notes
    assert "labels ' bug', 'BUG', 'Bug' and 'bug' differ in case or spaces only" in " ".join(notes)
    assert not any("differ in case" in note for note in audit_labels(X, y).notes)


def test_rows_and_labels_with_one_index_in_two_orders_are_noted():
    X, y = load_digits(n_class=2, return_X_y=True, as_frame=True)
    shuffled = X.sample(frac=1, random_state=0)
    note = "X and y have the same index in another order"
    assert any(note in one for one in audit_labels(shuffled, y).notes)
    for labels in (y.loc[shuffled.index], y.to_numpy(), y.set_axis(y.index + len(y))):
        assert not any(note in one for one in audit_labels(shuffled, labels).notes)
