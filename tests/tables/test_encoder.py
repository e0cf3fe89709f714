"""Mixed tables become numbers, the same for pandas and polars, in fit and later."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noisewise import load, save
from noisewise.datasets import TableEncoder
from noisewise.embeddings import embed_texts


def mixed(n=240, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "colour": rng.choice(["red", "blue", "green"], n),
        "when": np.datetime64("2024-01-01") + rng.integers(0, 99, n).astype("timedelta64[D]"),
        "flag": rng.random(n) < 0.5,
        "name": [f"id{i}" for i in range(n)],
        "remark": [f"good thing number {i}" for i in range(n)],
        "nothing": [None] * n,
    }


def test_pandas_and_polars_give_the_same_numbers():
    first, second = TableEncoder(), TableEncoder()
    one, other = first.fit_transform(pd.DataFrame(mixed())), second.fit_transform(pl.DataFrame(mixed()))
    np.testing.assert_allclose(one.toarray(), other.toarray())
    assert first.notes_ == second.notes_


def test_later_rows_are_encoded_as_the_first_ones():
    frame = pl.DataFrame(mixed())
    encoder = TableEncoder()
    rows = encoder.fit_transform(frame)
    np.testing.assert_allclose(encoder.transform(frame[50:60]).toarray(), rows[50:60].toarray())


def test_unknown_categories_are_nothing():
    encoder = TableEncoder().fit(pl.DataFrame({"kind": ["a", "b", "a"]}))
    np.testing.assert_array_equal(encoder.transform(pl.DataFrame({"kind": ["z", "b"]})), [[0, 0], [0, 1]])


def test_missing_values_in_arrays_are_imputed_and_noted():
    encoder = TableEncoder()
    rows = encoder.fit_transform(np.array([[1.0, np.nan], [3.0, 5.0], [5.0, 7.0]]))
    np.testing.assert_allclose(rows, [[1, 6, 1], [3, 5, 0], [5, 7, 0]])
    assert "1 missing value in 1 column:" in encoder.notes_[0]
    np.testing.assert_allclose(encoder.transform(np.array([[2.0, np.nan]])), [[2, 6, 1]])


def test_sparse_rows_go_through():
    rows = TableEncoder().fit_transform(sparse.csr_matrix(np.eye(3)))
    np.testing.assert_array_equal(rows.toarray(), np.eye(3))


def test_rare_categories_are_put_together():
    values = [f"kind {i % 60}" for i in range(600)]
    encoder = TableEncoder()
    assert encoder.fit_transform(pd.DataFrame({"kind": values})).shape == (600, 50)
    assert "60 categories" in encoder.notes_[0]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (pd.DataFrame({"a": []}), "empty"),
        (pl.DataFrame({"a": [f"n{i}" for i in range(60)]}), "no column can be used"),
        (pl.DataFrame({"a": [1.0, float("inf")]}), "column 'a' holds infinite"),
        (np.array([["a"], ["b"]]), "not numbers"),
        (np.zeros(4), "shape"),
    ],
)
def test_what_cannot_be_encoded_gets_a_sentence(table, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableEncoder().fit(table)


def test_other_columns_later_get_a_sentence():
    encoder = TableEncoder().fit(pl.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="no column 'a'"):
        encoder.transform(pl.DataFrame({"b": [1.0]}))
    with pytest.raises(ValueError, match="given the other"):
        encoder.transform(np.zeros((1, 1)))


def test_times_and_durations_are_numbers_in_either_library():
    times = [datetime.time(6, 30), datetime.time(18), None, datetime.time(0, 0, 36)]
    spans = [datetime.timedelta(hours=12), datetime.timedelta(days=2), None, datetime.timedelta(0)]
    days = [datetime.date(2024, 1, day) for day in (1, 2, 3, 5)]
    columns = {"time": times, "span": spans, "day": days}
    first, second = TableEncoder(), TableEncoder()
    rows = first.fit_transform(pl.DataFrame(columns))
    np.testing.assert_allclose(rows, second.fit_transform(pd.DataFrame(columns)))
    assert first.notes_ == second.notes_
    assert "column 'time' holds times of day: read as hours" in first.notes_
    assert "column 'span' holds durations: read as days" in first.notes_
    hours = np.array([6.5, 18, 6.5, 0.01])  # the gap has the median
    np.testing.assert_allclose(rows[:, 0], (hours - hours.mean()) / hours.std())


@pytest.mark.parametrize("library", [pd, pl])
def test_columns_that_say_nothing_are_left_out_with_a_note(library):
    table = library.DataFrame(
        {"one": [1, 1, 1], "same": ["a", "a", "a"], "lists": [[1], [2], [3]], "records": [{"a": 1}] * 3, "x": [1, 2, 3]}
    )
    encoder = TableEncoder()
    assert encoder.fit_transform(table).shape == (3, 1)
    assert encoder.notes_ == (
        "column 'one' is the same in every row: left out",
        "column 'same' is the same in every row: left out",
        "column 'lists' holds lists or records: left out",
        "column 'records' holds lists or records: left out",
    )


def test_a_constant_with_gaps_is_kept_for_its_gaps():
    encoder = TableEncoder()
    assert encoder.fit_transform(pl.DataFrame({"a": [1.0, None, 1.0]})).shape == (3, 2)
    assert encoder.fit_transform(pl.DataFrame({"a": ["p", None, "p"]})).shape == (3, 2)


def test_a_lazy_frame_teaches_the_same_as_a_whole_one():
    frame = pl.DataFrame(mixed())
    whole, lazy = TableEncoder().fit(frame), TableEncoder().fit(frame.lazy())
    assert whole.notes_ == lazy.notes_
    assert lazy.width_ == whole.transform(frame).shape[1]
    np.testing.assert_array_equal(whole.transform(frame).toarray(), lazy.transform(frame.lazy()).toarray())


def test_encoded_numbers_are_those_of_scikit_learn():
    values = np.array([[1.0], [np.nan], [4.0], [2.5], [-3.0]])
    peer = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    np.testing.assert_allclose(
        TableEncoder().fit_transform(pl.DataFrame({"a": values.ravel()})), peer.fit_transform(values), atol=1e-12
    )


def test_encoders_are_kept_in_model_files(tmp_path):
    frame = pl.DataFrame(mixed())
    encoder = TableEncoder().fit(frame)
    save(encoder, tmp_path / "encoder.nw")
    kept = load(tmp_path / "encoder.nw")
    np.testing.assert_array_equal(kept.transform(frame).toarray(), encoder.transform(frame).toarray())


def test_numbers_of_rows_are_no_feature():
    count, measured = np.arange(5, 35), np.linspace(0, 1, 30)
    encoder = TableEncoder()
    assert encoder.fit_transform(pl.DataFrame({"": count, "size": measured})).shape == (30, 1)
    assert encoder.notes_ == ("column '' counts the rows: left out",)
    assert encoder.fit_transform(pl.DataFrame({"shuffled": count[::-1]})).shape == (30, 1)
    with_gaps = np.delete(np.arange(1000, 1034), [3, 4, 20, 30])
    assert encoder.fit_transform(pl.DataFrame({"id": with_gaps, "size": measured})).shape == (30, 1)
    assert encoder.notes_ == ("column 'id' counts the rows: left out",)
    assert encoder.fit_transform(pl.DataFrame({"sorted": 3 * count})).shape == (30, 1)


def test_lazy_rows_without_a_column_get_a_sentence():
    encoder = TableEncoder().fit(pl.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="no column 'a'"):
        encoder.transform(pl.LazyFrame({"b": [1.0]}))


def test_many_columns_alike_get_one_note():
    columns = {f"c{j}": [1, 1, 1] for j in range(9)} | {f"g{j}": [1.0, None, 2.0 + j] for j in range(4)}
    encoder = TableEncoder().fit(pl.DataFrame(columns))
    assert encoder.notes_ == (
        "each of 9 columns ('c0', 'c1', 'c2', ...) is the same in every row: left out",
        "each of 4 columns ('g0', 'g1', 'g2', ...) has missing values: filled with the median and marked",
    )


def test_embedded_text_is_encoded_by_the_named_encoder_and_kept_in_a_model_file(tmp_path):
    pytest.importorskip("wordllama")
    texts = [f"{word} number {i} of many" for i in range(40) for word in ("apple", "river")]
    frame = pl.DataFrame({"text": texts, "size": np.arange(80) % 7})
    encoder = TableEncoder(text_encoder="wordllama").fit(frame)
    rows = encoder.transform(frame)
    assert isinstance(rows, np.ndarray)
    np.testing.assert_array_equal(rows[:, :256], embed_texts(texts, "wordllama"))
    save(encoder, tmp_path / "encoder.noisewise")
    np.testing.assert_array_equal(load(tmp_path / "encoder.noisewise").transform(frame[5:9]), rows[5:9])
