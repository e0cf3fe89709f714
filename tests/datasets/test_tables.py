"""Mixed tables become numbers, the same for pandas and polars, in fit and later."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from noisewise.datasets import TableEncoder


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


def test_gaps_in_arrays_are_filled_and_told_about():
    encoder = TableEncoder()
    rows = encoder.fit_transform(np.array([[1.0, np.nan], [3.0, 5.0], [5.0, 7.0]]))
    np.testing.assert_allclose(rows, [[1, 6, 1], [3, 5, 0], [5, 7, 0]])
    assert "1 missing values in 1 columns" in encoder.notes_[0]
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
