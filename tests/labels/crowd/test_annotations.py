import numpy as np
import pandas as pd
import polars as pl
import pytest

from noisewise.labels import krippendorff_alpha
from noisewise.labels.crowd.aggregation import dawid_skene, majority_vote
from noisewise.labels.crowd.annotations import encode_names, missing_mask, read_annotations

ITEMS = ["q2", "q1", "q1", "q2", "q3"]
ANNOTATORS = ["ann", "ann", "bob", "bob", "bob"]
LABELS = ["no", "yes", "yes", "no", "yes"]
WIDE = {"ann": ["yes", "no", None], "bob": ["yes", "no", "yes"]}


def triples(annotations):
    names = (annotations.items[annotations.item_codes], annotations.annotators[annotations.annotator_codes])
    return sorted(
        zip(*(column.tolist() for column in (*names, annotations.classes[annotations.label_codes])), strict=True)
    )


EXPECTED = sorted(zip(ITEMS, ANNOTATORS, LABELS, strict=True))


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, tuple], ids=lambda kind: kind.__name__)
def test_columns_of_any_kind_are_read(kind):
    assert triples(read_annotations(kind(ITEMS), kind(ANNOTATORS), kind(LABELS))) == EXPECTED


@pytest.mark.parametrize("library", [pd, pl], ids=lambda library: library.__name__)
def test_long_frames_are_known_by_their_columns(library):
    frame = library.DataFrame({"when": [1, 2, 3, 4, 5], "Label": LABELS, "annotator": ANNOTATORS, "item": ITEMS})
    assert triples(read_annotations(frame)) == EXPECTED


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(WIDE, index=["q1", "q2", "q3"]),
        pd.DataFrame({**WIDE, "item": ["q1", "q2", "q3"]}),
        pl.DataFrame({**WIDE, "item": ["q1", "q2", "q3"]}),
    ],
    ids=["pandas index", "pandas column", "polars column"],
)
def test_wide_frames_name_items_and_annotators(frame):
    assert triples(read_annotations(frame)) == EXPECTED


def test_gaps_do_not_turn_whole_numbers_into_floats():
    frame = pd.DataFrame({"a": [1, 2, 2], "b": [np.nan, 2, 1]})
    assert read_annotations(frame).classes.tolist() == [1, 2]
    assert read_annotations(frame).classes.dtype.kind == "i"
    assert len(read_annotations(frame.to_numpy()).item_codes) == 5


@pytest.mark.parametrize("gap", [None, float("nan"), np.nan, pd.NA, pd.NaT])
def test_every_kind_of_gap_is_a_missing_label(gap):
    labels = np.array(["x", gap, "y"], dtype=object)
    assert missing_mask(labels).tolist() == [False, True, False]
    read = read_annotations([1, 2, 3], ["a", "b", "c"], labels)
    assert read.label_codes.tolist() == [0, 1]
    assert len(read.items) == 3
    assert len(read.annotators) == 3


def test_a_label_may_stand_for_a_missing_one():
    read = read_annotations(np.array([[0, -1], [1, 1]]), missing=-1)
    assert read.classes.tolist() == [0, 1]
    assert len(read.item_codes) == 3
    assert len(read_annotations([1, 2], ["a", "a"], ["?", "x"], missing="?").item_codes) == 1


@pytest.mark.parametrize("labels", [[("a", 1), ("b", 2)], [True, False], [1, "one"], [0.5, 1.5], ["no", "yes"]])
def test_labels_and_names_are_any_hashables(labels):
    given = [labels[code] for code in (0, 0, 1, 1)]
    result = majority_vote([("i", 1), ("i", 1), "j", "j"], [1, "b", 1, "b"], given)
    found = dict(zip(result.items.tolist(), result.labels.tolist(), strict=True))
    assert found == {("i", 1): labels[0], "j": labels[1]}


def test_names_are_encoded_as_numpy_does(rng):
    numbers = rng.integers(50, size=300)
    for values in (numbers, numbers.astype(float), numbers.astype(str)):
        names, codes = encode_names(values)
        expected_names, expected_codes = np.unique(values, return_inverse=True)
        np.testing.assert_array_equal(names, expected_names)
        np.testing.assert_array_equal(codes, expected_codes)


def test_repeated_labels_count():
    read = read_annotations(["i", "i"], ["a", "a"], ["x", "x"])
    np.testing.assert_array_equal(read.counts().toarray(), [[2]])
    np.testing.assert_array_equal(read.votes(), [[2]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], ["a"], ["x", "y"]), "lengths 2, 1 and 2"),
        (([1, 2], ["a", "b"], None), "labels are missing"),
        (([1, 2], None, ["x", "y"]), "annotators are missing"),
        (([1, None], ["a", "b"], ["x", "y"]), "1 of the items are missing, the first in row 1"),
        (([1, 2], ["a", None], ["x", "y"]), "1 of the annotators are missing"),
        (([1, 2], ["a", "b"], [None, None]), "no label at all"),
        (([], [], []), "no label at all"),
        (([1, 2], ["a", "b"], [["x"], ["y"]]), "hashable"),
        ((np.zeros((2, 2, 2)),), "one column an annotator"),
        ((np.zeros(3),), "one column an annotator"),
        ((np.zeros((0, 3)),), "one column an annotator"),
        ((pd.DataFrame({"item": [1, 2]}),), "no column of labels"),
        ((np.arange(40_000), np.arange(40_000), np.arange(40_000) + 0.5), "measurements"),
    ],
)
@pytest.mark.parametrize("function", [majority_vote, dawid_skene])
def test_bad_annotations_are_refused_clearly(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)


def test_wide_frames_may_have_numbers_for_names():
    long = pd.DataFrame(
        {"item": ITEMS, "annotator": [{"ann": 7, "bob": 0}[name] for name in ANNOTATORS], "label": LABELS}
    )
    wide = long.pivot(index="item", columns="annotator", values="label")
    assert triples(read_annotations(wide)) == triples(read_annotations(long))
    assert dawid_skene(wide).labels.tolist() == dawid_skene(long).labels.tolist()
    assert krippendorff_alpha(wide) == krippendorff_alpha(long)
    named = wide.reset_index().rename(columns={"item": "items"})
    assert triples(read_annotations(named)) == triples(read_annotations(long))
