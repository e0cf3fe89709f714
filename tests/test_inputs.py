"""Labels of any kind become codes; missing ones are refused, and so are columns that hold no numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline

from noisewise import GaussianNoise
from noisewise._validation import encode_labels, find_labels, generator
from noisewise.features import NoisyFeatureRegressor
from noisewise.labels import CrowdClassifier, RobustKNeighborsClassifier, RobustRidgeClassifier
from noisewise.online import FeedbackLog
from noisewise.online.recipes import arow
from noisewise.tables import TableEncoder


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "b"], ["a", "b"]),
        ([3, 1, 3], [1, 3]),
        ([True, False, True], [False, True]),
        ([("x", 1), "y", ("x", 1)], ["y", ("x", 1)]),
        ([1, "a", 1], [1, "a"]),
        (np.array([2.0, 0.0, 2.0]), [0.0, 2.0]),
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"]),
        (pd.Series(["b", "a", "b"], dtype="string"), ["a", "b"]),
        (pl.Series(["b", "a", "b"]), ["a", "b"]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"]),
        (np.array([b"b", b"a", b"b"]), [b"a", b"b"]),
        ([frozenset({1}), frozenset({2}), frozenset({1})], [frozenset({1}), frozenset({2})]),
    ],
)
def test_labels_are_numbered_by_their_classes(labels, classes):
    found, codes = encode_labels(labels)
    assert sorted(map(repr, found.tolist())) == sorted(map(repr, classes))
    assert [found.tolist()[code] for code in codes] == list(labels)
    np.testing.assert_array_equal(find_labels(labels, found), codes)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_many_whole_numbers_are_numbered_as_by_sorting(dtype):
    rng = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    for low in (limits.min, 0, limits.max - 120):
        labels = (rng.choice([0, 3, 4, 120], size=1000).astype(object) + int(low)).astype(dtype)
        classes, inverse = np.unique(labels, return_inverse=True)
        found, codes = encode_labels(labels)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, classes)
        np.testing.assert_array_equal(codes, inverse)
        np.testing.assert_array_equal(find_labels(labels, found[::-1]), len(found) - 1 - inverse)
        with pytest.raises(ValueError, match="was not seen"):
            find_labels(np.array([labels[0], int(low) + 1], dtype=dtype), found)


MISSING = [
    ["a", None],
    [1.0, np.nan],
    [np.inf, 1.0],
    pd.Series(["a", pd.NA]),
    pl.Series(["a", None]),
    np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"),
]


@pytest.mark.parametrize("labels", MISSING)
def test_missing_labels_are_refused(labels):
    with pytest.raises(ValueError, match=r"labels are missing .* in 1 of 2 rows"):
        encode_labels(labels)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: encode_labels(np.array([["a"], {"b": 1}, 3], dtype=object)[1:]), "must be hashable"),
        (lambda: encode_labels(np.linspace(0, 1, 7)), "Unknown label type"),
        (lambda: encode_labels("y"), "y is 'y'; the labels themselves are needed"),
        (lambda: find_labels(["c"], np.array(["a", "b"])), "'c' was not seen"),
        (lambda: generator("x"), "'x' is no random state; a whole number from 0 on"),
    ],
)
def test_what_is_no_label_or_random_state_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_seeds_generators_and_old_states_are_random_states():
    assert generator(5).random() == np.random.default_rng(5).random()
    own = np.random.default_rng(0)
    assert generator(own) is own
    assert generator(np.random.RandomState(1)).random() == generator(np.random.RandomState(1)).random()


DAYS = pd.date_range("2024-01-01", periods=20)
TAKES_ROWS = [
    RobustRidgeClassifier().fit,
    RobustKNeighborsClassifier().fit,
    lambda X, y: RobustKNeighborsClassifier().partial_fit(X, y, classes=[0, 1]),
    CrowdClassifier().fit,
    NoisyFeatureRegressor(noise=GaussianNoise(0.1)).fit,
    arow().fit,
    lambda X, y: FeedbackLog(X, y, y, np.full(len(y), 0.5)),
]


@pytest.mark.parametrize("take", TAKES_ROWS)
@pytest.mark.parametrize("library", [pd, pl])
def test_a_column_that_holds_no_numbers_is_named_with_what_would_do(take, library):
    frame = library.DataFrame({"size": np.arange(20), "city": ["Ulm", "Bonn"] * 10})
    with pytest.raises(ValueError, match=r"column 'city' does not hold numbers; noisewise\.tables\.TableEncoder"):
        take(frame, [0, 1] * 10)


@pytest.mark.parametrize("take", TAKES_ROWS)
def test_a_column_of_dates_beside_numbers_is_named(take):
    with pytest.raises(ValueError, match="column 'day' does not hold numbers"):
        take(pd.DataFrame({"size": np.arange(20), "day": DAYS}), [0, 1] * 10)


def test_a_column_of_dates_is_not_blamed_for_a_missing_number():
    frame = pl.DataFrame({"day": DAYS.to_numpy(), "size": [1.0, None] * 10})
    with pytest.raises(ValueError, match="contains NaN"):
        RobustRidgeClassifier().fit(frame, [0, 1] * 10)


@pytest.mark.parametrize("library", [pd, pl])
def test_an_encoder_of_tables_does_what_the_sentence_says(library):
    frame = library.DataFrame({"size": np.arange(20), "city": ["Ulm", "Bonn"] * 10, "day": DAYS})
    model = make_pipeline(TableEncoder(), RobustRidgeClassifier()).fit(frame, [0, 1] * 10)
    assert model.score(frame, [0, 1] * 10) == 1
