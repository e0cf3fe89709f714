"""Rows worth a look: none where nothing is likely wrong; and notes where single labels can't be judged."""

import json
import warnings

import numpy as np
import polars as pl
import pytest

from noisewise import audit_labels, audit_multilabel, audit_probabilities, audit_targets
from noisewise.audit import probability_text
from noisewise.audit.posterior import UNEXPLAINED, UNEXPLAINED_BY_PROBABILITIES, tells_labels
from noisewise.audit.summaries import headline, rows_worth_a_look


def probabilities(n=400, n_classes=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.3), n)


@pytest.fixture(scope="module")
def agreeing():
    """The audit of labels that are the modes of their probabilities."""
    p = probabilities()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # such a model has probably seen the labels
        return audit_probabilities(p, p.argmax(axis=1))


@pytest.fixture(scope="module")
def uninformed():
    """The audit of labels by probabilities that are the same in every row."""
    frequencies = [0.7, 0.2, 0.1]
    labels = np.random.default_rng(0).choice(3, 1000, p=frequencies)
    return audit_probabilities(np.tile(frequencies, (1000, 1)), labels)


def test_no_row_is_picked_where_less_than_half_a_wrong_label_is_expected(agreeing):
    assert agreeing.expected_errors < 0.5
    assert len(agreeing.picked) == 0
    assert agreeing.picked.dtype == np.intp


@pytest.mark.parametrize(("wrong", "picked"), [([0.49], []), ([0.51], [0]), ([], []), ([0.2, 0.9, 0.0], [1])])
def test_half_a_wrong_label_is_the_least_that_is_worth_a_look(wrong, picked):
    assert rows_worth_a_look(np.array(wrong)).tolist() == picked


def test_without_a_row_worth_a_look_everything_is_still_written(agreeing, tmp_path):
    audit = agreeing
    assert headline(audit).endswith("; no row is worth a look")
    assert "no row is worth a look" in audit._repr_html_()
    audit.to_html(tmp_path / "audit.html", truth=audit.classes[audit.observed])
    page = (tmp_path / "audit.html").read_text()
    assert "No row is worth a look." in page
    assert "rows worth a look, 0" not in page
    for name in ("patch.csv", "patch.json", "patch.xlsx"):
        audit.patch(tmp_path / name)
    assert pl.read_csv(tmp_path / "patch.csv").height == 0
    audit.to_label_studio(tmp_path / "tasks.json")
    audit.to_argilla(tmp_path / "records.json")
    assert (
        json.loads((tmp_path / "tasks.json").read_text()) == json.loads((tmp_path / "records.json").read_text()) == []
    )
    assert audit.summary()["picked"] == 0
    np.testing.assert_array_equal(audit.apply(), audit.classes[audit.observed])
    assert audit.found(audit.classes[audit.observed]) == {"wrong": 0, "found": 0, "right": 0}
    assert len(audit.next(10)) == 10
    assert audit.to_frame("polars").height == len(audit.observed)


def test_probabilities_without_information_say_so(uninformed):
    assert UNEXPLAINED_BY_PROBABILITIES in uninformed.notes
    assert uninformed.expected_errors.low < uninformed.expected_errors < uninformed.expected_errors.high


@pytest.mark.parametrize("labels_are", [None, "judgements", "outcomes"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_even_probabilities_are_uninformative_by_each_reading_and_not_called_unsure(labels_are, dtype):
    p, y = np.full((600, 2), 0.5, dtype=dtype), np.random.default_rng(1).integers(2, size=600)
    audit = audit_probabilities(p, y, labels_are=labels_are)
    assert UNEXPLAINED_BY_PROBABILITIES in audit.notes
    assert not any("less sure" in note for note in audit.notes)


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_of_other_rows_are_uninformative(seed):
    p = probabilities(800, seed=seed)
    rng = np.random.default_rng(seed)
    y = (p.cumsum(axis=1) < rng.random((800, 1))).sum(axis=1)
    assert tells_labels(p, y)
    assert not tells_labels(rng.permutation(p), y)


@pytest.mark.parametrize("power", [0.2, 1, 5])
@pytest.mark.parametrize("n", [40, 1000])
def test_a_model_that_is_too_sure_or_unsure_or_favours_a_class_is_informative(power, n):
    p = probabilities(n)
    y = (p.cumsum(axis=1) < np.random.default_rng(0).random((n, 1))).sum(axis=1)
    bent = p**power * [1, 1, 20]
    bent /= bent.sum(axis=1, keepdims=True)
    assert tells_labels(bent, y)
    assert UNEXPLAINED_BY_PROBABILITIES not in audit_probabilities(bent, y).notes


def test_rows_without_information_say_so():
    rng = np.random.default_rng(2)
    audit = audit_labels(rng.normal(size=(400, 4)), rng.integers(2, size=400))
    assert UNEXPLAINED in audit.notes
    assert audit.expected_errors.high > 0


@pytest.mark.parametrize("probability", [0.0009, 1 / 540_000, 1e-30])
def test_small_probabilities_are_not_told_apart_for_a_reader(probability):
    assert probability_text(probability) == "below 1 in 1,000"


def test_small_probabilities_stay_as_they_are_in_frames():
    p = np.tile([[1e-6, 1 - 1e-6], [1 - 1e-6, 1e-6]], (300, 1))
    y = np.tile([1, 0], 300)
    y[:20] = 1 - y[:20]
    audit = audit_probabilities(p, y)
    smallest = audit.to_frame("polars")["probability"].min()
    assert 0 < smallest == audit.probability.min()


def test_numbers_with_decimals_are_no_labels():
    with pytest.raises(ValueError, match=r"decimals, as 0\.5, .* audit_targets"):
        audit_labels(np.eye(3), [0.0, 0.5, 1.0])


def test_a_mask_of_rows_means_the_rows_where_it_is_true(tmp_path, rng):
    p = probabilities()
    audit = audit_probabilities(p, rng.permutation(p.argmax(axis=1)))
    mask = audit.probability < 0.3
    rows = np.flatnonzero(mask)
    assert 2 < len(rows) < 390
    np.testing.assert_array_equal(audit.apply(mask), audit.apply(rows))
    assert audit.found(audit.suggested, mask) == audit.found(audit.suggested, rows)
    for write in (audit.patch, audit.to_label_studio, audit.to_argilla):
        write(tmp_path / "by_mask.json", rows=mask)
        write(tmp_path / "by_rows.json", rows=rows)
        assert (tmp_path / "by_mask.json").read_text() == (tmp_path / "by_rows.json").read_text()


def test_masks_are_taken_by_audits_of_numbers_and_tags(tmp_path, rng):
    X = rng.normal(size=(60, 2))
    of_numbers = audit_targets(X, X[:, 0] + 0.1 * rng.normal(size=60))
    of_tags = audit_multilabel(X, [["up"] if x > 0 else ["down"] for x in X[:, 0]])
    for audit in (of_numbers, of_tags):
        mask = np.arange(60) >= 58
        assert list(audit.apply(mask)) == list(audit.apply([58, 59]))
        audit.patch(tmp_path / "patch.csv", rows=mask)
        assert pl.read_csv(tmp_path / "patch.csv")["row"].to_list() == [58, 59]


@pytest.mark.parametrize("rows", [[400], [-1], [0.5], [[1, 2]], [True, False], ["1"], "all"])
def test_rows_that_are_not_there_are_refused_in_one_sentence(agreeing, tmp_path, rows):
    for call in (agreeing.apply, lambda rows: agreeing.patch(tmp_path / "patch.csv", rows)):
        with pytest.raises(ValueError, match="numbers of rows below 400, or a mask of all 400 rows, would do"):
            call(rows)
    assert not list(tmp_path.iterdir())
